package script

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"stele/chain"
	"stele/internal/realdata"
)

func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// TestSigHashVectors runs Core's sighash.json, in the copies of two sources: transactions, codes and types at random.
func TestSigHashVectors(t *testing.T) {
	t.Run("core", func(t *testing.T) { sigHashVectors(t, realdata.Read(t, "vectors", "core", "sighash.json")) })
	t.Run("txscript", func(t *testing.T) {
		raw, err := os.ReadFile(realdata.Module(t, "github.com/btcsuite/btcd/txscript/v2", "data/sighash.json"))
		if err != nil {
			t.Fatal(err)
		}
		sigHashVectors(t, raw)
	})
}

func sigHashVectors(t *testing.T, raw []byte) {
	var rows [][]any
	if err := json.Unmarshal(raw, &rows); err != nil {
		t.Fatal(err)
	}
	count := 0
	var tx Tx
	var h hashCache
	for i, row := range rows {
		if len(row) != 5 {
			continue // the heading
		}
		b := new(chain.Block)
		if err := b.DecodeTx(unhex(t, row[0].(string))); err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
		tx.Reset(b, 0, make([]chain.Coin, len(b.Ins)))
		in, hashType := int(row[2].(float64)), uint32(int32(row[3].(float64)))
		h.reset(&tx, in)
		got := chain.Hash(*h.legacy(&tx, in, unhex(t, row[1].(string)), hashType))
		if want := row[4].(string); got.String() != want {
			t.Errorf("row %d: %v, want %v", i, got, want)
		}
		count++
	}
	if count < 500 {
		t.Errorf("%d vectors, want 500", count)
	}
	t.Logf("%d signature hashes", count)
}

// walletVectors is what tests take from BIP341's file.
type walletVectors struct {
	ScriptPubKey []struct {
		Given        struct{ InternalPubkey string }
		Intermediary struct{ Tweak, TweakedPubkey string }
		Expected     struct{ ScriptPathControlBlocks []string }
	}
	KeyPathSpending []keyPathVector
}

type keyPathVector struct {
	Given struct {
		RawUnsignedTx string
		UtxosSpent    []struct {
			ScriptPubKey string
			AmountSats   int64
		}
	}
	Intermediary  struct{ HashAmounts, HashOutputs, HashPrevouts, HashScriptPubkeys, HashSequences string }
	InputSpending []struct {
		Given struct {
			TxinIndex int
			HashType  byte
		}
		Intermediary struct{ SigHash string }
		Expected     struct{ Witness []string }
	}
}

func readWalletVectors(t *testing.T) (v walletVectors) {
	if err := json.Unmarshal(realdata.Read(t, "vectors", "core", "bip341_wallet_vectors.json"), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestBIP341Tweaks: each output key of the vectors is its internal key, tweaked, with one of two parities: that of the
// control blocks.
func TestBIP341Tweaks(t *testing.T) {
	vectors := readWalletVectors(t).ScriptPubKey
	for i, x := range vectors {
		output, internal := [32]byte(unhex(t, x.Intermediary.TweakedPubkey)), [32]byte(unhex(t, x.Given.InternalPubkey))
		tweak := [32]byte(unhex(t, x.Intermediary.Tweak))
		for _, v := range verifiers {
			odd := v.Tweak(&output, &internal, &tweak, true)
			if even := v.Tweak(&output, &internal, &tweak, false); odd == even {
				t.Errorf("%s: tweak %d fits odd %v, even %v", v.Name(), i, odd, even)
			}
			for _, control := range x.Expected.ScriptPathControlBlocks { // its first byte has the parity
				if want := unhex(t, control)[0]&1 == 1; odd != want {
					t.Errorf("%s: tweak %d is odd %v, want %v", v.Name(), i, odd, want)
				}
			}
		}
	}
	if len(vectors) != 7 {
		t.Errorf("%d tweaks, want 7", len(vectors))
	}
}

// TestBIP341WalletVectors runs the key path vectors of BIP341: what a transaction's inputs share, each signature hash,
// and the signature over it.
func TestBIP341WalletVectors(t *testing.T) {
	count := 0
	for _, x := range readWalletVectors(t).KeyPathSpending {
		var tx Tx
		x.ready(t, &tx)
		for name, pair := range map[string]struct {
			got  [32]byte
			want string
		}{
			"prevouts":  {tx.shared.prevouts, x.Intermediary.HashPrevouts},
			"sequences": {tx.shared.sequences, x.Intermediary.HashSequences},
			"outputs":   {tx.shared.outputs, x.Intermediary.HashOutputs},
			"amounts":   {tx.shared.amounts, x.Intermediary.HashAmounts},
			"scripts":   {tx.shared.scripts, x.Intermediary.HashScriptPubkeys},
		} {
			if hex.EncodeToString(pair.got[:]) != pair.want {
				t.Errorf("%s: %x, want %s", name, pair.got, pair.want)
			}
		}
		var h hashCache
		for _, in := range x.InputSpending {
			hash, ok := h.taproot(&tx, in.Given.TxinIndex, new(tapContext), in.Given.HashType)
			if !ok || hex.EncodeToString(hash[:]) != in.Intermediary.SigHash {
				t.Errorf("input %d: %x, want %s", in.Given.TxinIndex, hash, in.Intermediary.SigHash)
				continue
			}
			key := [32]byte(tx.coins[in.Given.TxinIndex].Script[2:])
			sig := [64]byte(unhex(t, in.Expected.Witness[0])[:64])
			for _, v := range verifiers {
				if !v.Schnorr(&key, &sig, hash) {
					t.Errorf("%s: input %d: the signature does not fit", v.Name(), in.Given.TxinIndex)
				}
			}
			count++
		}
	}
	if count != 7 {
		t.Errorf("%d signature hashes, want 7", count)
	}
}

// ready makes tx stand for the vector's transaction, with a stack of one byte for every input: without a witness there
// are no hashes.
func (x *keyPathVector) ready(t *testing.T, tx *Tx) {
	b := new(chain.Block)
	if err := b.DecodeTx(unhex(t, x.Given.RawUnsignedTx)); err != nil {
		t.Fatal(err)
	}
	m := &modelTx{version: b.Txs[0].Version, lock: b.Txs[0].LockTime}
	for i, in := range b.Ins {
		spent := x.Given.UtxosSpent[i]
		m.ins = append(m.ins, modelIn{
			prevout: [36]byte(b.Raw[in.Prevout:]), script: b.Bytes(in.Script), sequence: in.Sequence,
			witness: [][]byte{{1}}, coin: chain.Coin{Value: spent.AmountSats, Script: unhex(t, spent.ScriptPubKey)}})
	}
	for _, out := range b.Outs {
		m.outs = append(m.outs, modelOut{out.Value, b.Bytes(out.Script)})
	}
	m.ready(t, tx)
}
