package script_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"stele/chain"
	"stele/internal/realdata"
	"stele/validate/script"
)

// assetCase is one line of Core's dump of feature_taproot.py (script_assets_test.json).
type assetCase struct {
	ID       string   `json:"id"`
	Tx       string   `json:"tx"`
	Prevouts []string `json:"prevouts"`
	Index    int      `json:"index"`
	Flags    string   `json:"flags"`
	Comment  string   `json:"comment"`
	Final    bool     `json:"final"`
	Success  *unlock  `json:"success"`
	Failure  *unlock  `json:"failure"`
}

type unlock struct {
	ScriptSig string   `json:"scriptSig"`
	Witness   []string `json:"witness"`
}

// consensusFlags lists every combination of consensus flags that may stand together: 64 of them.
func consensusFlags() (all []script.Flags) {
	for f := range script.Consensus + 1 {
		if f.Has(script.Witness) && !f.Has(script.P2SH) || f.Has(script.Taproot) && !f.Has(script.Witness) {
			continue
		}
		all = append(all, f)
	}
	return all
}

// spend is the case's transaction, unlocked by u.
func (c *assetCase) spend(t *testing.T, u *unlock) *spend {
	t.Helper()
	b := decodeTx(t, unhex(t, c.Tx))
	coins := make([]chain.Coin, len(c.Prevouts))
	for i, text := range c.Prevouts {
		raw := unhex(t, text)
		n, size, ok := chain.CompactSize(raw[8:])
		if !ok || len(raw) != 8+size+int(n) {
			t.Fatalf("%s: prevout %s", c.ID, text)
		}
		coins[i] = chain.Coin{Value: int64(binary.LittleEndian.Uint64(raw)), Script: raw[8+size:]}
	}
	s := take(b, 0, coins)
	in := &s.ins[c.Index]
	in.script, in.witness = unhex(t, u.ScriptSig), nil
	for _, item := range u.Witness {
		in.witness = append(in.witness, unhex(t, item))
	}
	return s
}

// The dump of Core's functional test: each success under every combination of consensus flags that are among the case's
// own (all of them, where it is final), each failure under every one that holds them all.
func TestTaprootAssets(t *testing.T) {
	lines := bufio.NewScanner(bytes.NewReader(realdata.Read(t, "vectors", "taproot", "script_assets_2760_btcd.jsonl.gz")))
	lines.Buffer(nil, 1<<26)
	all := consensusFlags()
	want(t, "combinations of flags", len(all), 64)
	j := newJudge()
	cases, final, successes, passed, failures, failed := 0, 0, 0, 0, 0, 0
	for lines.Scan() {
		var c assetCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases++
		if c.Final {
			final++
		}
		flags := parseFlags(t, c.Flags)
		if c.Success != nil {
			successes++
			j.take(t, c.spend(t, c.Success))
			for _, f := range all {
				if !c.Final && !flags.Has(f) {
					continue
				}
				passed++
				if e := j.verdict(t, c.Index, f); e != script.OK {
					t.Errorf("%s %s: %s under %v", c.ID, c.Comment, e.Name(), f.Names())
				}
			}
		}
		if c.Failure != nil {
			failures++
			j.take(t, c.spend(t, c.Failure))
			for _, f := range all {
				if !f.Has(flags) {
					continue
				}
				failed++
				if j.verdict(t, c.Index, f) == script.OK {
					t.Errorf("%s %s: its failure passes under %v", c.ID, c.Comment, f.Names())
				}
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d cases (%d final): %d successes under %d combinations of flags, %d failures under %d; %d of %d runs rerun",
		cases, final, successes, passed, failures, failed, j.rerun, j.inputs)
	want(t, "cases", cases, 2760)
	want(t, "final", final, 708)
	want(t, "successes", successes, 2760)
	want(t, "failures", failures, 2483)
	want(t, "successes under flags", passed, 175424)
	want(t, "failures under flags", failed, 2611)
}

// walletVectors is bip341_wallet_vectors.json, as far as it is about consensus.
type walletVectors struct {
	ScriptPubKey []struct {
		Given struct {
			InternalPubkey string
			ScriptTree     json.RawMessage
		}
		Intermediary struct {
			LeafHashes           []string
			Tweak, TweakedPubkey string
		}
		Expected struct {
			ScriptPubKey            string
			ScriptPathControlBlocks []string
		}
	}
	KeyPathSpending []struct {
		Given struct {
			UtxosSpent []struct {
				ScriptPubKey string
				AmountSats   int64
			}
		}
		InputSpending []struct {
			Given        struct{ TxinIndex, HashType int }
			Intermediary struct{ SigHash string }
			Expected     struct{ Witness []string }
		}
		Auxiliary struct{ FullySignedTx string }
	}
}

type walletLeaf struct {
	ID          int
	Script      string
	LeafVersion int
}

// leaves flattens a tree, which is null, a leaf, or a list of trees.
func leaves(t *testing.T, tree json.RawMessage) (all []walletLeaf) {
	t.Helper()
	switch tree[0] {
	case '{':
		return []walletLeaf{parse[walletLeaf](t, tree)}
	case '[':
		for _, sub := range parse[[]json.RawMessage](t, tree) {
			all = append(all, leaves(t, sub)...)
		}
	}
	return all
}

// The wallet vectors of BIP341: every output key is its internal key under its tweak, every control block commits its
// script and no other, and every input of the signed transaction passes over the hash that is given.
func TestWalletVectors(t *testing.T) {
	var v walletVectors
	if err := json.Unmarshal(realdata.Read(t, "vectors", "core", "bip341_wallet_vectors.json"), &v); err != nil {
		t.Fatal(err)
	}
	j, b := newJudge(), backend()
	outputs, controls, hashes := 0, 0, 0
	for _, x := range v.ScriptPubKey {
		outputs++
		output := (*[32]byte)(unhex(t, x.Intermediary.TweakedPubkey))
		internal, tweak := (*[32]byte)(unhex(t, x.Given.InternalPubkey)), (*[32]byte)(unhex(t, x.Intermediary.Tweak))
		even, odd := b.Tweak(output, internal, tweak, false), b.Tweak(output, internal, tweak, true)
		if even == odd {
			t.Errorf("%s: tweaked key even %v, odd %v", x.Given.InternalPubkey, even, odd)
		}
		all := leaves(t, x.Given.ScriptTree)
		for i, control := range x.Expected.ScriptPathControlBlocks {
			controls++
			leaf := all[slices.IndexFunc(all, func(l walletLeaf) bool { return l.ID == i })]
			walletLeafSpends(t, j, unhex(t, x.Expected.ScriptPubKey), unhex(t, leaf.Script), unhex(t, control), leaf.LeafVersion)
		}
	}
	for _, x := range v.KeyPathSpending {
		var coins []chain.Coin
		for _, u := range x.Given.UtxosSpent {
			coins = append(coins, chain.Coin{Value: u.AmountSats, Script: unhex(t, u.ScriptPubKey)})
		}
		s := take(decodeTx(t, unhex(t, x.Auxiliary.FullySignedTx)), 0, coins)
		for in := range s.ins {
			if e := j.judgeSpend(t, s, in, script.Consensus); e != script.OK {
				t.Errorf("input %d: %s", in, e)
			}
		}
		for _, in := range x.InputSpending {
			hashes++
			i := in.Given.TxinIndex
			if have := hex.EncodeToString(s.ins[i].witness[0]); have != in.Expected.Witness[0] {
				t.Errorf("input %d: witness %s", i, have)
			}
			ear := &recorder{Verifier: b}
			tx := new(script.Tx)
			tx.Reset(s.block(t), 0, coins)
			e := script.NewEngine(ear).Verify(tx, i, script.Consensus)
			if have := strings.Join(ear.hashes, " "); e != script.OK || have != in.Intermediary.SigHash {
				t.Errorf("input %d: %s over hash %s, not %s", i, e, have, in.Intermediary.SigHash)
			}
		}
	}
	t.Logf("%d outputs, %d control blocks, %d signature hashes", outputs, controls, hashes)
	want(t, "outputs", outputs, 7)
	want(t, "control blocks", controls, 12)
	want(t, "signature hashes", hashes, 7)
}

// walletLeafSpends shows a leaf. An empty signature is false in the leaves that check one; the others need nothing, and
// a version that is not known passes. With one bit of the control block or of the script changed the output knows
// nothing of it.
func walletLeafSpends(t *testing.T, j *judge, pubKey, leaf, control []byte, version int) {
	t.Helper()
	wanted, stack := script.OK, [][]byte{leaf, control}
	if leaf[len(leaf)-1] == opCheckSig {
		stack = [][]byte{nil, leaf, control}
		if version == 0xc0 {
			wanted = script.EvalFalse
		}
	}
	s := credit(nil, pubKey, stack, 1000)
	if e := j.judgeSpend(t, s, 0, script.Consensus); e != wanted {
		t.Errorf("leaf %x: %s", leaf, e.Name())
	}
	for item := range 2 {
		twin := s.clone()
		changed := twin.ins[0].witness[len(stack)-1-item]
		changed[len(changed)-1] ^= 1
		if e := j.judgeSpend(t, twin, 0, script.Consensus); e != script.WitnessMismatch {
			t.Errorf("leaf %x, changed: %s", leaf, e.Name())
		}
	}
}

// recorder notes over which hashes signatures are verified.
type recorder struct {
	script.Verifier
	hashes []string
}

func (r *recorder) ECDSA(key []byte, rs *[64]byte, hash *[32]byte) bool {
	r.hashes = append(r.hashes, hex.EncodeToString(hash[:]))
	return r.Verifier.ECDSA(key, rs, hash)
}

func (r *recorder) Schnorr(key *[32]byte, sig *[64]byte, hash *[32]byte) bool {
	r.hashes = append(r.hashes, hex.EncodeToString(hash[:]))
	return r.Verifier.Schnorr(key, sig, hash)
}
