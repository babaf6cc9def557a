package bench

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"

	"stele/utxo"
)

// confirmRecords is what lies in the set beside the chain's own coins, at scale 1 or more: records of transactions that
// nothing spends from, with scripts, amounts and numbers of outputs as at the tip.
const confirmRecords = 20_000_000

// utxoShards is how many parts a set has: a txid's first byte.
const utxoShards = 256

// crowdedSet makes a set of so many records. Each goroutine makes those of its own shards.
func crowdedSet(ctx context.Context, records int) (*utxo.Set, error) {
	set := utxo.New(utxo.Options{Salt: seed, Records: uint64(records) + uint64(records)/8})
	workers := runtime.GOMAXPROCS(0)
	errs := make([]error, workers)
	var wait sync.WaitGroup
	for i := range workers {
		wait.Go(func() {
			g := newUtxoMaker(periodTip)
			g.r = rand.New(rand.NewPCG(seed, uint64(1_000+i)))
			for n := i; n < records && errs[i] == nil; n += workers {
				r := g.next()
				r.Txid[0] = byte(n % utxoShards)
				if n%4096 == i {
					errs[i] = ctx.Err()
				}
				errs[i] = errors.Join(errs[i], set.Load(r))
			}
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		set.Close()
		return nil, err
	}
	return set, nil
}
