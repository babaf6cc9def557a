package script_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2/schnorr"
	"github.com/btcsuite/btcd/txscript/v2"

	"stele/chain"
	"stele/internal/realdata"
	"stele/validate"
	"stele/validate/script"
)

const txscriptModule = "github.com/btcsuite/btcd/txscript/v2"

// allFlags is every flag that there is.
const allFlags = script.Consensus | script.Policy

// bothCopies runs f over a file of Core's vectors: the copy inside btcd's module, and the newer one of the data folder.
func bothCopies(t *testing.T, name string, f func(t *testing.T, rows []json.RawMessage)) {
	for _, from := range []string{"btcd", "core"} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			var path string
			if from == "btcd" {
				path = realdata.Module(t, txscriptModule, filepath.Join("data", name))
			} else {
				path = realdata.Path(t, "vectors", "core", name)
			}
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var rows []json.RawMessage
			if err := json.Unmarshal(raw, &rows); err != nil {
				t.Fatal(err)
			}
			f(t, rows)
		})
	}
}

// want fails the test unless a count is what it must be: a vector that was passed over in silence proves nothing.
func want(t *testing.T, what string, have, count int) {
	t.Helper()
	if have != count {
		t.Errorf("%s: %d, not %d", what, have, count)
	}
}

func parse[T any](t *testing.T, raw json.RawMessage) (v T) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func parseFlags(t *testing.T, text string) (f script.Flags) {
	t.Helper()
	for name := range strings.SplitSeq(text, ",") {
		if name == "" || name == "NONE" {
			continue
		}
		flag, ok := script.FlagByName(name)
		if !ok {
			t.Fatalf("no flag %q", name)
		}
		f |= flag
	}
	return f
}

// scriptCase is a row of script_tests.json.
type scriptCase struct {
	spend *spend
	flags script.Flags
	name  string // of the expected error
	text  string
}

// numsKey has no known secret (BIP341); Core's script tests use it as the internal key.
const numsKey = "50929b74c1a04954b78b4b6035e97a5e078a5a0f28ec96d547bfee9ace803ac0"

func parseScriptCase(t *testing.T, row []json.RawMessage) scriptCase {
	t.Helper()
	var witness [][]byte
	var value int64
	tree := &oneLeaf{}
	if row[0][0] == '[' {
		items := parse[[]json.RawMessage](t, row[0])
		amount := parse[float64](t, items[len(items)-1])
		value = int64(math.Round(amount * 1e8))
		for _, item := range items[:len(items)-1] {
			witness = append(witness, tree.item(t, parse[string](t, item)))
		}
		row = row[1:]
	}
	texts := make([]string, len(row))
	for i := range row {
		texts[i] = parse[string](t, row[i])
	}
	sig, err := assemble(texts[0])
	if err != nil {
		t.Fatal(err)
	}
	pubKey, err := assemble(strings.ReplaceAll(texts[1], "#TAPROOTOUTPUT#", "0x"+hex.EncodeToString(tree.output)))
	if err != nil {
		t.Fatal(err)
	}
	c := scriptCase{
		spend: credit(sig, pubKey, witness, value), flags: parseFlags(t, texts[2]), name: texts[3],
		text: strings.Join(texts, " | "),
	}
	if c.flags.Has(script.CleanStack) {
		c.flags |= script.P2SH | script.Witness
	}
	return c
}

// oneLeaf stands for the words of script_tests.json that make a taproot output of one script.
type oneLeaf struct{ output, control []byte }

func (l *oneLeaf) item(t *testing.T, text string) []byte {
	t.Helper()
	if text == "#CONTROLBLOCK#" {
		return l.control
	}
	source, ok := strings.CutPrefix(text, "#SCRIPT#")
	if !ok {
		return unhex(t, text)
	}
	leaf, err := assemble(source)
	if err != nil {
		t.Fatal(err)
	}
	l.output, l.control = taprootLeaf(t, unhex(t, numsKey), 0xc0, leaf)
	return leaf
}

// taprootLeaf is the output key of a tree that is one leaf, and the control block that shows it. It is made by btcd.
func taprootLeaf(t testing.TB, internal []byte, version byte, leaf []byte) (output, control []byte) {
	t.Helper()
	key, err := schnorr.ParsePubKey(internal)
	if err != nil {
		t.Fatal(err)
	}
	root := txscript.NewTapLeaf(txscript.TapscriptLeafVersion(version), leaf).TapHash()
	tweaked := txscript.ComputeTaprootOutputKey(key, root[:])
	first := version | tweaked.SerializeCompressed()[0]&1
	return schnorr.SerializePubKey(tweaked), append([]byte{first}, internal...)
}

// combinationAllowed tells whether flags may stand together (Core asserts it).
func combinationAllowed(f script.Flags) bool {
	return !(f.Has(script.CleanStack) && !f.Has(script.P2SH|script.Witness)) &&
		!(f.Has(script.Witness) && !f.Has(script.P2SH))
}

// Every case of script_tests.json gives the error that it names, and no flag taken from one that passes or added to one
// that fails changes that.
func TestScriptVectors(t *testing.T) {
	bothCopies(t, "script_tests.json", func(t *testing.T, rows []json.RawMessage) {
		j := newJudge()
		cases, passes, others := 0, 0, 0
		r := rand.New(rand.NewPCG(5, 1))
		for _, raw := range rows {
			row := parse[[]json.RawMessage](t, raw)
			if len(row) == 1 {
				continue
			}
			c := parseScriptCase(t, row)
			cases++
			j.take(t, c.spend)
			have := j.verdict(t, 0, c.flags)
			if have.Name() != c.name {
				t.Errorf("%s: %s, not %s: %s", c.text, have.Name(), c.name, have)
			}
			pass := have == script.OK
			if pass {
				passes++
			}
			for i := range 40 {
				extra := script.Flags(1) << i
				if i >= 21 {
					extra = script.Flags(r.Uint32()) & allFlags
				}
				f := c.flags | extra
				if pass {
					f = c.flags &^ extra
				}
				if !combinationAllowed(f) {
					continue
				}
				others++
				if (j.verdict(t, 0, f) == script.OK) != pass {
					t.Errorf("%s: with %v it is not %s", c.text, f.Names(), c.name)
				}
			}
		}
		t.Logf("%d cases, %d of which pass, and %d under other flags; in %d of %d runs the deferred mode decided alone",
			cases, passes, others, j.deferred, j.inputs)
		want(t, "cases", cases, 1222)
		want(t, "passing cases", passes, 675)
		want(t, "cases under other flags", others, 45108)
	})
}

// txCase is a row of tx_valid.json or tx_invalid.json.
type txCase struct {
	raw   []byte
	coins map[[36]byte]chain.Coin
	flags string
}

func parseTxCase(t *testing.T, raw json.RawMessage) (c txCase, ok bool) {
	t.Helper()
	row := parse[[]json.RawMessage](t, raw)
	if row[0][0] != '[' {
		return c, false
	}
	c = txCase{raw: unhex(t, parse[string](t, row[1])), coins: map[[36]byte]chain.Coin{}, flags: parse[string](t, row[2])}
	for _, raw := range parse[[]json.RawMessage](t, row[0]) {
		prev := parse[[]json.RawMessage](t, raw)
		txid, err := chain.ParseHash(parse[string](t, prev[0]))
		if err != nil {
			t.Fatal(err)
		}
		var coin chain.Coin
		if coin.Script, err = assemble(parse[string](t, prev[2])); err != nil {
			t.Fatal(err)
		}
		if len(prev) > 3 {
			coin.Value = parse[int64](t, prev[3])
		}
		c.coins[point(txid, uint32(parse[int64](t, prev[1])))] = coin
	}
	return c, true
}

// point is an outpoint as a key.
func point(txid chain.Hash, vout uint32) (p [36]byte) {
	copy(p[:], txid[:])
	p[32], p[33], p[34], p[35] = byte(vout), byte(vout>>8), byte(vout>>16), byte(vout>>24)
	return p
}

// coinsOf finds what the inputs of transaction tx spend; none where one is not known.
func coinsOf(b *chain.Block, tx int, known map[[36]byte]chain.Coin) []chain.Coin {
	t := &b.Txs[tx]
	coins := make([]chain.Coin, t.Ins)
	for i := range coins {
		txid, vout := b.Outpoint(int(t.FirstIn) + i)
		coin, ok := known[point(*txid, vout)]
		if !ok {
			return nil
		}
		coins[i] = coin
	}
	return coins
}

// trim takes away what may not stand without what is absent; fill adds what has to stand beside what is there.
func trim(f script.Flags) script.Flags {
	if !f.Has(script.P2SH) {
		f &^= script.Witness
	}
	if !f.Has(script.Witness) {
		f &^= script.CleanStack
	}
	return f
}

func fill(f script.Flags) script.Flags {
	if f.Has(script.CleanStack) {
		f |= script.Witness
	}
	if f.Has(script.Witness) {
		f |= script.P2SH
	}
	return f
}

// without lists f with one flag taken away, for each of its flags.
func without(f script.Flags) (all []script.Flags) {
	for i := range 21 {
		if less := trim(f &^ (1 << i)); less != f && !slices.Contains(all, less) {
			all = append(all, less)
		}
	}
	return all
}

// passes tells whether every input of the transaction passes.
func (j *judge) passes(t *testing.T, b *chain.Block, f script.Flags) bool {
	t.Helper()
	for i := range b.Ins {
		if j.verdict(t, i, f) != script.OK {
			return false
		}
	}
	return true
}

// Every transaction of tx_valid.json passes under all flags but those that it excludes, under fewer too, and fails when
// one of the excluded is set.
func TestValidTransactions(t *testing.T) {
	bothCopies(t, "tx_valid.json", func(t *testing.T, rows []json.RawMessage) {
		j := newJudge()
		var scratch validate.Scratch
		cases, others, tight := 0, 0, 0
		r := rand.New(rand.NewPCG(5, 2))
		for _, raw := range rows {
			c, ok := parseTxCase(t, raw)
			if !ok {
				continue
			}
			cases++
			b := decodeTx(t, c.raw)
			if v := validate.CheckTx(b, 0, &scratch); !v.OK() {
				t.Errorf("%x: %v", c.raw, v)
				continue
			}
			coins := coinsOf(b, 0, c.coins)
			if coins == nil {
				t.Fatalf("%x: an input without an output", c.raw)
			}
			excluded := parseFlags(t, c.flags)
			j.reset(b, 0, coins)
			if !j.passes(t, b, allFlags&^excluded) {
				t.Errorf("%x: fails without %s", c.raw, c.flags)
			}
			for i := range 21 + 64 {
				extra := script.Flags(1) << i
				if i >= 21 {
					extra = script.Flags(r.Uint32()) & allFlags
				}
				others++
				if f := trim(allFlags &^ (excluded | extra)); !j.passes(t, b, f) {
					t.Errorf("%x: fails under %v", c.raw, f.Names())
				}
			}
			for _, less := range without(excluded) {
				tight++
				if j.passes(t, b, allFlags&^less) {
					t.Errorf("%x: passes although only %v are excluded", c.raw, less.Names())
				}
			}
		}
		t.Logf("%d transactions, %d times under fewer flags, %d times under one too many; %d inputs in both modes",
			cases, others, tight, j.inputs)
		want(t, "transactions", cases, 121)
		want(t, "under one flag too many", tight, 102)
	})
}

// Every transaction of tx_invalid.json fails: by itself (BADTX) or because of a script, under the flags that it names
// and under more, and its scripts pass when one of these is not set.
func TestInvalidTransactions(t *testing.T) {
	bothCopies(t, "tx_invalid.json", func(t *testing.T, rows []json.RawMessage) {
		j := newJudge()
		var scratch validate.Scratch
		cases, bad, others, tight := 0, 0, 0, 0
		r := rand.New(rand.NewPCG(5, 3))
		for _, raw := range rows {
			c, ok := parseTxCase(t, raw)
			if !ok {
				continue
			}
			cases++
			b := decodeTx(t, c.raw)
			verdict := validate.CheckTx(b, 0, &scratch)
			if c.flags == "BADTX" {
				if bad++; verdict.OK() {
					t.Errorf("%x: is no bad transaction", c.raw)
				}
				continue
			}
			if !verdict.OK() {
				t.Errorf("%x: %v", c.raw, verdict)
				continue
			}
			coins := coinsOf(b, 0, c.coins)
			if coins == nil {
				t.Fatalf("%x: an input without an output", c.raw)
			}
			flags := parseFlags(t, c.flags)
			j.reset(b, 0, coins)
			if j.passes(t, b, flags) {
				t.Errorf("%x: passes under %s", c.raw, c.flags)
			}
			for i := range 21 + 64 {
				extra := script.Flags(1) << i
				if i >= 21 {
					extra = script.Flags(r.Uint32()) & allFlags
				}
				others++
				if f := fill(flags | extra); j.passes(t, b, f) {
					t.Errorf("%x: passes under %v", c.raw, f.Names())
				}
			}
			for _, less := range without(flags) {
				tight++
				if !j.passes(t, b, less) {
					t.Errorf("%x: fails under %v already", c.raw, less.Names())
				}
			}
		}
		t.Logf("%d transactions, %d bad by themselves; the others %d times under more flags, %d times under one less",
			cases, bad, others, tight)
		want(t, "transactions", cases, 93)
		want(t, "bad by themselves", bad, 9)
		want(t, "under one flag less", tight, 89)
	})
}

// Every signature hash of sighash.json: random transactions, scripts and hash types.
func TestSignatureHashes(t *testing.T) {
	bothCopies(t, "sighash.json", func(t *testing.T, rows []json.RawMessage) {
		cases := 0
		var scratch validate.Scratch
		for _, raw := range rows {
			row := parse[[]json.RawMessage](t, raw)
			if len(row) == 1 {
				continue
			}
			cases++
			b := decodeTx(t, unhex(t, parse[string](t, row[0])))
			if v := validate.CheckTx(b, 0, &scratch); !v.OK() {
				t.Errorf("%x: %v", b.Raw, v)
			}
			code, in := unhex(t, parse[string](t, row[1])), int(parse[int64](t, row[2]))
			hashType := uint32(int32(parse[int64](t, row[3])))
			tx := new(script.Tx)
			tx.Reset(b, 0, make([]chain.Coin, len(b.Ins)))
			have := chain.Hash(script.LegacyHash(tx, in, code, hashType)).String()
			if wanted := parse[string](t, row[4]); have != wanted {
				t.Errorf("%x: input %d, hash type %#x: %s, not %s", b.Raw, in, hashType, have, wanted)
			}
		}
		t.Logf("%d hashes", cases)
		want(t, "hashes", cases, 500)
	})
}

// sum is SHA256.
func sum(b []byte) []byte {
	h := sha256.Sum256(b)
	return h[:]
}
