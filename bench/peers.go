//go:build bench

package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"path/filepath"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/filter"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/util"
	"go.etcd.io/bbolt"
)

func peerKinds() []peerKind {
	return []peerKind{{"bbolt", true, openBolt}, {"pebble", false, openPebble}, {"goleveldb", false, openLevel}}
}

// What both stores of sorted files get: a cache that holds all blocks of a table, bloom filters of ten bits a key, and
// no compression, as the keys are random.
const (
	peerCache  = 1 << 30
	peerMemory = 64 << 20 // of rows before they go to a file
	bloomBits  = 10
)

// bolt is a B+tree in a mapped file. Its batches are sorted, which is what it likes best: a batch rewrites each page
// that it touches once. The free list stays in memory, as a map.
type bolt struct{ db *bbolt.DB }

var boltBucket = []byte("rows")

func openBolt(dir string) (peer, error) {
	db, err := bbolt.Open(filepath.Join(dir, "bolt"), 0o600, &bbolt.Options{
		NoSync: true, NoGrowSync: true, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType,
		NoStatistics: true, InitialMmapSize: 4 << 30,
	})
	if err != nil {
		return nil, err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket(boltBucket)
		return err
	})
	return &bolt{db}, err
}

func (p *bolt) put(keys []byte, width int, values []uint64) error {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i * width
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(keys[a:a+width], keys[b:b+width]) })
	stored := make([]byte, 8*len(values)) // kept until the end of the transaction, as bbolt wants
	return p.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(boltBucket)
		for i, at := range order {
			value := stored[8*i : 8*i+8]
			binary.LittleEndian.PutUint64(value, values[at/width])
			if err := b.Put(keys[at:at+width], value); err != nil {
				return err
			}
		}
		return nil
	})
}

func (p *bolt) settle() error { return nil }

func (p *bolt) scan() (rows int, err error) {
	err = p.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(boltBucket).ForEach(func(_, _ []byte) error {
			rows++
			return nil
		})
	})
	return rows, err
}

func (p *bolt) get(keys []byte, width int, wanted []uint64) (wrong int, err error) {
	err = p.db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(boltBucket)
		for i, want := range wanted {
			if answer(b.Get(keys[i*width:(i+1)*width])) != want {
				wrong++
			}
		}
		return nil
	})
	return wrong, err
}

func (p *bolt) close() error { return p.db.Close() }

// answer reads a value; nil is none.
func answer(value []byte) uint64 {
	if value == nil {
		return absent
	}
	return binary.LittleEndian.Uint64(value)
}

// pebbleDB is a tree of sorted files. Without a log, as nothing is synced either.
type pebbleDB struct {
	db    *pebble.DB
	cache *pebble.Cache
}

// silent keeps a store's own log to itself.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(format string, args ...any) {
	pebble.DefaultLogger.Fatalf(format, args...)
}

func openPebble(dir string) (peer, error) {
	o := &pebble.Options{
		Cache: pebble.NewCache(peerCache), DisableWAL: true, MemTableSize: peerMemory, Logger: silent{},
		FormatMajorVersion: pebble.FormatNewest,
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBits)
		o.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.NoCompression }
	}
	db, err := pebble.Open(dir, o)
	if err != nil {
		o.Cache.Unref()
		return nil, err
	}
	return &pebbleDB{db, o.Cache}, nil
}

func (p *pebbleDB) put(keys []byte, width int, values []uint64) error {
	b := p.db.NewBatchWithSize(len(keys) + 12*len(values))
	for i, v := range values {
		var value [8]byte
		binary.LittleEndian.PutUint64(value[:], v)
		if err := b.Set(keys[i*width:(i+1)*width], value[:], nil); err != nil {
			return err
		}
	}
	return b.Commit(pebble.NoSync)
}

func (p *pebbleDB) settle() error {
	if err := p.db.Flush(); err != nil {
		return err
	}
	return p.db.Compact(context.Background(), []byte{0}, bytes.Repeat([]byte{0xff}, 40), true)
}

func (p *pebbleDB) scan() (rows int, err error) {
	it, err := p.db.NewIter(nil)
	if err != nil {
		return 0, err
	}
	for ok := it.First(); ok; ok = it.Next() {
		rows++
	}
	return rows, it.Close()
}

func (p *pebbleDB) get(keys []byte, width int, wanted []uint64) (wrong int, err error) {
	for i, want := range wanted {
		value, closer, err := p.db.Get(keys[i*width : (i+1)*width])
		if errors.Is(err, pebble.ErrNotFound) {
			if want != absent {
				wrong++
			}
			continue
		}
		if err != nil {
			return wrong, err
		}
		if answer(value) != want {
			wrong++
		}
		if err := closer.Close(); err != nil {
			return wrong, err
		}
	}
	return wrong, nil
}

func (p *pebbleDB) close() error {
	err := p.db.Close()
	p.cache.Unref()
	return err
}

// level is a tree of sorted files, too. Its log cannot be left out; it is not synced.
type level struct{ db *leveldb.DB }

func openLevel(dir string) (peer, error) {
	db, err := leveldb.OpenFile(dir, &opt.Options{
		BlockCacheCapacity: peerCache, WriteBuffer: peerMemory, Filter: filter.NewBloomFilter(bloomBits),
		Compression: opt.NoCompression, NoSync: true, OpenFilesCacheCapacity: 1_000, CompactionTableSize: 16 << 20,
	})
	if err != nil {
		return nil, err
	}
	return &level{db}, nil
}

func (p *level) put(keys []byte, width int, values []uint64) error {
	b := leveldb.MakeBatch(len(keys) + 12*len(values))
	for i, v := range values {
		var value [8]byte
		binary.LittleEndian.PutUint64(value[:], v)
		b.Put(keys[i*width:(i+1)*width], value[:])
	}
	return p.db.Write(b, nil)
}

func (p *level) settle() error { return p.db.CompactRange(util.Range{}) }

func (p *level) scan() (rows int, err error) {
	it := p.db.NewIterator(nil, nil)
	for it.Next() {
		rows++
	}
	it.Release()
	return rows, it.Error()
}

func (p *level) get(keys []byte, width int, wanted []uint64) (wrong int, err error) {
	for i, want := range wanted {
		value, err := p.db.Get(keys[i*width:(i+1)*width], nil)
		if err != nil && !errors.Is(err, leveldb.ErrNotFound) {
			return wrong, err
		}
		if answer(value) != want {
			wrong++
		}
	}
	return wrong, nil
}

func (p *level) close() error { return p.db.Close() }
