package validate

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/btcsuite/btcd/txscript/v2"
	"pgregory.net/rapid"

	"stele/chain"
)

// TestTrap32LegacySigOps: what counts, and for how much. Counting is not execution: dead code counts, OP_RETURN ends
// nothing, and the number of keys before OP_CHECKMULTISIG is not looked at.
func TestTrap32LegacySigOps(t *testing.T) {
	const opReturn, opIf, opEndif, op2, checkSigAdd = 0x6a, 0x63, 0x68, 0x52, 0xba
	for _, x := range []struct {
		name   string
		script []byte
		want   int
	}{
		{"empty", nil, 0},
		{"each of the four", []byte{opCheckSig, opCheckSigVerify, opCheckMultisig, opCheckMultisigVerify}, 42},
		{"two keys", []byte{op2, opCheckMultisig}, 20},
		{"dead branch", []byte{0, opIf, opCheckSig, opEndif}, 1},
		{"after OP_RETURN", []byte{opReturn, opCheckSig, opCheckSig}, 2},
		{"tapscript's OP_CHECKSIGADD", []byte{checkSigAdd}, 0},
		{"neighbours", []byte{0xab, 0xb0, 0xfe, 0xff}, 0},
		{"pushed", []byte{2, opCheckSig, opCheckSig, opCheckSig}, 1},
		{"largest direct push", append(append([]byte{75}, bytes.Repeat([]byte{opCheckSig}, 75)...), opCheckSig), 1},
		{"push cut short", []byte{opCheckSig, 3, opCheckSig, opCheckSig}, 1},
		{"push that just fits", []byte{opCheckSig, 2, opCheckSig, opCheckSig}, 1},
		{"OP_PUSHDATA1", []byte{0x4c, 1, opCheckSig, opCheckSig}, 1},
		{"OP_PUSHDATA1 of nothing", []byte{0x4c, 0, opCheckSig}, 1},
		{"OP_PUSHDATA1 without length", []byte{opCheckSig, 0x4c}, 1},
		{"OP_PUSHDATA1 cut short", []byte{0x4c, 2, opCheckSig}, 0},
		{"OP_PUSHDATA2", []byte{0x4d, 1, 0, opCheckSig, opCheckSig}, 1},
		{"OP_PUSHDATA2 with half a length", []byte{opCheckSig, 0x4d, 0}, 1},
		{"OP_PUSHDATA2 cut short", []byte{0x4d, 0, 1, opCheckSig}, 0},
		{"OP_PUSHDATA4", []byte{0x4e, 1, 0, 0, 0, opCheckSig, opCheckSig}, 1},
		{"OP_PUSHDATA4 with part of a length", []byte{opCheckSig, 0x4e, 0, 0, 0}, 1},
		{"OP_PUSHDATA4 of 2^32-1", []byte{opCheckSig, 0x4e, 0xff, 0xff, 0xff, 0xff, opCheckSig}, 1},
		{"OP_PUSHDATA4 of 2^31", []byte{opCheckSig, 0x4e, 0, 0, 0, 0x80, opCheckSig}, 1},
	} {
		if got := LegacySigOps(x.script); got != x.want {
			t.Errorf("%s: %d, want %d", x.name, got, x.want)
		}
		if other := txscript.GetSigOpCount(x.script); other != x.want {
			t.Errorf("%s: another implementation counts %d, want %d", x.name, other, x.want)
		}
	}
}

// TestLegacySigOpsModel compares with another implementation on scripts thick with what matters.
func TestLegacySigOpsModel(t *testing.T) {
	thick := []byte{0, 1, 2, 5, 75, 0x4c, 0x4d, 0x4e, 0xac, 0xad, 0xae, 0xaf}
	opcodes := rapid.OneOf(rapid.Byte(), rapid.SampledFrom(thick))
	rapid.Check(t, func(t *rapid.T) {
		script := rapid.SliceOfN(opcodes, 0, 200).Draw(t, "script")
		if got, want := LegacySigOps(script), txscript.GetSigOpCount(script); got != want {
			t.Fatalf("%x: %d, want %d", script, got, want)
		}
	})
}

// TestTrap32SigOpsOfABlock: 20,000 in all places together are allowed, one more is not, wherever it stands.
// Witnesses do not count here.
func TestTrap32SigOpsOfABlock(t *testing.T) {
	sigs := func(n int) []byte { return bytes.Repeat([]byte{opCheckSig}, n) }
	places := map[string]func(x *blockSpec){
		"nowhere":            func(*blockSpec) {},
		"in the witness":     func(x *blockSpec) { x.txs[2].ins[0].witness = [][]byte{sigs(500)} },
		"coinbase script":    func(x *blockSpec) { x.txs[0].ins[0].script = sigs(3) },
		"coinbase output":    func(x *blockSpec) { x.txs[0].outs[0].script = sigs(1) },
		"input script":       func(x *blockSpec) { x.txs[2].ins[1].script = sigs(1) },
		"output script":      func(x *blockSpec) { x.txs[1].outs[0].script = sigs(1) },
		"after an OP_RETURN": func(x *blockSpec) { x.txs[1].outs[0].script = []byte{0x6a, opCheckSig} },
	}
	for name, add := range places {
		x := validSpec()
		x.txs[0].ins[0].script = []byte{0, 0, opCheckSig, opCheckSigVerify}                    // 2
		x.txs[1].ins[0].script = sigs(8)                                                       // 8
		x.txs[2].outs[0].script = bytes.Repeat([]byte{0x51, opCheckMultisig, 0x51, 0xaf}, 400) // 16,000
		x.txs[2].outs[1].script = sigs(3990)
		add(x)
		want := ReasonSigOps
		if name == "nowhere" || name == "in the witness" {
			want = ""
		}
		b, txids := x.decode(t)
		v := Check(chain.Main(), b, txids, new(Scratch))
		wantReason(t, name, v, want)
		if v.Condemns {
			t.Errorf("%s: condemns the header", name)
		}
	}
	for _, n := range []int{20_000, 20_001} {
		x := validSpec()
		x.txs[1].outs[1].script = sigs(n)
		b, txids := x.decode(t)
		v := Check(chain.Main(), b, txids, new(Scratch))
		wantReason(t, fmt.Sprint(n), v, map[int]string{20_000: "", 20_001: ReasonSigOps}[n])
	}
}
