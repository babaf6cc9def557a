package chain

import (
	"crypto/sha256"
	"encoding/binary"

	wire "stele/chain"
)

// spend is an input: the coin that it takes, and its sequence.
type spend struct {
	coin
	sequence uint32
}

// signer signs one transaction at a time. What is signed is computed here from what the generator knows of its
// transactions, and shares nothing with the code that verifies. One goroutine uses it.
type signer struct {
	ring   *keyring
	signed bool
	made   uint64 // state of what is made up

	version, lock uint32
	ins           []spend
	outs          []byte // count and outputs, as on the wire
	countLen      int    // bytes of the count

	// SHA256 of all outpoints, sequences and outputs (BIP341), and of these again (BIP143). Computed when first asked for.
	shared                bool
	prevouts, prevouts2   [32]byte
	sequences, sequences2 [32]byte
	outputs, outputs2     [32]byte

	// SHA256 of all amounts and scripts (BIP341).
	taproot          bool
	amounts, scripts [32]byte

	buf  []byte
	code []byte
	hash [32]byte // the message in hand, or what was made up last
}

// begin takes a transaction in hand. Its inputs and outputs must not change meanwhile.
func (s *signer) begin(version, lock uint32, ins []spend, outs []byte, salt uint64) {
	s.version, s.lock, s.ins, s.outs, s.made = version, lock, ins, outs, salt
	_, s.countLen, _ = wire.CompactSize(outs)
	s.shared, s.taproot = false, false
}

// madeUp returns numbers that mean nothing, for signatures that sign nothing.
func (s *signer) madeUp() *[32]byte {
	for i := 0; i < len(s.hash); i += 8 {
		s.made += 0x9e3779b97f4a7c15 // SplitMix64
		z := s.made
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		binary.LittleEndian.PutUint64(s.hash[i:], z^z>>31)
	}
	return &s.hash
}

const sighashAll = 1

// The messages below are nil where nothing is signed.

// legacy is the message of input n with the script that it runs, for SIGHASH_ALL: the transaction with that script in
// place of all others, and the type.
func (s *signer) legacy(n int, code []byte) *[32]byte {
	if !s.signed {
		return nil
	}
	b := binary.LittleEndian.AppendUint32(s.buf[:0], s.version)
	b = wire.AppendCompactSize(b, uint64(len(s.ins)))
	for i := range s.ins {
		in := &s.ins[i]
		b = appendOutpoint(b, in)
		if i == n {
			b = wire.AppendCompactSize(b, uint64(len(code)))
			b = append(b, code...)
		} else {
			b = append(b, 0)
		}
		b = binary.LittleEndian.AppendUint32(b, in.sequence)
	}
	b = append(b, s.outs...)
	b = binary.LittleEndian.AppendUint32(b, s.lock)
	b = binary.LittleEndian.AppendUint32(b, sighashAll)
	s.buf = b
	s.hash = wire.DoubleSHA256(b)
	return &s.hash
}

// version0 is the message of an input of a version 0 program (BIP143), for SIGHASH_ALL.
func (s *signer) version0(n int, code []byte) *[32]byte {
	if !s.signed {
		return nil
	}
	s.share()
	in := &s.ins[n]
	b := binary.LittleEndian.AppendUint32(s.buf[:0], s.version)
	b = append(b, s.prevouts2[:]...)
	b = append(b, s.sequences2[:]...)
	b = appendOutpoint(b, in)
	b = wire.AppendCompactSize(b, uint64(len(code)))
	b = append(b, code...)
	b = binary.LittleEndian.AppendUint64(b, uint64(in.value))
	b = binary.LittleEndian.AppendUint32(b, in.sequence)
	b = append(b, s.outputs2[:]...)
	b = binary.LittleEndian.AppendUint32(b, s.lock)
	b = binary.LittleEndian.AppendUint32(b, sighashAll)
	s.buf = b
	s.hash = wire.DoubleSHA256(b)
	return &s.hash
}

// version1 is the message of an input of a taproot output (BIP341), for SIGHASH_DEFAULT; through a leaf (BIP342) unless
// it is nil.
func (s *signer) version1(n int, through *leaf) *[32]byte {
	if !s.signed {
		return nil
	}
	s.share()
	s.shareTaproot()
	b := append(s.buf[:0], tapSighash[:]...)
	b = append(b, 0, 0) // epoch, type
	b = binary.LittleEndian.AppendUint32(b, s.version)
	b = binary.LittleEndian.AppendUint32(b, s.lock)
	b = append(b, s.prevouts[:]...)
	b = append(b, s.amounts[:]...)
	b = append(b, s.scripts[:]...)
	b = append(b, s.sequences[:]...)
	b = append(b, s.outputs[:]...)
	if through == nil {
		b = append(b, 0) // no script, no annex
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	} else {
		b = append(b, 2)
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
		b = append(b, through.hash[:]...)
		b = append(b, 0)                                    // version of the key
		b = binary.LittleEndian.AppendUint32(b, ^uint32(0)) // no CODESEPARATOR ran
	}
	s.buf = b
	s.hash = sha256.Sum256(b)
	return &s.hash
}

func (s *signer) share() {
	if s.shared {
		return
	}
	s.shared = true
	b := s.buf[:0]
	for i := range s.ins {
		b = appendOutpoint(b, &s.ins[i])
	}
	s.prevouts = sha256.Sum256(b)
	b = b[:0]
	for i := range s.ins {
		b = binary.LittleEndian.AppendUint32(b, s.ins[i].sequence)
	}
	s.sequences = sha256.Sum256(b)
	s.outputs = sha256.Sum256(s.outs[s.countLen:])
	s.prevouts2, s.sequences2 = sha256.Sum256(s.prevouts[:]), sha256.Sum256(s.sequences[:])
	s.outputs2 = sha256.Sum256(s.outputs[:])
	s.buf = b
}

func (s *signer) shareTaproot() {
	if s.taproot {
		return
	}
	s.taproot = true
	b := s.buf[:0]
	for i := range s.ins {
		b = binary.LittleEndian.AppendUint64(b, uint64(s.ins[i].value))
	}
	s.amounts = sha256.Sum256(b)
	b = b[:0]
	for i := range s.ins {
		b = s.ring.appendScript(b, s.ins[i].kind, s.ins[i].key)
	}
	s.scripts = sha256.Sum256(b)
	s.buf = b
}

func appendOutpoint(b []byte, in *spend) []byte {
	return binary.LittleEndian.AppendUint32(append(b, in.txid[:]...), in.vout)
}
