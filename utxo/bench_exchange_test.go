package utxo

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"testing"

	"stele/chain"
	"stele/store"
)

// manySet is a set of n coins of 1.42 in a transaction, with scripts as in the chain of these years.
func manySet(n int) *Set {
	r := rand.New(rand.NewPCG(1, 2))
	set := New(Options{Salt: 3, Records: uint64(n)})
	for coins := 0; coins < n; {
		rec := Record{Height: 500_000 + r.Uint32N(400_000), First: uint64(coins)}
		for i := range 4 {
			binary.LittleEndian.PutUint64(rec.Txid[8*i:], r.Uint64())
		}
		outs := 1 + max(0, int(r.ExpFloat64()-0.86))
		for vout := range outs {
			var s []byte
			switch r.IntN(8) {
			case 0, 1, 2:
				s = append(append([]byte{0x76, 0xa9, 20}, rec.Txid[:20]...), 0x88, 0xac)
			case 3:
				s = append(append([]byte{0xa9, 20}, rec.Txid[:20]...), 0x87)
			case 4, 5:
				s = append([]byte{0, 20}, rec.Txid[:20]...)
			default:
				s = append([]byte{0x51, 32}, rec.Txid[:]...)
			}
			rec.Outs = append(rec.Outs, Entry{Vout: uint32(vout), Value: r.Int64N(1_000_000), Script: s})
		}
		coins += outs
		if err := set.Load(&rec); err != nil {
			panic(err)
		}
	}
	return set
}

// benchSet reports coins a second, over a set of 300,000.
func benchSet(b *testing.B, f func(b *testing.B, set *Set, coins uint64)) {
	set := manySet(300_000)
	defer set.Close()
	stats, _, err := Serialized3Of(set, 2, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for b.Loop() {
		f(b, set, stats.Outputs)
	}
	b.ReportMetric(float64(stats.Outputs)*float64(b.N)/b.Elapsed().Seconds(), "coins/s")
}

func BenchmarkDump(b *testing.B) {
	benchSet(b, func(b *testing.B, set *Set, coins uint64) {
		if _, _, err := WriteSnapshot(io.Discard, SnapshotHead{Coins: coins}, set, 2, nil); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkSerialized3Of(b *testing.B) {
	benchSet(b, func(b *testing.B, set *Set, _ uint64) {
		if _, _, err := Serialized3Of(set, 2, nil); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkMuHashOf(b *testing.B) {
	benchSet(b, func(b *testing.B, set *Set, _ uint64) {
		if _, _, err := MuHashOf(set, 2, nil); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkLoad reads a snapshot into an empty set.
func BenchmarkLoad(b *testing.B) {
	var file bytes.Buffer
	benchSet(b, func(b *testing.B, set *Set, coins uint64) {
		if file.Len() == 0 {
			if _, _, err := WriteSnapshot(&file, SnapshotHead{Coins: coins}, set, 2, nil); err != nil {
				b.Fatal(err)
			}
		}
		s, err := NewSnapshotReader(bytes.NewReader(file.Bytes()))
		loaded := New(Options{Records: coins})
		defer loaded.Close()
		for err == nil {
			var r *Record
			if r, err = s.Next(); err == nil {
				err = loaded.Load(r)
			}
		}
		if err != io.EOF {
			b.Fatal(err)
		}
	})
}

// BenchmarkVerify compares a snapshot with the set.
func BenchmarkVerify(b *testing.B) {
	var file bytes.Buffer
	benchSet(b, func(b *testing.B, set *Set, coins uint64) {
		if file.Len() == 0 {
			if _, _, err := WriteSnapshot(&file, SnapshotHead{Coins: coins}, set, 2, nil); err != nil {
				b.Fatal(err)
			}
		}
		s, err := NewSnapshotReader(bytes.NewReader(file.Bytes()))
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := s.VerifySnapshot(set, 2, nil); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkImage saves an image on the heap, and loads it into an empty set.
func BenchmarkImage(b *testing.B) {
	head := ImageHead{Network: chain.Main().Magic}
	d := onStore{store.NewMemDisk()}
	d.Disk.(*store.MemDisk).SetReserveCap(64 << 20)
	b.Run("save", func(b *testing.B) {
		benchSet(b, func(b *testing.B, set *Set, _ uint64) {
			if err := SaveImage(d, head, set, 2, nil); err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("load", func(b *testing.B) {
		benchSet(b, func(b *testing.B, _ *Set, coins uint64) {
			i, err := OpenImage(d)
			if err != nil {
				b.Fatal(err)
			}
			loaded := New(Options{Records: coins})
			defer loaded.Close()
			if err := Each(i, 2, loaded.Load, nil); err != nil {
				b.Fatal(err)
			}
		})
	})
}
