package chain_test

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/btcsuite/btcd/wire/v2"

	"stele/chain"
	"stele/internal/mainnet"
	"stele/internal/realdata"
)

// Where wire and we differ, by intent, on bytes that fit below wire's caps (4,000,000 bytes of scripts in a
// transaction, 4,000,000 witness items in an input, 400,001 transactions in a block):
//
//   - left over bytes: wire reads from a stream and leaves them; we refuse them. Compared is what wire consumed.
//   - no inputs and no outputs: `00 00` after the version is such a transaction for Core and us; wire sees a marker
//     with an unknown flag and refuses. It is found by hasEmptyTx.
//
// On everything else acceptance must be equal, and so must ids and encodings.

// p2wpkhTx is the signed native P2WPKH transaction of BIP143: one legacy input, one with a witness.
const p2wpkhTx = "" +
	"01000000000102fff7f7881a8099afa6940d42d1e7f6362bec38171ea3edf433541db4e4ad969f00000000494830450221008b9d1dc26ba6" +
	"a9cb62127b02742fa9d754cd3bebf337f7a55d114c8e5cdd30be022040529b194ba3f9281a99f2b1c0a19c0489bc22ede944ccf4ecbab4cc" +
	"618ef3ed01eeffffffef51e1b804cc89d182d279655c3aa89e815b1b309fe287d9b2b55d57b90ec68a0100000000ffffffff02202cb20600" +
	"0000001976a9148280b37df378db99f66f85c95a783a76ac7a6d5988ac9093510d000000001976a9143bde42dbee7e4dbe6a21b2d50ce2f0" +
	"167faa815988ac000247304402203609e17b84f6a7d30c80bfa610b5b4542f32a8a0d5447a12fb1366d7f01cc44a0220573a954c45183315" +
	"61406f90300e8f3358f51928d43c212a8caed02de67eebee0121025476c2e83188368da1ff3e292e7acafcdb3566bb0ad253f62fc70f07ae" +
	"ee635711000000"

// seedBlocks are genesis, block 170 (the first spend), a made segwit block, and real ones where the data folder is.
func seedBlocks(f *testing.F) (seeds [][]byte) {
	file, err := mainnet.Blocks()
	if err != nil {
		f.Fatal(err)
	}
	blocks := realdata.Split(f, file)
	seeds = append(seeds, blocks[0], blocks[170], encode(smallBlock(), true), encode(smallBlock(), false))
	if dir, ok := realdata.Dir(); ok {
		for _, name := range []string{"signet/blocks/31500.blk.gz", "testnet4/blocks/40000.blk.gz"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				seeds = append(seeds, realdata.Read(f, name))
			}
		}
	}
	return seeds
}

func FuzzBlock(f *testing.F) {
	for _, seed := range seedBlocks(f) {
		f.Add(seed)
	}
	var b chain.Block // reused as in a node
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 1<<20 {
			return
		}
		err := b.Decode(raw)
		if err == nil {
			if got := b.Append(nil); !bytes.Equal(got, raw) {
				t.Fatalf("encodes to %x", got)
			}
			if !hasEmptyTx(&b) {
				matchWireBlock(t, &b)
			}
			return
		}
		if len(b.Txs)+len(b.Raw) != 0 {
			t.Fatal("a failed decode left rows behind")
		}
		// wire makes room for as many objects as a count claims; the largest claims cost gigabytes.
		reader := bytes.NewReader(raw)
		if w := new(wire.MsgBlock); claimsFit(raw) && w.Deserialize(reader) == nil && reader.Len() == 0 {
			t.Fatalf("refused (%v), but wire reads it all", err)
		}
	})
}

func FuzzTx(f *testing.F) {
	raw, err := hex.DecodeString(p2wpkhTx)
	if err != nil {
		f.Fatal(err)
	}
	var b chain.Block
	if err := b.DecodeTx(raw); err != nil || len(b.Ins) != 2 || len(b.Outs) != 2 || len(b.Items) != 2 {
		f.Fatalf("seed: %v, %d inputs, %d outputs, %d items", err, len(b.Ins), len(b.Outs), len(b.Items))
	}
	f.Add(raw)
	f.Add([]byte{1, 0, 0, 0, 0, 0, 9, 8, 7, 6})
	for _, seed := range seedBlocks(f) {
		if err := b.Decode(seed); err != nil {
			f.Fatal(err)
		}
		for i := range b.Txs {
			f.Add(b.AppendTx(nil, i, true))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 1<<20 {
			return
		}
		err := b.DecodeTx(raw)
		if err == nil {
			if got := b.AppendTx(nil, 0, true); !bytes.Equal(got, raw) {
				t.Fatalf("encodes to %x", got)
			}
			if !hasEmptyTx(&b) {
				matchWireTx(t, &b)
			}
			return
		}
		reader := bytes.NewReader(raw)
		if w := new(wire.MsgTx); w.Deserialize(reader) == nil && reader.Len() == 0 {
			t.Fatalf("refused (%v), but wire reads it all", err)
		}
	})
}

func hasEmptyTx(b *chain.Block) bool {
	for i := range b.Txs {
		if b.Txs[i].Ins == 0 {
			return true
		}
	}
	return false
}

// claimsFit tells whether the transaction count, if it is readable, is one that the bytes could hold.
func claimsFit(raw []byte) bool {
	if len(raw) < chain.HeaderSize {
		return true
	}
	n, _, ok := chain.CompactSize(raw[chain.HeaderSize:])
	return !ok || n <= uint64(len(raw))
}

func matchWireBlock(t *testing.T, b *chain.Block) {
	t.Helper()
	var w wire.MsgBlock
	reader := bytes.NewReader(b.Raw)
	if err := w.Deserialize(reader); err != nil || reader.Len() != 0 {
		t.Fatalf("decoded, but wire says %v with %d bytes left", err, reader.Len())
	}
	txids, wtxids := b.Txids(nil), b.Wtxids(nil)
	if len(w.Transactions) != len(b.Txs) || chain.Hash(w.BlockHash()) != b.Header.Hash() {
		t.Fatalf("block %v of %d transactions, wire's %v of %d",
			b.Header.Hash(), len(b.Txs), w.BlockHash(), len(w.Transactions))
	}
	for i, tx := range w.Transactions {
		if chain.Hash(tx.TxHash()) != txids[i] || chain.Hash(tx.WitnessHash()) != wtxids[i] {
			t.Fatalf("tx %d is %v %v, wire's %v %v", i, txids[i], wtxids[i], tx.TxHash(), tx.WitnessHash())
		}
	}
}

func matchWireTx(t *testing.T, b *chain.Block) {
	t.Helper()
	var w wire.MsgTx
	reader := bytes.NewReader(b.Raw)
	if err := w.Deserialize(reader); err != nil || reader.Len() != 0 {
		t.Fatalf("decoded, but wire says %v with %d bytes left", err, reader.Len())
	}
	txid, wtxid := b.Txids(nil)[0], b.Wtxids(nil)[0]
	if chain.Hash(w.TxHash()) != txid || chain.Hash(w.WitnessHash()) != wtxid {
		t.Fatalf("ids %v %v, wire's %v %v", txid, wtxid, w.TxHash(), w.WitnessHash())
	}
	if stripped, total := b.TxSize(0); stripped != w.SerializeSizeStripped() || total != w.SerializeSize() {
		t.Fatalf("sizes %d, %d, wire's %d, %d", stripped, total, w.SerializeSizeStripped(), w.SerializeSize())
	}
}
