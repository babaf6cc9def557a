package utxo

import (
	"bytes"
	"slices"
	"testing"

	"stele/chain"
	"stele/internal/realdata"
)

// TestSetCoreChain plays Core's regtest chain into a set, which must be what Core had at every tenth height and at the
// end, on the way there and back, and read every coin that a block spends as its plain twin does.
func TestSetCoreChain(t *testing.T) {
	want := answers(t)
	blocks := bestChain(t, want)
	s := New(Options{Salt: 99})
	defer s.Close()
	plain, mu := coinSet{}, NewMuHash()
	var undos []*Undo
	var b Block
	first := uint64(0)
	for height, raw := range blocks {
		u := new(Undo)
		if height > 0 {
			b.Take(raw, raw.Txids(nil), uint32(height), first)
			if err := s.Commit(&b, u); err != nil {
				t.Fatalf("height %d: %v", height, err)
			}
			plain.checkSpent(t, u)
		}
		plain.connect(raw, uint32(height), mu)
		first += uint64(len(raw.Outs))
		undos = append(undos, u)
		if height%10 == 0 {
			want.Marks[height/10].check(t, coinsOf(t, s))
		}
	}
	want.Final.check(t, coinsOf(t, s))
	for height := len(blocks) - 1; height > 0; height-- {
		if height%10 == 0 {
			want.Marks[height/10].check(t, coinsOf(t, s))
		}
		if err := s.Undo(undos[height]); err != nil {
			t.Fatalf("height %d: %v", height, err)
		}
	}
	if r := s.Report(); r.Outputs != 0 || r.Records != 0 || r.Payload != 0 {
		t.Errorf("left at height 0: %+v", r)
	}
}

// checkSpent compares the coins that a commit returned with the plain set in front of the block.
func (s coinSet) checkSpent(t *testing.T, u *Undo) {
	t.Helper()
	for _, x := range u.Spent {
		c, ok := s[outpoint{x.Point.Txid, x.Point.Vout}]
		if ok == x.Own {
			t.Fatalf("%v was in the set: %v", x.Point, ok)
		}
		if ok && (c.Value != x.Coin.Value || c.Height != x.Coin.Height || c.Coinbase != x.Coin.Coinbase ||
			!bytes.Equal(c.Script, x.Coin.Script)) {
			t.Fatalf("spent %+v, want %+v", x, c)
		}
	}
}

// coinsOf reads a set in order.
func coinsOf(t *testing.T, s *Set) (all []Coin) {
	t.Helper()
	for i := range shards {
		err := s.Shard(i, func(r *Record) error {
			txid := r.Txid
			for _, o := range r.Outs {
				all = append(all, Coin{&txid, o.Vout, r.Height, r.Coinbase, o.Value, slices.Clone(o.Script)})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(all, order)
	return all
}

// TestRealRecords writes the outputs of real blocks in all three forms, which must agree field by field and in this
// order of size.
func TestRealRecords(t *testing.T) {
	outputs, sizes := 0, [3]int{}
	for _, name := range []string{"702861", "709632", "757739", "800000", "951658"} {
		var b chain.Block
		if err := b.Decode(realdata.Read(t, "mainnet", "blocks", name+".blk.gz")); err != nil {
			t.Fatal(err)
		}
		var x Block
		x.Take(&b, b.Txids(nil), 700_000, 1<<31)
		for _, m := range x.Made {
			r := Record{Txid: m.Txid, Height: x.Height, Coinbase: m.Coinbase, First: m.First, Outs: m.Outs}
			outputs += len(r.Outs)
			for i, n := range realRecord(t, &r) {
				sizes[i] += n
			}
		}
	}
	t.Logf("%d outputs: %d bytes, v5 %d, v4 %d", outputs, sizes[0], sizes[1], sizes[2])
	if outputs < 20_000 || sizes[0] > sizes[1] || sizes[1] > sizes[2] {
		t.Errorf("%d outputs of sizes %v", outputs, sizes)
	}
}

func realRecord(t *testing.T, r *Record) [3]int {
	t.Helper()
	rec, err := AppendRecord(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	v4, _ := AppendV4(nil, oldOf(r))
	v5, _ := AppendV5(nil, oldOf(r))
	var have Record
	var from4, from5 OldRecord
	if _, err := DecodeRecord(r.Txid[0], rec, &have, nil); err != nil {
		t.Fatal(err)
	}
	if err := DecodeV4(v4, &from4); err != nil {
		t.Fatal(err)
	}
	if err := DecodeV5(v5, &from5); err != nil {
		t.Fatal(err)
	}
	if what, same := sameRecord(&have, r); !same {
		t.Fatalf("%v: %s differs", r.Txid, what)
	}
	if !slices.EqualFunc(from4.Outs, from5.Outs, sameOld) || len(from4.Outs) != len(r.Outs) {
		t.Fatalf("%v: v4 and v5 differ", r.Txid)
	}
	return [3]int{len(rec), len(v5), len(v4)}
}
