package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"stele/chain"
	"stele/node/esplora"
	"stele/store"
	"stele/tables"
	"stele/utxo"
)

// Hashes of the set.
const (
	hashSerialized3 = "hash_serialized_3"
	hashMuHash      = "muhash"
)

// utxoVerb asks about the unspent outputs. They are computed from the tables: the outputs without a spender.
func (a *app) utxoVerb() *cobra.Command {
	group := a.group("utxo", "unspent outputs")
	group.AddCommand(a.utxoGetVerb(), a.utxoStatsVerb(), a.utxoDumpVerb(), a.utxoLoadVerb())
	return group
}

func (a *app) utxoGetVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "get TXID:VOUT",
		Short: "an unspent output, as Core's gettxout",
		Args:  exactly("utxo get", "TXID:VOUT"),
		RunE: a.verb(func(_ *cobra.Command, args []string) error {
			p, err := parseOutpoint("utxo get", args[0])
			if err != nil {
				return err
			}
			return a.lookup("utxo get", func(t *tables.Tables) error { return a.utxoGet(t.View(), p) })
		}),
	}
}

func (a *app) utxoGet(v *tables.View, p outpoint) error {
	doc, ok, err := esplora.UnspentOf(v, a.conf.params, &p.txid, p.vout)
	if err != nil {
		return err
	}
	if !ok {
		_, height := v.Tip()
		name := fmt.Sprintf("unspent output %v:%d", p.txid, p.vout)
		return notFound(name, fmt.Sprintf("it is not in the set at height %d", height))
	}
	return a.answer(doc, func(w io.Writer) {
		t := table{gap: 2}
		t.row("value", doc.Value.String()+" BTC")
		t.row("confirmations", count(doc.Confirmations))
		t.row("coinbase", map[bool]string{true: "yes", false: "no"}[doc.Coinbase])
		t.row("type", doc.Script.Type)
		if doc.Script.Address != "" {
			t.row("address", doc.Script.Address)
		}
		t.row("script", doc.Script.Asm)
		t.write(w)
	})
}

func (a *app) utxoStatsVerb() *cobra.Command {
	var kind string
	var height uint32
	c := &cobra.Command{
		Use:   "stats",
		Short: "count and hash the set, as Core's gettxoutsetinfo",
		Args:  exactly("utxo stats"),
		RunE: a.verb(func(cmd *cobra.Command, _ []string) error {
			if kind != hashSerialized3 && kind != hashMuHash && kind != none {
				kinds := strings.Join([]string{hashSerialized3, hashMuHash, none}, ", ")
				return misused("utxo stats", "wrong flag", fmt.Sprintf("--hash: %q is none of %s", kind, kinds))
			}
			return a.lookup("utxo stats", func(t *tables.Tables) error {
				v := t.View()
				if cmd.Flags().Changed("height") {
					if _, tip := v.Tip(); height > tip {
						return notFound(fmt.Sprintf("height %d", height), fmt.Sprintf("the tip of this store is at height %d", tip))
					}
					v = v.Down(height)
				}
				return a.utxoStats(v, kind)
			})
		}),
	}
	c.Flags().StringVar(&kind, "hash", hashSerialized3, "`kind`: "+hashSerialized3+", "+hashMuHash+" or "+none)
	c.Flags().Uint32Var(&height, "height", 0, "the set as it was after the block at this `height`; default: the tip")
	return c
}

func (a *app) utxoStats(v *tables.View, kind string) error {
	stats, hash, err := hashSet(a.ctx, v, kind, runtime.GOMAXPROCS(0))
	if err != nil {
		return err
	}
	tip := tipOf(v)
	doc := esplora.TxOutSetInfo{
		Height: tip.Height, BestBlock: tip.Hash, TxOuts: stats.Outputs, BogoSize: stats.BogoSize,
		TotalAmount: esplora.Amount(stats.Amount), Transactions: stats.Transactions,
	}
	switch kind {
	case hashSerialized3:
		doc.Serialized3 = &hash
	case hashMuHash:
		doc.MuHash = &hash
	}
	return a.answer(doc, func(w io.Writer) {
		t := table{gap: 2}
		t.row("height", count(doc.Height))
		t.row("block", doc.BestBlock.String())
		t.row("outputs", fmt.Sprintf("%s of %s transactions", count(doc.TxOuts), count(doc.Transactions)))
		t.row("amount", doc.TotalAmount.String()+" BTC")
		t.row("bogosize", count(doc.BogoSize))
		if kind != none {
			t.row(kind, hash.String())
		}
		t.write(w)
	})
}

// hashSet counts the unspent outputs of a view's chain and hashes them, on several goroutines where the hash allows. It
// ends early when ctx does.
func hashSet(ctx context.Context, v *tables.View, kind string, threads int,
) (stats utxo.Stats, hash chain.Hash, err error) {
	if kind == hashSerialized3 {
		set, err := unspentOf(ctx, v, threads)
		if err != nil {
			return stats, hash, err
		}
		return utxo.Serialized3Of(set, threads, nil)
	}
	parts := make([]utxo.Stats, threads)
	hashes := make([]*utxo.MuHash, threads)
	err = eachBlock(ctx, v, threads, func(worker int) func(tables.TxLink) error {
		if kind == hashMuHash {
			hashes[worker] = utxo.NewMuHash()
		}
		var c utxo.Coin
		return func(l tables.TxLink) error {
			return v.EachUnspentOf(l, func(u *tables.Unspent) error {
				setCoin(&c, u)
				parts[worker].Count(&c)
				if kind == none {
					return nil
				}
				return hashes[worker].Add(&c)
			})
		}
	})
	for i := range parts {
		stats.Combine(&parts[i])
		if i > 0 && kind == hashMuHash {
			hashes[0].Combine(hashes[i])
		}
	}
	if err == nil && kind == hashMuHash {
		hash = hashes[0].Sum()
	}
	return stats, hash, err
}

func setCoin(c *utxo.Coin, u *tables.Unspent) {
	*c = utxo.Coin{Txid: u.Txid, Vout: u.Vout, Height: u.Height, Coinbase: u.Coinbase, Value: u.Value, Script: u.Script}
}

// blockRun is how many blocks a goroutine takes at a time.
const blockRun = 64

// eachBlock calls, on several goroutines, what start returned for the goroutine with every transaction of the view's
// chain. Runs of blocks are handed out in order; the first error ends them all, and so does the end of ctx.
func eachBlock(ctx context.Context, v *tables.View, threads int, start func(worker int) func(tables.TxLink) error,
) error {
	_, tip := v.Tip()
	var next atomic.Uint64
	var failed atomic.Bool
	errs := make([]error, threads)
	var wg sync.WaitGroup
	for i := range threads {
		f := start(i)
		wg.Go(func() {
			errs[i] = guarded(func() error {
				for !failed.Load() {
					if err := ctx.Err(); err != nil {
						return err
					}
					from := next.Add(blockRun) - blockRun
					if from > uint64(tip) {
						return nil
					}
					for height := from; height < from+blockRun && height <= uint64(tip); height++ {
						if err := eachTx(v, uint32(height), f); err != nil {
							return err
						}
					}
				}
				return nil
			})
			if errs[i] != nil {
				failed.Store(true)
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

func eachTx(v *tables.View, height uint32, f func(tables.TxLink) error) error {
	l, _ := v.HeaderAt(height)
	b, ok := v.Block(l)
	if !ok {
		return &store.Damaged{Name: "chain", What: fmt.Sprintf("holds a block at height %d that is not archived", height)}
	}
	for i := range b.Txs {
		if err := f(b.FirstTx + tables.TxLink(i)); err != nil {
			return err
		}
	}
	return nil
}
