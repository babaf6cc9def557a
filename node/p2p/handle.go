package p2p

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/btcsuite/btcd/wire/v2"

	"stele/chain"
)

// Kinds of things that inv, getdata and notfound name.
const (
	invTx          = 1
	invBlock       = 2
	invFiltered    = 3
	invCompact     = 4
	witnessFlag    = 1 << 30
	malformedScore = 20 // Core reads over what does not parse; here five of them are enough
)

// reading is what the handlers keep of a peer. The reader's goroutine alone touches it.
type reading struct {
	addrs    bucket
	answered bool // its getaddr
	gave     bool // blocks or headers since the last ping
	asked    bool // we sent getaddr and have had no large answer
	headers  []chain.Header
	requests []request
	hashes   []chain.Hash
}

// handle does what a message asks for. An error ends the connection; a ProtocolError blames the other side for it.
func (p *peer) handle(msg message) error {
	switch msg.command {
	case cmdPing:
		return p.gotPing(msg.payload)
	case cmdPong:
		if len(msg.payload) >= 8 {
			p.gotPong(binary.LittleEndian.Uint64(msg.payload))
		}
	case cmdSendHeaders:
		p.wantsHeaders.Store(true)
	case cmdSendAddrV2:
		return errors.New("sendaddrv2 after verack") // as Core
	case cmdAddr, cmdAddrV2:
		return p.gotAddrs(msg)
	case cmdGetAddr:
		return p.gotGetAddr()
	case cmdInv:
		return p.gotInv(msg.payload)
	case cmdGetData:
		return p.gotGetData(msg.payload)
	case cmdNotFound:
		return p.gotNotFound(msg.payload)
	case cmdGetBlocks:
		return p.gotGetBlocks(msg.payload)
	case cmdGetHeaders:
		return p.gotGetHeaders(msg.payload)
	case cmdHeaders:
		return p.gotHeaders(msg.payload)
	case cmdBlock:
		return p.gotBlock(msg.payload)
	}
	return nil // a second version or verack, transactions, filters, and what we do not know
}

func (p *peer) gotPing(payload []byte) error {
	if len(payload) < 8 {
		return nil // from before BIP31: no answer is due
	}
	p.settle()
	return p.sendMessage(wire.NewMsgPong(binary.LittleEndian.Uint64(payload)))
}

// How long a pong waits at most for what the peer gave before it.
const (
	settleTime        = time.Minute
	settleTimeInitial = time.Second // while there is no end to the work
)

// settle waits until the node has dealt with the blocks and headers that the peer gave, if the node can tell: as Core
// does, a pong says that all before the ping has had its effect.
func (p *peer) settle() {
	if !p.in.gave {
		return
	}
	p.in.gave = false
	node, ok := p.m.chain.(Settler)
	if !ok {
		return
	}
	limit := settleTime
	if p.m.chain.Status().Initial {
		limit = settleTimeInitial
	}
	ctx, cancel := context.WithTimeout(p.ctx, limit)
	defer cancel()
	_ = node.Settle(ctx) // late or not, the pong is due
}

// malformed is a message that does not parse.
func (p *peer) malformed(command string) error {
	if p.misbehaved(malformedScore, "malformed "+command) {
		return errors.New("too many malformed messages")
	}
	return nil
}

// eachInv calls f with every entry of an inv, getdata or notfound message:
//
//	| count, CompactSize | type 4, hash 32 | type 4, hash 32 | ... |
//
// It allocates nothing and tells whether the message is well formed.
func eachInv(payload []byte, f func(kind uint32, hash *chain.Hash)) bool {
	n, size, ok := chain.CompactSize(payload)
	if !ok || n > maxInv || uint64(len(payload)-size) < n*invSize {
		return false
	}
	for rest := payload[size:]; n > 0; n, rest = n-1, rest[invSize:] {
		f(binary.LittleEndian.Uint32(rest), (*chain.Hash)(rest[4:invSize]))
	}
	return true
}

// gotInv hears of blocks. Only the last of them is looked at, as in Core: the rest is below it.
func (p *peer) gotInv(payload []byte) error {
	var last *chain.Hash
	if !eachInv(payload, func(kind uint32, hash *chain.Hash) {
		if kind == invBlock {
			last = hash
		}
	}) {
		return p.malformed(cmdInv)
	}
	if last == nil {
		return nil
	}
	return p.m.sync.inv(p, last)
}

func (p *peer) gotNotFound(payload []byte) error {
	hashes := p.in.hashes[:0]
	if !eachInv(payload, func(kind uint32, hash *chain.Hash) {
		if kind&^witnessFlag == invBlock {
			hashes = append(hashes, *hash)
		}
	}) {
		return p.malformed(cmdNotFound)
	}
	p.in.hashes = trimmed(hashes)
	p.m.sync.notFound(p, hashes)
	return nil
}

// trimmed lets go of memory that one large message has taken.
func trimmed[T any](s []T) []T {
	if cap(s) > 4*maxHeaders {
		return nil
	}
	return s[:0]
}

// gotHeaders parses headers, each followed by a count of transactions that means nothing:
//
//	| count, CompactSize | header 80, CompactSize | ... |
func (p *peer) gotHeaders(payload []byte) error {
	n, size, ok := chain.CompactSize(payload)
	if !ok {
		return p.malformed(cmdHeaders)
	}
	if n > maxHeaders {
		return breach(banScore, "%d headers, at most %d", n, maxHeaders)
	}
	hs, rest := p.in.headers[:0], payload[size:]
	for range n {
		h, err := chain.ParseHeader(rest)
		if err != nil {
			return p.malformed(cmdHeaders)
		}
		if _, size, ok = chain.CompactSize(rest[chain.HeaderSize:]); !ok {
			return p.malformed(cmdHeaders)
		}
		hs, rest = append(hs, h), rest[chain.HeaderSize+size:]
	}
	p.in.headers = hs[:0]
	p.in.gave = true
	for i := 1; i < len(hs); i++ {
		if hs[i].Prev != hs[i-1].Hash() {
			return breach(banScore, "headers that do not follow each other")
		}
	}
	return p.m.sync.headers(p, hs)
}

// gotBlock hands a block over. Its memory is the node's from then on.
func (p *peer) gotBlock(payload []byte) error {
	h, err := chain.ParseHeader(payload)
	if err != nil {
		return p.malformed(cmdBlock)
	}
	hash := h.Hash()
	p.in.gave = true
	return p.m.sync.block(p, &h, &hash, payload)
}

// getHeaders asks for headers after a locator.
func (p *peer) getHeaders(locator []chain.Hash, stop chain.Hash) error {
	return p.send(cmdGetHeaders, appendLocator(make([]byte, headroom, headroom+5+32*(len(locator)+1)), locator, stop))
}

// appendLocator writes the payload of getheaders and getblocks: version 4, count, hashes, stop.
func appendLocator(dst []byte, locator []chain.Hash, stop chain.Hash) []byte {
	locator = locator[:min(len(locator), maxLocator)]
	dst = binary.LittleEndian.AppendUint32(dst, ourVersion)
	dst = chain.AppendCompactSize(dst, uint64(len(locator)))
	for i := range locator {
		dst = append(dst, locator[i][:]...)
	}
	return append(dst, stop[:]...)
}

// parseLocator reads what appendLocator writes.
func parseLocator(payload []byte) (locator []chain.Hash, stop chain.Hash, err error) {
	var msg wire.MsgGetHeaders
	if err := msg.BtcDecode(bytes.NewReader(payload), ourVersion, wire.BaseEncoding); err != nil {
		return nil, stop, err
	}
	locator = make([]chain.Hash, len(msg.BlockLocatorHashes))
	for i, h := range msg.BlockLocatorHashes {
		locator[i] = chain.Hash(*h)
	}
	return locator, chain.Hash(msg.HashStop), nil
}

// bucket is a token bucket: rate tokens a second up to burst, in thousandths.
type bucket struct {
	milli int64
	last  time.Time
}

// Addresses that are taken in: one in ten seconds, and as many at once as a message holds after we asked for them
// (Core: MAX_ADDR_RATE_PER_SECOND, MAX_ADDR_PROCESSING_TOKEN_BUCKET).
const (
	addrMilliRate = 100
	addrBurst     = maxAddrs
)

func (b *bucket) start(now time.Time) { b.milli, b.last = 1000, now }

// grant adds n tokens beyond what time brings.
func (b *bucket) grant(n int64) { b.milli += n * 1000 }

// refill adds what time has brought; tokens that were granted are kept above the burst.
func (b *bucket) refill(now time.Time) {
	if b.milli < addrBurst*1000 {
		passed := max(now.Sub(b.last), 0)
		b.milli = min(b.milli+passed.Milliseconds()*addrMilliRate/1000, addrBurst*1000)
	}
	b.last = now
}

// take uses one token, if there is one.
func (b *bucket) take() bool {
	if b.milli < 1000 {
		return false
	}
	b.milli -= 1000
	return true
}
