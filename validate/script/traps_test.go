package script_test

import (
	"fmt"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2/ecdsa"
	"github.com/btcsuite/btcd/txscript/v2"

	"stele/chain"
	"stele/validate/script"
)

// The tests of this file and of the two beside it are named after faults that other nodes had. Each shows the case in
// which they were wrong, from the outside: whole spends, with signatures that btcd made.

// verdicts judges cases one by one. A case is a spend, the flags and the name of the error.
func verdicts(t *testing.T, cases []verdictCase) {
	t.Helper()
	j := newJudge()
	for _, c := range cases {
		if c.flags == 0 {
			c.flags = script.Consensus
		}
		if e := j.judgeSpend(t, c.spend, c.in, c.flags); e != c.want {
			t.Errorf("%s: %s, not %s", c.what, e.Name(), c.want.Name())
		}
	}
}

type verdictCase struct {
	what  string
	spend *spend
	want  script.Error
	flags script.Flags // none: all of consensus
	in    int
}

// bare spends an output of that script with those items.
func bare(code []byte, items ...[]byte) *spend { return credit(pushAll(items), code, nil, 1000) }

func p2sh(code []byte, items ...[]byte) *spend {
	return credit(push(pushAll(items), code), append(push([]byte{opHash}, hash160(code)), opEqual), nil, 1000)
}

func p2wsh(code []byte, items ...[]byte) *spend {
	return credit(nil, append([]byte{op0, 32}, sum(code)...), append(items, code), 1000)
}

var wraps = map[string]func(code []byte, items ...[]byte) *spend{"bare": bare, "p2sh": p2sh, "p2wsh": p2wsh}

// signBare signs input in of s over a code that may be another than the output's script.
func signBare(t testing.TB, s *spend, in int, code []byte, hashType byte, key int) []byte {
	t.Helper()
	tx, _ := s.wired(t)
	hash, err := txscript.CalcSignatureHash(code, txscript.SigHashType(hashType), tx, in)
	if err != nil {
		t.Fatal(err)
	}
	return append(ecdsa.Sign(signers[key], hash).Serialize(), hashType)
}

// signWitness is signBare of BIP143.
func signWitness(t testing.TB, s *spend, in int, code []byte, hashType byte, key int) []byte {
	t.Helper()
	tx, prevouts := s.wired(t)
	hashes := txscript.NewTxSigHashes(tx, prevouts)
	hash, err := txscript.CalcWitnessSigHash(code, hashes, txscript.SigHashType(hashType), tx, in, s.ins[in].coin.Value)
	if err != nil {
		t.Fatal(err)
	}
	return append(ecdsa.Sign(signers[key], hash).Serialize(), hashType)
}

func compressed(key int) []byte { return signers[key].PubKey().SerializeCompressed() }

// join is scripts one after the other.
func join(parts ...[]byte) (s []byte) {
	for _, p := range parts {
		s = append(s, p...)
	}
	return s
}

// keyFor is the public key under which a given signature is one over the hash of code: so code may hold the signature.
func keyFor(t *testing.T, s *spend, code, sig []byte, witness bool) []byte {
	t.Helper()
	tx, prevouts := s.wired(t)
	hashType := txscript.SigHashType(sig[len(sig)-1])
	hash, err := txscript.CalcSignatureHash(code, hashType, tx, 0)
	if witness {
		hashes := txscript.NewTxSigHashes(tx, prevouts)
		hash, err = txscript.CalcWitnessSigHash(code, hashes, hashType, tx, 0, s.ins[0].coin.Value)
	}
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := ecdsa.ParseDERSignature(sig[:len(sig)-1])
	if err != nil {
		t.Fatal(err)
	}
	compact := make([]byte, 65)
	r, sv := parsed.R(), parsed.S()
	rb, sb := r.Bytes(), sv.Bytes()
	copy(compact[1:], rb[:])
	copy(compact[33:], sb[:])
	for id := byte(27); id < 31; id++ {
		compact[0] = id + 4
		if key, _, err := ecdsa.RecoverCompact(compact, hash); err == nil {
			return key.SerializeCompressed()
		}
	}
	t.Fatal("no key has that signature")
	return nil
}

// Only the canonical push of the whole signature goes, however often it is there, and never inside another push; and
// that in legacy scripts alone. The key of each case is computed from the hash that Core signs.
func TestTrap1FindAndDeleteSpends(t *testing.T) {
	sig := append(ecdsa.Sign(signers[0], make([]byte, 32)).Serialize(), 1)
	exact := push(nil, sig)
	long := append([]byte{opPushData1, byte(len(sig))}, sig...)
	tail := asm("CHECKSIG")
	drop := []byte{opDrop}
	for what, c := range map[string]struct{ code, signed []byte }{
		"exact":             {join(exact, drop, tail), join(drop, tail)},
		"twice":             {join(exact, exact, asm("2DROP"), tail), join(asm("2DROP"), tail)},
		"inside a push":     {join(push(nil, append([]byte{0xaa}, sig...)), drop, tail), nil},
		"a whole inner one": {join(push(nil, exact), drop, tail), nil},
		"long form":         {join(long, drop, tail), nil},
		"another hash type": {join(push(nil, append(sig[:len(sig)-1:len(sig)-1], 2)), drop, tail), nil},
		"without hash type": {join(push(nil, sig[:len(sig)-1]), drop, tail), nil},
		"before separator":  {join(exact, drop, []byte{opCodeSeparator}, tail), tail},
	} {
		signed := c.signed
		if signed == nil {
			signed = c.code
		}
		s := bare(c.code)
		key := keyFor(t, s, signed, sig, false)
		s.ins[0].script = pushAll([][]byte{sig, key})
		other := s.clone()
		other.ins[0].script = pushAll([][]byte{sig, keyFor(t, s, join(asm("NOP"), signed), sig, false)})
		verdicts(t, []verdictCase{{what, s, script.OK, 0, 0}, {what + ", another code", other, script.EvalFalse, 0, 0}})
	}
	code := join(exact, drop, tail)
	whole := p2wsh(code)
	whole.ins[0].witness = [][]byte{sig, keyFor(t, whole, code, sig, true), code}
	deleted := p2wsh(code)
	deleted.ins[0].witness = [][]byte{sig, keyFor(t, deleted, join(drop, tail), sig, true), code}
	verdicts(t, []verdictCase{
		{"witness, nothing deleted", whole, script.OK, 0, 0}, {"witness, deleted", deleted, script.EvalFalse, 0, 0},
	})
}

// Versions are unsigned: negative ones have relative locks.
func TestTrap2SequenceVersions(t *testing.T) {
	for _, c := range []struct {
		version uint32
		operand string
		want    script.Error
	}{
		{2, "5", script.OK}, {2, "6", script.UnsatisfiedLockTime}, {0x80000002, "5", script.OK},
		{0xffffffff, "5", script.OK}, {0xffffffff, "6", script.UnsatisfiedLockTime},
		{0x80000000, "6", script.UnsatisfiedLockTime},
		{1, "5", script.UnsatisfiedLockTime}, {0, "5", script.UnsatisfiedLockTime},
	} {
		s := bare(asm(c.operand + " CSV"))
		s.version, s.ins[0].seq = c.version, 5
		verdicts(t, []verdictCase{{fmt.Sprintf("version %#x, %s", c.version, c.operand), s, c.want, 0, 0}})
	}
}

// SIGHASH_SINGLE without an output of that index: the number one, nothing, and a failure.
func TestTrap4SingleSpends(t *testing.T) {
	for _, hashType := range []byte{3, 0x83} {
		two := func(s *spend) *spend { // the input that is judged is the second, the only output is the first
			s.ins = append([]input{{txid: chain.Hash{9}, coin: chain.Coin{Value: 1, Script: asm("1")}}}, s.ins...)
			return s
		}
		one := make([]byte, 32)
		one[0] = 1
		code := payToKeyHash(compressed(0))
		legacy := two(bare(code))
		legacy.ins[1].script = pushAll([][]byte{append(ecdsa.Sign(signers[0], one).Serialize(), hashType), compressed(0)})
		v0 := two(credit(nil, append([]byte{op0, 20}, hash160(compressed(0))...), nil, 1000))
		v0.ins[1].witness = [][]byte{signWitness(t, v0, 1, code, hashType, 0), compressed(0)}
		v1 := two(keyPath(0))
		v1.ins[1].witness = [][]byte{append(make([]byte, 64), hashType)}
		verdicts(t, []verdictCase{
			{"legacy", legacy, script.OK, 0, 1}, {"version 0", v0, script.OK, 0, 1},
			{"version 1", v1, script.SchnorrSigHashType, 0, 1},
		})
	}
}

// Any byte is a hash type in legacy and version 0, and is signed as it is; taproot knows seven.
func TestTrap5UnusualHashTypes(t *testing.T) {
	code := payToKeyHash(compressed(1))
	known := map[byte]bool{0: true, 1: true, 2: true, 3: true, 0x81: true, 0x82: true, 0x83: true}
	cases := 0
	for hashType := range 256 {
		legacy := bare(code)
		legacy.ins[0].script = pushAll([][]byte{signBare(t, legacy, 0, code, byte(hashType), 1), compressed(1)})
		v0 := credit(nil, append([]byte{op0, 20}, hash160(compressed(1))...), nil, 1000)
		v0.ins[0].witness = [][]byte{signWitness(t, v0, 0, code, byte(hashType), 1), compressed(1)}
		wanted := script.SchnorrSigHashType
		v1 := keyPath(1)
		v1.ins[0].witness = [][]byte{append(make([]byte, 64), byte(hashType))}
		if known[byte(hashType)] {
			wanted = script.OK
			v1.ins[0].witness = [][]byte{signKeyPath(t, v1, 0, byte(hashType), 1)}
		}
		what := fmt.Sprintf("hash type %#x", hashType)
		verdicts(t, []verdictCase{{what, legacy, script.OK, 0, 0}, {what, v0, script.OK, 0, 0}, {what, v1, wanted, 0, 0}})
		cases += 3
	}
	long := keyPath(1)
	long.ins[0].witness = [][]byte{append(signKeyPath(t, long, 0, 0, 1), 0)}
	verdicts(t, []verdictCase{{"default, written out", long, script.SchnorrSigHashType, 0, 0}})
	want(t, "cases", cases, 768)
}

// After a separator the same key and hash type need another signature; no hash may be kept from before it.
func TestTrap6SeparatorSpends(t *testing.T) {
	key := compressed(2)
	half := join(push(nil, key), asm("CHECKSIG"))
	code := join(push(nil, key), asm("CHECKSIGVERIFY CODESEPARATOR"), half)
	legacyCode := join(push(nil, key), asm("CHECKSIGVERIFY"), half) // legacy hashes never hold separators
	for _, c := range []struct {
		what        string
		make        func([]byte, ...[]byte) *spend
		sign        func(testing.TB, *spend, int, []byte, byte, int) []byte
		first, then []byte
	}{
		{"bare", bare, signBare, legacyCode, half}, {"p2sh", p2sh, signBare, legacyCode, half},
		{"p2wsh", p2wsh, signWitness, code, half},
	} {
		s := c.make(code)
		before, after := c.sign(t, s, 0, c.first, 1, 2), c.sign(t, s, 0, c.then, 1, 2)
		right, twice := c.make(code, after, before), c.make(code, before, before)
		late, swapped := c.make(code, after, after), c.make(code, before, after)
		verdicts(t, []verdictCase{
			{c.what, right, script.OK, 0, 0}, {c.what + ": the first twice", twice, script.EvalFalse, 0, 0},
			{c.what + ": the second twice", late, script.CheckSigVerify, 0, 0},
			{c.what + ": swapped", swapped, script.CheckSigVerify, 0, 0},
		})
	}
}

// A separator in a branch that is not run is nothing, but to policy.
func TestTrap7SeparatorInDeadBranch(t *testing.T) {
	code := asm("0 IF CODESEPARATOR ENDIF 1")
	verdicts(t, []verdictCase{
		{"consensus", bare(code), script.OK, 0, 0},
		{"policy", bare(code), script.OpCodeSeparator, script.Consensus | script.ConstScriptCode, 0},
		{"witness, policy", p2wsh(code), script.OK, script.Consensus | script.ConstScriptCode, 0},
	})
}

// An empty key makes a check false, not the script.
func TestTrap11EmptyKeys(t *testing.T) {
	sig := signBare(t, bare(asm("1")), 0, asm("1"), 1, 0)
	for name, wrap := range wraps {
		verdicts(t, []verdictCase{
			{name, wrap(asm("0 CHECKSIG NOT"), sig), script.OK, 0, 0},
			{name + ", no signature", wrap(asm("0 CHECKSIG NOT"), nil), script.OK, 0, 0},
			{name + ", multisig", wrap(asm("1 0 1 CHECKMULTISIG NOT"), nil, sig), script.OK, 0, 0},
			{name + ", multisig, no signature", wrap(asm("1 0 1 CHECKMULTISIG NOT"), nil, nil), script.OK, 0, 0},
		})
	}
}

// Too few items fail the script; they are no false that a NOT could turn.
func TestTrap12ShortStacks(t *testing.T) {
	bad := script.InvalidStack
	for code, e := range map[string]script.Error{
		"1 CHECKSIG NOT": bad, "CHECKSIG NOT": bad, "CHECKMULTISIG NOT": bad, "0 CHECKMULTISIG NOT": bad,
		"0 0 CHECKMULTISIG NOT": bad, "1 1 CHECKMULTISIG NOT": bad, "0 1 1 CHECKMULTISIG NOT": bad,
		"1 1 1 1 CHECKMULTISIG NOT": bad, "0 0 0 CHECKMULTISIG": script.OK, "0 0 1 0 1 CHECKMULTISIG NOT": script.OK,
		"0 0 21 CHECKMULTISIG NOT": script.PubkeyCount, "0 0 -1 CHECKMULTISIG NOT": script.PubkeyCount,
		"0 -1 0 CHECKMULTISIG NOT": script.SigCount, "0 0 2 0 1 CHECKMULTISIG NOT": script.SigCount,
	} {
		verdicts(t, []verdictCase{{code, bare(asm(code)), e, 0, 0}, {code + ", witness", p2wsh(asm(code)), e, 0, 0}})
	}
}

// A signature that is not strict DER fails the script where it is reached, and only there: the last is tried first, and
// when more signatures than keys are left the others are not looked at.
func TestTrap24OrderOfMultisig(t *testing.T) {
	code := join(asm("2"), push(nil, compressed(0)), push(nil, compressed(1)), asm("2 CHECKMULTISIG NOT"))
	wrong := signBare(t, bare(asm("1")), 0, asm("1"), 1, 3)
	loose := append([]byte{0x30, 0x81}, wrong[1:]...) // a length in long form
	for name, wrap := range wraps {
		verdicts(t, []verdictCase{
			{name + ": not reached", wrap(code, nil, loose, wrong), script.OK, 0, 0},
			{name + ": reached", wrap(code, nil, wrong, loose), script.SigDER, 0, 0},
			{name + ": before BIP66", wrap(code, nil, wrong, loose), script.OK, script.Consensus &^ script.DerSig, 0},
		})
	}
}
