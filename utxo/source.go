package utxo

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// Shards is how many parts a set is handed over in: one for each first byte of the txid, in internal order. All txids of a
// shard are before those of the next.
const Shards = shards

// coin makes c the Coin of an output.
func (r *Record) coin(c *Coin, o *Entry) {
	*c = Coin{Txid: &r.Txid, Vout: o.Vout, Height: r.Height, Coinbase: r.Coinbase, Value: o.Value, Script: o.Script}
}

// Source is a set that can be read shard by shard, by several goroutines that ask for different shards.
type Source interface {
	// Shard calls f for each transaction of a shard with unspent outputs, in any order; its coins in ascending order of
	// vout. What f gets is valid during the call. It returns f's error, or the source's own.
	Shard(shard int, f func(*Record) error) error
}

// errShard cannot happen to a set of Bitcoin's, which would have to be 256 times as large.
var errShard = errors.New("a shard of the set has more than 4 GiB")

// sorted is what a goroutine makes of a shard: its transactions in order, encoded.
type sorted struct {
	hashed []byte  // as the hashes take coins
	file   []byte  // as a file takes them
	pieces []piece // a transaction each
	stats  Stats
	err    error
}

// piece is where in its shard a transaction is, in bytes: 32 bytes for each.
type piece struct {
	key    uint64 // bytes 1 to 8 of the txid, for sorting
	hashed span
	file   span
}

type span struct{ from, to uint32 }

func (p span) of(b []byte) []byte { return b[p.from:p.to] }

// spelling is how transactions are written. What it does not want stays empty; one of both it does. Either spelling of a
// transaction begins with its txid, of which a file may leave out the byte that names the shard.
type spelling struct {
	hash bool
	file func(dst []byte, t *Record) ([]byte, error)
}

// fill makes b the transactions of a shard, by txid.
func (b *sorted) fill(s Source, shard int, how spelling) {
	*b = sorted{hashed: b.hashed[:0], file: b.file[:0], pieces: b.pieces[:0]}
	var c Coin
	b.err = s.Shard(shard, func(t *Record) (err error) {
		hashed, file := len(b.hashed), len(b.file)
		for i := range t.Outs {
			t.coin(&c, &t.Outs[i])
			b.stats.Count(&c)
			if how.hash {
				b.hashed = c.Append(b.hashed)
			}
		}
		if how.file != nil {
			if b.file, err = how.file(b.file, t); err != nil {
				return err
			}
		}
		if int64(max(len(b.hashed), len(b.file))) > math.MaxUint32 {
			return errShard
		}
		b.pieces = append(b.pieces, piece{
			key:    binary.BigEndian.Uint64(t.Txid[1:]),
			hashed: span{uint32(hashed), uint32(len(b.hashed))},
			file:   span{uint32(file), uint32(len(b.file))},
		})
		return nil
	})
	slices.SortFunc(b.pieces, func(x, y piece) int {
		if x.key != y.key {
			return cmp.Compare(x.key, y.key)
		}
		if how.hash {
			return bytes.Compare(x.hashed.of(b.hashed), y.hashed.of(b.hashed))
		}
		return bytes.Compare(x.file.of(b.file), y.file.of(b.file))
	})
}

// eachSorted puts all shards in order on several goroutines, and hands them to use one after the other.
// The first error ends it; when it returns, nothing reads the source any more. Memory: one shard more than threads.
func eachSorted(s Source, threads int, how spelling, use func(shard int, b *sorted) error) error {
	threads = max(1, min(threads, Shards))
	var next atomic.Int64
	var wg sync.WaitGroup
	var results [Shards]chan *sorted
	for i := range results {
		results[i] = make(chan *sorted, 1)
	}
	// A goroutine takes memory before it takes a shard, so the lowest shard that is not done always has one.
	free := make(chan *sorted, threads+1)
	for range threads + 1 {
		free <- new(sorted)
	}
	for range threads {
		wg.Go(func() {
			for b := range free {
				shard := int(next.Add(1) - 1)
				if shard >= Shards {
					return
				}
				b.fill(s, shard, how)
				results[shard] <- b
			}
		})
	}
	defer wg.Wait()
	defer close(free)
	defer next.Store(Shards)
	for shard := range results {
		b := <-results[shard]
		if b.err != nil {
			return b.err
		}
		if err := use(shard, b); err != nil {
			return err
		}
		free <- b
	}
	return nil
}
