package utxo

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
	"stele/internal/realdata"
	"stele/store"
)

// A Set takes what snapshots and images hold, and gives the same files and hashes again.
func TestSetExchanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { exchange(t, sets().Draw(t, "set")) })
}

func exchange(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, want naive) (hash chain.Hash) {
	d := onStore{store.NewMemDisk()}
	if err := SaveImage(d, headOfTest, want, 2, nil); err != nil {
		t.Fatal(err)
	}
	i, err := OpenImage(d)
	if err != nil {
		t.Fatal(err)
	}
	set := New(Options{Heap: true, Salt: 5})
	defer set.Close()
	if err := Each(i, 3, set.Load, nil); err != nil {
		t.Fatal(err)
	}
	same(t, "set", collect(t, set), want)
	e := onStore{store.NewMemDisk()}
	if err := SaveImage(e, headOfTest, set, 2, nil); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytesOf(t, d), bytesOf(t, e)) {
		t.Fatal("the image of the set is another one")
	}
	var file, again bytes.Buffer
	head := SnapshotHead{Coins: want.outputs()}
	_, hash, err = WriteSnapshot(&file, head, want, 2, nil)
	if _, got, err2 := WriteSnapshot(&again, head, set, 2, nil); err != nil || err2 != nil || got != hash {
		t.Fatalf("%v and %v, %v and %v", hash, got, err, err2)
	}
	if !bytes.Equal(file.Bytes(), again.Bytes()) {
		t.Fatal("the snapshot of the set is another one")
	}
	return hash
}

func TestSetExchangesCore(t *testing.T) {
	want := answers(t)
	_, set, err := readSnapshot(bytes.NewReader(realdata.Read(t, "core_regtest", "utxo_snapshot_415.dat")))
	if err != nil {
		t.Fatal(err)
	}
	if hash := exchange(t, set); hash.String() != want.Final.Serialized3 {
		t.Errorf("hash_serialized_3 %v, want %v", hash, want.Final.Serialized3)
	}
}

// verified is a set of 40 transactions with three outputs each.
func verified() naive {
	n := naive{}
	for i := range 40 {
		c := Record{Txid: chain.Hash{byte(i * 6), byte(i)}, Height: 5, Outs: []Entry{
			{0, 100, []byte{0x51}}, {3, 200, []byte{0x52}}, {70000, 300, []byte{0x53}},
		}}
		n.add(&c)
	}
	return n
}

// Every way in which a snapshot can differ from a set is found, in the coin where it is, and told.
func TestVerify(t *testing.T) {
	at := chain.Hash{60, 10}
	for what, c := range map[string]struct {
		change func(n naive)
		vout   uint32
		tell   string
	}{
		"same":       {change: func(naive) {}},
		"value":      {func(n naive) { n[at].Outs[1].Value++ }, 3, "with value 201, not 200"},
		"script":     {func(n naive) { n[at].Outs[2].Script = []byte{0x54} }, 70000, "with script 54, not 53"},
		"height":     {func(n naive) { n[at].Height++ }, 0, "with height 6, not 5"},
		"coinbase":   {func(n naive) { n[at].Coinbase = true }, 0, "with coinbase true, not false"},
		"coin more":  {func(n naive) { n[at].Outs[1].Vout = 2 }, 2, "the snapshot has"},
		"coin less":  {func(n naive) { n[at].Outs = n[at].Outs[1:] }, 0, "the snapshot lacks"},
		"last less":  {func(n naive) { n[at].Outs = n[at].Outs[:2] }, 70000, "the snapshot lacks"},
		"tx less":    {func(n naive) { delete(n, at) }, 0, "the snapshot lacks"},
		"tx another": {func(n naive) { n[at].Txid[31]++ }, 0, ""},
		"tail less": {func(n naive) {
			for txid := range n {
				if bytes.Compare(txid[:], at[:]) >= 0 {
					delete(n, txid)
				}
			}
		}, 0, "the snapshot lacks"},
	} {
		changed := verified()
		c.change(changed)
		renamed := naive{}
		for _, r := range changed {
			renamed.add(r)
		}
		s, err := NewSnapshotReader(bytes.NewReader(writeSnapshot(t, SnapshotHead{}, renamed)))
		if err != nil {
			t.Fatal(err)
		}
		_, hash, err := s.VerifySnapshot(verified(), 3, nil)
		if what == "same" {
			if _, want, _ := Serialized3Of(verified(), 1, nil); err != nil || hash != want {
				t.Errorf("%s: %v, %v", what, hash, err)
			}
			continue
		}
		d, ok := err.(*Difference)
		if !ok || d.Txid != at || d.Vout != c.vout || !bytes.Contains([]byte(d.Error()), []byte(c.tell)) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// The set lacks what the snapshot has, at the end too.
func TestVerifyLess(t *testing.T) {
	for _, txid := range []chain.Hash{{60, 10}, {39 * 6, 39}} {
		s, err := NewSnapshotReader(bytes.NewReader(writeSnapshot(t, SnapshotHead{}, verified())))
		if err != nil {
			t.Fatal(err)
		}
		less := verified()
		delete(less, txid)
		_, _, err = s.VerifySnapshot(less, 3, nil)
		if d, ok := err.(*Difference); !ok || d.Txid != txid || d.Set != nil || d.File == nil {
			t.Errorf("a set without %v: %v", txid, err)
		}
	}
}
