package esplora

import (
	"stele/chain"
	"stele/tables"
)

// Block is Esplora's block.
type Block struct {
	ID         chain.Hash  `json:"id"`
	Height     uint32      `json:"height"`
	Version    uint32      `json:"version"` // as unsigned, which is how version bits are read (BIP9)
	Time       uint32      `json:"timestamp"`
	MTP        uint32      `json:"mediantime"` // of this header and the ten before it (BIP113)
	Bits       uint32      `json:"bits"`
	Nonce      uint32      `json:"nonce"`
	Difficulty float64     `json:"difficulty"`
	Merkle     chain.Hash  `json:"merkle_root"`
	Txs        uint32      `json:"tx_count"`
	Size       uint32      `json:"size"`   // bytes with witness
	Weight     uint32      `json:"weight"` // BIP141
	Previous   *chain.Hash `json:"previousblockhash"`
}

// Header is the part of Block that headers alone tell, with the work of its chain and whether it is the best one.
type Header struct {
	ID         chain.Hash  `json:"id"`
	Height     uint32      `json:"height"`
	Version    uint32      `json:"version"`
	Time       uint32      `json:"timestamp"`
	MTP        uint32      `json:"mediantime"`
	Bits       uint32      `json:"bits"`
	Nonce      uint32      `json:"nonce"`
	Difficulty float64     `json:"difficulty"`
	Merkle     chain.Hash  `json:"merkle_root"`
	Previous   *chain.Hash `json:"previousblockhash"`
	Chainwork  string      `json:"chainwork"` // 64 hex digits, as Core
	InBest     bool        `json:"in_best_chain"`
}

// HeaderOf answers with the header of row l.
func HeaderOf(v *tables.View, l tables.HeaderLink) Header {
	row, wire := v.Header(l), v.WireHeader(l)
	h := Header{
		ID: row.Hash(), Height: row.Height(), Version: uint32(wire.Version), Time: wire.Time, MTP: row.MTP(),
		Bits: wire.Bits, Nonce: wire.Nonce, Difficulty: chain.Difficulty(wire.Bits), Merkle: wire.Merkle,
		Chainwork: row.Work().String(), InBest: v.Confirmed(l),
	}
	if _, ok := row.Parent(); ok {
		h.Previous = &wire.Prev
	}
	return h
}

// BlockOf answers with the block of header l; false when it is not archived.
func BlockOf(v *tables.View, l tables.HeaderLink) (Block, bool) {
	b, ok := v.Block(l)
	if !ok {
		return Block{}, false
	}
	h := HeaderOf(v, l)
	return Block{
		ID: h.ID, Height: h.Height, Version: h.Version, Time: h.Time, MTP: h.MTP, Bits: h.Bits, Nonce: h.Nonce,
		Difficulty: h.Difficulty, Merkle: h.Merkle, Txs: b.Txs, Size: b.Size, Weight: b.Weight, Previous: h.Previous,
	}, true
}
