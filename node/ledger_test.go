package node

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"stele/chain"
	"stele/tables"
)

// statement is what a store, or a replay, says of a chain, whatever the order in which it learnt of it.
type statement struct {
	tip      chain.Hash
	height   uint32
	outputs  int
	spenders map[string]string // "txid:vout" to "txid:input@height"
	unspent  map[string]string // "txid:vout" to height, coinbase, value and script
}

func newStatement() *statement {
	return &statement{spenders: map[string]string{}, unspent: map[string]string{}}
}

func (s *statement) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v@%d %d outputs\n", s.tip, s.height, s.outputs)
	for _, all := range []map[string]string{s.spenders, s.unspent} {
		for _, k := range slices.Sorted(maps.Keys(all)) {
			fmt.Fprintln(&b, k, all[k])
		}
	}
	return b.String()
}

func unspentText(height uint32, coinbase bool, value int64, script []byte) string {
	return fmt.Sprintf("@%d %v %d %x", height, coinbase, value, script)
}

// signature is what the readers' view says.
func (r *rig) signature(t fataler) string {
	t.Helper()
	s := newStatement()
	v := r.t.View()
	l, height := v.Tip()
	s.tip, s.height = v.Header(l).Hash(), height
	s.spenders, s.outputs = r.spenders(t)
	err := v.EachUnspent(func(u *tables.Unspent) error {
		s.unspent[fmt.Sprintf("%v:%d", *u.Txid, u.Vout)] = unspentText(u.Height, u.Coinbase, u.Value, u.Script)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.String()
}

// ledger is every block that there is. It replays a chain as plainly as that can be done.
type ledger map[chain.Hash][]byte

func newLedger(p *chain.Params, blocks [][]byte) ledger {
	l := ledger{p.GenesisHash: p.GenesisBlock}
	for _, b := range blocks {
		l[hashOf(b)] = b
	}
	return l
}

// signature is what a store with that tip must say.
func (l ledger) signature(t fataler, tip chain.Hash) string {
	t.Helper()
	var line [][]byte
	for at := tip; at != (chain.Hash{}); {
		b, ok := l[at]
		if !ok {
			t.Fatalf("block %v of the chain of %v was never given", at, tip)
		}
		line = append(line, b)
		h, _ := chain.ParseHeader(b)
		at = h.Prev
	}
	slices.Reverse(line)
	s := newStatement()
	s.tip, s.height = tip, uint32(len(line)-1)
	for height, b := range line {
		s.connect(t, b, uint32(height))
	}
	return s.String()
}

func (s *statement) connect(t fataler, raw []byte, height uint32) {
	var b chain.Block
	if err := b.Decode(raw); err != nil {
		t.Fatal(err)
	}
	for i, txid := range b.Txids(nil) {
		tx := &b.Txs[i]
		for n := uint32(0); i > 0 && n < tx.Ins; n++ {
			prev, vout := b.Outpoint(int(tx.FirstIn + n))
			key := fmt.Sprintf("%v:%d", *prev, vout)
			if _, ok := s.unspent[key]; !ok {
				t.Fatalf("block %d spends %s, which is not there", height, key)
			}
			delete(s.unspent, key)
			s.spenders[key] = fmt.Sprintf("%v:%d@%d", txid, n, height)
		}
		for n := range tx.Outs {
			o := &b.Outs[tx.FirstOut+n]
			script := b.Bytes(o.Script)
			s.outputs++
			// Core puts neither the genesis coinbase nor what no script can spend into its set.
			if height > 0 && !(len(script) > 0 && script[0] == 0x6a) && len(script) <= 10_000 {
				s.unspent[fmt.Sprintf("%v:%d", txid, n)] = unspentText(height, i == 0, o.Value, script)
			}
		}
	}
}

// wantReplay asserts that the store says of its tip what a replay of the blocks does, and that it is whole.
func (r *rig) wantReplay(t fataler, l ledger) {
	t.Helper()
	tip, _ := r.t.Tip()
	if got, want := r.signature(t), l.signature(t, r.t.Header(tip).Hash()); got != want {
		t.Fatalf("the store says\n%.2000s\nand a replay to its tip\n%.2000s", got, want)
	}
	if rep, err := r.t.Check(true, nil); err != nil || !rep.OK() {
		t.Fatalf("check: %v %q", err, rep.Problems)
	}
}

// The replay agrees with what Bitcoin Core says of its own chain: 816 unspent outputs, and every spender.
func TestLedger(t *testing.T) {
	c := core(t)
	s := newStatement()
	s.connect(t, chain.Regtest().GenesisBlock, 0)
	for i, b := range c.best {
		s.connect(t, b, uint32(i+1))
	}
	if len(s.unspent) != c.unspent || !maps.Equal(s.spenders, c.spenders) {
		t.Fatalf("%d unspent outputs and %d spenders, want %d and %d", len(s.unspent), len(s.spenders), c.unspent, len(c.spenders))
	}
}
