package script_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"stele/chain"
	"stele/internal/realdata"
	"stele/validate/script"
)

// sample is a real transaction of early 2024.
type sample struct {
	Txid     string  `json:"txid"`
	Raw      string  `json:"raw"`
	Prevouts [][]any `json:"prevouts"` // value and script
}

// samples reads the 1,779 real transactions.
func samples(tb testing.TB) (all []*spend) {
	tb.Helper()
	lines := bufio.NewScanner(bytes.NewReader(realdata.Read(tb, "txs", "sob2024_mempool_sample.jsonl.gz")))
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var x sample
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			tb.Fatal(err)
		}
		var coins []chain.Coin
		for _, p := range x.Prevouts {
			coins = append(coins, chain.Coin{Value: int64(p[0].(float64)), Script: unhex(tb, p[1].(string))})
		}
		b := decodeTx(tb, unhex(tb, x.Raw))
		if txid := b.Txids(nil)[0]; txid.String() != x.Txid {
			tb.Fatalf("%s is %s", x.Txid, txid)
		}
		all = append(all, take(b, 0, coins))
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return all
}

// form names what kind of spend an input is.
func (in *input) form() string {
	s := in.coin.Script
	switch n := len(s); {
	case n == 25 && s[0] == opDup && s[1] == opHash:
		return "p2pkh"
	case n == 22 && s[0] == op0:
		return "p2wpkh"
	case n == 34 && s[0] == op0:
		return "p2wsh"
	case n == 34 && s[0] == op1 && len(in.witness) == 1:
		return "p2tr key"
	case n == 34 && s[0] == op1:
		return "p2tr script"
	case n == 23 && s[0] == opHash && len(in.witness) == 0:
		return "p2sh"
	case n == 23 && s[0] == opHash && len(in.script) == 23:
		return "p2sh-p2wpkh"
	case n == 23 && s[0] == opHash:
		return "p2sh-p2wsh"
	}
	return "other"
}

// All inputs of the 1,779 real transactions pass under every consensus rule.
func TestRealTransactions(t *testing.T) {
	j := newJudge()
	inputs, forms := 0, map[string]int{}
	all := samples(t)
	for i, s := range all {
		j.take(t, s)
		for in := range s.ins {
			inputs++
			forms[s.ins[in].form()]++
			if e := j.verdict(t, in, script.Consensus); e != script.OK {
				t.Errorf("transaction %d, input %d: %s", i, in, e)
			}
		}
	}
	t.Logf("%d transactions, %d inputs: %v; %d checks put off, %d inputs run again",
		len(all), inputs, forms, j.checks, j.rerun)
	want(t, "transactions", len(all), 1779)
	want(t, "inputs", inputs, 3649)
	want(t, "taproot inputs", forms["p2tr key"]+forms["p2tr script"], 1336)
	want(t, "taproot script path", forms["p2tr script"], 656)
	want(t, "inputs run again", j.rerun, 0)
}

// The tapscript of 998 of 999 signatures, which two nodes took for too large. The value that it spends is not in the
// data; of all up to 120,000 satoshis it is the only one under which the signatures hold.
func TestLargestMultisig(t *testing.T) {
	const spent = 26_000 // satoshis
	b := decodeTx(t, realdata.Read(t, "txs", "7393096d_998of999_tapscript.raw.gz"))
	s := take(b, 0, nil)
	stack := s.ins[0].witness
	want(t, "witness items", len(stack), 1001)
	leaf, control := stack[999], stack[1000]
	output, shown := taprootLeaf(t, control[1:], control[0]&0xfe, leaf)
	if !bytes.Equal(control, shown) {
		t.Fatalf("control block %x, not %x", shown, control)
	}
	s.ins[0].coin = chain.Coin{Value: spent, Script: append([]byte{op1, 32}, output...)}
	j := newJudge()
	if e := j.judgeSpend(t, s, 0, script.Consensus); e != script.OK {
		t.Errorf("it fails: %s", e)
	}
	t.Logf("%d checks put off", j.checks)
	want(t, "checks: 998 signatures and the commitment", j.checks, 999)
	twin := s.clone()
	twin.ins[0].coin.Value++
	if e := j.judgeSpend(t, twin, 0, script.Consensus); e != script.SchnorrSig {
		t.Errorf("with another value: %s", e)
	}
}

// The transaction of 5,569 inputs. Its prevouts are not in the data, but each input shows a signature and a key, and a
// legacy signature commits to no value: under the P2PKH script of that key every one must hold.
func TestManyInputs(t *testing.T) {
	s := manyInputs(t)
	j := newJudge()
	j.take(t, s)
	step := some(16)
	for in := 0; in < len(s.ins); in += step {
		if e := j.verdict(t, in, script.P2SH|script.DerSig); e != script.OK {
			t.Errorf("input %d: %s", in, e)
		}
	}
	t.Logf("%d of %d inputs, %d checks put off, %d inputs run again", j.inputs, len(s.ins), j.checks, j.rerun)
	want(t, "inputs", len(s.ins), 5569)
	want(t, "judged inputs", j.inputs, (5569+step-1)/step)
	want(t, "checks", j.checks, j.inputs)
	want(t, "inputs run again", j.rerun, 0)
}

// manyInputs is bb41a757 with prevouts from its own keys.
func manyInputs(tb testing.TB) *spend {
	tb.Helper()
	s := take(decodeTx(tb, realdata.Read(tb, "txs", "bb41a757_megatx_5569_inputs.bin.bz2")), 0, nil)
	for i := range s.ins {
		in := &s.ins[i]
		pushes, err := split(in.script)
		if err != nil || len(pushes) != 2 {
			tb.Fatalf("input %d: %d pushes (%v)", i, len(pushes), err)
		}
		in.coin = chain.Coin{Value: 1000, Script: payToKeyHash(pushes[1])}
	}
	return s
}

// payToKeyHash is the P2PKH script of a key.
func payToKeyHash(key []byte) []byte {
	s := push([]byte{opDup, opHash}, hash160(key))
	return append(s, opEqualVerify, opCheckSig)
}

func hash160(b []byte) []byte {
	h := chain.Hash160(b)
	return h[:]
}

// split gives what a script of direct pushes pushes.
func split(s []byte) (items [][]byte, err error) {
	for len(s) > 0 {
		n := int(s[0])
		s = s[1:]
		if n == opPushData1 && len(s) > 0 {
			n, s = int(s[0]), s[1:]
		} else if n >= opPushData1 {
			return nil, fmt.Errorf("opcode %#x", n)
		}
		if n > len(s) {
			return nil, fmt.Errorf("a push of %d bytes is cut", n)
		}
		items, s = append(items, s[:n]), s[n:]
	}
	return items, nil
}
