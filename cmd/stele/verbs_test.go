package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stele/chain"
	"stele/internal/mainnet"
	"stele/internal/realdata"
	"stele/node"
	"stele/node/esplora"
)

// tells checks that an answer holds each of the texts.
func tells(t *testing.T, answer string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(answer, text) {
			t.Errorf("%q is not in\n%s", text, answer)
		}
	}
}

// blockHash is the hash of an embedded block.
func blockHash(t testing.TB, height int) string {
	t.Helper()
	h, err := chain.ParseHeader(records(t)[height][8:])
	if err != nil {
		t.Fatal(err)
	}
	return h.Hash().String()
}

func TestTx(t *testing.T) {
	dir := makeStore(t)
	tx := answer[esplora.Tx](t, dir, "tx", payment)
	if tx.Txid.String() != payment || tx.Vin[0].Prevout.Value != 5_000_000_000 || tx.Vout[1].Value != 4_000_000_000 ||
		tx.Size != 275 || *tx.Status.Height != 170 || tx.Status.Hash.String() != hash170 {
		t.Errorf("%+v", tx)
	}
	// Its bytes hash to its name.
	raw := stele("tx", "--datadir", dir, "--raw", payment).want(t, codeOK).out
	b, err := hex.DecodeString(strings.TrimSpace(raw))
	if err != nil || chain.DoubleSHA256(b).String() != payment {
		t.Errorf("raw %q: %v", raw, err)
	}
	if s := answer[string](t, dir, "tx", "--raw", payment); s != strings.TrimSpace(raw) {
		t.Errorf("--raw --json gives %q", s)
	}
	text := stele("tx", "--datadir", dir, payment).want(t, codeOK).out
	tells(t, text, payment, hash170, "2009-01-12 03:30:25 UTC", "30 confirmations", spent+":0", "10.00000000",
		"40.00000000")
	stele("tx", "--datadir", dir, unknown).want(t, codeNotFound, "not found", unknown, "height 199")
	if r := stele("tx", "--datadir", dir, genesis).want(t, codeOK); !strings.Contains(r.out, "coinbase") {
		t.Error(r.out)
	}
}

func TestSpender(t *testing.T) {
	dir := makeStore(t)
	ask := func(args ...string) result {
		return stele(append([]string{"--datadir", dir, "--json", "spender"}, args...)...)
	}
	one := document[esplora.Outspend](t, ask(spent+":0").want(t, codeOK))
	if !one.Spent || one.Txid.String() != payment || *one.Vin != 0 || *one.Status.Height != 170 {
		t.Errorf("%+v", one)
	}
	if r := ask(payment+":0").want(t, codeOK); r.out != "{\"spent\":false}\n" {
		t.Error(r.out)
	}
	if r := ask("--all", payment+":0").want(t, codeOK); r.out != "[]\n" {
		t.Error(r.out)
	}
	several := document[[]*esplora.Outspend](t, ask(spent+":0", unknown+":0", genesis+":0", payment+":7").want(t, codeOK))
	if len(several) != 4 || !several[0].Spent || several[1] != nil || several[2].Spent || several[3] != nil {
		t.Errorf("%+v", several)
	}
	all := document[[][]esplora.Outspend](t, ask("--all", spent+":0", unknown+":0").want(t, codeOK))
	if len(all) != 2 || len(all[0]) != 1 || all[0][0].Txid.String() != payment || all[1] != nil {
		t.Errorf("%+v", all)
	}
	ask(unknown+":0").want(t, codeNotFound, unknown)
	ask(payment+":2").want(t, codeNotFound, "2 outputs")
	if r := stele("--datadir", dir, "spender", spent+":0", payment+":0", unknown+":1").want(t, codeOK); r.out !=
		spent+":0  spent by input 0 of "+payment+" in block 170\n"+payment+":0  unspent\n"+unknown+":1  unknown\n" {
		t.Error(r.out)
	}
}

func TestBlock(t *testing.T) {
	dir := makeStore(t)
	b := answer[esplora.Block](t, dir, "block", "170")
	if b.ID.String() != hash170 || b.Txs != 2 || b.Size != 490 || b.Weight != 1960 || b.MTP != 1231716245 {
		t.Errorf("%+v", b)
	}
	byHash := answer[esplora.Block](t, dir, "block", hash170)
	if byHash.ID != b.ID || byHash.Merkle != b.Merkle {
		t.Errorf("%+v", byHash)
	}
	for _, h := range []int{0, 9, 170, height} {
		r := stele("--datadir", dir, "block", "--raw", fmt.Sprint(h)).want(t, codeOK)
		if want := hex.EncodeToString(records(t)[h][8:]); strings.TrimSpace(r.out) != want {
			t.Errorf("block %d: %s, want %s", h, r.out, want)
		}
	}
	ids := answer[[]string](t, dir, "block", "170", "--txids")
	const coinbase170 = "b1fea52486ce0c62bb442b530a3f0132b826c74e473d1f2c220bfa78111c5082"
	if !slices.Equal(ids, []string{coinbase170, payment}) {
		t.Error(ids)
	}
	stele("--datadir", dir, "block", "200").want(t, codeNotFound, "height 199")
	stele("--datadir", dir, "block", unknown).want(t, codeNotFound, unknown)
	stele("--datadir", dir, "block", "--raw", "--txids", "1").want(t, codeUsage)
}

func TestHeader(t *testing.T) {
	dir := makeStore(t)
	h := answer[esplora.Header](t, dir, "header", "170")
	// Work of 171 headers of difficulty 1, 2^32 + 2^16 + 1 each.
	if h.ID.String() != hash170 || !h.InBest || h.Chainwork != fmt.Sprintf("%064x", 171*(1<<32+1<<16+1)) {
		t.Errorf("%+v", h)
	}
	raw := stele("--datadir", dir, "header", "--raw", hash170).want(t, codeOK).out
	if want := hex.EncodeToString(records(t)[170][8:88]); strings.TrimSpace(raw) != want {
		t.Error(raw)
	}
	stele("--datadir", dir, "header", "1000").want(t, codeNotFound)
}

func TestUTXO(t *testing.T) {
	dir := makeStore(t)
	out := stele("--datadir", dir, "--json", "utxo", "get", payment+":0").want(t, codeOK).out
	tells(t, out, `"bestblock":"`+blockHash(t, height)+`"`, `"confirmations":30`, `"value":10.00000000,`,
		`"type":"pubkey"`, `"coinbase":false`)
	for _, gone := range []string{spent + ":0", payment + ":2", unknown + ":0", genesis + ":0"} {
		stele("--datadir", dir, "utxo", "get", gone).want(t, codeNotFound, gone)
	}
	stele("--datadir", dir, "utxo", "stats", "--hash", "md5").want(t, codeUsage, "md5")
	stele("--datadir", dir, "utxo", "stats", "--height", "200").want(t, codeNotFound, "height 199")
	// Block 170 took the coinbase of block 9 and gave its own and two outputs: 170 coinbases, less one, and two.
	r := stele("--datadir", dir, "--json", "utxo", "stats", "--height", "170", "--hash", "none").want(t, codeOK)
	want := `{"height":170,"bestblock":"` + hash170 + `","txouts":171,"bogosize":20007,` +
		`"total_amount":8500.00000000,"transactions":170}` + "\n"
	if r.out != want {
		t.Error(r.out)
	}
}

// TestWholeChain imports the embedded chain and compares with what Core says of it.
func TestWholeChain(t *testing.T) {
	dir := t.TempDir()
	report := answer[node.ImportReport](t, dir, "import", blockFile(t, 0, mainHigh+1))
	if report.Tip.Height != mainHigh || report.Tip.Hash.String() != mainTip || report.Txs != 14_246 ||
		len(report.Rejected) != 0 {
		t.Errorf("%+v", report)
	}
	for kind, hash := range map[string]string{
		hashSerialized3: "74c5a654587d4eaac9248b73889453e0b2fbc918bbc7bb8d8e6301d4d8c98db3",
		hashMuHash:      "859e27f17a6cce9768b75dd0dbd969890157d29a152b0f4a0afa6c67cbcd5975",
		none:            "",
	} {
		r := stele("--datadir", dir, "--json", "utxo", "stats", "--hash", kind).want(t, codeOK)
		if hash != "" {
			hash = fmt.Sprintf(`"%s":"%s",`, kind, hash)
		}
		want := fmt.Sprintf(`{"height":14131,"bestblock":"%s","txouts":13416,"bogosize":1567404,%s`+
			`"total_amount":706550.00000000,"transactions":13407}`+"\n", mainTip, hash)
		if r.out != want {
			t.Errorf("%s\nwant\n%s", r.out, want)
		}
	}
	path := filepath.Join(t.TempDir(), "snapshot")
	dumped := answer[dumpDocument](t, dir, "utxo", "dump", path)
	loaded := answer[loadDocument](t, dir, "utxo", "load", path)
	if dumped.Hash.String() != "74c5a654587d4eaac9248b73889453e0b2fbc918bbc7bb8d8e6301d4d8c98db3" || dumped.Coins != 13_416 ||
		dumped.ChainTx != 14_247 || loaded.Hash != dumped.Hash || loaded.Coins != dumped.Coins {
		t.Errorf("%+v, %+v", dumped, loaded)
	}
	info := answer[infoDocument](t, dir, "info")
	if info.Tip.Hash.String() != mainTip || info.Headers != info.Tip || info.Network != "main" ||
		info.WireBytes != mainnet.Size-8*mainnet.Count {
		t.Errorf("%+v", info)
	}
	var sum uint64
	for _, table := range info.Tables {
		if table.Name != "pending" {
			sum += table.BodyBytes + table.HeadBytes
		}
	}
	if sum != info.ArchiveBytes || info.Ratio != float64(sum)/float64(info.WireBytes) || len(info.Chains) != 1 ||
		info.Chains[0].Status != "active" {
		t.Errorf("tables add up to %d: %+v", sum, info)
	}
	checked := answer[checkDocument](t, dir, "check", "--deep")
	if !checked.OK || checked.Checked["blocks"] != 14_132 || checked.Checked["unspent"] != 13_416 {
		t.Errorf("%+v", checked)
	}
	place := answer[struct{ Tip place }](t, dir, "checkpoint")
	if place.Tip.Hash.String() != mainTip {
		t.Errorf("%+v", place)
	}
	again := answer[node.ImportReport](t, dir, "import", blockFile(t, 0, 500))
	if again.Blocks != 0 || again.Skipped != 500 || again.Tip != report.Tip {
		t.Errorf("%+v", again)
	}
}

func TestImport(t *testing.T) {
	dir := t.TempDir()
	r := stele("--datadir", dir, "import", blockFile(t, 0, 150), "--stop-height", "99", "--threads", "1", "--utxo", "off",
		"--assume-valid", "none", "--memory", "64M").want(t, codeOK, "importing", "assume_valid=none")
	tells(t, r.out, "99 blocks", "height 99", blockHash(t, 99))
	// The rest from standard input, beside a file.
	rest := strings.NewReader(string(slices.Concat(records(t)[120:]...)))
	report := document[node.ImportReport](t,
		steleIn(rest, "--datadir", dir, "--json", "import", "-", blockFile(t, 100, 120)).want(t, codeOK))
	if report.Tip.Hash.String() != mainTip {
		t.Errorf("%+v", report.Tip)
	}
	// A bit of the payment's signature: the block is refused, what stands below it is not.
	bad := slices.Concat(records(t)[:171]...)
	bad[len(bad)-200] ^= 1
	other := t.TempDir()
	report = answer[node.ImportReport](t, other, "import", writeFile(t, "bad.dat", bad))
	if report.Tip.Height != 169 || len(report.Rejected) != 1 || report.Rejected[0].Reason != "bad-txnmrklroot" ||
		report.Rejected[0].Hash != hash170 || report.Rejected[0].Height != 170 {
		t.Errorf("%+v", report)
	}
	r = stele("--datadir", other, "import", writeFile(t, "bad.dat", bad)).want(t, codeOK)
	tells(t, r.out, "bad-txnmrklroot: block "+hash170+" at height 170")
}

func TestDemo(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("TMP", temp)
	r := stele("demo").want(t, codeOK)
	tells(t, r.out, "height 14,131", "14,246 transactions", "14,996 inputs", mainTip, "every rule of consensus", "in block 170",
		"in block 181", "not found")
	if left := entries(t, temp); len(left) != 0 {
		t.Errorf("the demo leaves %v behind", left)
	}
	keep := t.TempDir()
	doc := document[demoDocument](t, stele("--json", "demo", "--keep", keep).want(t, codeOK))
	if doc.Import.Tip.Hash.String() != mainTip || len(doc.Lookups) != 8 || doc.Kept != keep || doc.ArchiveBytes == 0 ||
		doc.WireBytes != mainnet.Size-8*mainnet.Count {
		t.Errorf("%+v", doc)
	}
	for _, l := range doc.Lookups {
		if l.Answer == "" || l.First <= 0 || l.Warm <= 0 {
			t.Errorf("%+v", l)
		}
	}
	stele("--datadir", keep, "tx", payment).want(t, codeOK)
	stele("demo", "--keep", keep).want(t, codeFailed, keep)
	stele("demo", "--network", "regtest").want(t, codeUsage)
}

func TestVersionHelpCompletion(t *testing.T) {
	v := document[versionDocument](t, stele("--json", "version").want(t, codeOK))
	if v.Format == 0 || v.Version == "" || v.Go == "" {
		t.Errorf("%+v", v)
	}
	help := stele("help").want(t, codeOK).out
	const verbs = "demo import tx spender block header utxo info check checkpoint backup restore rebuild version " +
		"config completion help"
	for verb := range strings.FieldsSeq(verbs) {
		tells(t, help, "\n  "+verb+" ")
	}
	if r := stele("completion", "bash").want(t, codeOK); !strings.Contains(r.out, "__start_stele") {
		t.Error("no completion script")
	}
	if r := stele("help", "utxo", "stats").want(t, codeOK); !strings.Contains(r.out, "--height") {
		t.Error(r.out)
	}
}

// TestRegtestBranches shows a chain with stale branches: their headers are known, off the best chain.
func TestRegtestBranches(t *testing.T) {
	want, file := regtestChain(t)
	dir := t.TempDir()
	stele("--datadir", dir, "--network", "regtest", "import", file).want(t, codeOK)
	info := answer[infoDocument](t, dir, "--network", "regtest", "info")
	var tips []string
	for _, c := range info.Chains {
		status := map[string]string{"active": "active", "headers": "valid-fork", "archived": "valid-fork"}[c.Status]
		tips = append(tips, fmt.Sprintf("%v %d %d %s", c.Hash, c.Height, c.Branch, status))
	}
	slices.Sort(tips)
	if !slices.Equal(tips, want) {
		t.Errorf("%q\nwant\n%q", tips, want)
	}
	for _, tip := range want {
		hash := tip[:64]
		h := answer[esplora.Header](t, dir, "--network", "regtest", "header", hash)
		if h.InBest != strings.HasSuffix(tip, "active") {
			t.Errorf("%s: %+v", tip, h)
		}
	}
	// The store is in the network's folder, and there is none of main.
	stele("--datadir", dir, "info").want(t, codeFailed, "no store")
}

// regtestChain is a chain that Core made, as a file, and what Core's getchaintips says of it: hash, height, branch
// length and status.
func regtestChain(t *testing.T) (tips []string, file string) {
	t.Helper()
	var core struct {
		Chaintips []struct {
			Hash              string
			Height, Branchlen int
			Status            string
		}
	}
	if err := json.Unmarshal(realdata.Read(t, "core_regtest", "expected.json.gz"), &core); err != nil {
		t.Fatal(err)
	}
	for _, c := range core.Chaintips {
		tips = append(tips, fmt.Sprintf("%s %d %d %s", c.Hash, c.Height, c.Branchlen, c.Status))
	}
	slices.Sort(tips)
	return tips, writeFile(t, "regtest.dat", realdata.Read(t, "core_regtest", "chain.blk.gz"))
}
