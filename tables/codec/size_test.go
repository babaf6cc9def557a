package codec

import (
	"fmt"
	"slices"
	"testing"

	"stele/chain"
)

// modern are the blocks whose size is promised.
var modern = []string{"702861", "709632", "757739", "800000", "951658"}

// Shares of an archive that rows outside the slabs take, in bytes. Twelve entries share a line of the txid map of 64
// bytes; its load moves between 40 and 80 percent as it grows.
const (
	rowTx      = 42
	rowIn      = 5
	cellOut    = 4.0
	sampleOut  = 4.0 / 64
	rowBlock   = 200
	indexMean  = 64.0 / (12 * 0.6)
	indexFull  = 64.0 / (12 * 0.8)
	wireIn     = 36 + 4 // outpoint and sequence number
	maxModern  = 0.85
	sizeFormat = "%-28s %7d %9d %9d  %5.1f %%\n"
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

// tally counts things of one kind, their wire bytes and their slab bytes.
type tally struct {
	name             string
	count, wire, run int
}

type tallies map[string]*tally

func (m tallies) add(name string, wire, run int) {
	if m[name] == nil {
		m[name] = &tally{name: name}
	}
	m[name].count++
	m[name].wire += wire
	m[name].run += run
}

func (m tallies) print(t *testing.T, title string, all int) (wire, run int) {
	list := make([]*tally, 0, len(m))
	for _, one := range m {
		list = append(list, one)
		wire += one.wire
		run += one.run
	}
	slices.SortFunc(list, func(a, b *tally) int { return b.run - a.run })
	text := fmt.Sprintf("%s, number, wire bytes, slab bytes, part of all wire bytes\n", title)
	for _, one := range list {
		text += fmt.Sprintf(sizeFormat, one.name, one.count, one.wire, one.run, 100*float64(one.run)/float64(all))
	}
	t.Log(text)
	return wire, run
}

// sizes is what blocks take on the wire and in an archive.
type sizes struct {
	blocks, txs, ins, outs, wire int
	outputs, inputs, heads       tallies
	run                          int // slab bytes
	amounts, amountBytes         int // of outputs that are no carriers
}

func (s *sizes) add(b *chain.Block) {
	s.blocks, s.txs, s.ins, s.outs = s.blocks+1, s.txs+len(b.Txs), s.ins+len(b.Ins), s.outs+len(b.Outs)
	s.wire += len(b.Raw)
	var run []byte
	for i := range b.Txs {
		tx := &b.Txs[i]
		run = AppendHead(run[:0], Head{Version: tx.Version, LockTime: tx.LockTime, Witness: tx.Witness})
		s.heads.add(fmt.Sprintf("head of %d", len(run)), 8, len(run))
		s.run += len(run)
	}
	for i := range b.Outs {
		o := &b.Outs[i]
		run = AppendOutput(run[:0], o.Value, b.Bytes(o.Script))
		wire, _, _ := OutputSize(run)
		if k := outputKindTable[run[0]]; k.template < outTemplates {
			s.amounts, s.amountBytes = s.amounts+1, s.amountBytes+int(k.width)
		}
		s.outputs.add(templateNames[outputKindTable[run[0]].template], wire, len(run))
		s.run += len(run)
	}
	eachInput(b, func(tx *chain.Tx, in *chain.In, script, witness []byte) {
		run = AppendInput(run[:0], in.Sequence, script, witness)
		wire := wireIn + chain.CompactSizeLen(uint64(len(script))) + len(script) + len(witness)
		s.inputs.add(shapeName(inputKinds[run[0]].shape), wire, len(run))
		s.run += len(run)
	})
}

// archive is what the blocks take in all tables, with a share of the txid map.
func (s *sizes) archive(index float64) float64 {
	return (rowTx+index)*float64(s.txs) + rowIn*float64(s.ins) + (cellOut+sampleOut)*float64(s.outs) +
		float64(s.run) + rowBlock*float64(s.blocks)
}

func newSizes() *sizes { return &sizes{outputs: tallies{}, inputs: tallies{}, heads: tallies{}} }

// TestSizeModern holds the archive of the modern blocks, with both indexes, against its promise, and prints what each
// kind takes.
func TestSizeModern(t *testing.T) {
	s := newSizes()
	realBlocks(t, "mainnet", func(name string, b *chain.Block) {
		one := newSizes()
		one.add(b)
		s.add(b)
		t.Logf("%s: %d bytes, %.4f of the wire, %.4f with a full map",
			name, len(b.Raw), one.archive(indexMean)/float64(one.wire), one.archive(indexFull)/float64(one.wire))
	}, modern...)
	s.heads.print(t, "heads", s.wire)
	s.outputs.print(t, "outputs", s.wire)
	s.inputs.print(t, "inputs", s.wire)
	mean, full := s.archive(indexMean)/float64(s.wire), s.archive(indexFull)/float64(s.wire)
	t.Logf("%d transactions, %d inputs, %d outputs, %d wire bytes, %d slab bytes", s.txs, s.ins, s.outs, s.wire, s.run)
	t.Logf("%d amounts take %.3f bytes each", s.amounts, float64(s.amountBytes)/float64(s.amounts))
	t.Logf("size.modern %.4f with the map's mean load, %.4f with a full one", mean, full)
	if mean > maxModern {
		t.Errorf("the archive takes %.4f of the wire, want %.2f", mean, maxModern)
	}
}
