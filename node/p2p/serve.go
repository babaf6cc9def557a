package p2p

import (
	"encoding/binary"
	"errors"
	"math"

	"stele/chain"
)

// maxBlockHashes is how many blocks an answer to getblocks names (Core).
const maxBlockHashes = 500

// gotGetHeaders answers with headers of the confirmed chain, or with none: an empty answer, too, lets the other side go
// on.
func (p *peer) gotGetHeaders(payload []byte) error {
	locator, stop, err := parseLocator(payload)
	if err != nil {
		return p.malformed(cmdGetHeaders)
	}
	if len(locator) > maxLocator {
		return breach(banScore, "locator of %d hashes, at most %d", len(locator), maxLocator)
	}
	var hs []chain.Header
	if len(locator) == 0 { // BIP31800: the one header named
		if known := p.m.chain.Know(&stop); known.Knowledge == BlockHere {
			hs = append(hs, known.Header)
		}
	} else {
		hs = p.m.chain.HeadersAfter(locator, stop, maxHeaders, p.in.headers[:0])
		p.in.headers = hs[:0]
	}
	if err := p.send(cmdHeaders, encodeHeaders(hs)); err != nil {
		return err
	}
	if len(hs) > 0 {
		p.m.announcer.told(p, hs[len(hs)-1].Hash())
	}
	return nil
}

// encodeHeaders makes a headers message behind headroom.
func encodeHeaders(hs []chain.Header) []byte {
	buf := make([]byte, headroom, headroom+3+len(hs)*headerEntry)
	buf = chain.AppendCompactSize(buf, uint64(len(hs)))
	for i := range hs {
		buf = append(hs[i].Append(buf), 0)
	}
	return buf
}

// gotGetBlocks names blocks of the confirmed chain, for nodes that do not ask for headers.
func (p *peer) gotGetBlocks(payload []byte) error {
	locator, stop, err := parseLocator(payload)
	if err != nil {
		return p.malformed(cmdGetBlocks)
	}
	if len(locator) > maxLocator {
		return breach(banScore, "locator of %d hashes, at most %d", len(locator), maxLocator)
	}
	hs := p.m.chain.HeadersAfter(locator, stop, maxBlockHashes, p.in.headers[:0])
	p.in.headers = hs[:0]
	if len(hs) == 0 {
		return nil
	}
	hashes := make([]chain.Hash, len(hs))
	for i := range hs {
		hashes[i] = hs[i].Hash()
	}
	return p.send(cmdInv, encodeInv(invBlock, hashes))
}

// encodeInv makes an inv, getdata or notfound message behind headroom.
func encodeInv(kind uint32, hashes []chain.Hash) []byte {
	buf := make([]byte, headroom, headroom+3+len(hashes)*invSize)
	buf = chain.AppendCompactSize(buf, uint64(len(hashes)))
	for i := range hashes {
		buf = binary.LittleEndian.AppendUint32(buf, kind)
		buf = append(buf, hashes[i][:]...)
	}
	return buf
}

// gotGetData queues the blocks that are asked for; the writer reads them when their turn comes. There is nothing else
// that we could send. Compact blocks are not made: who asks for one gets the block, as Core does below the tip.
func (p *peer) gotGetData(payload []byte) error {
	requests := p.in.requests[:0]
	var absent []byte
	count := 0
	if !eachInv(payload, func(kind uint32, hash *chain.Hash) {
		switch kind &^ witnessFlag {
		case invBlock:
			requests = append(requests, request{*hash, kind&witnessFlag != 0})
		case invCompact:
			requests = append(requests, request{*hash, true})
		default:
			absent = binary.LittleEndian.AppendUint32(absent, kind)
			absent = append(absent, hash[:]...)
			count++
		}
	}) {
		return p.malformed(cmdGetData)
	}
	err := p.serve(requests)
	p.in.requests = trimmed(requests)
	if err != nil || count == 0 {
		return err
	}
	buf := make([]byte, headroom, headroom+3+len(absent))
	buf = chain.AppendCompactSize(buf, uint64(count))
	return p.send(cmdNotFound, append(buf, absent...))
}

// sendBlock writes a block from the rows, in a buffer that is used for the next block of any peer. The writer calls it
// when nothing else is queued: so one block at most is in memory for a peer, however slowly it reads.
func (p *peer) sendBlock(r *request) error {
	space := p.m.blocks.get()
	defer p.m.blocks.put(space)
	buf, here, err := p.m.chain.AppendBlock(space.b[:headroom], &r.hash, r.witness)
	if err != nil {
		return errors.Join(errors.New("a block cannot be read"), err)
	}
	if !here {
		kind := uint32(invBlock)
		if r.witness {
			kind |= witnessFlag
		}
		return p.link.write(cmdNotFound, encodeInv(kind, []chain.Hash{r.hash}))
	}
	space.b = buf
	p.m.served.Add(1)
	return p.link.write(cmdBlock, buf)
}

// space is a buffer for a block.
type space struct{ b []byte }

// spaces is a free list of block buffers. It keeps few: there are as many in use as peers that are sent a block.
type spaces chan *space

const keptSpaces = 4

func (s spaces) get() *space {
	select {
	case b := <-s:
		return b
	default:
		return &space{make([]byte, headroom, math.MaxUint16)}
	}
}

func (s spaces) put(b *space) {
	select {
	case s <- b:
	default:
	}
}
