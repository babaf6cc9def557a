package node

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"stele/chain"
	"stele/internal/realdata"
	"stele/store"
	"stele/tables"
)

// fullBlockRow is a row of btcd's block tester, a port of Bitcoin Core's.
type fullBlockRow struct {
	Type, Name, Code, Hash, Raw, Block, Outpoint string
	Height                                       uint32
	Mainchain, Expected                          bool
}

// fullBlockReasons are Core's for what btcd calls an error so.
var fullBlockReasons = map[string]string{
	"ErrMissingTxOut":         "bad-txns-inputs-missingorspent",
	"ErrBadCoinbaseValue":     "bad-cb-amount",
	"ErrTooManySigOps":        "bad-blk-sigops",
	"ErrImmatureSpend":        "bad-txns-premature-spend-of-coinbase",
	"ErrBlockTooBig":          "bad-blk-length",
	"ErrBadCoinbaseScriptLen": "bad-cb-length",
	"ErrFirstTxNotCoinbase":   "bad-cb-missing",
	"ErrHighHash":             "high-hash",
	"ErrTimeTooNew":           "time-too-new",
	"ErrBadMerkleRoot":        "bad-txnmrklroot",
	"ErrUnexpectedDifficulty": "bad-diffbits",
	"ErrMultipleCoinbases":    "bad-cb-multiple",
	"ErrDuplicateTx":          "bad-txns-duplicate",
	"ErrTimeTooOld":           "time-too-old",
	"ErrSpendTooHigh":         "bad-txns-in-belowout",
	"ErrBadCoinbaseHeight":    "bad-cb-height",
	"ErrOverwriteTx":          "bad-txns-BIP30",
	"ErrUnfinalizedTx":        "bad-txns-nonfinal",
}

// fullBlockNamed are rows whose reason is another one than their error's: the tester builds some forks before their
// first block is found wanting, so that a later one is refused for its parent; and Core asks in another order.
var fullBlockNamed = map[string]string{
	"b8":    "bad-txns-inputs-missingorspent", // b7, its parent, has the fault
	"b19":   "bad-txns-inputs-missingorspent", // b18 likewise
	"b12":   "bad-cb-amount",                  // b14, which came before it, has the fault
	"b40":   "bad-blk-sigops",
	"b45":   "bad-blk-length",                 // no transaction at all
	"b49a":  "high-hash",                      // proof of work comes first
	"b51":   "bad-txns-inputs-missingorspent", // a second coinbase that is none: its input is missing
	"b56p2": "",                               // as long as the chain: kept aside, and not tried
}

// TestFullBlocks imports the block tester's blocks one by one, in its order: what it accepts moves the tip or stays
// aside as it says, what it refuses changes nothing and has Core's reason, its tips are the tips, and what it says of
// outputs after a block is disconnected holds in the view below that block.
func TestFullBlocks(t *testing.T) { modesThreads(t, fullBlocks) }

func fullBlocks(t *testing.T, mode ImportOptions) {
	p := *chain.Regtest()
	p.Segwit, p.CSV = 1<<31, 1<<31 // the tester's rules are those before segwit
	d := store.NewMemDisk()
	d.SetReserveCap(64 << 20)
	r := newRig(t, d, &p)
	defer r.discard()
	counts := map[string]int{}
	for line := range strings.Lines(string(realdata.Read(t, "chains", "btcd_fullblocktests.jsonl.gz"))) {
		var row fullBlockRow
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		counts[row.Type]++
		tip, _ := r.t.Tip()
		before := r.t.Header(tip).Hash()
		var rep *ImportReport
		if row.Raw != "" {
			raw, err := hex.DecodeString(row.Raw)
			if err != nil {
				t.Fatal(err)
			}
			o, s := mode, streamOptions(file(&p, raw))
			o.Paths, o.Stdin = s.Paths, s.Stdin
			o.Now = func() time.Time { return time.Unix(1_796_047_000, 0) } // when the blocks were made
			rep = r.run(t, o)
		}
		tip, _ = r.t.Tip()
		after := r.t.Header(tip).Hash()
		switch row.Type {
		case "accept":
			if got := after.String() == row.Hash; got != row.Mainchain || !got && after != before {
				t.Errorf("%s: tip %v, rejected %v", row.Name, after, rep.Rejected)
			}
		case "tip":
			if after.String() != row.Hash {
				t.Errorf("%s: tip %v, want %s", row.Name, after, row.Hash)
			}
		case "utxo_after_disconnect":
			r.fullBlockCoin(t, &row)
		default:
			// b12 is the parent that b13 and b14 wait for, and of these b14 is what is refused.
			if after != before && row.Name != "b12" {
				t.Errorf("%s: the tip moved to %v", row.Name, after)
			}
			r.fullBlockReason(t, &row, rep)
		}
	}
	t.Log(counts)
	for kind, want := range map[string]int{
		"accept": 143, "reject": 43, "orphan_or_reject": 3, "noncanonical": 1, "tip": 12, "utxo_after_disconnect": 3,
	} {
		if counts[kind] != want {
			t.Errorf("%d rows of %s, want %d", counts[kind], kind, want)
		}
	}
}

// fullBlockReason asserts why a block was refused.
func (r *rig) fullBlockReason(t *testing.T, row *fullBlockRow, rep *ImportReport) {
	t.Helper()
	want := fullBlockReasons[row.Code]
	if named, ok := fullBlockNamed[row.Name]; ok {
		want = named
	}
	switch {
	case row.Type == "noncanonical":
		want = "bad-block-encoding"
	case row.Type == "orphan_or_reject":
		return // on a block that was refused: not tried
	case want == "":
		if rep.Parked != 1 || len(rep.Rejected) > 0 {
			t.Errorf("%s, %s: not kept aside: %+v", row.Name, row.Code, rep)
		}
		return
	}
	if got := reasons(rep); len(got) != 1 || got[0] != want {
		t.Errorf("%s: rejected for %q, want %q", row.Name, got, want)
	}
}

// fullBlockCoin asserts whether an output is unspent below a block.
func (r *rig) fullBlockCoin(t *testing.T, row *fullBlockRow) {
	t.Helper()
	hash, err := chain.ParseHash(row.Block)
	if err != nil {
		t.Fatal(err)
	}
	v := r.t.View()
	l, ok := v.FindHeader(&hash)
	if !ok || !v.Confirmed(l) {
		t.Fatalf("%s: block %v is not on the chain", row.Name, hash)
	}
	v = v.Down(v.Header(l).Height() - 1)
	id, index, _ := strings.Cut(row.Outpoint, ":")
	txid, err := chain.ParseHash(id)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(index)
	if err != nil {
		t.Fatal(err)
	}
	tx, ok := v.FindStrong(&txid)
	unspent := ok && !v.Spent(v.Tx(tx).FirstOut+tables.OutputLink(n))
	if unspent != row.Expected {
		t.Errorf("%s: %s unspent below %v: %v, want %v", row.Name, row.Outpoint, hash, unspent, row.Expected)
	}
}
