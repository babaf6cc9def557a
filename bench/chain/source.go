package chain

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"

	wire "stele/chain"
)

// Options say which chain to make.
type Options struct {
	Seed    uint64
	Blocks  uint32 // above genesis, at most MaxBlocks
	Txs     int    // transactions of a full block, its coinbase apart; 0: coinbases only
	Bytes   uint64 // of blocks, after which no further one is begun; 0: any
	Mix     Mix
	Signed  bool // signatures are true
	Stale   Stale
	Threads int // that sign; 0: as many as there are cores. The bytes do not depend on it
}

const (
	// MaxBlocks keeps the last block's time in the past.
	MaxBlocks = 2_000_000
	step      = 200 // seconds between two blocks

	// MaxTxs is more than the weight limit admits: an ordinary transaction has some 1,050 weight units, or 1,300.
	MaxTxs     = 3_500
	fullWeight = 3_800_000 // a block of so many units gets no further transaction; none has more than 196,000

	maturity = 100 // confirmations of a coinbase before it may be spent

	// startTime is past the first of April 2012, from which on btcd runs scripts of P2SH outputs.
	startTime = 1_340_000_000
)

// Block is one block. Raw is overwritten by the next one.
type Block struct {
	Height   uint32
	Raw      []byte
	Hash     wire.Hash
	Coinbase wire.Hash // txid of the first transaction
	Stale    bool      // it is on a branch that the chain leaves
}

// Source makes a chain, block by block.
type Source struct {
	o       Options
	mix     *mix
	ring    *keyring
	rng     *rand.Rand
	bytes   *rand.ChaCha8 // of outputs that carry data
	signers []signer
	target  wire.Work
	height  uint32 // of the block being made, or made last
	tip     wire.Hash
	fees    int64
	stats   Stats
	pool    pool
	young   [maturity]coin // coinbases by height modulo maturity: the next block's place holds the one that matures
	waiting uint64         // coinbases that are not spent and not in the pool
	branch  branching

	// Of the block being made. All but the coinbase: txs and spends describe plain, the transactions without witness;
	// body has them whole, and ends where each of them ends in it.
	txs           []made
	spends        []spend
	plain         []byte
	weight        int // at most
	chunks        []chunk
	body          []byte
	ends          []int
	txids, wtxids []wire.Hash // the coinbase's first

	paid     []paying // by the transaction being made
	outs     []byte   // of that transaction
	level    []wire.Hash
	coinbase []byte
	raw      []byte
}

// New begins a chain on regtest's genesis block.
func New(o Options) (*Source, error) {
	if o.Blocks > MaxBlocks || o.Txs < 0 || o.Txs > MaxTxs || int(o.Mix) >= len(mixes) || o.Threads < 0 {
		return nil, fmt.Errorf("a chain of %d blocks of %d transactions: at most %d and %d can be made",
			o.Blocks, o.Txs, MaxBlocks, MaxTxs)
	}
	if !o.Stale.valid() {
		return nil, fmt.Errorf("branches of %d blocks every %d: they must be further apart, and at most %d deep",
			o.Stale.Depth, o.Stale.Every, maxDepth)
	}
	if o.Threads == 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], o.Seed)
	p := wire.Regtest()
	target, _, _ := wire.CompactToTarget(p.PowLimitBits)
	g := &Source{
		o: o, mix: mixes[o.Mix], ring: theRing(), rng: rand.New(rand.NewPCG(o.Seed, 0)), bytes: rand.NewChaCha8(seed),
		signers: make([]signer, o.Threads), target: target, tip: p.GenesisHash,
		pool: pool{mix: mixes[o.Mix]},
	}
	for i := range g.signers {
		g.signers[i] = signer{ring: g.ring, signed: o.Signed}
	}
	return g, nil
}

// Stats returns what was made so far.
func (g *Source) Stats() Stats { return g.stats }

// Coins counts the outputs that the chain leaves unspent, those which nothing can spend apart, and the transactions
// that have one. It reads the whole pool.
func (g *Source) Coins() (coins, records uint64) {
	coins, records = g.pool.count()
	return coins + g.waiting, records + g.waiting
}

// Next makes the next block; false when all were made. Those of a branch come before the chain's.
func (g *Source) Next(b *Block) bool {
	for !g.branch.next(b) {
		full := g.o.Bytes > 0 && g.stats.Bytes >= g.o.Bytes && !g.branch.leads
		if g.height == g.o.Blocks || full {
			return false
		}
		parent := g.tip
		g.make(b)
		if g.branch.left == 0 && !g.branches() {
			g.branch.leads = false
			return true
		}
		g.hold(b, parent)
	}
	return true
}

// branches tells whether a branch begins beside the block that was made last. The chain must be able to outgrow it.
func (g *Source) branches() bool {
	s := g.o.Stale
	return s.Depth > 0 && g.height%s.Every == 0 && g.height+s.Depth <= g.o.Blocks
}

// make makes the chain's next block.
func (g *Source) make(b *Block) {
	g.height++
	g.fees, g.weight, g.body, g.plain = 0, 0, g.body[:0], g.plain[:0]
	g.txs, g.spends, g.ends = g.txs[:0], g.spends[:0], g.ends[:0]
	g.txids = append(g.txids[:0], wire.Hash{}) // the coinbase's, which commits to the others
	g.wtxids = append(g.wtxids[:0], wire.Hash{})
	g.pool.begin(g.height)
	if g.o.Txs > 0 {
		g.mature()
		g.fill()
	}
	g.witnesses()
	*b = g.seal(sealing{
		prev: g.tip, time: g.time(), number: uint32(g.o.Seed), txs: len(g.txs), reward: g.reward(),
	})
	g.tip = b.Hash
	g.young[g.height%maturity] = coin{
		txid: b.Coinbase, born: g.height, value: g.reward(), key: coinbaseKey, kind: WitnessKey,
	}
	g.waiting++
	g.stats.Coinbases++
	g.stats.Bytes += uint64(len(b.Raw))
}

// mature makes a coin of the coinbase that has its confirmations now. While coins are few it is split.
func (g *Source) mature() {
	c := g.young[g.height%maturity]
	switch {
	case c.born == 0 || c.value == 0:
		return
	case g.pool.live < g.mix.stock*g.o.Txs && c.value >= worthSplitting:
		g.fanOut(c)
	default:
		g.pool.add(c)
	}
	g.waiting--
}

// fill makes the block's ordinary transactions: as many as were asked for, fewer while there are few coins, and no more
// than the weight limit admits. The limit on signature operations is far: a transaction has some five on average.
func (g *Source) fill() {
	for n := min(g.o.Txs, g.pool.live/8); n > 0 && g.weight < fullWeight; n-- {
		if !g.ordinary() {
			return
		}
	}
}

func (g *Source) time() uint32 { return startTime + g.height*step }

// sealing is what a block has beside transactions.
type sealing struct {
	prev   wire.Hash
	time   uint32
	number uint32 // of its coinbase
	txs    int    // of the block being made, how many of the first
	reward int64
}

// seal makes a block of transactions that have their witnesses: it puts the coinbase in front of them, and the header
// in front of all.
func (g *Source) seal(s sealing) Block {
	g.level = append(g.level[:0], g.wtxids[:1+s.txs]...)
	root, _ := wire.MerkleRoot(g.level)
	plain := g.appendCoinbase(g.coinbase[:0], g.height, s.number, s.reward, &root)
	g.coinbase = plain
	txid := wire.DoubleSHA256(plain)
	g.level = append(append(g.level[:0], txid), g.txids[1:1+s.txs]...)
	root, _ = wire.MerkleRoot(g.level)
	h := wire.Header{
		Version: 0x20000000, Prev: s.prev, Merkle: root, Time: s.time, Bits: wire.Regtest().PowLimitBits,
	}
	hash := h.Hash()
	for ; !wire.HashMeetsTarget(&hash, g.target); hash = h.Hash() {
		h.Nonce++
	}
	b := h.Append(g.raw[:0])
	b = wire.AppendCompactSize(b, uint64(1+s.txs))
	b = append(b, plain[:4]...)
	b = append(b, 0, 1)
	b = append(b, plain[4:len(plain)-4]...)
	b = append(b, 1, 32)
	b = append(b, make([]byte, 32)...) // the witness reserved value (BIP141)
	b = append(b, plain[len(plain)-4:]...)
	end := 0
	if s.txs > 0 {
		end = g.ends[s.txs-1]
	}
	g.raw = append(b, g.body[:end]...)
	return Block{Height: g.height, Raw: g.raw, Hash: hash, Coinbase: txid}
}
