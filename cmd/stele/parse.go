package main

import (
	"strconv"
	"strings"

	"stele/chain"
	"stele/tables"
)

// parseTxid reads a txid in display order.
func parseTxid(verb, s string) (chain.Hash, error) {
	h, err := chain.ParseHash(s)
	if err != nil {
		return h, misused(verb, "wrong txid", strconv.Quote(s)+" is not 64 hex digits")
	}
	return h, nil
}

// outpoint names an output as people do.
type outpoint struct {
	txid chain.Hash
	vout uint32
}

// parseOutpoint reads TXID:VOUT.
func parseOutpoint(verb, s string) (outpoint, error) {
	id, index, ok := strings.Cut(s, ":")
	if !ok {
		return outpoint{}, misused(verb, "wrong outpoint", strconv.Quote(s)+" is not TXID:VOUT")
	}
	txid, err := parseTxid(verb, id)
	if err != nil {
		return outpoint{}, err
	}
	vout, err := strconv.ParseUint(index, 10, 32)
	if err != nil {
		return outpoint{}, misused(verb, "wrong outpoint", strconv.Quote(s)+": after the colon is no number below 2^32")
	}
	return outpoint{txid, uint32(vout)}, nil
}

// blockName is a block as the command line names it: by hash, or by height on the best chain.
type blockName struct {
	hash   chain.Hash
	height uint32
	byHash bool
}

// parseBlock reads HASH|HEIGHT. Sixty-four digits are a hash.
func parseBlock(verb, s string) (blockName, error) {
	if hash, err := chain.ParseHash(s); err == nil {
		return blockName{hash: hash, byHash: true}, nil
	}
	height, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return blockName{}, misused(verb, "wrong block", strconv.Quote(s)+" is neither a height nor 64 hex digits")
	}
	return blockName{height: uint32(height)}, nil
}

func (n blockName) String() string {
	if n.byHash {
		return "block " + n.hash.String()
	}
	return "block at height " + strconv.FormatUint(uint64(n.height), 10)
}

// find returns the header that a block name means in a view.
func (n blockName) find(v *tables.View) (tables.HeaderLink, error) {
	if !n.byHash {
		if l, ok := v.HeaderAt(n.height); ok {
			return l, nil
		}
		_, tip := v.Tip()
		return 0, notFound(n.String(), "the tip of this store is at height "+strconv.FormatUint(uint64(tip), 10))
	}
	if l, ok := v.FindHeader(&n.hash); ok {
		return l, nil
	}
	return 0, notFound(n.String(), "this store has no such header")
}
