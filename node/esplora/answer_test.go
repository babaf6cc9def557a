package esplora

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stele/chain"
	"stele/internal/testdata"
	"stele/tables"
)

// What public explorers say of the first payment, the coinbase that it spends, and block 170.
const (
	payment = `{"txid":"f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16","version":1,"locktime":0,"size":275,` +
		`"weight":1100,"fee":0,"vin":[{"txid":"0437cd7f8525ceed2324359c2d0ba26006d92d856a9c20fa0241106ee5a597c9","vout":0,` +
		`"is_coinbase":false,"scriptsig":"47304402204e45e16932b8af514961a1d3a1a25fdf3f4f7732e9d624c6c61548ab5fb8cd410220181522ec8e` +
		`ca07de4860a4acdd12909d831cc56cbbac4622082221a8768d1d0901","scriptsig_asm":"OP_PUSHBYTES_71 304402204e45e16932b8af514961a1` +
		`d3a1a25fdf3f4f7732e9d624c6c61548ab5fb8cd410220181522ec8eca07de4860a4acdd12909d831cc56cbbac4622082221a8768d1d0901",` +
		`"sequence":4294967295,"witness":[],"prevout":{"scriptpubkey":"410411db93e1dcdb8a016b49840f8c53bc1eb68a382e97b1482ecad7b14` +
		`8a6909a5cb2e0eaddfb84ccf9744464f82e160bfa9b8b64f9d4c03f999b8643f656b412a3ac","scriptpubkey_asm":"OP_PUSHBYTES_65 0411db93` +
		`e1dcdb8a016b49840f8c53bc1eb68a382e97b1482ecad7b148a6909a5cb2e0eaddfb84ccf9744464f82e160bfa9b8b64f9d4c03f999b8643f656b412a` +
		`3 OP_CHECKSIG","scriptpubkey_type":"p2pk","value":5000000000}}],"vout":[{"scriptpubkey":"4104ae1a62fe09c5f51b13905f07f06b` +
		`99a2f7159b2225f374cd378d71302fa28414e7aab37397f554a7df5f142c21c1b7303b8a0626f1baded5c72a704f7e6cd84cac",` +
		`"scriptpubkey_asm":"OP_PUSHBYTES_65 04ae1a62fe09c5f51b13905f07f06b99a2f7159b2225f374cd378d71302fa28414e7aab37397f554a7df5` +
		`f142c21c1b7303b8a0626f1baded5c72a704f7e6cd84c OP_CHECKSIG","scriptpubkey_type":"p2pk","value":1000000000},{"scriptpubkey":` +
		`"410411db93e1dcdb8a016b49840f8c53bc1eb68a382e97b1482ecad7b148a6909a5cb2e0eaddfb84ccf9744464f82e160bfa9b8b64f9d4c03f999b864` +
		`3f656b412a3ac","scriptpubkey_asm":"OP_PUSHBYTES_65 0411db93e1dcdb8a016b49840f8c53bc1eb68a382e97b1482ecad7b148a6909a5cb2e0` +
		`eaddfb84ccf9744464f82e160bfa9b8b64f9d4c03f999b8643f656b412a3 OP_CHECKSIG","scriptpubkey_type":"p2pk","value":4000000000}],` +
		`"status":{"confirmed":true,"block_height":170,"block_hash":"00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a` +
		`2ee","block_time":1231731025}}`

	genesisTxid     = "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b"
	genesisCoinbase = `{"txid":"4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b","version":1,"locktime":0,"size":204,` +
		`"weight":816,"fee":0,"vin":[{"txid":"0000000000000000000000000000000000000000000000000000000000000000","vout":4294967295,` +
		`"is_coinbase":true,"scriptsig":"04ffff001d0104455468652054696d65732030332f4a616e2f32303039204368616e63656c6c6f72206f6e206` +
		`272696e6b206f66207365636f6e64206261696c6f757420666f722062616e6b73","scriptsig_asm":"OP_PUSHBYTES_4 ffff001d OP_PUSHBYTES_` +
		`1 04 OP_PUSHBYTES_69 5468652054696d65732030332f4a616e2f32303039204368616e63656c6c6f72206f6e206272696e6b206f66207365636f6e` +
		`64206261696c6f757420666f722062616e6b73","sequence":4294967295,"witness":[],"prevout":null}],"vout":[{"scriptpubkey":"4104` +
		`678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6` +
		`bf11d5fac","scriptpubkey_asm":"OP_PUSHBYTES_65 04678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f` +
		`4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5f OP_CHECKSIG","scriptpubkey_type":"p2pk","value":5000000000}],` +
		`"status":{"confirmed":true,"block_height":0,"block_hash":"000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26` +
		`f","block_time":1231006505}}`

	block170 = `{"id":"00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee","height":170,"version":1,` +
		`"timestamp":1231731025,"mediantime":1231716245,"bits":486604799,"nonce":1889418792,"difficulty":1,` +
		`"merkle_root":"7dac2c5666815c17a3b36427de37bb9d2e2c5ccec3f8633eb91a4205cb4c10ff","tx_count":2,"size":490,"weight":1960,` +
		`"previousblockhash":"000000002a22cfee1f2c846adbd12b3e183d4f97683f85dad08a79780a84bd55"}`
)

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
	for txid, want := range map[string]string{
		"f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16": payment,
		genesisTxid: genesisCoinbase,
	} {
		tx, err := Transaction(v, chain.Main(), find(t, v, txid).Link)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, text(t, tx)); d != "" {
			t.Error(d)
		}
	}
}

func TestBlockAndHeader(t *testing.T) {
	v := earlyView(t)
	l, _ := v.HeaderAt(170)
	b, ok := BlockOf(v, l)
	if d := cmp.Diff(block170, text(t, b)); d != "" || !ok {
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
	spent := find(t, v, "0437cd7f8525ceed2324359c2d0ba26006d92d856a9c20fa0241106ee5a597c9")
	const want = `{"spent":true,"txid":"f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16","vin":0,"status":` +
		`{"confirmed":true,"block_height":170,"block_hash":"00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee",` +
		`"block_time":1231731025}}`
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
	tx, err := Transaction(v.Down(169), chain.Main(), find(t, v, "f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16").Link)
	if err != nil || text(t, tx.Status) != `{"confirmed":false}` {
		t.Errorf("status %s, %v", text(t, tx.Status), err)
	}
}

func TestUnspent(t *testing.T) {
	v := earlyView(t)
	const hal = "f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16"
	out, ok, err := UnspentOf(v, chain.Main(), mustHash(t, hal), 0)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	tip := v.Header(func() tables.HeaderLink { l, _ := v.Tip(); return l }()).Hash()
	want := `{"bestblock":"` + tip.String() + `","confirmations":230,"value":10.00000000,"scriptPubKey":{"asm":"04ae1a62fe09c5f51b13905` +
		`f07f06b99a2f7159b2225f374cd378d71302fa28414e7aab37397f554a7df5f142c21c1b7303b8a0626f1baded5c72a704f7e6cd84c OP_CHECKSIG",` +
		`"hex":"4104ae1a62fe09c5f51b13905f07f06b99a2f7159b2225f374cd378d71302fa28414e7aab37397f554a7df5f142c21c1b7303b8a0626f1bade` +
		`d5c72a704f7e6cd84cac","type":"pubkey"},"coinbase":false}`
	if d := cmp.Diff(want, text(t, out)); d != "" {
		t.Error(d)
	}
	for _, gone := range []struct {
		txid string
		vout uint32
	}{
		{hal, 2}, // it has two outputs
		{"0437cd7f8525ceed2324359c2d0ba26006d92d856a9c20fa0241106ee5a597c9", 0}, // spent
		{genesisTxid, 0}, // never in the set
		{"1111111111111111111111111111111111111111111111111111111111111111", 0}, // absent
	} {
		if _, ok, err := UnspentOf(v, chain.Main(), mustHash(t, gone.txid), gone.vout); ok || err != nil {
			t.Errorf("%s:%d is unspent (%v)", gone.txid, gone.vout, err)
		}
	}
}

// TestRegtest answers for every transaction of a chain with segwit and taproot: sizes, fees and spenders agree with each
// other, and the coinbases with what the fees say.
func TestRegtest(t *testing.T) {
	var want struct {
		Blocks []struct {
			Hash              string
			Ntx, Size, Weight uint32
		}
		Spenders map[string][3]any
	}
	if err := json.Unmarshal(testdata.Read(t, "core_regtest", "expected.json.gz"), &want); err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, raw := range testdata.Blocks(t, "core_regtest", "chain.blk.gz") {
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
		t.Errorf("block %d: claims %d of %d, %d bytes of %d, weight %d of %d", height, claimed, claim, size, b.Size, weight, b.Weight)
	}
}
