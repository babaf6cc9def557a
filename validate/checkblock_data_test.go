package validate

import (
	"encoding/hex"
	"encoding/json"
	"testing"

	"stele/chain"
	"stele/internal/realdata"
)

// checkBlockRow is [comment, header only, with proof of work, time of day, hex].
type checkBlockRow struct {
	comment  string
	withWork bool
	now      int64
	raw      []byte
}

func readCheckBlock(t *testing.T, file string) (rows []checkBlockRow) {
	t.Helper()
	var all []json.RawMessage
	if err := json.Unmarshal(realdata.Read(t, "vectors", "checkblock", file), &all); err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		var (
			row        checkBlockRow
			headerOnly bool
			text       string
		)
		if err := json.Unmarshal(one, &[]any{&row.comment, &headerOnly, &row.withWork, &row.now, &text}); err != nil {
			continue // a lone string is a remark
		}
		raw, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if row.raw = raw; text != "" {
			rows = append(rows, row)
		}
	}
	return rows
}

// judge asks for work where the vector does, for the time, and for the block.
func (row *checkBlockRow) judge(t *testing.T) Verdict {
	t.Helper()
	p := chain.Main()
	var b chain.Block
	if err := b.Decode(row.raw); err != nil {
		t.Fatalf("%s: %v", row.comment, err)
	}
	hash := b.Header.Hash()
	if row.withWork {
		if v := ProofOfWork(p, b.Header.Bits, &hash); !v.OK() {
			return v
		}
		parent := Parent{Height: 0, Bits: b.Header.Bits} // so that the time alone can be wrong
		if v := headerInContext(p, &b.Header, parent, anywhere{b.Header.Bits}, row.now); !v.OK() {
			return v
		}
	}
	return Check(p, &b, b.Txids(nil), new(Scratch))
}

func TestCheckBlockVectors(t *testing.T) {
	valid := readCheckBlock(t, "checkblock_valid.json")
	for i := range valid {
		wantReason(t, valid[i].comment, valid[i].judge(t), "")
	}
	invalid := readCheckBlock(t, "checkblock_invalid.json")
	reasons := map[string]string{
		"Genesis block with time set to two hours + 1 second behind": ReasonTimeTooNew,
		"Genesis with one byte changed":                              ReasonHighHash,
		"Empty vtx":                                                  ReasonMerkleRoot, // none has the zero root
		"One tx, but not a coinbase":                                 ReasonCoinbaseMissing,
		"More than one coinbase (different coinbases)":               ReasonCoinbaseMultiple,
		"Duplicate transaction":                                      ReasonMerkleRoot, // its root fits no tree of them
		"Merkle root mismatch":                                       ReasonMerkleRoot,
	}
	for i := range invalid {
		reason, ok := reasons[invalid[i].comment]
		if !ok {
			t.Errorf("%s: unknown vector", invalid[i].comment)
		}
		wantReason(t, invalid[i].comment, invalid[i].judge(t), reason)
	}
	if len(valid) != 4 || len(invalid) != len(reasons) {
		t.Errorf("%d valid and %d invalid vectors, want 4 and %d", len(valid), len(invalid), len(reasons))
	}
}

// TestTrap37And38Files: a real block with its end repeated is mutated, and its header stays good for the true block.
// Witnesses that were stripped or changed are no matter of the context-free rules.
func TestTrap37And38Files(t *testing.T) {
	var scratch Scratch
	for _, x := range []struct{ file, twin, reason string }{
		{"cve-2012-2459_mainnet_116928_dup_last_2.blk", "116928", ReasonDuplicateTx},
		{"segwit_757739_all_witness_stripped.blk", "757739", ""},
		{"segwit_757739_coinbase_nonce_missing.blk", "757739", ""},
		{"segwit_757739_one_witness_byte_flipped.blk", "757739", ""},
	} {
		var b, twin chain.Block
		raw := realdata.Read(t, "invalid", x.file)
		if raw[0] == 0xf9 { // a record of a block file, with magic and length
			raw = realdata.Split(t, raw)[0]
		}
		if err := b.Decode(raw); err != nil {
			t.Fatalf("%s: %v", x.file, err)
		}
		v := Check(chain.Main(), &b, b.Txids(nil), &scratch)
		wantReason(t, x.file, v, x.reason)
		if v.Condemns {
			t.Errorf("%s: condemns the header", x.file)
		}
		if err := twin.Decode(realdata.Read(t, "mainnet", "blocks", x.twin+".blk.gz")); err != nil {
			t.Fatal(err)
		}
		if twin.Header != b.Header {
			t.Errorf("%s: not the header of %s", x.file, x.twin)
		}
		wantReason(t, x.twin, Check(chain.Main(), &twin, twin.Txids(nil), &scratch), "")
	}
}
