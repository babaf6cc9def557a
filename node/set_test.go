package node

import (
	"testing"

	"stele/chain"
	"stele/store"
	"stele/tables"
	"stele/utxo"
)

// The set of unspent outputs, fed with the archive block by block, is what the tables say is unspent: every coin, with
// its output's number, and no other. Its hashes are those that Bitcoin Core gives for the chain.
func TestSetFromTheArchive(t *testing.T) {
	t.Run("mainnet", func(t *testing.T) {
		d := store.NewMemDisk()
		d.SetReserveCap(16 << 20)
		r := newRig(t, d, chain.Main())
		defer r.discard()
		r.run(t, streamOptions(mainBlocks(t)))
		s := r.replaySet(t)
		r.wantSet(t, s, 13_416, "74c5a654587d4eaac9248b73889453e0b2fbc918bbc7bb8d8e6301d4d8c98db3",
			"859e27f17a6cce9768b75dd0dbd969890157d29a152b0f4a0afa6c67cbcd5975")
	})
	t.Run("regtest", func(t *testing.T) {
		c := core(t)
		r := memRig(t, chain.Regtest())
		r.load(t, c.blocks...)
		r.wantCore(t, c)
		s := r.replaySet(t)
		r.wantSet(t, s, uint64(c.unspent), c.setHash, "")
	})
}

// replaySet commits every block of the readers' chain above genesis, rebuilt from its rows, to a new set.
func (r *rig) replaySet(t *testing.T) *utxo.Set {
	t.Helper()
	s := utxo.New(utxo.Options{Salt: 1, Heap: true})
	t.Cleanup(s.Close)
	v := r.t.View()
	_, tip := v.Tip()
	var block chain.Block
	var change utxo.Block
	var undo utxo.Undo
	var raw []byte
	var txids []chain.Hash
	for height := uint32(1); height <= tip; height++ {
		l, _ := v.HeaderAt(height)
		row, ok := v.Block(l)
		var err error
		if raw, _, err = v.AppendBlock(raw[:0], l); err != nil || !ok {
			t.Fatal(height, err)
		}
		if err := block.Decode(raw); err != nil {
			t.Fatal(err)
		}
		txids = block.Txids(txids[:0])
		change.Take(&block, txids, height, uint64(row.FirstOut))
		if err := s.Commit(&change, &undo); err != nil {
			t.Fatalf("height %d: %v", height, err)
		}
	}
	return s
}

func (r *rig) wantSet(t *testing.T, s *utxo.Set, outputs uint64, serialized, muhash string) {
	t.Helper()
	n, buf := uint64(0), []byte(nil)
	err := r.t.View().EachUnspent(func(u *tables.Unspent) error {
		c, link, scripts, ok := s.Get(u.Txid, u.Vout, buf[:0])
		buf = scripts
		if !ok || c.Value != u.Value || string(c.Script) != string(u.Script) || c.Height != u.Height ||
			c.Coinbase != u.Coinbase || link != uint64(u.Output) {
			t.Errorf("%v:%d is %+v, number %d, %v; the tables say %+v", u.Txid, u.Vout, c, link, ok, u)
		}
		n++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	stats, hash, err := utxo.Serialized3Of(s, 2, nil)
	if err != nil || n != outputs || stats.Outputs != outputs || hash.String() != serialized {
		t.Errorf("%d unspent, %+v, %v, %v; want %d, %s", n, stats, hash, err, outputs, serialized)
	}
	if _, m, err := utxo.MuHashOf(s, 2, nil); muhash != "" && (err != nil || m.Sum().String() != muhash) {
		t.Errorf("muhash %v, %v; want %s", m.Sum(), err, muhash)
	}
}
