package chain

import (
	"bytes"
	"crypto/sha256"
	"math"
	"math/rand/v2"

	"github.com/btcsuite/btcd/btcec/v2"

	wire "stele/chain"
)

// leafCount is the number of taproot outputs with a script. Half of the scripts are a key's check, half carry an
// envelope behind it.
const leafCount = 256

// leaf is a taproot output that is spent by its script (BIP341, BIP342).
type leaf struct {
	signer  uint16 // the key in the script
	output  [32]byte
	script  []byte
	control []byte // version and parity 1, inner key 32, and a neighbour's hash 32 in every other leaf
	hash    [32]byte
}

// makeLeaf makes leaf i, whose inner key is that of its number, too.
func (g *keyring) makeLeaf(i int, random *rand.ChaCha8) leaf {
	l := leaf{signer: uint16(i)}
	l.script = append(appendPush(nil, g.keys[i].xOnly()), opCheckSig)
	if i%2 == 1 {
		l.script = appendEnvelope(l.script, envelopeSize(i/2), random)
	}
	b := append([]byte{leafVersion}, wire.AppendCompactSize(nil, uint64(len(l.script)))...)
	l.hash = tagged(tapLeaf, append(b, l.script...))
	root := l.hash
	inner := g.keys[i].xOnly()
	l.control = append([]byte{leafVersion}, inner...)
	if i%4 >= 2 {
		var neighbour [32]byte
		_, _ = random.Read(neighbour[:])
		l.control = append(l.control, neighbour[:]...)
		root = branch(root, neighbour)
	}
	var tweak btcec.ModNScalar
	t := tagged(tapTweak, append(bytes.Clone(inner), root[:]...))
	tweak.SetBytes(&t)
	tweak.Add(&g.keys[i].even)
	var p btcec.JacobianPoint
	btcec.ScalarBaseMultNonConst(&tweak, &p)
	p.ToAffine()
	p.X.PutBytes(&l.output)
	if p.Y.IsOdd() {
		l.control[0] |= 1
	}
	return l
}

const leafVersion = 0xc0

// envelopeSize is the number of bytes in the n-th of the envelopes: four of five are a line of text, the others have a
// tail up to the size of a small picture.
func envelopeSize(n int) int {
	const all, short, long, tail = leafCount / 2, 60, 160, 24_000
	if n < all*4/5 {
		return short + n*(long-short)/all
	}
	up := float64(n-all*4/5) / float64(all-all*4/5-1)
	return int(long * math.Pow(float64(tail)/long, up))
}

// appendEnvelope appends what does not run and only carries data, as inscriptions do: 0 IF ... ENDIF, in pushes of up
// to 520 bytes.
func appendEnvelope(b []byte, size int, random *rand.ChaCha8) []byte {
	b = append(b, 0x00, 0x63)
	b = appendPush(b, []byte("ord"))
	b = append(b, 1, 1)
	b = appendPush(b, []byte("text/plain;charset=utf-8"))
	b = append(b, 0x00)
	for size > 0 {
		data := make([]byte, min(size, 520))
		_, _ = random.Read(data)
		b = appendPush(b, data)
		size -= len(data)
	}
	return append(b, 0x68)
}

// Tags of BIP340's hashes: each is the tag's hash, twice, in front of what is hashed.
var (
	tapLeaf       = tagPrefix("TapLeaf")
	tapBranch     = tagPrefix("TapBranch")
	tapTweak      = tagPrefix("TapTweak")
	tapSighash    = tagPrefix("TapSighash")
	bip0340Answer = tagPrefix("BIP0340/challenge")
)

func tagPrefix(name string) (prefix [64]byte) {
	h := sha256.Sum256([]byte(name))
	copy(prefix[:], h[:])
	copy(prefix[32:], h[:])
	return prefix
}

func tagged(prefix [64]byte, b []byte) [32]byte { return sha256.Sum256(append(prefix[:], b...)) }

// branch is the hash of two neighbours, the lower first.
func branch(a, b [32]byte) [32]byte {
	if bytes.Compare(a[:], b[:]) > 0 {
		a, b = b, a
	}
	return tagged(tapBranch, append(a[:], b[:]...))
}
