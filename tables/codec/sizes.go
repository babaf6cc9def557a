package codec

import (
	"cmp"
	"fmt"
	"slices"

	"stele/chain"
)

// Shares of an archive that rows outside the slabs take, in bytes. Twelve entries share a line of the txid map of 64
// bytes; its load moves between 40 and 80 percent as it grows.
const (
	rowTx     = 42
	rowIn     = 5
	cellOut   = 4.0
	sampleOut = 4.0 / 64
	rowBlock  = 200
	wireIn    = 36 + 4 // outpoint and sequence number

	IndexMean = 64.0 / (12 * 0.6) // of the txid map, a transaction: at its mean load
	IndexFull = 64.0 / (12 * 0.8) // where it is full
)

var templateNames = [outTemplates + 1]string{
	"raw", "P2PKH", "P2SH", "P2WPKH", "P2WSH", "P2TR", "P2A", "P2PK even", "P2PK odd", "P2PK full", "data carrier",
}

var shapeNames = [shapeKeyed]string{
	"script and items", "script", "items", "items, P2SH", "m of n P2SH", "m of n P2WSH", "m of n P2SH-P2WSH",
	"taproot key", "taproot key, type", "tapscript", "P2PK", "P2PK, type",
}

func shapeName(shape byte) string {
	if shape < shapeKeyed {
		return shapeNames[shape]
	}
	place, form, all := keyedParts(shape)
	name := [keyPlaces]string{"P2PKH", "P2WPKH", "P2SH-P2WPKH"}[place]
	if form == keyFull {
		name += ", full key"
	}
	if !all {
		name += ", type"
	}
	return name
}

// Kind is what all outputs, inputs or heads of one kind take together.
type Kind struct {
	Of    string // "output", "input" or "head"
	Name  string
	Count int
	Wire  int // bytes
	Slab  int // bytes
}

// Sizes is what blocks take on the wire and in an archive.
type Sizes struct {
	Blocks, Txs, Ins, Outs int
	Wire, Slab             int // bytes
	Amounts, AmountBytes   int // of outputs that are no carriers

	kinds map[[2]string]*Kind
	run   []byte
}

// Add counts a decoded block in.
func (s *Sizes) Add(b *chain.Block) {
	s.Blocks, s.Txs, s.Ins, s.Outs = s.Blocks+1, s.Txs+len(b.Txs), s.Ins+len(b.Ins), s.Outs+len(b.Outs)
	s.Wire += len(b.Raw)
	for i := range b.Txs {
		tx := &b.Txs[i]
		s.run = AppendHead(s.run[:0], Head{Version: tx.Version, LockTime: tx.LockTime, Witness: tx.Witness})
		s.count("head", fmt.Sprintf("of %d", len(s.run)), 8)
	}
	for i := range b.Outs {
		o := &b.Outs[i]
		s.run = AppendOutput(s.run[:0], o.Value, b.Bytes(o.Script))
		wire, _, _ := OutputSize(s.run)
		k := outputKindTable[s.run[0]]
		if k.template < outTemplates {
			s.Amounts, s.AmountBytes = s.Amounts+1, s.AmountBytes+int(k.width)
		}
		s.count("output", templateNames[k.template], wire)
	}
	eachInput(b, func(_ *chain.Tx, in *chain.In, script, witness []byte) {
		s.run = AppendInput(s.run[:0], in.Sequence, script, witness)
		wire := wireIn + chain.CompactSizeLen(uint64(len(script))) + len(script) + len(witness)
		s.count("input", shapeName(inputKinds[s.run[0]].shape), wire)
	})
}

// count counts the run in hand.
func (s *Sizes) count(of, name string, wire int) {
	if s.kinds == nil {
		s.kinds = map[[2]string]*Kind{}
	}
	k := s.kinds[[2]string{of, name}]
	if k == nil {
		k = &Kind{Of: of, Name: name}
		s.kinds[[2]string{of, name}] = k
	}
	k.Count++
	k.Wire += wire
	k.Slab += len(s.run)
	s.Slab += len(s.run)
}

// Kinds lists what was counted: outputs, inputs, heads, each by its bytes, the most first.
func (s *Sizes) Kinds() []Kind {
	all := make([]Kind, 0, len(s.kinds))
	for _, k := range s.kinds {
		all = append(all, *k)
	}
	slices.SortFunc(all, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(b.Of, a.Of), cmp.Compare(b.Slab, a.Slab), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// Archive is what the blocks take in all tables, in bytes, with a share of the txid map for each transaction.
func (s *Sizes) Archive(index float64) float64 {
	return (rowTx+index)*float64(s.Txs) + rowIn*float64(s.Ins) + (cellOut+sampleOut)*float64(s.Outs) +
		float64(s.Slab) + rowBlock*float64(s.Blocks)
}

// eachInput calls f for every input of a decoded block or transaction, with its stack in the BIP144 form.
func eachInput(b *chain.Block, f func(tx *chain.Tx, in *chain.In, script, witness []byte)) {
	var stack []byte
	for i := range b.Txs {
		tx := &b.Txs[i]
		for n := range b.Ins[tx.FirstIn : tx.FirstIn+tx.Ins] {
			in := &b.Ins[int(tx.FirstIn)+n]
			stack = stack[:0]
			if tx.Witness {
				stack = chain.AppendCompactSize(stack, uint64(in.Items))
				for _, item := range b.Items[in.FirstItem : in.FirstItem+in.Items] {
					stack = chain.AppendCompactSize(stack, uint64(item.Len))
					stack = append(stack, b.Bytes(item)...)
				}
			}
			f(tx, in, b.Bytes(in.Script), stack)
		}
	}
}
