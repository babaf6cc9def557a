package validate

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/btcsuite/btcd/txscript/v2"
	"github.com/btcsuite/btcd/wire/v2"

	"stele/chain"
	"stele/internal/realdata"
)

// btcdTx is a transaction in another implementation's hands, with the coins of its inputs.
type btcdTx struct {
	tx       wire.MsgTx
	coins    []chain.Coin
	prevouts *txscript.MultiPrevOutFetcher
	hashes   *txscript.TxSigHashes
}

func newBtcdTx(raw []byte, coins []chain.Coin) (*btcdTx, error) {
	x := &btcdTx{coins: coins, prevouts: txscript.NewMultiPrevOutFetcher(nil)}
	if err := x.tx.Deserialize(bytes.NewReader(raw)); err != nil {
		return nil, err
	}
	for i, coin := range coins {
		x.prevouts.AddPrevOut(x.tx.TxIn[i].PreviousOutPoint, wire.NewTxOut(coin.Value, coin.Script))
	}
	x.hashes = txscript.NewTxSigHashes(&x.tx, x.prevouts)
	return x, nil
}

// run runs the scripts of one input.
func (x *btcdTx) run(input int, flags txscript.ScriptFlags) error {
	coin := &x.coins[input]
	vm, err := txscript.NewEngine(coin.Script, &x.tx, input, flags, nil, x.hashes, coin.Value, x.prevouts)
	if err != nil {
		return err
	}
	return vm.Execute()
}

// signs runs what Signet hands out under the flags of BIP325.
func signs(tx *chain.Block, coin *chain.Coin) bool {
	x, err := newBtcdTx(tx.Raw, []chain.Coin{*coin})
	return err == nil && x.run(0, txscript.ScriptBip16|txscript.ScriptVerifyWitness|
		txscript.ScriptVerifyDERSignatures|txscript.ScriptStrictMultiSig) == nil
}

func signetBlocks(t testing.TB) (blocks [][]byte) {
	t.Helper()
	var rows []struct{ Block string }
	if err := json.Unmarshal(realdata.Read(t, "chains", "signet_blocks_0_120.json.gz"), &rows); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		blocks = append(blocks, unhex(t, row.Block))
	}
	return append(blocks, realdata.Read(t, "signet", "blocks", "31500.blk.gz"))
}

// TestSignetSignatures: every block of the default signet is signed, with its scripts run by another implementation;
// and changing what is signed spoils it: version, parent, time, any transaction, the solution itself.
func TestSignetSignatures(t *testing.T) {
	p, scratch, signed := chain.Signet(), Scratch{}, 0
	judge := func(b *chain.Block, txids []chain.Hash) Verdict {
		hash := b.Header.Hash()
		return Signet(p, &hash, b, txids, &scratch, signs)
	}
	for i, raw := range signetBlocks(t) {
		b := new(chain.Block)
		if err := b.Decode(raw); err != nil {
			t.Fatal(err)
		}
		txids := b.Txids(nil)
		wantReason(t, fmt.Sprint(i), judge(b, txids), "")
		if b.Header.Hash() == p.GenesisHash {
			continue
		}
		signed++
		v := judge(b, append(slices.Clone(txids), label(1)))
		wantReason(t, fmt.Sprint(i, ": one txid more"), v, ReasonSignet)
		out := b.Outs[commitment(b)].Script
		for what, change := range map[string]func(raw []byte){
			"version":  func(raw []byte) { raw[1] ^= 1 },
			"parent":   func(raw []byte) { raw[4] ^= 1 },
			"time":     func(raw []byte) { raw[68] ^= 1 },
			"coinbase": func(raw []byte) { raw[b.Outs[0].Script.Off+1] ^= 1 },
			"solution": func(raw []byte) { raw[out.Off+out.Len-1-40] ^= 1 },
		} {
			changed := new(chain.Block)
			copied := bytes.Clone(raw)
			change(copied)
			if err := changed.Decode(copied); err != nil {
				t.Fatal(err)
			}
			v := judge(changed, changed.Txids(nil))
			wantReason(t, fmt.Sprint(i, ": ", what), v, ReasonSignet)
			if v.Condemns || v.Tx != none {
				t.Errorf("%+v", v)
			}
		}
		// The nonce and the root in the header are not signed: the first is found later, the second follows.
		b.Header.Nonce++
		b.Header.Merkle = label(3)
		wantReason(t, fmt.Sprint(i, ": nonce and root"), judge(b, txids), "")
	}
	if signed != 121 {
		t.Errorf("%d signatures, want 121", signed)
	}
}

// TestSignetElsewhere: other networks ask for nothing, and a genesis block of a signet is not signed.
func TestSignetElsewhere(t *testing.T) {
	b, txids := validSpec().decode(t)
	never := func(*chain.Block, *chain.Coin) bool { t.Error("asked"); return false }
	for _, p := range []*chain.Params{chain.Main(), chain.Testnet3(), chain.Testnet4(), chain.Regtest()} {
		hash := b.Header.Hash()
		wantReason(t, p.Name, Signet(p, &hash, b, txids, new(Scratch), never), "")
	}
	genesis := chain.Signet().GenesisHash
	wantReason(t, "genesis", Signet(chain.Signet(), &genesis, b, txids, new(Scratch), never), "")
}

// TestSignetOfOthers: a signet whose challenge is met by nothing needs no solution, but a commitment that could hold
// one; what is in its solution is run all the same.
func TestSignetOfOthers(t *testing.T) {
	p := *chain.Signet()
	for _, x := range []struct {
		name      string
		challenge []byte
		spec      *blockSpec
		reason    string
	}{
		{"true", []byte{0x51}, validSpec().commit(), ""},
		{"true, no commitment", []byte{0x51}, validSpec(), ReasonSignet},
		{"false", []byte{0}, validSpec().commit(), ReasonSignet},
		{"what the solution pushes", []byte{0x57, 0x87}, signedSpec([]byte{7, 0xec, 0xc7, 0xda, 0xa2, 1, 0x57, 0}), ""},
		{"unlike it", []byte{0x57, 0x87}, signedSpec([]byte{7, 0xec, 0xc7, 0xda, 0xa2, 1, 0x58, 0}), ReasonSignet},
		{"no solution", []byte{0x51}, signedSpec([]byte{6, 0xec, 0xc7, 0xda, 0xa2, 1, 0x58}), ReasonSignet},
	} {
		p.SignetChallenge = x.challenge
		b, txids := x.spec.decode(t)
		hash := b.Header.Hash()
		wantReason(t, x.name, Signet(&p, &hash, b, txids, new(Scratch), signs), x.reason)
	}
}

// signedSpec is a block whose commitment's script goes on with tail.
func signedSpec(tail []byte) *blockSpec {
	x := validSpec().commit()
	script := &x.txs[0].outs[len(x.txs[0].outs)-1].script
	*script = append(*script, tail...)
	return x
}

// TestSignetSolutions: what counts as a solution, and what makes a block that has none.
func TestSignetSolutions(t *testing.T) {
	push := func(data ...byte) []byte { return appendPush(nil, data) }
	magic := []byte{0xec, 0xc7, 0xda, 0xa2}
	solution := func(rest ...byte) []byte { return push(append(slices.Clone(magic), rest...)...) }
	long := append([]byte{0xfd, 0x2c, 0x01}, make([]byte, 300)...)
	for _, x := range []struct {
		name    string
		tail    []byte
		ok      bool
		script  string
		witness []string
	}{
		{"nothing", nil, true, "", nil},
		{"magic alone is none", push(magic...), true, "", nil},
		{"other magic", push(0xec, 0xc7, 0xda, 0xa3, 9), true, "", nil},
		{"empty script and stack", solution(0, 0), true, "", nil},
		{"script", solution(2, 'a', 'b', 0), true, "ab", nil},
		{"script and stack", solution(1, 'a', 2, 1, 'b', 0), true, "a", []string{"b", ""}},
		{"stack", solution(0, 1, 3, 'x', 'y', 'z'), true, "", []string{"xyz"}},
		{"long script", solution(append(slices.Clone(long), 0)...), true, string(make([]byte, 300)), nil},
		{"script alone", solution(1, 'a'), false, "", nil},
		{"script cut short", solution(2, 'a'), false, "", nil},
		{"a byte behind", solution(0, 0, 0), false, "", nil},
		{"item cut short", solution(0, 1, 3, 'x', 'y'), false, "", nil},
		{"item not there", solution(0, 2, 0), false, "", nil},
		{"script length not canonical", solution(0xfd, 1, 0, 'a', 0), false, "", nil},
		{"count not canonical", solution(0, 0xfd, 0, 0), false, "", nil},
		{"item length not canonical", solution(0, 1, 0xfd, 1, 0, 'a'), false, "", nil},
		{"count of 2^64-1", solution(0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), false, "", nil},
		{"length of 2^64-1", solution(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), false, "", nil},
		{"the first of two", append(solution(1, 'a', 0), solution(1, 'b', 0)...), true, "a", nil},
		{"after magic alone", append(push(magic...), solution(1, 'b', 0)...), true, "b", nil},
		{"after an opcode", append([]byte{0x51}, solution(1, 'b', 0)...), true, "b", nil},
		{"after a push cut short", append([]byte{0x4d, 0xff}, solution(1, 'b', 0)...), true, "", nil},
	} {
		b, txids := signedSpec(x.tail).decode(t)
		_, sign, ok := SignetPair([]byte{0x51}, b, txids)
		if ok != x.ok {
			t.Errorf("%s: %v", x.name, ok)
		}
		if !ok {
			continue
		}
		var tx wire.MsgTx
		if err := tx.Deserialize(bytes.NewReader(sign)); err != nil {
			t.Fatal(x.name, err)
		}
		var witness []string
		for _, item := range tx.TxIn[0].Witness {
			witness = append(witness, string(item))
		}
		if string(tx.TxIn[0].SignatureScript) != x.script || !slices.Equal(witness, x.witness) {
			t.Errorf("%s: script %x, witness %q", x.name, tx.TxIn[0].SignatureScript, witness)
		}
	}
	b, txids := validSpec().decode(t)
	if _, _, ok := SignetPair([]byte{0x51}, b, txids); ok {
		t.Error("a solution without a commitment")
	}
}

// plainSignetPair is BIP325 and Core's code by other means: another implementation's transactions, and a script that is
// taken apart by its tokenizer.
func plainSignetPair(t *testing.T, challenge []byte, b *chain.Block, txids []chain.Hash) (
	spend, sign *wire.MsgTx, ok bool,
) {
	var coinbase wire.MsgTx
	if err := coinbase.Deserialize(bytes.NewReader(b.AppendTx(nil, 0, true))); err != nil {
		t.Fatal(err)
	}
	var at *wire.TxOut
	for _, out := range coinbase.TxOut {
		if len(out.PkScript) >= 38 && bytes.HasPrefix(out.PkScript, []byte{0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed}) {
			at = out
		}
	}
	if at == nil {
		return nil, nil, false
	}
	var script, solution []byte
	found := false
	for tokens := txscript.MakeScriptTokenizer(0, at.PkScript); tokens.Next(); {
		data := tokens.Data()
		if !found && len(data) > 4 && bytes.HasPrefix(data, []byte{0xec, 0xc7, 0xda, 0xa2}) {
			found, solution, data = true, data[4:], data[:4]
		}
		switch n := len(data); {
		case n == 0:
			script = append(script, tokens.Opcode())
		case n <= 75:
			script = append(append(script, byte(n)), data...)
		case n <= 255:
			script = append(append(script, 76, byte(n)), data...)
		case n <= 65_535:
			script = append(append(script, 77, byte(n), byte(n>>8)), data...)
		default:
			script = append(append(script, 78, byte(n), byte(n>>8), byte(n>>16), byte(n>>24)), data...)
		}
	}
	leaves := slices.Clone(txids)
	if found {
		at.PkScript = script
		leaves[0] = chain.Hash(coinbase.TxHash())
	}
	root := plainRoot(leaves)
	signed := b.Header.Append(nil)[:36]
	signed = binary.LittleEndian.AppendUint32(append(signed, root[:]...), b.Header.Time)
	spend, sign = wire.NewMsgTx(0), wire.NewMsgTx(0)
	spend.AddTxIn(&wire.TxIn{PreviousOutPoint: wire.OutPoint{Index: 0xffff_ffff},
		SignatureScript: append([]byte{0, byte(len(signed))}, signed...)})
	spend.AddTxOut(wire.NewTxOut(0, challenge))
	in := &wire.TxIn{PreviousOutPoint: wire.OutPoint{Hash: spend.TxHash()}}
	sign.AddTxIn(in)
	sign.AddTxOut(wire.NewTxOut(0, []byte{0x6a}))
	if found {
		r := bytes.NewReader(solution)
		var err error
		if in.SignatureScript, err = wire.ReadVarBytes(r, 0, 1<<25, "script"); err != nil {
			return nil, nil, false
		}
		count, err := wire.ReadVarInt(r, 0)
		for i := uint64(0); err == nil && i < count; i++ {
			var item []byte
			item, err = wire.ReadVarBytes(r, 0, 1<<25, "item")
			in.Witness = append(in.Witness, item)
		}
		if err != nil || r.Len() != 0 {
			return nil, nil, false
		}
	}
	return spend, sign, true
}

// FuzzSignetPair: any script behind the commitment gives the pair that plainSignetPair gives, or none where it does.
func FuzzSignetPair(f *testing.F) {
	for _, tail := range [][]byte{
		nil, {4, 0xec, 0xc7, 0xda, 0xa2}, {6, 0xec, 0xc7, 0xda, 0xa2, 0, 0}, {7, 0xec, 0xc7, 0xda, 0xa2, 0, 1, 0},
		{0x4c, 7, 0xec, 0xc7, 0xda, 0xa2, 0, 1, 0}, {0x4d, 7, 0, 0xec, 0xc7, 0xda, 0xa2, 1, 9, 0, 0x4c, 0, 0x51, 0x4d},
		{0x4e, 8, 0, 0, 0, 0xec, 0xc7, 0xda, 0xa2, 1, 9, 1, 0, 2, 1}, {0x4d, 0, 0, 0x4e, 0, 0, 0, 0, 0xac},
		{8, 0xec, 0xc7, 0xda, 0xa2, 0, 0xfd, 0, 0, 6, 0xec, 0xc7, 0xda, 0xa2, 0, 0},
	} {
		f.Add(tail)
	}
	f.Fuzz(func(t *testing.T, tail []byte) {
		b, txids := signedSpec(tail).decode(t)
		challenge := chain.Signet().SignetChallenge
		wantSpend, wantSign, wantOK := plainSignetPair(t, challenge, b, txids)
		spend, sign, ok := SignetPair(challenge, b, txids)
		if ok != wantOK {
			t.Fatalf("%v, want %v", ok, wantOK)
		}
		if !ok {
			return
		}
		for _, x := range []struct {
			got  []byte
			want *wire.MsgTx
		}{{spend, wantSpend}, {sign, wantSign}} {
			var want bytes.Buffer
			if err := x.want.Serialize(&want); err != nil || !bytes.Equal(x.got, want.Bytes()) {
				t.Errorf("%x, want %x (%v)", x.got, want.Bytes(), err)
			}
			if err := new(chain.Block).DecodeTx(x.got); err != nil {
				t.Error(err)
			}
		}
	})
}
