package tables

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"stele/chain"
	"stele/internal/realdata"
	"stele/store"
	"stele/tables/codec"
)

// TestRealBlocks archives every real block of the data folder, over parents that are put in as bare rows, and wants its
// wire bytes back, the outputs and prevouts of every transaction, and the sizes that the decoder computed.
func TestRealBlocks(t *testing.T) {
	for _, net := range []string{"mainnet", "testnet3", "testnet4", "signet"} {
		paths, err := filepath.Glob(filepath.Join(realdata.Path(t, net, "blocks"), "*.blk.gz"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no blocks of %s: %v", net, err)
		}
		for _, path := range paths {
			name := net + "/" + strings.TrimSuffix(filepath.Base(path), ".blk.gz")
			t.Run(name, func(t *testing.T) {
				archiveReal(t, realdata.Read(t, net, "blocks", filepath.Base(path)))
			})
		}
	}
}

func archiveReal(t *testing.T, raw []byte) {
	var b chain.Block
	if err := b.Decode(raw); err != nil {
		t.Fatal(err)
	}
	hash := b.Header.Hash()
	tb := newRealTables(t)
	if hash == tb.params.GenesisHash {
		return // Create archived it
	}
	prevouts := tb.putParents(t, &b)
	ids := b.Txids(nil)
	var r Rows
	if err := r.Encode(&b, ids); err != nil {
		t.Fatal(err)
	}
	l, err := tb.PutHeader(&b.Header, &hash, 0, b.Header.Time)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tb.Archive(l, &r, prevouts, false); err != nil {
		t.Fatal(err)
	}
	v := tb.Live()
	// The header's own parent is not in this store: its 32 bytes are taken from the block.
	got, _, err := v.AppendBlock(nil, l)
	if err != nil || !bytes.Equal(got[chain.HeaderSize:], raw[chain.HeaderSize:]) {
		t.Fatalf("the block is not rebuilt from its rows (%v)", err)
	}
	row, _ := v.Block(l)
	if int(row.Size) != len(raw) || int(row.Weight) != b.Weight() {
		t.Errorf("size %d, weight %d, want %d, %d", row.Size, row.Weight, len(raw), b.Weight())
	}
	tb.checkReal(t, v, &b, ids, prevouts)
}

// checkReal asks for every transaction of an archived block and compares with the decoded one.
func (tb *Tables) checkReal(t *testing.T, v *View, b *chain.Block, ids []chain.Hash, prevouts []OutputLink) {
	var script, raw []byte
	for i := range b.Txs {
		l, ok := v.FindTx(&ids[i])
		if !ok || *v.Txid(l) != ids[i] {
			t.Fatalf("transaction %d is not found", i)
		}
		tx, want := v.Tx(l), &b.Txs[i]
		if tx.Ins != want.Ins || tx.Outs != want.Outs || int(tx.Position) != i || tx.Coinbase != (i == 0) {
			t.Fatalf("transaction %d: %+v", i, tx)
		}
		stripped, total := b.TxSize(i)
		if size, weight, err := v.TxSize(l); err != nil || size != total || weight != 3*stripped+total {
			t.Fatalf("transaction %d: size %d, weight %d, want %d, %d (%v)", i, size, weight, total, 3*stripped+total, err)
		}
		for n := range want.Outs {
			o := tx.FirstOut + OutputLink(n)
			var value int64
			var err error
			value, script, err = v.Output(o, script)
			out := b.Outs[want.FirstOut+n]
			if err != nil || value != out.Value || !bytes.Equal(script, b.Bytes(out.Script)) {
				t.Fatalf("output %d of transaction %d differs (%v)", n, i, err)
			}
			if owner, index := v.OutputTx(o); owner != l || index != n {
				t.Fatalf("output %d of transaction %d is owned by row %d, %d", n, i, owner, index)
			}
		}
		for n := range want.Ins {
			if o, ok := v.Prevout(tx.FirstIn + InputLink(n)); ok == (i == 0) || ok && o != prevouts[want.FirstIn+n] {
				t.Fatalf("input %d of transaction %d spends another output", n, i)
			}
		}
		if raw, _ = v.AppendTx(raw[:0], l, false); chain.DoubleSHA256(raw) != ids[i] {
			t.Fatalf("transaction %d does not hash to its txid without witness", i)
		}
	}
}

func newRealTables(t *testing.T) *Tables {
	d := store.NewMemDisk()
	d.SetReserveCap(8 << 20)
	tb, err := Create(d, chain.Main(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tb
}

// putParents archives bare rows for every transaction that block b spends from: its txid, and outputs enough, all of them
// empty. It returns what each input of b spends.
func (tb *Tables) putParents(t *testing.T, b *chain.Block) []OutputLink {
	inBlock := map[chain.Hash]int{}
	for i, id := range b.Txids(nil) {
		inBlock[id] = i
	}
	outs := map[chain.Hash]uint32{} // outside the block: how many outputs it must have
	var order []chain.Hash
	for n := int(b.Txs[0].Ins); n < len(b.Ins); n++ {
		txid, vout := b.Outpoint(n)
		if _, ok := inBlock[*txid]; !ok {
			if outs[*txid] == 0 {
				order = append(order, *txid)
			}
			outs[*txid] = max(outs[*txid], vout+1)
		}
	}
	first := map[chain.Hash]OutputLink{}
	for len(order) > 0 {
		order = tb.putBare(t, order, outs, first)
	}
	prevouts := []OutputLink{NoOutput}
	for n := int(b.Txs[0].Ins); n < len(b.Ins); n++ {
		txid, vout := b.Outpoint(n)
		if i, ok := inBlock[*txid]; ok {
			prevouts = append(prevouts, tb.NextOutput()+OutputLink(b.Txs[i].FirstOut+vout))
		} else {
			prevouts = append(prevouts, first[*txid]+OutputLink(vout))
		}
	}
	return prevouts
}

// putBare archives one block of bare rows, as many as fit, and returns what is left.
func (tb *Tables) putBare(
	t *testing.T, order []chain.Hash, outs map[chain.Hash]uint32, first map[chain.Hash]OutputLink,
) []chain.Hash {
	var r Rows
	for len(order) > 0 && r.outs+outs[order[0]] <= maxBlockOuts && r.txs < 16_000 {
		id := order[0]
		order = order[1:]
		at := txOffset{outs: r.outs, ins: r.ins, outBytes: uint32(len(r.output)), inBytes: uint32(len(r.input))}
		r.tx = append(r.tx, id[:]...)
		r.tx = append(r.tx, make([]byte, txWidth-txOffsets)...)
		at.put(r.tx[len(r.tx)-txWidth+txOffsets:])
		first[id] = tb.NextOutput() + OutputLink(r.outs)
		for range outs[id] {
			r.output = codec.AppendOutput(r.output, 0, nil)
		}
		r.input = codec.AppendInput(codec.AppendHead(r.input, codec.Head{}), 0, nil, nil)
		r.txs, r.ins, r.outs = r.txs+1, r.ins+1, r.outs+outs[id]
	}
	h := chain.Header{Nonce: tb.Headers()}
	hash := h.Hash()
	l, err := tb.PutHeader(&h, &hash, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	prevouts := make([]OutputLink, r.ins)
	for i := range prevouts {
		prevouts[i] = NoOutput
	}
	if _, err := tb.Archive(l, &r, prevouts, false); err != nil {
		t.Fatal(err)
	}
	return order
}
