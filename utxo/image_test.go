package utxo

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc64"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
	"stele/internal/crashdisk"
	"stele/internal/realdata"
	"stele/store"
)

// onStore keeps images on a disk of package store.
type onStore struct{ store.Disk }

type storeFile struct{ store.File }

func (d onStore) Create(name string) (File, error) {
	f, err := d.Open(name, store.FileOptions{})
	if err != nil {
		return nil, err
	}
	return storeFile{f}, f.Truncate(0)
}

func (d onStore) Read(name string) ([]byte, func() error, error) {
	f, err := d.Open(name, store.FileOptions{MustExist: true})
	if err != nil {
		return nil, nil, err
	}
	return f.Mapping().Bytes()[:f.Size()], f.Close, nil
}

var headOfTest = ImageHead{
	Network: chain.Regtest().Magic, Base: chain.Hash{9, 8, 7}, Height: 77,
	Archive: Archive{Store: [16]byte{1, 15: 2}, Order: chain.Hash{3, 31: 4}, Blocks: 81, Outputs: 1 << 33, Log: 1 << 34},
}

// loadImage reads the newest image of a disk.
func loadImage(d Disk) (ImageHead, naive, error) {
	i, err := OpenImage(d)
	if err != nil {
		return ImageHead{}, nil, err
	}
	n := naive{}
	var mu sync.Mutex
	err = Each(i, 3, func(r *Record) error {
		mu.Lock()
		defer mu.Unlock()
		n.add(r)
		return nil
	}, nil)
	head := i.Head
	return head, n, errors.Join(err, i.Close())
}

// bytesOf are an image's, as far as it counts.
func bytesOf(t interface{ Fatal(...any) }, d Disk) []byte {
	i, err := OpenImage(d)
	if err != nil {
		t.Fatal(err)
	}
	end := uint64(imageHead)
	for k := range i.shards {
		end += i.shards[k].bytes
	}
	return slices.Clone(i.b[:end])
}

// A set comes back from its image with all that belongs to it; equal sets give equal files, and there is one file at last.
func TestImageRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := sets().Draw(t, "set")
		head := headOfTest
		mu := NewMuHash()
		for _, c := range set.coins() {
			mu.Add(&c)
		}
		head.MuHash = mu.State()
		var files [2][]byte
		for i := range files {
			d := onStore{store.NewMemDisk()}
			for range i + 1 {
				if err := SaveImage(d, head, set, rapid.IntRange(1, 4).Draw(t, "threads"), nil); err != nil {
					t.Fatal(err)
				}
			}
			got, back, err := loadImage(d)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "set", back, set)
			want := head
			want.Records, want.Outputs = uint64(len(set)), set.outputs()
			if got != want {
				t.Fatalf("head %+v, want %+v", got, want)
			}
			files[i] = bytesOf(t, d)
			if names, err := d.List(); err != nil || len(names) != 1 || names[0] != nameOf(uint64(i+1)) {
				t.Fatalf("files %q, %v", names, err)
			}
		}
		if !bytes.Equal(files[0], files[1]) {
			t.Fatal("two files of one set")
		}
	})
}

func TestImageOfCore(t *testing.T) {
	want := answers(t)
	_, set, err := readSnapshot(bytes.NewReader(realdata.Read(t, "core_regtest", "utxo_snapshot_415.dat")))
	if err != nil {
		t.Fatal(err)
	}
	d := onStore{store.NewMemDisk()}
	if err := SaveImage(d, headOfTest, set, 2, nil); err != nil {
		t.Fatal(err)
	}
	i, err := OpenImage(d)
	if err != nil {
		t.Fatal(err)
	}
	// An image is a source: the hash is that of the set, and a snapshot of it is Core's.
	stats, hash, err := Serialized3Of(i, 2, nil)
	if err != nil || hash.String() != want.Final.Serialized3 ||
		stats.Outputs != want.Final.TxOuts || stats.Outputs != i.Head.Outputs {
		t.Errorf("%v, %+v, %v", hash, stats, err)
	}
}

// pair are two sets, of which the second replaces the first.
func pair(r *rand.Rand) (old, renewed naive) {
	draw := func() naive {
		n := naive{}
		for range 1 + r.IntN(20) {
			c := Record{Txid: chain.Hash{byte(r.IntN(256)), byte(r.IntN(256))}, Height: r.Uint32N(1000), First: r.Uint64N(1 << 40)}
			for vout := range uint32(1 + r.IntN(5)) {
				c.Outs = append(c.Outs, Entry{Vout: vout, Value: r.Int64N(1e12), Script: make([]byte, r.IntN(200))})
			}
			n.add(&c)
		}
		return n
	}
	return draw(), draw()
}

// A crash at every operation of a save: what is found is the old set or the new one, whole, and the new one if the save had
// come to its end; and the next save works, and leaves one file.
func TestImageCrash(t *testing.T) {
	const seeds = 8
	steps, outcomes := 0, map[string]int{}
	for seed := range uint64(seeds) {
		for at := 1; ; at++ {
			r := rand.New(rand.NewPCG(seed, uint64(at)))
			d := crashdisk.New(r, 1<<16)
			old, renewed := pair(rand.New(rand.NewPCG(seed, 0)))
			if err := SaveImage(onStore{d}, headOfTest, old, 1, nil); err != nil {
				t.Fatal(err)
			}
			d.SetWriteback([]int{0, 3, 20}[r.IntN(3)])
			d.StopAt(at)
			head := headOfTest
			head.Height++
			err := SaveImage(onStore{d}, head, renewed, 1+r.IntN(3), nil)
			if err != nil && !errors.Is(err, crashdisk.ErrStopped) {
				t.Fatal(err)
			}
			stopped := d.Stopped()
			if r.IntN(4) == 0 {
				d = d.Kill(r)
			} else {
				d = d.Crash(r)
			}
			got, set, loaded := loadImage(onStore{d})
			switch {
			case loaded != nil:
				t.Fatalf("seed %d, stopped at %d: %v", seed, at, loaded)
			case got.Height == head.Height:
				same(t, "new set", set, renewed)
				outcomes["new"]++
			case err == nil:
				t.Fatalf("seed %d, stopped at %d: the save ended, and the old set is found", seed, at)
			default:
				same(t, "old set", set, old)
				outcomes["old"]++
			}
			if err := SaveImage(onStore{d}, head, renewed, 1, nil); err != nil {
				t.Fatal(err)
			}
			_, set, loaded = loadImage(onStore{d})
			if names, err := d.List(); loaded != nil || err != nil || len(names) != 1 {
				t.Fatalf("seed %d, stopped at %d, saved again: %q, %v, %v", seed, at, names, loaded, err)
			}
			same(t, "saved again", set, renewed)
			if steps++; !stopped {
				break
			}
		}
	}
	if outcomes["old"] < steps/10 || outcomes["new"] < seeds {
		t.Errorf("of %d steps: %v", steps, outcomes)
	}
}

// A save that fails, by a sync or for want of room, leaves the image before it.
func TestImageFails(t *testing.T) {
	old, renewed := pair(rand.New(rand.NewPCG(1, 2)))
	for name, arm := range map[string]func(d *crashdisk.Disk, k int){
		"sync": func(d *crashdisk.Disk, k int) { d.FailSync(k) },
		"full": func(d *crashdisk.Disk, k int) { d.FullAt(k) },
	} {
		failures := 0
		for k := 1; ; k++ {
			r := rand.New(rand.NewPCG(3, uint64(k)))
			d := crashdisk.New(r, 1<<16)
			if err := SaveImage(onStore{d}, headOfTest, old, 1, nil); err != nil {
				t.Fatal(err)
			}
			arm(d, k)
			err := SaveImage(onStore{d}, headOfTest, renewed, 1, nil)
			if err == nil {
				break
			}
			failures++
			d = d.Crash(r)
			_, set, loaded := loadImage(onStore{d})
			if loaded != nil {
				t.Fatalf("%s %d: %v after %v", name, k, loaded, err)
			}
			if len(set) != len(renewed) {
				same(t, name, set, old)
			}
		}
		if want := map[string]int{"sync": 4, "full": 1}[name]; failures < want {
			t.Errorf("%s: only %d failures", name, failures)
		}
	}
}

// A flipped bit anywhere is found: there is no image, or a shard of it is refused.
func TestImageDamaged(t *testing.T) {
	set, _ := pair(rand.New(rand.NewPCG(5, 6)))
	d := onStore{store.NewMemDisk()}
	if err := SaveImage(d, headOfTest, set, 1, nil); err != nil {
		t.Fatal(err)
	}
	b := bytesOf(t, d)
	if _, back, err := loadImage(only(b)); err != nil || len(back) != len(set) {
		t.Fatal(err)
	}
	refused := func(what string, b []byte) {
		t.Helper()
		var bad *ImageError
		if _, _, err := loadImage(only(b)); !errors.Is(err, ErrNoImage) && !errors.As(err, &bad) {
			t.Fatalf("%s: %v", what, err)
		}
	}
	r := rand.New(rand.NewPCG(9, 10))
	for range 1000 {
		off, mask := r.IntN(len(b)), byte(1)<<r.IntN(8)
		b[off] ^= mask
		refused(fmt.Sprintf("bit %x of byte %d flipped", mask, off), b)
		b[off] ^= mask
		n := r.IntN(len(b))
		refused(fmt.Sprintf("cut to %d bytes", n), b[:n])
	}
}

// only is a disk that holds an image and takes nothing.
type only []byte

func (o only) List() ([]string, error) { return []string{nameOf(1)}, nil }
func (o only) Read(string) ([]byte, func() error, error) {
	return o, func() error { return nil }, nil
}
func (o only) Create(string) (File, error) { return nil, fs.ErrPermission }
func (o only) Remove(string) error         { return fs.ErrPermission }
func (o only) Sync() error                 { return nil }

// An image of several writes, of shards larger than one.
func TestLargeImage(t *testing.T) {
	set := naive{}
	for i := range 500 {
		c := Record{Txid: chain.Hash{byte(i % 3), byte(i), byte(i >> 8)}, First: uint64(i)}
		c.Outs = []Entry{{Vout: 7, Script: bytes.Repeat([]byte{byte(i)}, 9000)}}
		set.add(&c)
	}
	d := onStore{store.NewMemDisk()}
	if err := SaveImage(d, headOfTest, set, 2, nil); err != nil {
		t.Fatal(err)
	}
	i, err := OpenImage(d)
	if err != nil {
		t.Fatal(err)
	}
	_, want, _ := Serialized3Of(set, 2, nil)
	if _, got, err := Serialized3Of(i, 2, nil); err != nil || got != want {
		t.Errorf("%v, want %v; %v", got, want, err)
	}
	if n := len(bytesOf(t, d)); n < 4*writeChunk {
		t.Errorf("only %d bytes", n)
	}
}

func TestNoImage(t *testing.T) {
	d := onStore{store.NewMemDisk()}
	for _, name := range []string{"utxo.image-", "utxo.image-01", "utxo.image-x", "tx"} {
		if _, err := d.Open(name, store.FileOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := OpenImage(d); !errors.Is(err, ErrNoImage) {
		t.Errorf("error %v", err)
	}
	if err := SaveImage(d, headOfTest, naive{}, 1, nil); err != nil {
		t.Fatal(err)
	}
	if names, err := d.List(); err != nil || len(names) != 5 {
		t.Errorf("files of others are gone: %q, %v", names, err)
	}
}

// imageOf makes an image whose shard 0 has the bytes, with heads that fit.
func imageOf(b []byte, records, outputs uint32) *Image {
	i := new(Image)
	i.shards[0] = shardHead{uint64(len(b)), records, outputs, crc64.Checksum(b, crcTable)}
	h := ImageHead{Records: uint64(records), Outputs: uint64(outputs)}
	i.b = append(h.encode(&i.shards), b...)
	return i
}

// What no SaveImage writes is refused, though its checksum is right.
func TestImageShardRefused(t *testing.T) {
	tx := func(rest ...byte) []byte { return append(make([]byte, 31), rest...) }
	good := tx(3, 5, 1, 0, 9, 7, 0x51)
	read := func(b []byte, records uint32) error {
		return imageOf(b, records, records).Shard(0, func(*Record) error { return nil })
	}
	if err := read(good, 1); err != nil {
		t.Fatal(err)
	}
	for tell, b := range map[string][]byte{
		"number":      tx(append(appendVarint(nil, 1<<32), 5, 1, 0, 9, 7, 0x51)...),
		"order":       tx(3, 5, 0),
		"beyond":      tx(append(append([]byte{3, 5, 1}, appendVarint(nil, maxVout+1)...), 9, 7, 0x51)...),
		"money":       tx(append(append([]byte{3, 5, 1, 0}, appendVarint(nil, 1<<60)...), 7, 0x51)...),
		"script":      tx(append([]byte{3, 5, 1, 0, 9, 2 + kindCount + 33, 33, 2}, append(make([]byte, 32), 0xac)...)...),
		"middle":      tx(3, 5, 1, 0, 9, 8, 0x51),
		"transaction": append(slices.Clone(good), good...),
		"counts":      nil,
	} {
		records := uint32(1)
		if tell == "transaction" {
			records = 2
		}
		var bad *ImageError
		if err := read(b, records); !errors.As(err, &bad) || !strings.Contains(err.Error(), tell) {
			t.Errorf("%s: %v", tell, err)
		}
	}
	two := tx(append(append([]byte{3, 5, 2}, append(appendVarint(nil, maxVout), 9, 6)...), 0, 9, 6)...)
	var bad *ImageError
	if err := read(two, 1); !errors.As(err, &bad) || !strings.Contains(err.Error(), "beyond") {
		t.Errorf("a second coin behind the last vout: %v", err)
	}
}

// FuzzImageShard: the bytes of a shard that are taken are the one spelling of their transactions.
func FuzzImageShard(f *testing.F) {
	f.Add([]byte{})
	f.Add(append(make([]byte, 31), 3, 5, 1, 0, 9, 7, 0x51))
	f.Add(append(make([]byte, 31), 3, 5, 2, 0, 9, 7, 0x51, 0x80, 0, 0, 6))
	set, _ := pair(rand.New(rand.NewPCG(1, 1)))
	all := []byte{}
	for _, c := range set {
		c.Txid[0] = 0
		all, _ = appendImageTx(all, c)
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, b []byte) {
		r := imageReader{b: b}
		records, outputs := uint32(0), uint32(0)
		again := []byte{}
		for len(r.b) > 0 {
			if r.next(0) != nil {
				return
			}
			records, outputs = records+1, outputs+uint32(len(r.tx.Outs))
			var err error
			if again, err = appendImageTx(again, &r.tx); err != nil {
				t.Fatalf("%x has %+v, which cannot be written: %v", b, r.tx, err)
			}
		}
		if !bytes.Equal(again, b) {
			t.Fatalf("%x\nis written as\n%x", b, again)
		}
		if err := imageOf(b, records, outputs).Shard(0, func(*Record) error { return nil }); err != nil {
			var bad *ImageError
			if !errors.As(err, &bad) { // its transactions may be out of order
				t.Fatal(err)
			}
		}
	})
}

// FuzzImageHead: a head that is taken is the one of what it says.
func FuzzImageHead(f *testing.F) {
	empty := imageOf(nil, 0, 0)
	f.Add(empty.b[:512])
	f.Add([]byte(imageMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		head := make([]byte, imageHead)
		copy(head[:imageChecksum], b)
		copy(head[:8], imageMagic)
		sum := crc64.Checksum(head[:imageChecksum], crcTable)
		for i := range 8 {
			head[imageChecksum+i] = byte(sum >> (8 * i))
		}
		h, shards, err := decodeImageHead(head, 1<<40)
		var bad *ImageError
		if err != nil && !errors.As(err, &bad) {
			t.Fatal(err)
		}
		if err == nil && !bytes.Equal(h.encode(&shards), head) {
			t.Fatalf("%x\nis written as\n%x", head, h.encode(&shards))
		}
	})
}
