package chain

import (
	"crypto/sha256"
	"math/rand/v2"
	"sync"

	"github.com/btcsuite/btcd/btcec/v2"

	wire "stele/chain"
)

const (
	// keyCount is how many keys are paid to. Each is used over and over: addresses are reused on chains, too, though
	// less, and nothing that is measured looks at that.
	keyCount   = 2048
	nonceCount = 1024
)

// keyring is what all chains of a process are paid to and signed with: keys, tapscript leaves, and nonces that are made
// beforehand, as a signature's only costly part is the multiple of the generator for its nonce. Nonces serve again and
// again, which gives the keys away. They guard nothing. It is made once, and read-only from then on.
type keyring struct {
	keys   [keyCount]key
	nonces [nonceCount]nonce
	leaves [leafCount]leaf
}

// key is a key, and the programs that lock an output to it; those with several keys take the ones that follow, too.
type key struct {
	secret btcec.ModNScalar
	even   btcec.ModNScalar // of the point with this x and an even y (BIP340)
	public [33]byte

	hash        [20]byte // HASH160 of public
	nestedKey   [20]byte // HASH160 of the P2WPKH script
	scriptMulti [20]byte // HASH160 of multi
	multi       [32]byte // SHA256 of multi
	nestedMulti [20]byte // HASH160 of the P2WSH script of multi
	delay       [32]byte // SHA256 of delayed
}

func (k *key) xOnly() []byte { return k.public[1:] }

// nonce is a secret number k with an even k·G.
type nonce struct {
	k, inverse btcec.ModNScalar
	x          [32]byte // of k·G
	r          btcec.ModNScalar
}

var theRing = sync.OnceValue(makeRing)

// Where the keys and the nonces begin; each is one above the one before it.
var firstKey, firstNonce = [32]byte{1, 2, 3, 31: 1}, [32]byte{77, 7, 31: 1}

func makeRing() *keyring {
	g := new(keyring)
	eachMultiple(firstKey, keyCount, func(i int, s *btcec.ModNScalar, p *btcec.JacobianPoint) {
		k := &g.keys[i]
		k.secret, k.even = *s, *s
		k.public[0] = 2
		if p.Y.IsOdd() {
			k.public[0] = 3
			k.even.Negate()
		}
		p.X.PutBytesUnchecked(k.public[1:])
		k.hash = wire.Hash160(k.public[:])
	})
	eachMultiple(firstNonce, nonceCount, func(i int, s *btcec.ModNScalar, p *btcec.JacobianPoint) {
		n := &g.nonces[i]
		n.k = *s
		if p.Y.IsOdd() {
			n.k.Negate()
		}
		n.inverse.InverseValNonConst(&n.k)
		p.X.PutBytesUnchecked(n.x[:])
		n.r.SetBytes(&n.x)
	})
	for i := range g.keys {
		g.lock(uint16(i))
	}
	random := rand.NewChaCha8(firstKey)
	for i := range g.leaves {
		g.leaves[i] = g.makeLeaf(i, random)
	}
	return g
}

// eachMultiple calls f with n numbers, the first and those that follow it, and with the affine points that are so many
// times the generator.
func eachMultiple(first [32]byte, n int, f func(i int, s *btcec.ModNScalar, p *btcec.JacobianPoint)) {
	var s, one btcec.ModNScalar
	var p, sum, step btcec.JacobianPoint
	s.SetBytes(&first)
	one.SetInt(1)
	btcec.ScalarBaseMultNonConst(&s, &p)
	btcec.GeneratorJacobian(&step)
	p.ToAffine()
	for i := range n {
		f(i, &s, &p)
		btcec.AddNonConst(&p, &step, &sum)
		sum.ToAffine()
		p = sum
		s.Add(&one)
	}
}

// lock computes the programs of a key.
func (g *keyring) lock(i uint16) {
	k := &g.keys[i]
	k.nestedKey = wire.Hash160(append([]byte{0, 20}, k.hash[:]...))
	multi := g.appendMulti(nil, i)
	k.scriptMulti = wire.Hash160(multi)
	k.multi = sha256.Sum256(multi)
	k.nestedMulti = wire.Hash160(append([]byte{0, 32}, k.multi[:]...))
	k.delay = sha256.Sum256(g.appendDelayed(nil, i))
}

// after returns the key that stands n behind key i.
func (g *keyring) after(i uint16, n int) *key { return &g.keys[(int(i)+n)%keyCount] }

// multiLen is the length of a script of appendMulti.
const multiLen = 3 + 3*34

// appendMulti appends the script that two of three keys unlock.
func (g *keyring) appendMulti(b []byte, i uint16) []byte {
	b = append(b, 0x52)
	for n := range 3 {
		b = appendPush(b, g.after(i, n).public[:])
	}
	return append(b, 0x53, opCheckMultiSig)
}

// delay is the number of confirmations that appendDelayed's outputs need (BIP68, BIP112).
const delay = 6

// appendDelayed appends a script that a key unlocks once it has some confirmations.
func (g *keyring) appendDelayed(b []byte, i uint16) []byte {
	b = append(b, 0x50+delay, 0xb2, 0x75) // CHECKSEQUENCEVERIFY DROP
	b = appendPush(b, g.keys[i].public[:])
	return append(b, opCheckSig)
}

const (
	opCheckSig      = 0xac
	opCheckMultiSig = 0xae
)

// appendPush appends a push of 1 to 520 bytes, as short as can be.
func appendPush(b, data []byte) []byte {
	switch n := len(data); {
	case n <= 75:
		b = append(b, byte(n))
	case n <= 255:
		b = append(b, 0x4c, byte(n))
	default:
		b = append(b, 0x4d, byte(n), byte(n>>8))
	}
	return append(b, data...)
}
