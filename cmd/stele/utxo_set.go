package main

import (
	"context"
	"slices"

	"stele/chain"
	"stele/tables"
	"stele/utxo"
)

// unspentSet are the unspent outputs of a view's chain, as a set that can be read by the first bytes of its txids. It holds
// 4 bytes for each transaction that has one.
type unspentSet struct {
	ctx     context.Context // ends the reading
	view    *tables.View
	links   [utxo.Shards][]tables.TxLink
	outputs uint64
}

// unspentOf finds the transactions with unspent outputs, on several goroutines.
func unspentOf(ctx context.Context, v *tables.View, threads int) (*unspentSet, error) {
	parts := make([]unspentSet, threads) // of a goroutine each
	err := eachBlock(ctx, v, threads, func(worker int) func(tables.TxLink) error {
		p := &parts[worker]
		return func(l tables.TxLink) error {
			before := p.outputs
			err := v.EachUnspentOf(l, func(*tables.Unspent) error {
				p.outputs++
				return nil
			})
			if p.outputs > before {
				shard := &p.links[v.Txid(l)[0]]
				*shard = append(*shard, l)
			}
			return err
		}
	})
	if err != nil {
		return nil, err
	}
	s := &unspentSet{ctx: ctx, view: v}
	for i := range parts {
		s.outputs += parts[i].outputs
		for shard := range s.links {
			s.links[shard] = append(s.links[shard], parts[i].links[shard]...)
			parts[i].links[shard] = nil
		}
	}
	return s, nil
}

// Shard implements utxo.Source. Transactions come in the order of the archive, so that rows are read forwards.
func (s *unspentSet) Shard(shard int, f func(*utxo.Record) error) error {
	return guarded(func() error {
		slices.Sort(s.links[shard])
		var r utxo.Record
		var scripts []byte
		for _, l := range s.links[shard] {
			if err := s.ctx.Err(); err != nil {
				return err
			}
			r.Outs, scripts = r.Outs[:0], scripts[:0]
			err := s.view.EachUnspentOf(l, func(u *tables.Unspent) error {
				from := len(scripts)
				scripts = append(scripts, u.Script...) // where it grows, earlier scripts stay in the memory that it leaves
				r.Txid, r.Height, r.Coinbase, r.First = *u.Txid, u.Height, u.Coinbase, uint64(u.Output)-uint64(u.Vout)
				r.Outs = append(r.Outs, utxo.Entry{Vout: u.Vout, Value: u.Value, Script: scripts[from:]})
				return nil
			})
			if err == nil {
				err = f(&r)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// chainTxs counts the transactions of a view's chain.
func chainTxs(v *tables.View) (n uint64) {
	_, tip := v.Tip()
	for height := range tip + 1 {
		l, _ := v.HeaderAt(height)
		b, _ := v.Block(l)
		n += uint64(b.Txs)
	}
	return n
}

// setMeter shows how many coins of a set are done, from how many shards are. done takes it away.
func (a *app) setMeter(stage string, outputs uint64) (progress func(shards int), done func()) {
	bar := a.meter(stage, "coins")
	return func(shards int) {
		bar.update(reading{done: outputs * uint64(shards) / utxo.Shards, total: outputs})
	}, bar.close
}

// baseOf finds a snapshot's base block in a view's chain, and returns the view of that block.
func baseOf(v *tables.View, base *chain.Hash) (*tables.View, bool) {
	l, ok := v.FindHeader(base)
	if !ok || !v.Confirmed(l) {
		return nil, false
	}
	return v.Down(v.Header(l).Height()), true
}
