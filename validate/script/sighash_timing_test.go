package script

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/txscript/v2"
	"github.com/btcsuite/btcd/wire/v2"

	"stele/chain"
	"stele/internal/realdata"
)

var keyHashCode = append(append([]byte{0x76, 0xa9, 20}, make([]byte, 20)...), 0x88, 0xac)

// megaTx is the transaction of 5,569 inputs that filled block 364292, alone as a block, with coins that are made up:
// their scripts are as long as the real ones.
func megaTx(tb testing.TB) (*chain.Block, []chain.Coin) {
	b := new(chain.Block)
	if err := b.DecodeTx(realdata.Read(tb, "txs", "bb41a757_megatx_5569_inputs.bin.bz2")); err != nil {
		tb.Fatal(err)
	}
	coins := make([]chain.Coin, len(b.Ins))
	for i := range coins {
		coins[i].Script = keyHashCode
	}
	return b, coins
}

// quadratic is block 367891 and what its inputs spend.
func quadratic(tb testing.TB) (*chain.Block, []chain.Coin) {
	b := new(chain.Block)
	if err := b.Decode(realdata.Read(tb, "mainnet", "blocks", "367891.blk.gz")); err != nil {
		tb.Fatal(err)
	}
	coins := make([]chain.Coin, 1) // the coinbase's
	for line := range strings.Lines(string(realdata.Read(tb, "mainnet", "prevouts", "367891.tsv.gz"))) {
		if cells := strings.Split(strings.TrimRight(line, "\n"), "\t"); len(cells) >= 4 && cells[0][0] != '#' {
			script, err := hex.DecodeString(cells[3])
			if err != nil {
				tb.Fatal(err)
			}
			coins = append(coins, chain.Coin{Script: script})
		}
	}
	if len(coins) != len(b.Ins) {
		tb.Fatalf("%d coins for %d inputs", len(coins), len(b.Ins))
	}
	return b, coins
}

// TestTrap60HalfOfQuadratic: all inputs of the transaction of 5,569, hashed from their states, take half the bytes that
// the messages have, and each hash is btcd's.
func TestTrap60HalfOfQuadratic(t *testing.T) {
	b, coins := megaTx(t)
	var tx Tx
	tx.Reset(b, 0, coins)
	plain, taken := 0, 0
	for in := range tx.ins {
		_, from := tx.state(tx.scriptAt(in))
		if from > tx.scriptAt(in) || tx.scriptAt(in)-from >= stateStride {
			t.Fatalf("input %d at %d begins at %d", in, tx.scriptAt(in), from)
		}
		plain += len(tx.form)
		taken += len(tx.form) - from
	}
	if share := float64(taken) / float64(plain); share > 0.505 {
		t.Errorf("%.3f of the plain work", share)
	}
	var msg wire.MsgTx
	if err := msg.Deserialize(bytes.NewReader(b.Raw)); err != nil {
		t.Fatal(err)
	}
	var h hashCache
	for in := 0; in < len(tx.ins); in += 97 {
		for _, hashType := range []txscript.SigHashType{1, 2, 3, 0x81, 0x82, 0x83} {
			want, err := txscript.CalcSignatureHash(keyHashCode, hashType, &msg, in)
			if err != nil {
				t.Fatal(err)
			}
			if got := h.legacy(&tx, in, keyHashCode, uint32(hashType)); !bytes.Equal(got[:], want) {
				t.Errorf("input %d, type %x: %x, want %x", in, hashType, *got, want)
			}
		}
	}
	t.Logf("%d inputs: %d MB of %d MB", len(tx.ins), taken>>20, plain>>20)
}

// TestBigBlockHashes: SIGHASH_ALL of every 50th input of block 367891, against btcd.
func TestBigBlockHashes(t *testing.T) {
	b, coins := quadratic(t)
	var msg wire.MsgBlock
	if err := msg.Deserialize(bytes.NewReader(b.Raw)); err != nil {
		t.Fatal(err)
	}
	var tx Tx
	var h hashCache
	count := 0
	for i := 1; i < len(b.Txs); i++ {
		row := &b.Txs[i]
		tx.Reset(b, i, coins[row.FirstIn:][:row.Ins])
		for in := range tx.ins {
			if (int(row.FirstIn)+in)%50 != 0 {
				continue
			}
			want, err := txscript.CalcSignatureHash(tx.coins[in].Script, 1, msg.Transactions[i], in)
			if err != nil {
				t.Fatal(err)
			}
			if got := h.legacy(&tx, in, tx.coins[in].Script, 1); !bytes.Equal(got[:], want) {
				t.Errorf("transaction %d, input %d: %x, want %x", i, in, *got, want)
			}
			count++
		}
	}
	t.Logf("%d hashes", count)
}

// BenchmarkLegacyHashes hashes every input of a block once, with its coin's script and SIGHASH_ALL.
func BenchmarkLegacyHashes(b *testing.B) {
	for _, x := range []struct {
		name string
		read func(testing.TB) (*chain.Block, []chain.Coin)
		tx0  int // a block's coinbase is left out
	}{{"367891", quadratic, 1}, {"5569", megaTx, 0}} {
		b.Run(x.name+"/stele", func(b *testing.B) {
			block, coins := x.read(b)
			b.ReportAllocs()
			var tx Tx
			var h hashCache
			for b.Loop() {
				for i := x.tx0; i < len(block.Txs); i++ {
					row := &block.Txs[i]
					tx.Reset(block, i, coins[row.FirstIn:][:row.Ins])
					for in := range tx.ins {
						h.reset(&tx, in)
						h.legacy(&tx, in, tx.coins[in].Script, 1)
					}
				}
			}
		})
		b.Run(x.name+"/btcd", func(b *testing.B) {
			block, coins := x.read(b)
			msgs := make([]wire.MsgTx, len(block.Txs))
			for i, row := range block.Txs {
				if err := msgs[i].Deserialize(bytes.NewReader(block.Raw[row.Off:row.End])); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				for i := x.tx0; i < len(msgs); i++ {
					own := coins[block.Txs[i].FirstIn:]
					for in := range msgs[i].TxIn {
						txscript.CalcSignatureHash(own[in].Script, 1, &msgs[i], in)
					}
				}
			}
		})
	}
}

// BenchmarkSmallHash hashes both inputs of a transaction with two inputs and two outputs, Reset and all.
func BenchmarkSmallHash(b *testing.B) {
	witnessCode := append([]byte{0, 20}, make([]byte, 20)...)
	tapCode := append([]byte{0x51, 32}, make([]byte, 32)...)
	for _, x := range []struct {
		name string
		coin []byte
		hash func(h *hashCache, t *Tx, in int)
	}{
		{"legacy", keyHashCode, func(h *hashCache, t *Tx, in int) { h.legacy(t, in, keyHashCode, 1) }},
		{"witness", witnessCode, func(h *hashCache, t *Tx, in int) { h.witness(t, in, keyHashCode, 1) }},
		{"taproot", tapCode, func(h *hashCache, t *Tx, in int) { h.taproot(t, in, new(tapContext), 0) }},
	} {
		b.Run(x.name, func(b *testing.B) {
			m := &modelTx{outs: []modelOut{{1, keyHashCode}, {2, keyHashCode}}, ins: make([]modelIn, 2)}
			for i := range m.ins {
				m.ins[i].coin.Script = x.coin
				if x.name == "legacy" {
					m.ins[i].script = make([]byte, 107)
				} else {
					m.ins[i].witness = [][]byte{make([]byte, 64)}
				}
			}
			var tx Tx
			m.ready(b, &tx)
			block, coins := tx.block, tx.coins
			var h hashCache
			b.ReportAllocs()
			for b.Loop() {
				tx.Reset(block, 0, coins)
				x.hash(&h, &tx, 0)
				x.hash(&h, &tx, 1)
			}
		})
	}
}
