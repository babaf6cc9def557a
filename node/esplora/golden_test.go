package esplora

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stele/chain"
)

// foreign is a transaction as a public Esplora server printed it. testdata/transactions.jsonl holds thirteen of early
// 2024, chosen so that every kind of input and output and every opcode of a larger sample occurs (8,131 transactions,
// SummerOfBitcoin/code-challenge-2024 at 87012720eaf5, folder mempool; chain data).
type foreign struct {
	Version  uint32            `json:"version"`
	LockTime uint32            `json:"locktime"`
	Vin      []json.RawMessage `json:"vin"`
	Vout     []json.RawMessage `json:"vout"`
}

type foreignInput struct {
	Txid     chain.Hash `json:"txid"`
	Vout     uint32     `json:"vout"`
	Script   string     `json:"scriptsig"`
	Sequence uint32     `json:"sequence"`
	Witness  []string   `json:"witness"`
	Prevout  struct {
		Script string `json:"scriptpubkey"`
		Value  int64  `json:"value"`
	} `json:"prevout"`
}

// wire builds the transaction's bytes out of its JSON.
func (f *foreign) wire(t *testing.T, ins []foreignInput) []byte {
	b := binary.LittleEndian.AppendUint32(nil, f.Version)
	witness := false
	for i := range ins {
		witness = witness || len(ins[i].Witness) > 0
	}
	if witness {
		b = append(b, 0, 1)
	}
	b = chain.AppendCompactSize(b, uint64(len(ins)))
	for i := range ins {
		b = append(b, ins[i].Txid[:]...)
		b = binary.LittleEndian.AppendUint32(b, ins[i].Vout)
		b = appendVar(b, unhex(t, ins[i].Script))
		b = binary.LittleEndian.AppendUint32(b, ins[i].Sequence)
	}
	b = chain.AppendCompactSize(b, uint64(len(f.Vout)))
	for _, raw := range f.Vout {
		var o Output
		if err := json.Unmarshal(raw, &o); err != nil {
			t.Fatal(err)
		}
		b = binary.LittleEndian.AppendUint64(b, uint64(o.Value))
		b = appendVar(b, unhex(t, o.Script))
	}
	for i := range ins {
		if !witness {
			break
		}
		b = chain.AppendCompactSize(b, uint64(len(ins[i].Witness)))
		for _, item := range ins[i].Witness {
			b = appendVar(b, unhex(t, item))
		}
	}
	return binary.LittleEndian.AppendUint32(b, f.LockTime)
}

func appendVar(dst, b []byte) []byte {
	return append(chain.AppendCompactSize(dst, uint64(len(b))), b...)
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestForeignTransactions spells the inputs and outputs of transactions exactly as another server did.
func TestForeignTransactions(t *testing.T) {
	file, err := os.Open("testdata/transactions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	n := 0
	for ; lines.Scan(); n++ {
		var f foreign
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			t.Fatal(err)
		}
		compareForeign(t, &f)
	}
	if n != 13 || lines.Err() != nil {
		t.Fatalf("read %d transactions: %v", n, lines.Err())
	}
}

func compareForeign(t *testing.T, f *foreign) {
	t.Helper()
	ins := make([]foreignInput, len(f.Vin))
	for i, raw := range f.Vin {
		if err := json.Unmarshal(raw, &ins[i]); err != nil {
			t.Fatal(err)
		}
	}
	var s scratch
	if err := s.tx.DecodeTx(f.wire(t, ins)); err != nil {
		t.Fatal(err)
	}
	for i, raw := range f.Vin {
		got := s.input(chain.Main(), i, true, ins[i].Prevout.Value, unhex(t, ins[i].Prevout.Script))
		same(t, raw, got)
	}
	for i, raw := range f.Vout {
		o := s.tx.Outs[i]
		same(t, raw, makeOutput(chain.Main(), o.Value, s.tx.Bytes(o.Script)))
	}
}

// same compares JSON with a value that is put into JSON, but for what doc.go says differs: an empty witness, and
// multisig where Esplora knows no such type.
func same(t *testing.T, want json.RawMessage, value any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var a, b map[string]any
	if err := json.Unmarshal(want, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	if w, ok := b["witness"].([]any); ok && len(w) == 0 {
		delete(b, "witness")
	}
	if b["scriptpubkey_type"] == "multisig" && a["scriptpubkey_type"] == "unknown" {
		a["scriptpubkey_type"] = "multisig"
	}
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("(-theirs +ours)\n%s", d)
	}
}
