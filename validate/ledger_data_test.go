package validate

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"stele/chain"
	"stele/internal/realdata"
)

// outpoint names an output in a coinSet.
type outpoint struct {
	txid chain.Hash
	vout uint32
}

type coinSet map[outpoint]chain.Coin

// ledger judges whole blocks under every rule, over a plain map of coins for each block: the state of no store.
type ledger struct {
	*tree
	sets    map[*node]coinSet
	linear  bool // each block builds on the last, so that its map can be taken over
	scripts bool // run them, by another implementation
	counts  struct{ coins, heightLocks, timeLocks, scripts int }
}

func newLedger(p *chain.Params, now int64, linear, scripts bool) *ledger {
	x := &ledger{tree: newTree(p, now), sets: make(map[*node]coinSet), linear: linear, scripts: scripts}
	x.sets[x.nodes[p.GenesisHash]] = make(coinSet) // genesis gives no coin
	return x
}

// whole is the verdict on a block in Core's order of phases: header, check, accept, connect.
func (x *ledger) whole(t *testing.T, raw []byte) Verdict {
	t.Helper()
	header, block := x.judge(t, raw)
	if !header.OK() || !block.OK() {
		return block
	}
	b := &x.block
	hash := b.Header.Hash()
	if hash == x.p.GenesisHash {
		return valid
	}
	n := x.nodes[hash]
	set, ok := x.sets[n.parent]
	if !ok {
		return Verdict{Reason: ReasonBadPrev, Tx: none, Input: none, Condemns: true}
	}
	pl := NewPlace(x.p, &b.Header, &hash, n.parent.asParent())
	if pl.Height != n.height || pl.Time != n.time {
		t.Fatalf("%+v", pl)
	}
	if v := Accept(&pl, b, x.txids, &x.scratch); !v.OK() {
		return v
	}
	if !x.linear {
		set = maps.Clone(set)
	} else {
		delete(x.sets, n.parent)
	}
	v := x.settle(t, &pl, n, set)
	if v.OK() {
		x.sets[n] = set
	}
	return v
}

// settle takes and gives coins in order, and asks the judge; where all is well, Connect says the same.
func (x *ledger) settle(t *testing.T, pl *Place, n *node, set coinSet) Verdict {
	t.Helper()
	b := &x.block
	c := Case{Coins: make([]chain.Coin, len(b.Ins)), MTPAt: func(height uint32) uint32 {
		at := n.parent
		for at.height > height {
			at = at.parent
		}
		return at.asParent().MTP
	}}
	repeated, missing := make([]bool, len(b.Txs)), make([]bool, len(b.Ins))
	for tx := range b.Txs {
		for out := range int(b.Txs[tx].Outs) {
			_, there := set[outpoint{x.txids[tx], uint32(out)}]
			repeated[tx] = repeated[tx] || there
		}
	}
	for tx := range b.Txs {
		of := &b.Txs[tx]
		for in := int(of.FirstIn); in < int(of.FirstIn+of.Ins) && tx > 0; in++ {
			txid, vout := b.Outpoint(in)
			coin, there := set[outpoint{*txid, vout}]
			c.Coins[in], missing[in] = coin, !there
			delete(set, outpoint{*txid, vout})
			x.countLock(of.Version, b.Ins[in].Sequence)
		}
		for out := range int(of.Outs) {
			row := b.Outs[int(of.FirstOut)+out]
			if script := b.Bytes(row.Script); !chain.Unspendable(script) {
				set[outpoint{x.txids[tx], uint32(out)}] = chain.Coin{Value: row.Value, Script: append([]byte(nil), script...),
					Height: pl.Height, Coinbase: tx == 0}
			}
		}
	}
	x.counts.coins += len(b.Ins) - 1
	c.Missing = func(in int) bool { return missing[in] }
	if BIP30(x.p, pl.Height, &pl.Hash, nil) { // no chain here reaches the block that would end the search
		c.Repeats = func(tx int) bool { return repeated[tx] }
	}
	if x.scripts {
		c.Script = x.scriptsOf(pl, c.Coins)
	}
	v := Judge(pl, b, x.txids, &c)
	if v.OK() {
		fees, connect := Connect(pl, b, x.txids, c.Coins, c.MTPAt)
		if connect != v || fees < 0 || valueOut(b, 0) > fees+Subsidy(x.p, pl.Height) {
			t.Errorf("%v: Connect says %v, fees %d", pl.Hash, connect, fees)
		}
		for tx := 1; tx < len(b.Txs); tx++ {
			x.edge(t, pl, &c, tx)
		}
	}
	return v
}

func (x *ledger) countLock(version, sequence uint32) {
	switch {
	case version < 2 || sequence>>31 == 1:
	case sequence>>22&1 == 1:
		x.counts.timeLocks++
	default:
		x.counts.heightLocks++
	}
}

// edge moves a transaction with one lock of blocks down to the last height at which that lock still holds.
func (x *ledger) edge(t *testing.T, pl *Place, c *Case, tx int) {
	t.Helper()
	of := &x.block.Txs[tx]
	coins := c.Coins[of.FirstIn:][:of.Ins]
	for i, in := range x.block.Ins[of.FirstIn:][:of.Ins] {
		if of.Version < 2 || in.Sequence>>31 == 1 || in.Sequence>>22&1 == 1 || in.Sequence&0xffff == 0 {
			continue
		}
		early := *pl
		early.Height = coins[i].Height + in.Sequence&0xffff - 1
		if SequenceLocks(&early, &x.block, tx, coins, c.MTPAt) {
			t.Errorf("%v: transaction %d is free at %d", pl.Hash, tx, early.Height)
		}
	}
}

// scriptsOf runs the scripts of the block's inputs, of P2SH ones the first three, as in some blocks there are thousands
// of signatures in them; the text of a failure is not Core's.
func (x *ledger) scriptsOf(pl *Place, coins []chain.Coin) func(tx, input int) string {
	var (
		last       *btcdTx
		at, hashes int
	)
	return func(tx, input int) string {
		of := &x.block.Txs[tx]
		if isScriptHash(coins[int(of.FirstIn)+input].Script) {
			if hashes++; hashes > 3 {
				return ""
			}
		}
		x.counts.scripts++
		if last == nil || at != tx {
			var err error
			if last, err = newBtcdTx(x.block.Raw[of.Off:of.End], coins[of.FirstIn:][:of.Ins]); err != nil {
				return err.Error()
			}
			at = tx
		}
		if err := last.run(input, blockFlags(pl)); err != nil {
			return err.Error()
		}
		return ""
	}
}

// TestRealChainsConnect: real chains, and those that Core made, from genesis on, under all rules but scripts.
func TestRealChainsConnect(t *testing.T) {
	for _, x := range []struct {
		name        string
		p           *chain.Params
		linear      bool
		blocks      func(t *testing.T) [][]byte
		want, coins int // blocks, spends
		locks       [2]int
		unspent     int // of the last block; 0: not asked
	}{
		{"mainnet 0..14131", chain.Main(), true, func(t *testing.T) [][]byte {
			return realdata.Blocks(t, "chains", "mainnet_0_14131.blk.gz")
		}, 14_132, 865, [2]int{}, 13_416},
		{"Core regtest", chain.Regtest(), false, func(t *testing.T) [][]byte {
			return realdata.Blocks(t, "core_regtest", "chain.blk.gz")
		}, 425, 1461, [2]int{101, 0}, 0},
		{"kernel regtest", chain.Regtest(), true, func(t *testing.T) [][]byte {
			return hexLines(t, realdata.Read(t, "chains", "regtest_kernel_206.hex.gz"))
		}, 206, 26, [2]int{}, 0},
		{"signet 0..120", chain.Signet(), true, func(t *testing.T) [][]byte {
			return signetBlocks(t)[:121]
		}, 121, 0, [2]int{}, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			l, n := newLedger(x.p, 1_800_000_000, x.linear, false), 0
			for _, raw := range x.blocks(t) {
				wantReason(t, fmt.Sprint(n), l.whole(t, raw), "")
				n++
			}
			locks := [2]int{l.counts.heightLocks, l.counts.timeLocks}
			if n != x.want || l.counts.coins != x.coins || locks != x.locks {
				t.Errorf("%d blocks, %d spends, %d locks", n, l.counts.coins, locks)
			}
			if last := l.nodes[l.block.Header.Hash()]; x.unspent != 0 && len(l.sets[last]) != x.unspent {
				t.Errorf("%d coins, want %d", len(l.sets[last]), x.unspent)
			}
		})
	}
}

// wholeReason names Core's reason for a row of the block tester under all rules.
func (r *fullBlockRow) wholeReason() string {
	switch r.Name {
	// Forks that stay aside in the tester until their child makes them the longest, whose row then has their fault.
	case "b7", "b18":
		return ReasonMissingOrSpent
	case "b8", "b19":
		return ReasonBadPrev
	// The tester sends this one last of three, and what is wrong is in the third.
	case "b12":
		return ""
	case "b14":
		return ReasonCoinbaseAmount
	case "b40":
		return ReasonSigOps
	case "b51", "b56p2":
		return ReasonMissingOrSpent
	}
	if reason, _ := r.coreReason(); reason != "" {
		return reason
	}
	return map[string]string{
		"ErrMissingTxOut":      ReasonMissingOrSpent,
		"ErrBadCoinbaseValue":  ReasonCoinbaseAmount,
		"ErrImmatureSpend":     ReasonPremature,
		"ErrSpendTooHigh":      ReasonInBelowOut,
		"ErrBadCoinbaseHeight": ReasonCoinbaseHeight,
		"ErrOverwriteTx":       ReasonBIP30,
		"ErrUnfinalizedTx":     ReasonNonFinal,
	}[r.Code]
}

// TestFullBlockTestsUnderAllRules: the block tester's chain to the end, scripts included, with Core's reasons. Its
// rules are those before segwit.
func TestFullBlockTestsUnderAllRules(t *testing.T) {
	p := *chain.Regtest()
	p.Segwit, p.CSV = 1<<31, 1<<31
	l := newLedger(&p, 1_796_047_000, false, true)
	refused := make(map[string]int)
	accepted := 0
	var rows []fullBlockRow
	for line := range strings.Lines(string(realdata.Read(t, "chains", "btcd_fullblocktests.jsonl.gz"))) {
		var row fullBlockRow
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		if row.Raw != "" && row.Type != "noncanonical" {
			rows = append(rows, row)
		}
	}
	for len(rows) > 0 {
		var later []fullBlockRow // parents first
		for _, row := range rows {
			raw := unhex(t, row.Raw)
			if !l.knows(raw) {
				later = append(later, row)
				continue
			}
			v := l.whole(t, raw)
			if row.Type == "orphan_or_reject" {
				wantReason(t, row.Name, v, ReasonBadPrev)
			} else {
				wantReason(t, row.Name+" "+row.Code, v, row.wholeReason())
			}
			if refused[v.Reason]++; v.OK() {
				accepted++
			}
		}
		if len(later) == len(rows) {
			t.Fatalf("%d blocks without parent, %s first", len(rows), rows[0].Name)
		}
		rows = later
	}
	t.Log(accepted, refused, l.counts)
	if accepted != 141 || l.counts.scripts != 2272 {
		t.Errorf("%d accepted, %d scripts run", accepted, l.counts.scripts)
	}
}
