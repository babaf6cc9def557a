package chain

import (
	"bytes"
	"context"
	"flag"
	"io"
	"slices"
	"testing"

	"github.com/btcsuite/btcd/blockchain"
	"github.com/btcsuite/btcd/btcutil/v2"
	"github.com/btcsuite/btcd/chaincfg/v2"
	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/database"
	_ "github.com/btcsuite/btcd/database/ffldb"
	"github.com/btcsuite/btcd/txscript/v2"
	btcwire "github.com/btcsuite/btcd/wire/v2"

	wire "stele/chain"
	"stele/node"
	"stele/store"
	"stele/tables"
	"stele/utxo"
)

var whole = flag.Bool("whole", false, "prove a signed chain of 620 blocks and more than 50 MB, in minutes")

// signedOptions has all kinds, and branches.
func signedOptions() Options {
	o := Options{Seed: 11, Blocks: 170, Txs: 25, Mix: Mainnet, Signed: true, Stale: Stale{Every: 40, Depth: 3}}
	if *whole {
		o.Blocks, o.Txs = 620, 200
	}
	return o
}

// Btcd's blockchain with all its checks takes a signed chain with its branches, and so does an import of ours with all
// of its own. Both leave the coins that a naive replay of the blocks leaves.
func TestSigned(t *testing.T) {
	o := signedOptions()
	g := source(t, o)
	var file bytes.Buffer
	naive := replay{}
	oracle := newOracle(t)
	var b Block
	for g.Next(&b) {
		if err := WriteRecord(&file, b.Raw); err != nil {
			t.Fatal(err)
		}
		oracle.take(&b)
		if !b.Stale {
			naive.block(t, b.Height, b.Raw)
		}
	}
	s := g.Stats()
	for k := range Data {
		if s.InKinds[k] == 0 {
			t.Errorf("nothing spends %v", k)
		}
	}
	if want := uint64(o.Stale.Depth * ((o.Blocks - o.Stale.Depth) / o.Stale.Every)); s.Stale != want {
		t.Errorf("%d stale blocks, expected %d", s.Stale, want)
	}
	t.Logf("%d blocks, %d stale, %d bytes, %d inputs", s.Coinbases, s.Stale, file.Len(), s.Ins)
	oracle.compare(g.tip, naive)
	want, stats := naive.sum(t)
	coins, records := g.Coins()
	if coins != stats.Outputs || records != stats.Transactions {
		t.Errorf("the source counts %d coins of %d transactions, the replay %d of %d", coins, records, stats.Outputs,
			stats.Transactions)
	}
	ours := imported(t, &file, g)
	have, _ := ours.sum(t)
	if have != want {
		t.Errorf("our tables have a set of %d coins, %x, the replay one of %d, %x", len(ours), have, len(naive), want)
	}
}

// imported imports a chain with all checks and returns the coins that the tables tell.
func imported(t *testing.T, file io.Reader, g *Source) replay {
	t.Helper()
	ta := memTables(t)
	r, err := node.Import(context.Background(), ta, node.ImportOptions{Paths: []string{"-"}, Stdin: file, StopHeight: -1})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rejected) != 0 || r.Tip.Height != g.o.Blocks || r.Tip.Hash != g.tip || r.Assumed != 0 {
		t.Fatalf("tip %d %v, %d not verified, rejected %v", r.Tip.Height, r.Tip.Hash, r.Assumed, r.Rejected)
	}
	ours := replay{}
	err = ta.View().EachUnspent(func(u *tables.Unspent) error {
		if u.Height > 0 {
			ours[outpoint{*u.Txid, u.Vout}] = kept{u.Value, bytes.Clone(u.Script), u.Height, u.Coinbase}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := ta.Close(); err != nil {
		t.Fatal(err)
	}
	return ours
}

func memTables(t *testing.T) *tables.Tables {
	t.Helper()
	d := store.NewMemDisk()
	d.SetReserveCap(256 << 20)
	ta, err := tables.Create(d, wire.Regtest(), tables.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return ta
}

// TestMadeUpIsRefused: whoever verifies takes no block with made-up signatures.
func TestMadeUpIsRefused(t *testing.T) {
	few := Options{Seed: 7, Blocks: maturity + 10, Txs: 5, Mix: Mainnet}
	ta := memTables(t)
	r, err := node.Import(context.Background(), ta, node.ImportOptions{
		Paths: []string{"-"}, Stdin: NewReader(source(t, few)), StopHeight: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Tip.Height != maturity || len(r.Rejected) == 0 { // the next block has the first fan-out
		t.Errorf("tip %d, rejected %v", r.Tip.Height, r.Rejected)
	}
	if err := ta.Close(); err != nil {
		t.Fatal(err)
	}
}

// replay is a set of coins.
type replay map[outpoint]kept

type kept struct {
	value    int64
	script   []byte
	height   uint32
	coinbase bool
}

func (r replay) block(t *testing.T, height uint32, raw []byte) {
	t.Helper()
	var b wire.Block
	if err := b.Decode(raw); err != nil {
		t.Fatal(err)
	}
	txids := b.Txids(nil)
	for tx := range b.Txs {
		x := &b.Txs[tx]
		for i := range int(x.Ins) {
			if txid, vout := b.Outpoint(int(x.FirstIn) + i); tx > 0 {
				if _, ok := r[outpoint{*txid, vout}]; !ok {
					t.Fatalf("height %d: transaction %d spends nothing", height, tx)
				}
				delete(r, outpoint{*txid, vout})
			}
		}
		for i := range x.Outs {
			o := &b.Outs[x.FirstOut+i]
			if script := b.Bytes(o.Script); len(script) == 0 || script[0] != 0x6a {
				r[outpoint{txids[tx], i}] = kept{o.Value, bytes.Clone(script), height, tx == 0}
			}
		}
	}
}

// sum returns both of the set's hashes, and its counts.
func (r replay) sum(t *testing.T) (sum [2]wire.Hash, stats utxo.Stats) {
	t.Helper()
	order := make([]outpoint, 0, len(r))
	for o := range r {
		order = append(order, o)
	}
	slices.SortFunc(order, func(a, b outpoint) int {
		if c := bytes.Compare(a.txid[:], b.txid[:]); c != 0 {
			return c
		}
		return int(a.vout) - int(b.vout)
	})
	for i, h := range []utxo.Hasher{utxo.NewSerialized3(), utxo.NewMuHash()} {
		for _, o := range order {
			k := r[o]
			c := utxo.Coin{Txid: &o.txid, Vout: o.vout, Height: k.height, Coinbase: k.coinbase, Value: k.value, Script: k.script}
			if err := h.Add(&c); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				stats.Count(&c)
			}
		}
		sum[i] = h.Sum()
	}
	return sum, stats
}

// oracle is btcd's chain on regtest.
type oracle struct {
	t     *testing.T
	chain *blockchain.BlockChain
}

func newOracle(t *testing.T) *oracle {
	t.Helper()
	params := chaincfg.RegressionNetParams
	db, err := database.Create("ffldb", t.TempDir()+"/ffldb", params.Net)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	c, err := blockchain.New(&blockchain.Config{
		DB: db, ChainParams: &params, TimeSource: blockchain.NewMedianTime(), UtxoCacheMaxSize: 64 << 20,
		HashCache: txscript.NewHashCache(1_000),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &oracle{t: t, chain: c}
}

// take wants the block taken: on the chain unless a branch of the same length came first, and never as an orphan.
func (o *oracle) take(b *Block) {
	o.t.Helper()
	block, err := btcutil.NewBlockFromBytes(b.Raw)
	if err != nil {
		o.t.Fatal(err)
	}
	_, orphan, err := o.chain.ProcessBlock(block, blockchain.BFNone)
	if err != nil || orphan {
		o.t.Fatalf("btcd: height %d, stale %v, orphan %v: %v", b.Height, b.Stale, orphan, err)
	}
}

// compare wants the tip, and every coin of a replay, and no more coins in those transactions.
func (o *oracle) compare(tip wire.Hash, coins replay) {
	o.t.Helper()
	if best := o.chain.BestSnapshot(); wire.Hash(best.Hash) != tip {
		o.t.Fatalf("btcd's tip is %v at height %d, not %v", best.Hash, best.Height, tip)
	}
	for at, k := range coins {
		e, err := o.chain.FetchUtxoEntry(btcwire.OutPoint{Hash: chainhash.Hash(at.txid), Index: at.vout})
		if err != nil || e == nil || e.IsSpent() || e.Amount() != k.value || uint32(e.BlockHeight()) != k.height ||
			e.IsCoinBase() != k.coinbase || !bytes.Equal(e.PkScript(), k.script) {
			o.t.Fatalf("btcd's coin %v:%d is %+v (%v), not %+v", at.txid, at.vout, e, err, k)
		}
	}
}
