package utxo

import (
	"sync"
	"sync/atomic"

	"stele/chain"
)

// Serialized3Of counts and hashes a set: several goroutines put the coins in order and spell them, one hashes. Progress, if
// it is not nil, is told how many shards are done.
func Serialized3Of(s Source, threads int, progress func(shards int)) (stats Stats, hash chain.Hash, err error) {
	h := NewSerialized3()
	err = eachSorted(s, threads, spelling{hash: true}, func(shard int, b *sorted) error {
		b.hashInto(h)
		stats.Combine(&b.stats)
		tell(progress, shard+1)
		return nil
	})
	return stats, h.Sum(), err
}

// hashInto hashes a shard's coins. They are behind all that h has by their shard, and in order among themselves.
func (b *sorted) hashInto(h *Serialized3) {
	for i := range b.pieces {
		h.write(b.pieces[i].hashed.of(b.hashed))
	}
}

func tell(progress func(int), done int) {
	if progress != nil {
		progress(done)
	}
}

// MuHashOf counts and hashes a set, shards on several goroutines; nothing is put in order. Progress is as in Serialized3Of.
func MuHashOf(s Source, threads int, progress func(shards int)) (stats Stats, hash *MuHash, err error) {
	hash = NewMuHash()
	var mu sync.Mutex // guards stats, hash and done
	done := 0
	err = eachShard(threads, func() func(shard int) error {
		part := NewMuHash()
		return func(shard int) error {
			var counted Stats
			var c Coin
			err := s.Shard(shard, func(t *Record) error {
				for i := range t.Outs {
					t.coin(&c, &t.Outs[i])
					counted.Count(&c)
					part.Add(&c)
				}
				return nil
			})
			mu.Lock()
			defer mu.Unlock()
			stats.Combine(&counted)
			hash.Combine(part)
			part.Reset()
			done++
			tell(progress, done)
			return err
		}
	})
	return stats, hash, err
}

// Each calls f with every transaction of a source, shards on several goroutines: f must bear calls for transactions of
// different shards at the same time. Progress is as in Serialized3Of.
func Each(s Source, threads int, f func(*Record) error, progress func(shards int)) error {
	var mu sync.Mutex // guards done
	done := 0
	return eachShard(threads, func() func(int) error {
		return func(shard int) error {
			err := s.Shard(shard, f)
			mu.Lock()
			defer mu.Unlock()
			done++
			tell(progress, done)
			return err
		}
	})
}

// eachShard calls what start made for a goroutine with shard after shard. The first error ends it; when it returns, none of
// them runs any more.
func eachShard(threads int, start func() func(shard int) error) error {
	threads = max(1, min(threads, Shards))
	var next atomic.Int64
	errs := make([]error, threads)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			f := start()
			for errs[i] == nil {
				shard := int(next.Add(1) - 1)
				if shard >= Shards {
					return
				}
				if errs[i] = f(shard); errs[i] != nil {
					next.Store(Shards)
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
