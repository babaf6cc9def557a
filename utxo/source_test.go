package utxo

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stele/chain"
)

// naive is a set as a map, whose order is different at each reading.
type naive map[chain.Hash]*Record

func (n naive) Shard(shard int, f func(*Record) error) error {
	for txid, t := range n {
		if int(txid[0]) == shard {
			c := *t
			c.Outs = slices.Clone(t.Outs)
			if err := f(&c); err != nil {
				return err
			}
		}
	}
	return nil
}

// coins are all, in order.
func (n naive) coins() (all []Coin) {
	for _, t := range n {
		for i := range t.Outs {
			var c Coin
			t.coin(&c, &t.Outs[i])
			all = append(all, c)
		}
	}
	slices.SortFunc(all, order)
	return all
}

func (n naive) outputs() uint64 { return uint64(len(n.coins())) }

// collect reads a source into a map.
func collect(t interface{ Fatal(...any) }, s Source) naive {
	n := naive{}
	for shard := range Shards {
		err := s.Shard(shard, func(c *Record) error {
			if int(c.Txid[0]) != shard || n[c.Txid] != nil {
				return fmt.Errorf("%v is given twice, or by shard %d", c.Txid, shard)
			}
			n.add(c)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// add keeps a copy.
func (n naive) add(c *Record) {
	kept := *c
	kept.Outs = nil
	for _, o := range c.Outs {
		o.Script = append([]byte{}, o.Script...)
		kept.Outs = append(kept.Outs, o)
	}
	n[c.Txid] = &kept
}

// sets draws sets with few txids, of which some differ late, in few shards; vouts lie at limits of CompactSize and VARINT.
func sets() *rapid.Generator[naive] {
	return rapid.Custom(func(t *rapid.T) naive {
		n := naive{}
		for range rapid.IntRange(0, 8).Draw(t, "txs") {
			c := Record{
				Height:   rapid.OneOf(rapid.Uint32Range(0, 1000), rapid.Uint32Range(0, 1<<31-1)).Draw(t, "height"),
				Coinbase: rapid.Bool().Draw(t, "coinbase"),
				First:    rapid.OneOf(rapid.Uint64Range(0, 1<<40), rapid.Uint64()).Draw(t, "first"),
			}
			c.Txid[0] = rapid.SampledFrom([]byte{0, 1, 7, 255}).Draw(t, "shard")
			c.Txid[rapid.SampledFrom([]int{1, 8, 9, 31}).Draw(t, "at")] = rapid.ByteRange(0, 3).Draw(t, "txid")
			vouts := rapid.OneOf(rapid.Uint32Range(0, 5), rapid.SampledFrom([]uint32{
				251, 252, 253, 254, 255, 256, 257, 16510, 16511, 16512, 16513, 65535, 65536, 2113663, 2113664, maxVout,
			}), rapid.Uint32Range(0, maxVout))
			for _, vout := range rapid.SliceOfNDistinct(vouts, 1, 6, rapid.ID[uint32]).Draw(t, "vouts") {
				c.Outs = append(c.Outs, Entry{vout, amounts().Draw(t, "value"), scripts().Draw(t, "script")})
			}
			slices.SortFunc(c.Outs, func(a, b Entry) int { return int(int64(a.Vout) - int64(b.Vout)) })
			n.add(&c)
		}
		return n
	})
}

func same(t interface{ Fatalf(string, ...any) }, what string, got, want naive) {
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// The hashes of a source on several goroutines are those of its coins in order on one.
func TestHashesOfSource(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := sets().Draw(t, "set")
		threads := rapid.IntRange(1, 5).Draw(t, "threads")
		ordered, mu := NewSerialized3(), NewMuHash()
		var want Stats
		for _, c := range set.coins() {
			if err := ordered.Add(&c); err != nil {
				t.Fatal(err)
			}
			mu.Add(&c)
			want.Count(&c)
		}
		last := 0
		progress := func(done int) {
			if done != last+1 {
				t.Fatalf("progress goes from %d to %d", last, done)
			}
			last = done
		}
		stats, hash, err := Serialized3Of(set, threads, progress)
		if err != nil || hash != ordered.Sum() || last != Shards {
			t.Fatalf("hash_serialized_3 %v, want %v; %d shards, %v", hash, ordered.Sum(), last, err)
		}
		last = 0
		again, rolled, err := MuHashOf(set, threads, progress)
		if err != nil || rolled.Sum() != mu.Sum() || last != Shards {
			t.Fatalf("muhash %v, want %v; %d shards, %v", rolled.Sum(), mu.Sum(), last, err)
		}
		for _, s := range []*Stats{&want, &stats, &again} {
			s.last = chain.Hash{}
		}
		if stats != want || again != want {
			t.Fatalf("%+v and %+v, want %+v", stats, again, want)
		}
	})
}

// broken fails in one shard.
type broken struct {
	Source
	shard int
	err   error
}

func (b broken) Shard(shard int, f func(*Record) error) error {
	if shard == b.shard {
		return b.err
	}
	return b.Source.Shard(shard, f)
}

func TestSourceFails(t *testing.T) {
	set := naive{}
	for shard := range 256 {
		set.add(&Record{Txid: chain.Hash{byte(shard)}, Outs: []Entry{{Script: []byte{1}}}})
	}
	want := errors.New("as a test")
	for _, shard := range []int{0, 1, 100, 255} {
		s := broken{set, shard, want}
		if _, _, err := Serialized3Of(s, 3, nil); !errors.Is(err, want) {
			t.Errorf("hash_serialized_3: %v", err)
		}
		if _, _, err := MuHashOf(s, 3, nil); !errors.Is(err, want) {
			t.Errorf("muhash: %v", err)
		}
		if err := Each(s, 3, func(*Record) error { return nil }, nil); !errors.Is(err, want) {
			t.Errorf("each: %v", err)
		}
		var file bytes.Buffer
		if _, _, err := WriteSnapshot(&file, SnapshotHead{Coins: 256}, s, 3, nil); !errors.Is(err, want) {
			t.Errorf("snapshot: %v", err)
		}
	}
}

// counted counts the goroutines that read.
type counted struct {
	Source
	running atomic.Int32
}

func (c *counted) Shard(shard int, f func(*Record) error) error {
	c.running.Add(1)
	defer c.running.Add(-1)
	runtime.Gosched()
	return c.Source.Shard(shard, f)
}

// Nothing reads a source any more when what asked for it has returned, even early.
func TestNobodyReadsOn(t *testing.T) {
	want := errors.New("as a test")
	for range 200 {
		c := &counted{Source: naive{}}
		err := eachSorted(c, 4, spelling{hash: true}, func(shard int, _ *sorted) error {
			if shard == 20 {
				return want
			}
			return nil
		})
		if !errors.Is(err, want) || c.running.Load() != 0 {
			t.Fatalf("%d are still reading, %v", c.running.Load(), err)
		}
		shards := atomic.Int32{}
		err = eachShard(4, func() func(int) error {
			return func(int) error {
				if shards.Add(1) == 20 {
					return want
				}
				return c.Source.Shard(0, nil)
			}
		})
		if n := shards.Load(); !errors.Is(err, want) || n > 24 {
			t.Fatalf("%d shards were read, %v", n, err)
		}
	}
}

// fixed gives one record again and again.
type fixed struct {
	r Record
	n int
}

func (s *fixed) Shard(shard int, f func(*Record) error) error {
	for i := range s.n {
		s.r.Txid = chain.Hash{byte(shard), byte(i), byte(i >> 8)}
		if err := f(&s.r); err != nil {
			return err
		}
	}
	return nil
}

// Putting a shard in order and spelling it allocates nothing, once its memory has grown.
func TestSortedDoesNotAllocate(t *testing.T) {
	s := &fixed{n: 2000}
	s.r.Outs = []Entry{{0, 5000, make([]byte, 22)}, {1, 123456, append([]byte{0x51, 32}, make([]byte, 32)...)}}
	var b sorted
	for what, how := range map[string]spelling{
		"hash": {hash: true}, "snapshot": {hash: true, file: appendSnapshotTx}, "image": {file: appendImageTx},
	} {
		b.fill(s, 1, how)
		if n := testing.AllocsPerRun(20, func() { b.fill(s, 1, how) }); n > 4 { // of the closures, not of coins
			t.Errorf("%s: %v allocations for %d transactions", what, n, s.n)
		}
	}
	var file bytes.Buffer
	one := &fixed{n: 20, r: s.r}
	if _, _, err := WriteSnapshot(&file, SnapshotHead{Coins: 256 * 40}, one, 1, nil); err != nil {
		t.Fatal(err)
	}
	r, err := NewSnapshotReader(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(1000, func() { _, err = r.Next() }); n != 0 || err != nil {
		t.Errorf("reading: %v allocations a transaction, %v", n, err)
	}
}

func TestMuHashState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := NewMuHash()
		for _, c := range distinct(t, "added") {
			h.Add(&c)
		}
		for _, c := range distinct(t, "removed") {
			h.Remove(&c)
		}
		state := h.State()
		back := NewMuHash()
		back.Restore(&state)
		for _, c := range distinct(t, "more") {
			h.Add(&c)
			back.Add(&c)
		}
		if back.Sum() != h.Sum() {
			t.Fatalf("restored %v, want %v", back.Sum(), h.Sum())
		}
		h.Reset()
		if h.Sum() != NewMuHash().Sum() {
			t.Fatalf("reset %v", h.Sum())
		}
	})
}
