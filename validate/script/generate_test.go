package script_test

import (
	"encoding/binary"
	"maps"
	"slices"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/ecdsa"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
	"github.com/btcsuite/btcd/txscript/v2"

	"stele/chain"
	"stele/validate/script"
)

// source makes choices out of the bytes of a fuzz input; beyond its end all are zero.
type source struct{ b []byte }

func (r *source) next() byte {
	if len(r.b) == 0 {
		return 0
	}
	first := r.b[0]
	r.b = r.b[1:]
	return first
}

func (r *source) below(n int) int { return int(r.next()) % n }

func (r *source) take(n int) []byte {
	n = min(n, len(r.b))
	head := r.b[:n:n]
	r.b = r.b[n:]
	return head
}

func (r *source) word(usual ...uint32) uint32 {
	if i := r.below(len(usual) + 1); i < len(usual) {
		return usual[i]
	}
	var w [4]byte
	copy(w[:], r.take(4))
	return binary.LittleEndian.Uint32(w[:])
}

// signers are the keys of generated scripts. The last one's compressed form starts with 03.
var signers = func() (keys []*btcec.PrivateKey) {
	for i := byte(1); len(keys) < 4; i++ {
		key, _ := btcec.PrivKeyFromBytes(append(make([]byte, 31), i))
		keys = append(keys, key)
	}
	return keys
}()

// Shapes of generated spends.
const (
	shapeBare = iota
	shapeP2SH
	shapeP2WSH
	shapeNested
	shapeTapscript
	shapeKeyPath
	shapeKeyHash
	shapeRaw
	shapes
)

// made is a spend under construction.
type made struct {
	*spend
	r     *source
	in    int
	shape int
	flags script.Flags
	code  []byte
	from  int // byte of code from which its signatures sign: 1 behind a separator
	annex []byte

	owners []*btcec.PrivateKey // of a template, needed of which have to sign
	needed int
}

// generate makes a spend out of a fuzz input: a script of mostly sensible opcodes, wrapped in one of the shapes, with a
// stack of numbers, keys and true signatures for it.
func generate(tb testing.TB, data []byte) *made {
	m := &made{spend: new(spend), r: &source{data}}
	all := consensusFlags()
	if m.flags = script.Consensus; m.r.next()&1 == 1 {
		m.flags = all[m.r.below(len(all))]
	}
	m.shape = m.r.below(shapes)
	m.frame()
	switch m.shape {
	case shapeKeyPath:
		key := m.key(32)
		m.lock(append([]byte{op1, 32}, key...), nil, [][]byte{m.signature(tb)})
	case shapeKeyHash:
		key := m.key(33)
		m.code = payToKeyHash(key)
		m.lock(append([]byte{op0, 20}, hash160(key)...), nil, [][]byte{m.signature(tb), key})
	case shapeRaw:
		m.lock(m.script(), m.script(), m.stack(tb))
	default:
		if m.r.below(3) == 2 {
			m.template()
		} else {
			m.code = m.script()
		}
		m.wrap(tb)
	}
	if m.r.below(8) == 7 {
		m.disturb()
	}
	return m
}

// frame makes the transaction around the input.
func (m *made) frame() {
	r := m.r
	m.version = r.word(2, 1, 0xffffffff, 0)
	m.spend.lock = r.word(0, 499_999_999, 500_000_000, 1000)
	for i := range 1 + r.below(3) {
		m.ins = append(m.ins, input{
			txid: chain.Hash{1, byte(i)}, vout: uint32(i), seq: r.word(0xfffffffe, 0xffffffff, 0, 5, 1<<22|5, 1<<31|5),
			coin: chain.Coin{Value: int64(1000 * i), Script: []byte{op1}},
		})
	}
	for i := range r.below(3) {
		m.outs = append(m.outs, output{int64(i), []byte{op1, byte(i)}})
	}
	m.in = r.below(len(m.ins))
	m.ins[m.in].coin.Value = int64(r.word(0, 1, 1_000_000))
}

func (m *made) lock(pubKey, scriptSig []byte, witness [][]byte) {
	in := &m.ins[m.in]
	in.coin.Script, in.script, in.witness = pubKey, scriptSig, witness
}

// wrap puts the code where its shape has it, and its stack before it.
func (m *made) wrap(tb testing.TB) {
	nested := func(program []byte) (pubKey, scriptSig []byte) {
		return append(push([]byte{opHash}, hash160(program)), opEqual), push(nil, program)
	}
	switch m.shape {
	case shapeBare:
		m.lock(m.code, pushAll(m.stack(tb)), nil)
	case shapeP2SH:
		pubKey, last := nested(m.code)
		m.lock(pubKey, append(pushAll(m.stack(tb)), last...), nil)
	case shapeP2WSH, shapeNested:
		pubKey, scriptSig := append([]byte{op0, 32}, sum(m.code)...), []byte(nil)
		if m.shape == shapeNested {
			pubKey, scriptSig = nested(pubKey)
		}
		m.lock(pubKey, scriptSig, append(m.stack(tb), m.code))
	case shapeTapscript:
		version := byte(0xc0)
		if m.r.below(16) == 15 {
			version = m.r.next() &^ 1
		}
		output, control := taprootLeaf(tb, unhex(tb, numsKey), version, m.code)
		m.ins[m.in].coin.Script = append([]byte{op1, 32}, output...) // its signatures sign it
		if m.r.below(4) == 3 {
			m.annex = append([]byte{0x50}, m.r.take(m.r.below(20))...)
		}
		witness := append(m.stack(tb), m.code, control)
		if m.annex != nil {
			witness = append(witness, m.annex)
		}
		m.lock(m.ins[m.in].coin.Script, nil, witness)
	}
}

// disturb changes a bit of one of the parts.
func (m *made) disturb() {
	in := &m.ins[m.in]
	parts := append([][]byte{in.script, in.coin.Script}, in.witness...)
	if part := parts[m.r.below(len(parts))]; len(part) > 0 {
		flip(part, (int(m.r.next())<<8|int(m.r.next()))%(8*len(part)))
	}
}

// script is a run of opcodes. A first byte below 0x60 is a sensible step, one of [0x60, 0xc0) the opcode of that byte,
// and any above a rare one.
func (m *made) script() (s []byte) {
	for range m.r.below(40) {
		switch b := m.r.next(); {
		case b < 0x60:
			s = m.step(s, b)
		case b < 0xc0:
			s = append(s, b)
		default:
			s = append(s, m.r.next())
		}
	}
	return s
}

// step appends one of the things that scripts are usually made of.
func (m *made) step(s []byte, b byte) []byte {
	r := m.r
	switch b % 16 {
	case 0:
		return pushNumber(s, int64(int8(r.next())))
	case 1:
		return pushNumber(s, int64(int32(r.word(0x7fffffff, 0x80000000, 500_000_000, 1<<22|4))))
	case 2:
		return push(s, r.take(r.below(6)))
	case 3:
		return push(s, m.key(33))
	case 4:
		return append(push(s, m.key(33)), opCheckSig)
	case 5:
		return append(push(s, m.key(32)), opCheckSig)
	case 6:
		return append(push(s, m.key(32)), opCheckSigAdd)
	case 7: // a multisig of all that signers can be
		n := r.below(4)
		k := r.below(n + 1)
		s = pushNumber(s, int64(k))
		for range n {
			s = push(s, m.key(33))
		}
		return append(pushNumber(s, int64(n)), opCheckMultisig)
	case 8:
		return append(append(s, asm("IF")...), byte(r.below(256)))
	case 9:
		return append(append(s, byte(r.below(256))), asm("ENDIF")...)
	case 10:
		return append(s, opDup, opHash)
	case 11:
		return append(pushNumber(s, int64(r.word(0, 499_999_999, 500_000_000, 5, 1<<22|5, 1<<31))), asm("CLTV")...)
	case 12:
		return append(pushNumber(s, int64(r.word(0, 5, 1<<22|5, 1<<31|5, 6))), asm("CSV")...)
	case 13:
		return append(s, opCodeSeparator)
	case 14:
		return append(s, byte(op1-1)+byte(r.below(17)))
	}
	return append(s, opDup, opEqualVerify)
}

// key is a signer's in the form that fits a script of that shape, and now and then in another.
func (m *made) key(size int) []byte {
	pub := signers[m.r.below(len(signers))].PubKey()
	switch m.r.below(16) {
	case 15:
		return m.r.take(m.r.below(70))
	case 14:
		hybrid := pub.SerializeUncompressed()
		hybrid[0] = 6 | m.r.next()&1
		return hybrid
	case 13:
		return pub.SerializeUncompressed()
	}
	if size == 32 {
		return schnorr.SerializePubKey(pub)
	}
	return pub.SerializeCompressed()
}

// template makes the code one of those that are meant to be unlocked: some of several keys, perhaps behind a separator.
func (m *made) template() {
	r := m.r
	n := 1 + r.below(len(signers))
	m.needed = 1 + r.below(n)
	if r.below(2) == 1 {
		m.code, m.from = []byte{opCodeSeparator}, 1
	}
	for i := range n {
		m.owners = append(m.owners, signers[(i+r.below(2))%len(signers)])
	}
	if m.shape == shapeTapscript {
		op := byte(opCheckSig)
		for _, key := range m.owners {
			m.code = append(push(m.code, schnorr.SerializePubKey(key.PubKey())), op)
			op = opCheckSigAdd
		}
		m.code = append(pushNumber(m.code, int64(m.needed)), asm("NUMEQUAL")...)
		return
	}
	if n == 1 {
		m.code = append(push(m.code, m.owners[0].PubKey().SerializeCompressed()), opCheckSig)
		return
	}
	m.code = pushNumber(m.code, int64(m.needed))
	for _, key := range m.owners {
		m.code = push(m.code, key.PubKey().SerializeCompressed())
	}
	m.code = append(pushNumber(m.code, int64(n)), opCheckMultisig)
}

// unlock is the stack for a template: as many signatures as it asks for, by which of the owners the input says.
func (m *made) unlock(tb testing.TB) (items [][]byte) {
	first := m.r.below(len(m.owners) - m.needed + 1)
	if m.shape == shapeTapscript {
		for i := len(m.owners) - 1; i >= 0; i-- {
			if i < first || i >= first+m.needed {
				items = append(items, nil)
				continue
			}
			items = append(items, m.signatureBy(tb, m.owners[i]))
		}
		return items
	}
	if len(m.owners) > 1 {
		items = append(items, nil)
	}
	for _, key := range m.owners[first:][:m.needed] {
		items = append(items, m.signatureBy(tb, key))
	}
	return items
}

// stack is what a script finds.
func (m *made) stack(tb testing.TB) (items [][]byte) {
	if m.owners != nil {
		items = m.unlock(tb)
		if m.r.below(4) != 3 {
			return items
		}
	}
	for range m.r.below(6) {
		switch b := m.r.next(); b % 8 {
		case 0:
			items = append(items, nil)
		case 1:
			items = append(items, number(int64(int8(m.r.next()))))
		case 2:
			items = append(items, m.r.take(m.r.below(8)))
		case 3:
			items = append(items, m.key(33))
		default:
			items = append(items, m.signature(tb))
		}
	}
	return items
}

func pushAll(items [][]byte) (s []byte) {
	for _, item := range items {
		s = push(s, item)
	}
	return s
}

// signature is one over the code, as its shape has signatures. Those hashes are btcd's.
func (m *made) signature(tb testing.TB) []byte {
	return m.signatureBy(tb, signers[m.r.below(len(signers))])
}

func (m *made) signatureBy(tb testing.TB, key *btcec.PrivateKey) []byte {
	hashType := txscript.SigHashType([]byte{1, 2, 3, 0x81, 0x82, 0x83, 0, 1}[m.r.below(8)])
	if m.r.below(16) == 15 {
		hashType = txscript.SigHashType(m.r.next())
	}
	tx, prevouts := m.wired(tb)
	if m.shape == shapeTapscript || m.shape == shapeKeyPath {
		return m.schnorr(tb, key, hashType)
	}
	var hash []byte
	var err error
	if m.shape == shapeBare || m.shape == shapeP2SH || m.shape == shapeRaw {
		hash, err = txscript.CalcSignatureHash(m.code[m.from:], hashType, tx, m.in)
	} else {
		hashes := txscript.NewTxSigHashes(tx, prevouts)
		hash, err = txscript.CalcWitnessSigHash(m.code[m.from:], hashes, hashType, tx, m.in, m.ins[m.in].coin.Value)
	}
	if err != nil { // a script that cannot be read: any hash will do
		hash = make([]byte, 32)
	}
	sig := append(ecdsa.Sign(key, hash).Serialize(), byte(hashType))
	if m.r.below(16) == 15 {
		forms := laxForms(sig)
		names := slices.Sorted(maps.Keys(forms))
		return append(forms[names[m.r.below(len(names))]], byte(hashType))
	}
	return sig
}

func (m *made) schnorr(tb testing.TB, key *btcec.PrivateKey, hashType txscript.SigHashType) []byte {
	tx, prevouts := m.wired(tb)
	if m.shape == shapeKeyPath { // the output is the key itself
		m.ins[m.in].coin.Script = append([]byte{op1, 32}, schnorr.SerializePubKey(key.PubKey())...)
		tx, prevouts = m.wired(tb)
	}
	hashes := txscript.NewTxSigHashes(tx, prevouts)
	var hash []byte
	var err error
	if m.shape == shapeKeyPath {
		hash, err = txscript.CalcTaprootSignatureHash(hashes, hashType, tx, m.in, prevouts)
	} else {
		var options []txscript.TaprootSigHashOption
		if m.annex != nil {
			options = append(options, txscript.WithAnnex(m.annex))
		}
		if m.from > 0 {
			leaf := txscript.NewBaseTapLeaf(m.code).TapHash()
			options = append(options, txscript.WithBaseTapscriptVersion(0, leaf[:]))
		}
		hash, err = txscript.CalcTapscriptSignaturehash(hashes, hashType, tx, m.in, prevouts,
			txscript.NewBaseTapLeaf(m.code), options...)
	}
	if err != nil {
		hash = make([]byte, 32)
	}
	sig, err := schnorr.Sign(key, hash)
	if err != nil {
		tb.Fatal(err)
	}
	if hashType == 0 {
		return sig.Serialize()
	}
	return append(sig.Serialize(), byte(hashType))
}
