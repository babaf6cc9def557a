package chain_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
)

// TestBlockModel draws blocks, encodes them by the model's own encoder, and wants every field, size and id back.
func TestBlockModel(t *testing.T) {
	var b chain.Block // kept over all draws, so that leftovers of one decode would show in the next
	rapid.Check(t, func(t *rapid.T) {
		m := drawBlock(t)
		raw, stripped := encode(m, true), encode(m, false)
		if err := b.Decode(raw); err != nil {
			t.Fatalf("decode: %v", err)
		}
		if len(b.Txs) != len(m.txs) {
			t.Fatalf("%d transactions, want %d", len(b.Txs), len(m.txs))
		}
		txids, wtxids := b.Txids(nil), b.Wtxids(nil)
		for i := range m.txs {
			matchTx(t, &b, i, &m.txs[i])
			bare, full := newWriter(), newWriter()
			bare.tx(&m.txs[i], false)
			full.tx(&m.txs[i], true)
			if s, n := b.TxSize(i); s != bare.Len() || n != full.Len() {
				t.Fatalf("tx %d sizes %d, %d; want %d, %d", i, s, n, bare.Len(), full.Len())
			}
			if txids[i] != doubleSHA(bare.Bytes()) || wtxids[i] != doubleSHA(full.Bytes()) {
				t.Fatalf("tx %d has the wrong txid or wtxid", i)
			}
			if got := b.AppendTx(nil, i, true); !bytes.Equal(got, full.Bytes()) {
				t.Fatalf("tx %d encodes to %x, want %x", i, got, full.Bytes())
			}
			if got := b.AppendTx([]byte("kept"), i, false); !bytes.Equal(got, append([]byte("kept"), bare.Bytes()...)) {
				t.Fatalf("tx %d without witness encodes to %x, want %x", i, got, bare.Bytes())
			}
		}
		if b.StrippedSize() != len(stripped) || b.Weight() != 3*len(stripped)+len(raw) {
			t.Fatalf("stripped %d, weight %d; want %d, %d",
				b.StrippedSize(), b.Weight(), len(stripped), 3*len(stripped)+len(raw))
		}
		if got := b.Append(nil); !bytes.Equal(got, raw) {
			t.Fatalf("block encodes to %x, want %x", got, raw)
		}
	})
}

// doubleSHA is the hash by the standard library's streaming digest.
func doubleSHA(b []byte) (h chain.Hash) {
	inner, outer := sha256.New(), sha256.New()
	inner.Write(b)
	outer.Write(inner.Sum(nil))
	outer.Sum(h[:0])
	return h
}

func TestDecodeTxAlone(t *testing.T) {
	m := smallBlock().txs[2]
	w, bare := newWriter(), newWriter()
	w.tx(&m, true)
	bare.tx(&m, false)
	b := chain.Block{Header: chain.Header{Time: 1}}
	if err := b.DecodeTx(w.Bytes()); err != nil {
		t.Fatal(err)
	}
	if len(b.Txs) != 1 || b.Header != (chain.Header{}) {
		t.Fatalf("%d transactions, header %+v", len(b.Txs), b.Header)
	}
	matchTx(t, &b, 0, &m)
	if b.StrippedSize() != bare.Len() || b.Weight() != 3*bare.Len()+w.Len() {
		t.Errorf("stripped %d, weight %d; want %d, %d", b.StrippedSize(), b.Weight(), bare.Len(), 3*bare.Len()+w.Len())
	}
}

// TestCoinbase wants the null outpoint whole, and alone.
func TestCoinbase(t *testing.T) {
	null, txid, vout := modelIn{vout: ^uint32(0)}, modelIn{vout: ^uint32(0)}, modelIn{vout: ^uint32(0) - 1}
	txid.txid[31] = 1
	for name, c := range map[string]struct {
		ins  []modelIn
		want bool
	}{
		"null":          {[]modelIn{null}, true},
		"last txid bit": {[]modelIn{txid}, false},
		"other index":   {[]modelIn{vout}, false},
		"two":           {[]modelIn{null, null}, false},
		"none":          {nil, false},
	} {
		w := newWriter()
		w.tx(&modelTx{ins: c.ins}, true)
		var b chain.Block
		if err := b.DecodeTx(w.Bytes()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := b.Coinbase(0); got != c.want {
			t.Errorf("%s: coinbase %v, want %v", name, got, c.want)
		}
	}
}

// TestBytesHaveNoRoom wants an append to a view to leave the block alone.
func TestBytesHaveNoRoom(t *testing.T) {
	raw := encode(smallBlock(), true)
	var b chain.Block
	if err := b.Decode(raw); err != nil {
		t.Fatal(err)
	}
	before := bytes.Clone(raw)
	_ = append(b.Bytes(b.Ins[0].Script), 0xee)
	if !bytes.Equal(raw, before) {
		t.Error("appending to a script wrote into the block")
	}
}

// TestReuseAllocatesNothing counts allocations of the calls that a sync makes for every block.
func TestReuseAllocatesNothing(t *testing.T) {
	raw := encode(smallBlock(), true)
	var b chain.Block
	var txids, wtxids []chain.Hash
	var out []byte
	allocs := testing.AllocsPerRun(100, func() {
		if err := b.Decode(raw); err != nil {
			t.Fatal(err)
		}
		txids, wtxids = b.Txids(txids), b.Wtxids(wtxids)
		out = b.Append(out[:0])
		_ = b.Header.Hash()
		_, _ = chain.MerkleRoot(wtxids)
	})
	if allocs != 0 {
		t.Errorf("%v allocations, want 0", allocs)
	}
}

// TestClaimsCostNothing feeds counts that promise far more than the bytes behind them. What is allocated must stay in
// proportion to the bytes: here, arrays made for ordinary blocks, under twice the input.
func TestClaimsCostNothing(t *testing.T) {
	pad := make([]byte, 1<<20)
	txs := append(make([]byte, 80), 0xfe, 0, 0, 0, 1) // 16 Mi transactions
	ins := append(make([]byte, 80), 1, 1, 0, 0, 0, 0xfe, 0, 0, 0, 1)
	items := encode(&modelBlock{txs: []modelTx{{ins: []modelIn{{stack: [][]byte{{1}}}}}}}, true)
	items = append(items[:len(items)-4-3], 0xfe, 0, 0, 0, 1)
	for name, head := range map[string][]byte{"txs": txs, "ins": ins, "items": items} {
		raw := append(bytes.Clone(head), pad[:64<<10]...)
		if name == "items" { // every further item is cut short, as its length is beyond the end
			raw = append(bytes.Clone(head), bytes.Repeat([]byte{0xfe, 0xff, 0xff, 0xff, 0}, 13<<10)...)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := new(chain.Block).Decode(raw)
		runtime.ReadMemStats(&after)
		var bad *chain.DecodeError
		if !errors.As(err, &bad) {
			t.Fatalf("%s: %v, want a DecodeError", name, err)
		}
		if cost := after.TotalAlloc - before.TotalAlloc; cost > 2*uint64(len(raw)) {
			t.Errorf("%s: %d bytes allocated for %d of input", name, cost, len(raw))
		}
	}
}
