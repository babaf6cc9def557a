package script_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2/schnorr"
	"github.com/btcsuite/btcd/txscript/v2"

	"stele/validate/script"
)

// keyPath spends an output whose key is a signer's own.
func keyPath(key int) *spend {
	return credit(nil, append([]byte{op1, 32}, schnorr.SerializePubKey(signers[key].PubKey())...), nil, 1000)
}

func signKeyPath(t testing.TB, s *spend, in int, hashType byte, key int) []byte {
	t.Helper()
	tx, prevouts := s.wired(t)
	hashes := txscript.NewTxSigHashes(tx, prevouts)
	hash, err := txscript.CalcTaprootSignatureHash(hashes, txscript.SigHashType(hashType), tx, in, prevouts)
	if err != nil {
		t.Fatal(err)
	}
	return schnorrSignature(t, hash, hashType, key)
}

func schnorrSignature(t testing.TB, hash []byte, hashType byte, key int) []byte {
	t.Helper()
	sig, err := schnorr.Sign(signers[key], hash)
	if err != nil {
		t.Fatal(err)
	}
	if hashType == 0 {
		return sig.Serialize()
	}
	return append(sig.Serialize(), hashType)
}

// tapscript spends a leaf of the known version, tapLeaf one of any.
func tapscript(t testing.TB, code []byte, items ...[]byte) *spend {
	return tapLeaf(t, 0xc0, code, items...)
}

func tapLeaf(t testing.TB, version byte, code []byte, items ...[]byte) *spend {
	t.Helper()
	output, control := taprootLeaf(t, unhex(t, numsKey), version, code)
	return credit(nil, append([]byte{op1, 32}, output...), append(items, code, control), 1000)
}

// signLeaf signs for the leaf of input in, after the separator with that opcode index (^0: none).
func signLeaf(t testing.TB, s *spend, in int, hashType byte, key int, separator uint32, annex []byte) []byte {
	t.Helper()
	tx, prevouts := s.wired(t)
	stack := s.ins[in].witness
	if annex != nil {
		stack = stack[:len(stack)-1]
	}
	leaf := txscript.NewBaseTapLeaf(stack[len(stack)-2])
	id := leaf.TapHash()
	options := []txscript.TaprootSigHashOption{txscript.WithBaseTapscriptVersion(separator, id[:])}
	if annex != nil {
		options = append(options, txscript.WithAnnex(annex))
	}
	hashes := txscript.NewTxSigHashes(tx, prevouts)
	hash, err := txscript.CalcTapscriptSignaturehash(hashes, txscript.SigHashType(hashType), tx, in, prevouts, leaf, options...)
	if err != nil {
		t.Fatal(err)
	}
	return schnorrSignature(t, hash, hashType, key)
}

func xOnly(key int) []byte { return schnorr.SerializePubKey(signers[key].PubKey()) }

const noSeparator = ^uint32(0)

// A tapscript signature commits to the opcode index of the last separator that was run, and to none where none was.
func TestTrap6TapscriptSeparators(t *testing.T) {
	key := push(nil, xOnly(0))
	code := join(key, asm("CHECKSIGVERIFY CODESEPARATOR"), key, asm("CHECKSIG"))
	s := tapscript(t, code)
	before, after := signLeaf(t, s, 0, 0, 0, noSeparator, nil), signLeaf(t, s, 0, 0, 0, 2, nil)
	next := signLeaf(t, s, 0, 0, 0, 3, nil)
	first := tapscript(t, join([]byte{opCodeSeparator}, key, asm("CHECKSIG")))
	dead := tapscript(t, join(asm("0 IF CODESEPARATOR ENDIF"), key, asm("CHECKSIG")))
	with := func(s *spend, items ...[]byte) *spend {
		c := s.clone()
		c.ins[0].witness = append(items, c.ins[0].witness...)
		return c
	}
	bad := script.SchnorrSig
	verdicts(t, []verdictCase{
		{"right", with(s, after, before), script.OK, 0, 0}, {"the next opcode", with(s, next, before), bad, 0, 0},
		{"swapped", with(s, before, after), bad, 0, 0}, {"the first twice", with(s, before, before), bad, 0, 0},
		{"at opcode 0", with(first, signLeaf(t, first, 0, 0, 0, 0, nil)), script.OK, 0, 0},
		{"at opcode 0, none", with(first, signLeaf(t, first, 0, 0, 0, noSeparator, nil)), bad, 0, 0},
		{"not run", with(dead, signLeaf(t, dead, 0, 0, 0, noSeparator, nil)), script.OK, 0, 0},
		{"not run, its index", with(dead, signLeaf(t, dead, 0, 0, 0, 2, nil)), bad, 0, 0},
	})
}

// A leaf of an unknown version passes only if the output commits to it.
func TestTrap8UnknownLeafVersions(t *testing.T) {
	real, code := tapscript(t, asm("1")), asm("RETURN")
	for version := 0xc2; version < 0x100; version += 2 {
		forged := real.clone()
		forged.ins[0].witness = [][]byte{{1}, code, append([]byte{byte(version)}, unhex(t, numsKey)...)}
		what := fmt.Sprintf("version %#x", version)
		verdicts(t, []verdictCase{
			{what + ", forged", forged, script.WitnessMismatch, 0, 0},
			{what, tapLeaf(t, byte(version), code), script.OK, 0, 0},
			{what + ", policy", tapLeaf(t, byte(version), code), script.DiscouragedTaprootVersion,
				script.Consensus | script.DiscourageTaprootVersion, 0},
		})
	}
}

// The budget is 50 and the size of the whole witness, counts and annex included, and every signature that is not empty
// costs 50 of it, whatever its key. Both sides of the limit, with and without an annex.
func TestTrap9Budget(t *testing.T) {
	step := join(asm("1"), push(nil, make([]byte, 33)), asm("CHECKSIGVERIFY"))
	build := func(checks, annex int) (s *spend, left int) {
		code := join(slices.Repeat(step, checks), asm("1"))
		s = tapscript(t, code)
		size := 1 + 1 + 33 // count, control block
		if n := len(code); n < 253 {
			size += 1 + n
		} else {
			size += 3 + n
		}
		if annex > 0 {
			s.ins[0].witness = append(s.ins[0].witness, append([]byte{0x50}, make([]byte, annex-1)...))
			size += 1 + annex
		}
		return s, 50 + size - 50*checks
	}
	sides := map[bool]int{}
	for checks := range 12 {
		for annex := range 200 {
			s, left := build(checks, annex)
			wanted := script.OK
			if left < 0 {
				wanted = script.TapscriptWeight
			}
			if left == 0 || left == -1 {
				sides[left == 0]++
			}
			verdicts(t, []verdictCase{{fmt.Sprintf("%d checks, annex of %d", checks, annex), s, wanted, 0, 0}})
		}
	}
	t.Logf("%d cases end at zero, %d at minus one", sides[true], sides[false])
	if sides[true] < 4 || sides[false] < 4 {
		t.Errorf("the limit was met %d times, missed by one %d times", sides[true], sides[false])
	}
}

// In tapscript a key of an unknown size takes any signature without looking at it; an empty one never does.
func TestTrap10UnknownKeys(t *testing.T) {
	junk := []byte("ten bytes!")
	for _, size := range []int{1, 31, 33, 65, 520} {
		key := push(nil, make([]byte, size))
		what := fmt.Sprintf("key of %d bytes", size)
		verdicts(t, []verdictCase{
			{what, tapscript(t, join(key, asm("CHECKSIG")), junk), script.OK, 0, 0},
			{what + ", added", tapscript(t, join(asm("4"), key, asm("CHECKSIGADD 5 EQUAL")), junk), script.OK, 0, 0},
			{what + ", empty", tapscript(t, join(key, asm("CHECKSIG NOT")), nil), script.OK, 0, 0},
			{what + ", empty, added", tapscript(t, join(asm("4"), key, asm("CHECKSIGADD 4 EQUAL")), nil), script.OK, 0, 0},
			{what + ", policy", tapscript(t, join(key, asm("CHECKSIG")), junk), script.DiscouragedKeyType,
				script.Consensus | script.DiscourageKeyType, 0},
		})
	}
	known := push(nil, xOnly(0))
	empty := script.TapscriptEmptyPubkey
	verdicts(t, []verdictCase{
		{"no key", tapscript(t, asm("0 CHECKSIG"), junk), empty, 0, 0},
		{"no key, no signature", tapscript(t, asm("0 CHECKSIG"), nil), empty, 0, 0},
		{"no key, added", tapscript(t, asm("1 0 CHECKSIGADD"), junk), empty, 0, 0},
		{"no key, no signature, added", tapscript(t, asm("1 0 CHECKSIGADD"), nil), empty, 0, 0},
		{"known", tapscript(t, join(known, asm("CHECKSIG")), junk), script.SchnorrSigSize, 0, 0},
		{"short", tapscript(t, join(known, asm("CHECKSIGADD")), junk), script.InvalidStack, 0, 0},
	})
}

// The annex is hashed with its length before it.
func TestTrap13Annex(t *testing.T) {
	for _, size := range []int{1, 2, 252, 253, 254, 70_000} {
		annex := append([]byte{0x50}, make([]byte, size-1)...)
		leaf := tapscript(t, join(push(nil, xOnly(3)), asm("CHECKSIG")))
		leaf.ins[0].witness = append(leaf.ins[0].witness, annex)
		sig := signLeaf(t, leaf, 0, 1, 3, noSeparator, annex)
		without := tapscript(t, join(push(nil, xOnly(3)), asm("CHECKSIG")))
		without.ins[0].witness = append([][]byte{sig}, without.ins[0].witness...)
		leaf.ins[0].witness = append([][]byte{sig}, leaf.ins[0].witness...)
		what := fmt.Sprintf("annex of %d", size)
		verdicts(t, []verdictCase{{what, leaf, script.OK, 0, 0}, {what + " left out", without, script.SchnorrSig, 0, 0}})
	}
}

// ANYONECANPAY on a script path commits to the spent output's value, script and sequence, not to the tapscript there,
// and to nothing of other inputs.
func TestTrap14AnyoneCanPay(t *testing.T) {
	for _, hashType := range []byte{0x81, 0x82, 0x83} {
		s := tapscript(t, join(push(nil, xOnly(1)), asm("CHECKSIG")))
		s.ins[0].witness = append([][]byte{signLeaf(t, s, 0, hashType, 1, noSeparator, nil)}, s.ins[0].witness...)
		more := s.clone()
		more.ins = append(more.ins, keyPath(2).ins[0])
		value, seq := s.clone(), s.clone()
		value.ins[0].coin.Value++
		seq.ins[0].seq--
		what := fmt.Sprintf("hash type %#x", hashType)
		verdicts(t, []verdictCase{
			{what, s, script.OK, 0, 0}, {what + ", another input", more, script.OK, 0, 0},
			{what + ", value", value, script.SchnorrSig, 0, 0}, {what + ", sequence", seq, script.SchnorrSig, 0, 0},
		})
	}
}

// The first OP_SUCCESS passes before anything else is looked at, but for what does not even decode before it.
func TestTrap15OpSuccessOrder(t *testing.T) {
	success := []byte{0x50}
	large, many := make([]byte, 521), slices.Repeat([][]byte{{}}, 1001)
	cut := []byte{opPushData2, 0xff}
	verdicts(t, []verdictCase{
		{"cut push behind", tapscript(t, join(success, cut)), script.OK, 0, 0},
		{"cut push before", tapscript(t, join(cut, success)), script.BadOpcode, 0, 0},
		{"large item", tapscript(t, success, large), script.OK, 0, 0},
		{"many items", tapscript(t, success, many...), script.OK, 0, 0},
		{"in a dead branch", tapscript(t, join(asm("0 IF"), success)), script.OK, 0, 0},
		{"inside a push", tapscript(t, join(push(nil, success), asm("DROP 0"))), script.EvalFalse, 0, 0},
		{"large item, none", tapscript(t, asm("DROP 1"), large), script.PushSize, 0, 0},
		{"many items, none", tapscript(t, asm("1"), many...), script.StackSize, 0, 0},
		{"0xff is none", tapscript(t, []byte{0xff}), script.BadOpcode, 0, 0},
		{"policy", tapscript(t, success), script.DiscouragedOpSuccess, script.Consensus | script.DiscourageOpSuccess, 0},
	})
}

// Half a million witness items and an OP_SUCCESS: the transaction of block 761249 in its form. Nothing but the weight
// of a block bounds a witness; nor has a tapscript a greatest size or a number of opcodes.
func TestTrap16NoLimits(t *testing.T) {
	items := slices.Repeat([][]byte{{}}, 500_001)
	verdicts(t, []verdictCase{
		{"items", tapscript(t, []byte{0x50}, items...), script.OK, 0, 0},
		{"long script", tapscript(t, join(slices.Repeat(asm("NOP"), 400_000), asm("1"))), script.OK, 0, 0},
		{"long script, version 0", p2wsh(join(slices.Repeat(asm("NOP"), 10_000), asm("1"))), script.ScriptSize, 0, 0},
		{"1000 items", tapscript(t, slices.Repeat(asm("2DROP"), 499), slices.Repeat([][]byte{{1}}, 999)...), script.OK, 0, 0},
	})
}

// A witness stands only where a program is spent, natively without a script, wrapped with exactly the one push.
func TestTrap20MisplacedWitness(t *testing.T) {
	code := payToKeyHash(compressed(0))
	legacy := bare(code)
	legacy.ins[0].script = pushAll([][]byte{signBare(t, legacy, 0, code, 1, 0), compressed(0)})
	dressed := legacy.clone()
	dressed.ins[0].witness = [][]byte{{}}
	program := append([]byte{op0, 20}, hash160(compressed(0))...)
	native := credit(nil, program, nil, 1000)
	native.ins[0].witness = [][]byte{signWitness(t, native, 0, code, 1, 0), compressed(0)}
	pushed := native.clone()
	pushed.ins[0].script = asm("0")
	wrapped := p2sh(program)
	wrapped.ins[0].witness = [][]byte{signWitness(t, wrapped, 0, code, 1, 0), compressed(0)}
	twice, long := wrapped.clone(), wrapped.clone()
	twice.ins[0].script = join(asm("0"), wrapped.ins[0].script)
	long.ins[0].script = join([]byte{opPushData1, byte(len(program))}, program)
	none := twice.clone()
	none.ins[0].witness = nil
	verdicts(t, []verdictCase{
		{"legacy", legacy, script.OK, 0, 0}, {"legacy with a witness", dressed, script.WitnessUnexpected, 0, 0},
		{"legacy with a witness, before segwit", dressed, script.OK, script.P2SH, 0},
		{"native", native, script.OK, 0, 0}, {"native with a script", pushed, script.WitnessMalleated, 0, 0},
		{"wrapped", wrapped, script.OK, 0, 0}, {"wrapped, two pushes", twice, script.WitnessMalleatedP2SH, 0, 0},
		{"wrapped, long push", long, script.WitnessMalleatedP2SH, 0, 0},
		{"wrapped, two pushes, no witness", none, script.WitnessMalleatedP2SH, 0, 0},
	})
}

// Which programs mean something.
func TestTrap21Programs(t *testing.T) {
	zeros := func(n int) []byte { return append([]byte{byte(n)}, slices.Repeat([]byte{1}, n)...) }
	native := func(version byte, n int) *spend {
		return credit(nil, join([]byte{version}, zeros(n)), [][]byte{{1}}, 1)
	}
	wrapped := func(version byte, n int) *spend {
		s := p2sh(join([]byte{version}, zeros(n)))
		s.ins[0].witness = [][]byte{{1}}
		return s
	}
	cases := []verdictCase{
		{"native version 1 of 32 bytes", native(op1, 32), script.SchnorrSigSize, 0, 0},
		{"wrapped version 1 of 32 bytes", wrapped(op1, 32), script.OK, 0, 0},
		{"before taproot", native(op1, 32), script.OK, script.P2SH | script.Witness, 0},
		{"anchor", credit(nil, unhex(t, "51024e73"), nil, 1), script.OK, 0, 0},
		{"anchor with a witness", credit(nil, unhex(t, "51024e73"), [][]byte{{1}}, 1), script.OK, 0, 0},
		{"1 byte is no program", native(op0, 1), script.WitnessUnexpected, 0, 0},
		{"41 bytes are no program", native(op1, 41), script.WitnessUnexpected, 0, 0},
		{"all zero", credit(nil, push(asm("2"), make([]byte, 32)), nil, 1), script.EvalFalse, 0, 0},
	}
	for n := 2; n <= 40; n++ {
		wanted := script.WitnessWrongLength
		switch n {
		case 20:
			wanted = script.WitnessMismatch // takes two items
		case 32:
			wanted = script.WitnessMismatch // takes its script
		}
		cases = append(cases, verdictCase{fmt.Sprintf("version 0 of %d bytes", n), native(op0, n), wanted, 0, 0},
			verdictCase{fmt.Sprintf("wrapped version 0 of %d bytes", n), wrapped(op0, n), wanted, 0, 0})
		for version := byte(op1); version <= op16; version++ {
			if version != op1 || n != 32 {
				what := fmt.Sprintf("version %#x of %d bytes", version, n)
				cases = append(cases, verdictCase{what, native(version, n), script.OK, 0, 0})
			}
		}
	}
	want(t, "programs", len(cases), 8+2*39+16*39-1)
	verdicts(t, cases)
}
