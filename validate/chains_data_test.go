package validate

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/txscript/v2"

	"stele/chain"
	"stele/internal/realdata"
)

// node is a header of a tree, and the Ancestry of what builds on it.
type node struct {
	parent             *node
	height, time, bits uint32
}

func (n *node) At(height uint32) (time, bits uint32) {
	for n.height > height {
		n = n.parent
	}
	return n.time, n.bits
}

func (n *node) asParent() Parent {
	var times []uint32
	for at := n; at != nil && len(times) < mtpSpan; at = at.parent {
		times = append(times, at.time)
	}
	return Parent{Height: n.height, Time: n.time, Bits: n.bits, MTP: MTP(times)}
}

// tree judges whole blocks in any order that has parents first.
type tree struct {
	p       *chain.Params
	now     int64
	nodes   map[chain.Hash]*node
	block   chain.Block
	txids   []chain.Hash
	scratch Scratch
}

func newTree(p *chain.Params, now int64) *tree {
	h, _ := chain.ParseHeader(p.GenesisBlock)
	genesis := &node{time: h.Time, bits: h.Bits}
	return &tree{p: p, now: now, nodes: map[chain.Hash]*node{p.GenesisHash: genesis}}
}

// judge gives the verdict on the header and, where that passes, on the block by itself. A header that passes joins
// the tree, even without its block, as stale and invalid branches grow on.
func (x *tree) judge(t *testing.T, raw []byte) (header, block Verdict) {
	t.Helper()
	if err := x.block.Decode(raw); err != nil {
		t.Fatal(err)
	}
	h := &x.block.Header
	hash := h.Hash()
	if hash == x.p.GenesisHash {
		header = valid
	} else {
		parent := x.nodes[h.Prev]
		if parent == nil {
			t.Fatalf("%v: parent %v unknown", hash, h.Prev)
		}
		header = Header(x.p, h, &hash, parent.asParent(), parent, x.now)
		if !header.OK() {
			return header, header
		}
		x.nodes[hash] = &node{parent, parent.height + 1, h.Time, h.Bits}
	}
	x.txids = x.block.Txids(x.txids)
	return header, Check(x.p, &x.block, x.txids, &x.scratch)
}

func hexLines(t *testing.T, text []byte) (blocks [][]byte) {
	t.Helper()
	for _, line := range bytes.Fields(text) {
		raw, err := hex.DecodeString(string(line))
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, raw)
	}
	return blocks
}

// TestRealChains: every block of these chains passes, stale ones too.
func TestRealChains(t *testing.T) {
	const now = 1_800_000_000
	for _, x := range []struct {
		name   string
		p      *chain.Params
		want   int
		blocks func(t *testing.T) [][]byte
	}{
		{"mainnet 0..14131", chain.Main(), 14_132, func(t *testing.T) [][]byte {
			return realdata.Blocks(t, "chains", "mainnet_0_14131.blk.gz")
		}},
		{"mainnet reorg sample", chain.Main(), 8, func(t *testing.T) (blocks [][]byte) {
			for _, name := range []string{"blk_0_to_4.blk", "blk_3A.blk", "blk_4A.blk", "blk_5A.blk"} {
				blocks = append(blocks, realdata.Blocks(t, "chains", "btcd_reorg", name)...)
			}
			return blocks
		}},
		{"Core regtest", chain.Regtest(), 425, func(t *testing.T) [][]byte {
			return realdata.Blocks(t, "core_regtest", "chain.blk.gz")
		}},
		{"kernel regtest", chain.Regtest(), 206, func(t *testing.T) [][]byte {
			return hexLines(t, realdata.Read(t, "chains", "regtest_kernel_206.hex.gz"))
		}},
		{"utreexod regtest", chain.Regtest(), 151, func(t *testing.T) [][]byte {
			return hexLines(t, realdata.Read(t, "chains", "regtest_utreexod_151.hex.gz"))
		}},
		{"signet 0..120", chain.Signet(), 121, func(t *testing.T) (blocks [][]byte) {
			var rows []struct{ Block string }
			if err := json.Unmarshal(realdata.Read(t, "chains", "signet_blocks_0_120.json.gz"), &rows); err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				blocks = append(blocks, hexLines(t, []byte(row.Block))...)
			}
			return blocks
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			chain, n := newTree(x.p, now), 0
			for _, raw := range x.blocks(t) {
				header, block := chain.judge(t, raw)
				if !header.OK() || !block.OK() || !Weight(&chain.block).OK() {
					t.Fatalf("block %d: header %v, block %v", n, header, block)
				}
				n++
			}
			if n != x.want {
				t.Errorf("%d blocks, want %d", n, x.want)
			}
		})
	}
}

// TestRealBlocks: single blocks of four networks, full ones among them, pass, and their legacy signature operations
// are what another implementation counts.
func TestRealBlocks(t *testing.T) {
	var scratch Scratch
	seen := 0
	for _, net := range []*chain.Params{chain.Main(), chain.Testnet3(), chain.Testnet4(), chain.Signet()} {
		folder := net.Name
		if net == chain.Main() {
			folder = "mainnet"
		}
		entries, err := os.ReadDir(realdata.Path(t, folder, "blocks"))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			var b chain.Block
			if err := b.Decode(realdata.Read(t, folder, "blocks", entry.Name())); err != nil {
				t.Fatal(err)
			}
			seen++
			name, hash := net.Name+" "+entry.Name(), b.Header.Hash()
			wantReason(t, name, ProofOfWork(net, b.Header.Bits, &hash), "")
			wantReason(t, name, Check(net, &b, b.Txids(nil), &scratch), "")
			wantReason(t, name, Weight(&b), "")
			want := 0
			for i := range b.Ins {
				want += txscript.GetSigOpCount(b.Bytes(b.Ins[i].Script))
			}
			for i := range b.Outs {
				want += txscript.GetSigOpCount(b.Bytes(b.Outs[i].Script))
			}
			if got := blockSigOps(&b); got != want {
				t.Errorf("%s: %d legacy signature operations, want %d", name, got, want)
			}
		}
	}
	if seen != 49+11+1+1 {
		t.Errorf("%d blocks, want 62", seen)
	}
}

// TestSigOpCostOfOldBlocks: before P2SH a block's published cost is four times its legacy count.
func TestSigOpCostOfOldBlocks(t *testing.T) {
	for name, cost := range map[string]int{"170": 12, "2016": 4, "24835": 8, "32256": 4, "32636": 4, "57043": 8,
		"72576": 4, "116928": 160} {
		var b chain.Block
		if err := b.Decode(realdata.Read(t, "mainnet", "blocks", name+".blk.gz")); err != nil {
			t.Fatal(err)
		}
		if got := 4 * blockSigOps(&b); got != cost {
			t.Errorf("%s: %d, want %d", name, got, cost)
		}
	}
}

// fullBlockRow is one step of the block tester that btcd ported from Core's: a block, and what btcd says of it.
type fullBlockRow struct{ Type, Code, Name, Raw string }

// coreReason names Core's reason for btcd's code where header and context-free rules decide; "" where they must
// pass, as what is wrong shows later; ok tells whether the code is known here.
func (r *fullBlockRow) coreReason() (reason string, ok bool) {
	switch r.Name {
	case "b40": // signature operations inside P2SH
		return "", true
	case "b49a": // negative bits: no target at all to Core, which asks that before it compares bits
		return ReasonHighHash, true
	case "b56": // the last transaction twice, with the same root: CVE-2012-2459
		return ReasonDuplicateTx, true
	case "b51", "b56p2": // equal transactions apart in the tree: Core lets the second miss its inputs
		return "", true
	}
	switch r.Code {
	case "ErrHighHash":
		return ReasonHighHash, true
	case "ErrUnexpectedDifficulty":
		return ReasonBadDiffBits, true
	case "ErrTimeTooOld":
		return ReasonTimeTooOld, true
	case "ErrTimeTooNew":
		return ReasonTimeTooNew, true
	case "ErrBadMerkleRoot":
		return ReasonMerkleRoot, true
	case "ErrBlockTooBig", "ErrNoTransactions":
		return ReasonBlockLength, true
	case "ErrFirstTxNotCoinbase":
		return ReasonCoinbaseMissing, true
	case "ErrMultipleCoinbases":
		return ReasonCoinbaseMultiple, true
	case "ErrBadCoinbaseScriptLen":
		return ReasonCoinbaseLength, true
	case "ErrTooManySigOps":
		return ReasonSigOps, true
	case "ErrMissingTxOut", "ErrBadCoinbaseValue", "ErrImmatureSpend", "ErrSpendTooHigh", "ErrBadCoinbaseHeight",
		"ErrOverwriteTx", "ErrUnfinalizedTx":
		return "", true
	}
	return "", false
}

// TestFullBlockTests runs the block tester's chain. Accepted blocks pass; refused ones are refused for the reason
// that Core has for it where that is a matter of header or bytes alone, and pass here where it is not.
func TestFullBlockTests(t *testing.T) {
	const now = 1_796_047_000 // shortly after its blocks were made
	x := newTree(chain.Regtest(), now)
	count := make(map[string]int)
	var rows []fullBlockRow
	lines := strings.Split(strings.TrimSpace(string(realdata.Read(t, "chains", "btcd_fullblocktests.jsonl.gz"))), "\n")
	for _, line := range lines {
		var row fullBlockRow
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		if row.Raw != "" { // else a question about the tip or an output
			rows = append(rows, row)
		}
	}
	for len(rows) > 0 {
		var orphans []fullBlockRow // their parents come later
		for _, row := range rows {
			if raw := hexLines(t, []byte(row.Raw))[0]; x.knows(raw) {
				count[judgeFullBlock(t, x, &row, raw)]++
			} else {
				orphans = append(orphans, row)
			}
		}
		if len(orphans) == len(rows) {
			t.Fatalf("%d blocks without parent, %s first", len(rows), rows[0].Name)
		}
		rows = orphans
	}
	t.Log(count)
	for what, want := range map[string]int{"accept": 143, "reject": 19, "orphan_or_reject": 3, "noncanonical": 1} {
		if count[what] != want {
			t.Errorf("%s: %d, want %d", what, count[what], want)
		}
	}
}

// knows tells whether the parent of the block is in the tree.
func (x *tree) knows(raw []byte) bool {
	h, _ := chain.ParseHeader(raw)
	return x.nodes[h.Prev] != nil
}

// judgeFullBlock gives the class in which the row is counted.
func judgeFullBlock(t *testing.T, x *tree, row *fullBlockRow, raw []byte) string {
	t.Helper()
	switch row.Type {
	case "noncanonical":
		if err := x.block.Decode(raw); err == nil {
			t.Errorf("%s: decodes", row.Name)
		}
	case "reject":
		reason, ok := row.coreReason()
		if !ok {
			t.Errorf("%s: code %s unknown", row.Name, row.Code)
		}
		_, block := x.judge(t, raw)
		wantReason(t, row.Name+" "+row.Code, block, reason)
		if reason == "" {
			return "later: " + row.Code
		}
	default:
		header, block := x.judge(t, raw)
		wantReason(t, row.Name, header, "")
		wantReason(t, row.Name, block, "")
	}
	return row.Type
}
