package chain

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	wire "stele/chain"
)

// Options say which chain to make.
type Options struct {
	Seed   uint64
	Blocks uint32 // above genesis, at most MaxBlocks
	Txs    int    // transactions of a full block, its coinbase apart; 0: coinbases only
}

const (
	// MaxBlocks keeps the last block's time in the past.
	MaxBlocks = 2_000_000
	step      = 200 // seconds between two blocks

	// MaxTxs is about what the weight limit admits: an ordinary transaction has some 1,050 weight units.
	MaxTxs     = 3_500
	fullWeight = 3_900_000 // a block of so many units gets no further transaction; the heaviest have some 15,000

	maturity       = 100       // confirmations of a coinbase before it may be spent
	enough         = 10        // coins for each transaction of a block, before coinbases are no longer split
	worthSplitting = 1_000_000 // satoshis

	outsMean = 2.7

	genesisTime = 1_296_688_602 // of regtest
)

// Block is one block. Raw is overwritten by the next one.
type Block struct {
	Height   uint32
	Raw      []byte
	Hash     wire.Hash
	Coinbase wire.Hash // txid of the first transaction
}

// Stats count what was made. Ins and Outs are those of ordinary transactions: without coinbases and fan-outs.
type Stats struct {
	Bytes              uint64 // of blocks
	Coinbases, FanOuts uint64
	Txs, Ins, Outs     uint64
	Own                uint64 // inputs that spend an output of their own block
	Old                uint64 // inputs that spend an output more than a hundred blocks old
}

// Source makes a chain, block by block.
type Source struct {
	o      Options
	rng    *rand.Rand
	bytes  *rand.ChaCha8 // keys and signatures
	keys   []key
	target wire.Work
	height uint32 // of the block being made, or made last
	tip    wire.Hash
	fees   int64
	stats  Stats
	pool   pool
	young  [maturity]coin // coinbases by height modulo maturity: the next block's place holds the one that matures

	spent  []coin // by the transaction being made
	values []int64
	payees []uint16 // keys, one a value
	plain  []byte   // that transaction without its witness

	body          []byte // of the block being made: all transactions but the coinbase
	stripped      int    // bytes of body without witnesses
	txids, wtxids []wire.Hash
	level         []wire.Hash
	raw           []byte
}

// New begins a chain on regtest's genesis block.
func New(o Options) (*Source, error) {
	if o.Blocks > MaxBlocks || o.Txs < 0 || o.Txs > MaxTxs {
		return nil, fmt.Errorf("a chain of %d blocks of %d transactions: at most %d and %d can be made",
			o.Blocks, o.Txs, MaxBlocks, MaxTxs)
	}
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], o.Seed)
	p := wire.Regtest()
	target, _, _ := wire.CompactToTarget(p.PowLimitBits)
	bytes := rand.NewChaCha8(seed)
	return &Source{
		o: o, rng: rand.New(rand.NewPCG(o.Seed, 0)), bytes: bytes, keys: makeKeys(bytes), target: target, tip: p.GenesisHash,
		pool: pool{mean: youngMean * outsMean * float64(o.Txs)},
	}, nil
}

// Stats returns what was made so far.
func (g *Source) Stats() Stats { return g.stats }

// Next makes the next block; false when all were made.
func (g *Source) Next(b *Block) bool {
	if g.height == g.o.Blocks {
		return false
	}
	g.height++
	g.fees, g.body, g.stripped = 0, g.body[:0], 0
	g.txids = append(g.txids[:0], wire.Hash{}) // the coinbase's, which commits to the others
	g.wtxids = append(g.wtxids[:0], wire.Hash{})
	if g.o.Txs > 0 {
		g.mature()
		g.fill()
	}
	g.finish()
	*b = Block{Height: g.height, Raw: g.raw, Hash: g.tip, Coinbase: g.txids[0]}
	return true
}

// mature makes a coin of the coinbase that has its confirmations now. While coins are few it is split.
func (g *Source) mature() {
	c := g.young[g.height%maturity]
	switch {
	case c.born == 0 || c.value == 0:
	case g.pool.live < enough*g.o.Txs && c.value >= worthSplitting:
		g.fanOut(c)
	default:
		g.pool.add(c)
	}
}

// fill makes the block's ordinary transactions: as many as were asked for, fewer while there are few coins, and no more
// than the weight limit admits.
func (g *Source) fill() {
	for n := min(g.o.Txs, g.pool.live/8); n > 0; n-- {
		if 3*g.stripped+len(g.body) > fullWeight {
			return
		}
		g.ordinary()
	}
}

// finish puts the coinbase in front of the body, and the header in front of both.
func (g *Source) finish() {
	g.level = append(g.level[:0], g.wtxids...)
	root, _ := wire.MerkleRoot(g.level)
	plain := g.coinbase(&root)
	g.txids[0] = wire.DoubleSHA256(plain)
	g.young[g.height%maturity] = coin{txid: g.txids[0], born: g.height, value: g.reward(), key: coinbaseKey}
	g.level = append(g.level[:0], g.txids...)
	root, _ = wire.MerkleRoot(g.level)
	p := wire.Regtest()
	h := wire.Header{
		Version: 0x20000000, Prev: g.tip, Merkle: root, Time: genesisTime + g.height*step, Bits: p.PowLimitBits,
	}
	for g.tip = h.Hash(); !wire.HashMeetsTarget(&g.tip, g.target); g.tip = h.Hash() {
		h.Nonce++
	}
	b := h.Append(g.raw[:0])
	b = wire.AppendCompactSize(b, uint64(len(g.txids)))
	b = append(b, plain[:4]...)
	b = append(b, 0, 1)
	b = append(b, plain[4:len(plain)-4]...)
	b = append(b, 1, 32)
	b = append(b, make([]byte, 32)...) // the witness reserved value (BIP141)
	b = append(b, plain[len(plain)-4:]...)
	g.raw = append(b, g.body...)
	g.stats.Coinbases++
	g.stats.Bytes += uint64(len(g.raw))
}
