package esplora

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stele/chain"
	"stele/internal/realdata"
	"stele/tables"
)

// Txids of the embedded chain: the first payment, the coinbase of block 9 that it spends, the coinbase of genesis. The
// golden files testdata/payment.json, genesis_coinbase.json and block_170.json are what public explorers say of them.
const (
	paymentTxid = "f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16"
	spentTxid   = "0437cd7f8525ceed2324359c2d0ba26006d92d856a9c20fa0241106ee5a597c9"
	genesisTxid = "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b"
)

func golden(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// text is JSON exactly as it would be printed, so that the order of fields is compared, too.
func text(t testing.TB, value any) string {
	t.Helper()
	b, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func find(t testing.TB, v *tables.View, txid string) tables.Tx {
	t.Helper()
	l, ok := v.FindTx(mustHash(t, txid))
	if !ok {
		t.Fatalf("transaction %s is not there", txid)
	}
	return v.Tx(l)
}

func TestTransactions(t *testing.T) {
	v := earlyView(t)
	for txid, file := range map[string]string{paymentTxid: "payment.json", genesisTxid: "genesis_coinbase.json"} {
		tx, err := Transaction(v, chain.Main(), find(t, v, txid).Link)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(golden(t, file), text(t, tx)); d != "" {
			t.Error(d)
		}
	}
}

func TestBlockAndHeader(t *testing.T) {
	v := earlyView(t)
	l, _ := v.HeaderAt(170)
	b, ok := BlockOf(v, l)
	if d := cmp.Diff(golden(t, "block_170.json"), text(t, b)); d != "" || !ok {
		t.Error(d)
	}
	// The work is raito's total_work after block 170.
	h := HeaderOf(v, l)
	work, err := chain.ParseWork("ab00ab00ab")
	if err != nil {
		t.Fatal(err)
	}
	if h.Chainwork != work.String() || !h.InBest || h.MTP != 1231716245 {
		t.Errorf("header %s", text(t, h))
	}
	genesis, _ := v.HeaderAt(0)
	if g := HeaderOf(v, genesis); g.Previous != nil {
		t.Errorf("genesis has a previous block: %s", text(t, g))
	}
}

func TestOutspends(t *testing.T) {
	v := earlyView(t)
	spent := find(t, v, spentTxid)
	const want = `{"spent":true,"txid":"` + paymentTxid + `","vin":0,"status":{"confirmed":true,"block_height":170,` +
		`"block_hash":"00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee","block_time":1231731025}}`
	if d := cmp.Diff(want, text(t, SpenderOf(v, spent.FirstOut))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff("["+want+"]", text(t, SpendersOf(v, spent.FirstOut))); d != "" {
		t.Error(d)
	}
	// Before block 170 nobody has spent it; nobody ever spends the output of genesis.
	if got := text(t, SpenderOf(v.Down(169), spent.FirstOut)); got != `{"spent":false}` {
		t.Error(got)
	}
	genesis := find(t, v, genesisTxid).FirstOut
	if got := text(t, SpenderOf(v, genesis)) + text(t, SpendersOf(v, genesis)); got != `{"spent":false}[]` {
		t.Error(got)
	}
	// A transaction that is above the view's tip is not confirmed in it.
	tx, err := Transaction(v.Down(169), chain.Main(), find(t, v, paymentTxid).Link)
	if err != nil || text(t, tx.Status) != `{"confirmed":false}` {
		t.Errorf("status %s, %v", text(t, tx.Status), err)
	}
}

func TestUnspent(t *testing.T) {
	v := earlyView(t)
	out, ok, err := UnspentOf(v, chain.Main(), mustHash(t, paymentTxid), 0)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	tip, _ := v.Tip()
	const key = "04ae1a62fe09c5f51b13905f07f06b99a2f7159b2225f374cd378d71302fa28414" +
		"e7aab37397f554a7df5f142c21c1b7303b8a0626f1baded5c72a704f7e6cd84c"
	want := `{"bestblock":"` + v.Header(tip).Hash().String() + `","confirmations":230,"value":10.00000000,` +
		`"scriptPubKey":{"asm":"` + key + ` OP_CHECKSIG","hex":"41` + key + `ac","type":"pubkey"},"coinbase":false}`
	if d := cmp.Diff(want, text(t, out)); d != "" {
		t.Error(d)
	}
	for _, gone := range []struct {
		txid string
		vout uint32
	}{
		{paymentTxid, 2},              // it has two outputs
		{spentTxid, 0},                // spent
		{genesisTxid, 0},              // never in the set
		{strings.Repeat("11", 32), 0}, // absent
	} {
		if _, ok, err := UnspentOf(v, chain.Main(), mustHash(t, gone.txid), gone.vout); ok || err != nil {
			t.Errorf("%s:%d is unspent (%v)", gone.txid, gone.vout, err)
		}
	}
}

// TestRegtest answers for every transaction of a chain with segwit and taproot, which Core made: blocks and spenders
// are what Core says, and every coinbase claims what the fees add up to.
func TestRegtest(t *testing.T) {
	var want struct {
		Blocks []struct {
			Hash              string
			Ntx, Size, Weight uint32
		}
		Spenders map[string][3]any
	}
	if err := json.Unmarshal(realdata.Read(t, "core_regtest", "expected.json.gz"), &want); err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, raw := range realdata.Blocks(t, "core_regtest", "chain.blk.gz") {
		h, err := chain.ParseHeader(raw)
		if err != nil {
			t.Fatal(err)
		}
		all[h.Hash().String()] = raw
	}
	var best [][]byte
	for _, b := range want.Blocks[1:] {
		best = append(best, all[b.Hash])
	}
	v := archive(t, chain.Regtest(), best).View()
	for height, w := range want.Blocks {
		l, _ := v.HeaderAt(uint32(height))
		b, ok := BlockOf(v, l)
		if !ok || b.ID.String() != w.Hash || b.Txs != w.Ntx || b.Size != w.Size || b.Weight != w.Weight {
			t.Errorf("block %d: %s", height, text(t, b))
		}
		checkBlock(t, v, l)
	}
	for name, w := range want.Spenders {
		txid, vout := name[:64], name[65:]
		var index uint32
		if err := json.Unmarshal([]byte(vout), &index); err != nil {
			t.Fatal(err)
		}
		s := SpenderOf(v, find(t, v, txid).FirstOut+tables.OutputLink(index))
		if !s.Spent || s.Txid.String() != w[0] || float64(*s.Vin) != w[1] || float64(*s.Status.Height) != w[2] {
			t.Errorf("%s: %s, want %v", name, text(t, s), w)
		}
	}
}

// checkBlock adds up the answers for a block's transactions: they weigh what it weighs, and its coinbase claims the
// subsidy (regtest's first: 50 BTC, halved every 150 blocks) and the fees.
func checkBlock(t *testing.T, v *tables.View, l tables.HeaderLink) {
	t.Helper()
	b, _ := v.Block(l)
	height := v.Header(l).Height()
	claim := int64(50*100_000_000) >> (height / 150)
	var claimed int64
	size := 80 + chain.CompactSizeLen(uint64(b.Txs))
	weight := size * chain.WitnessScale
	for i := range b.Txs {
		tx, err := Transaction(v, chain.Regtest(), b.FirstTx+tables.TxLink(i))
		if err != nil {
			t.Fatal(err)
		}
		size, weight, claim = size+tx.Size, weight+tx.Weight, claim+tx.Fee
		if tx.Fee < 0 || i > 0 && tx.Vin[0].Prevout == nil || i == 0 && (tx.Fee != 0 || tx.Vin[0].Prevout != nil) {
			t.Errorf("transaction %v: fee %d", tx.Txid, tx.Fee)
		}
		for k := range tx.Vout {
			if i == 0 {
				claimed += tx.Vout[k].Value
			}
		}
	}
	if claimed != claim || size != int(b.Size) || weight != int(b.Weight) {
		t.Errorf("block %d claims %d, wants %d: %d bytes, weight %d", height, claimed, claim, size, weight)
	}
}
