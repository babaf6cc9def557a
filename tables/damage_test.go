package tables_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"stele/chain"
	"stele/internal/archivetest"
	"stele/internal/chaintest"
	"stele/store"
	"stele/tables"
)

// smallStore makes a store with a dozen blocks, spends in and across them, an output that cannot be spent, a
// reorganisation, and every index merged. It returns the disk and the chain.
func smallStore(tb testing.TB) (*store.MemDisk, []*chaintest.Block) {
	d := store.NewMemDisk()
	d.SetReserveCap(256 << 10)
	t, err := tables.Create(d, chain.Regtest(), tables.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	put := func(b *chaintest.Block) {
		var x chain.Block
		if err := x.Decode(b.Raw); err != nil {
			tb.Fatal(err)
		}
		parent, _ := t.FindHeader(&b.Parent.Hash)
		l, err := t.PutHeader(&x.Header, &b.Hash, parent, naiveMTP(b))
		if err != nil {
			tb.Fatal(err)
		}
		var r tables.Rows
		ids := x.Txids(nil)
		if err := r.Encode(&x, ids); err != nil {
			tb.Fatal(err)
		}
		if err := archivetest.MustPush(t, l, &x, ids, &r); err != nil {
			tb.Fatal(err)
		}
	}
	spend := func(b *chaintest.Block, n uint32) *chaintest.Tx {
		tx := &chaintest.Tx{Version: 2, Ins: []chaintest.Outpoint{{Txid: b.Txids[0]}}, Witness: n%2 == 0}
		for i := range n {
			tx.Outs = append(tx.Outs, chaintest.Output{Value: int64(i), Script: []byte{0x51, byte(i)}})
		}
		tx.Outs = append(tx.Outs, chaintest.Output{Script: []byte{0x6a, 1}})
		return tx
	}
	best := []*chaintest.Block{chaintest.Genesis()}
	next := func(salt uint32, txs ...*chaintest.Tx) {
		b := best[len(best)-1].Next(salt, txs...)
		put(b)
		best = append(best, b)
	}
	for i := range uint32(12) {
		if i < 2 {
			next(1)
		} else {
			next(1, spend(best[i-1], 40+i))
		}
	}
	old := best[len(best)-1]
	if err := t.Pop(); err != nil {
		tb.Fatal(err)
	}
	best = best[:len(best)-1]
	next(2, spend(best[10], 50))
	next(2)
	if _, err := t.PutPending(old.Next(3).Raw); err != nil {
		tb.Fatal(err)
	}
	if err := t.Close(); err != nil {
		tb.Fatal(err)
	}
	return d, best
}

// flip changes bits of one byte of a file behind the store's back.
func flip(tb testing.TB, d *store.MemDisk, name string, off int64, mask byte) {
	f, err := d.Open(name, store.FileOptions{MustExist: true})
	if err != nil {
		tb.Fatal(err)
	}
	b := []byte{f.Mapping().Bytes()[off] ^ mask}
	if err := f.WriteAt(b, off); err != nil {
		tb.Fatal(err)
	}
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
}

// found says whether damage shows: at open, or in a deep check.
func found(d *store.MemDisk) (bool, error) {
	t, err := tables.Open(d, chain.Regtest(), tables.Options{})
	if err != nil {
		var damaged *store.Damaged
		var foreign *store.Foreign
		if errors.As(err, &damaged) || errors.As(err, &foreign) || errors.Is(err, fs.ErrNotExist) {
			return true, nil
		}
		return true, err
	}
	r, err := t.Check(true, nil)
	return !r.OK(), err
}

// TestDamageIsFound flips a bit in every 41st byte of what a store's manifest covers, a byte at a time. Open refuses the
// store with a typed error, or a deep check names the damage. What is not covered is left out by name: blocks that are
// not archived, states (which no row can prove), room that files have beyond their data, and the zeros of the header
// pages of indexes.
func TestDamageIsFound(t *testing.T) {
	d, best := smallStore(t)
	names, err := d.List()
	if err != nil {
		t.Fatal(err)
	}
	lengths := usedBytes(t, d)
	flips, missed := 0, map[string]int{}
	for _, name := range names {
		if name == "manifest" || strings.HasPrefix(name, "pending") || strings.HasPrefix(name, "state") {
			continue
		}
		index := strings.Contains(name, "-")
		for off := int64(0); off < lengths[name]; off += 41 {
			if index && (off >= 96 && off < 512 || off >= 536 && off < store.PageSize) {
				continue
			}
			image := d.Clone()
			flip(t, image, name, off, 1<<(off%8))
			flips++
			ok, err := found(image)
			if err != nil {
				t.Errorf("%s, byte %d: an error that is no damage: %v", name, off, err)
			}
			if !ok {
				missed[name]++
				if missed[name] < 4 {
					t.Errorf("%s, byte %d (data %d): a flipped bit is not found", name, off, off-store.PageSize)
				}
			}
		}
	}
	t.Logf("%d flips in %d blocks' files", flips, len(best))
	if flips < 1000 {
		t.Errorf("only %d flips", flips)
	}
}

// usedBytes returns how many bytes of each file are data, from the sizes that the tables report.
func usedBytes(t *testing.T, d *store.MemDisk) map[string]int64 {
	tb, err := tables.Open(d.Clone(), chain.Regtest(), tables.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int64{}
	for _, s := range tb.Stats() {
		all[s.Name] = store.PageSize + int64(s.BodyBytes)
		for _, suffix := range []string{".lines-1", ".cells-1", ".multi-1"} {
			all[s.Name+suffix] = store.PageSize + int64(s.HeadBytes)
		}
	}
	names, _ := d.List()
	for _, n := range names {
		if f, err := d.Open(n, store.FileOptions{MustExist: true}); err == nil {
			all[n] = min(all[n], f.Size())
		}
	}
	return all
}

// TestTruncatedFiles cuts each file by a byte, a page, and half.
func TestTruncatedFiles(t *testing.T) {
	d, _ := smallStore(t)
	names, _ := d.List()
	used := usedBytes(t, d)
	slices.Sort(names)
	for _, name := range names {
		if strings.HasPrefix(name, "pending") {
			continue
		}
		full := used[name]
		if name == "manifest" {
			full = 3 * store.PageSize
		}
		for _, size := range []int64{full - 1, full - store.PageSize, full / 2, 0} {
			image := d.Clone()
			f, err := image.Open(name, store.FileOptions{MustExist: true})
			if err != nil || full == 0 || size < 0 {
				continue
			}
			if err := f.Truncate(size); err != nil {
				t.Fatal(err)
			}
			_ = f.Close()
			if ok, err := found(image); !ok || err != nil {
				t.Errorf("%s cut from %d to %d bytes: found %v, %v", name, full, size, ok, err)
			}
		}
	}
}

// FuzzOpen opens a store with a few bytes changed anywhere, and asks everything of it that opens. Nothing may panic, and
// nothing may hang.
func FuzzOpen(f *testing.F) {
	d, best := smallStore(f)
	names, err := d.List()
	if err != nil {
		f.Fatal(err)
	}
	slices.Sort(names)
	f.Add([]byte{0, 0, 0, 1})
	f.Add([]byte{3, 16, 0, 255, 5, 17, 9, 128, 7, 16, 60, 3})
	f.Fuzz(func(t *testing.T, changes []byte) {
		image := d.Clone()
		for ; len(changes) >= 4; changes = changes[4:] {
			name := names[int(changes[0])%len(names)]
			file, err := image.Open(name, store.FileOptions{MustExist: true})
			if err != nil {
				t.Fatal(err)
			}
			size := file.Size()
			_ = file.Close()
			if off := (int64(changes[1])<<8 | int64(changes[2])) % max(size, 1); size > 0 {
				flip(t, image, name, off, changes[3])
			}
		}
		tb, err := tables.Open(image, chain.Regtest(), tables.Options{})
		if err != nil {
			return
		}
		_, _ = tb.Check(true, nil)
		v := tb.View()
		for _, b := range best {
			if l, ok := v.FindHeader(&b.Hash); ok {
				_, _, _ = v.AppendBlock(nil, l)
			}
			for i := range b.Txids {
				if l, ok := v.FindTx(&b.Txids[i]); ok {
					_, _, _ = v.TxSize(l)
					tx := v.Tx(l)
					for n := range tx.Outs {
						_, _ = v.Spender(tx.FirstOut + tables.OutputLink(n))
						_ = v.Spenders(nil, tx.FirstOut+tables.OutputLink(n))
					}
				}
			}
		}
		_ = tb.Close()
	})
}
