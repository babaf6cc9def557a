package tables

import (
	"stele/hashmap"
	"stele/store"
)

// TableStats is what one table takes: rows, and bytes in use (not reserved). Body is what its own rows take, Head what
// finds them. Optional tables and pending are not part of the archive's size.
type TableStats struct {
	Name      string
	Rows      uint64
	BodyBytes uint64
	HeadBytes uint64
	Buckets   uint64
	Load      float64 // entries over the slots of all buckets
	ProbeMean float64 // lines a find of a present key reads, mean
	ProbeMax  uint64
	Watermark uint64 // what lies below is in the index's file; the rest is in memory
	Archive   bool   // counts towards the archive's size
}

// Stats describes every table at the newest cut. Counting the probes reads every index line once. Writer only.
func (t *Tables) Stats() []TableStats {
	c, durable := t.cut(), t.durable.Load()
	all := []TableStats{
		mapStats(headerName, uint64(c.Headers), t.header, t.headerMap.Stats(), durable.headerMap.Watermark),
		bodyStats(txsName, uint64(c.Txs), t.txs),
		mapStats(txName, uint64(c.Tx), t.tx, t.txMap.Stats(), durable.txMap.Watermark),
		bodyStats(insName, c.Ins, t.ins),
		cellStats(spendName, c.Outs, durable.spend.Watermark),
		bodyStats(outTxName, uint64(samples(c.Outs)), t.outTx),
		bodyStats(outputName, c.Outs, t.output),
		bodyStats(inputName, c.Ins, t.input),
		bodyStats(chainName, c.Log, t.log),
		cellStats(stateName, uint64(c.Headers), durable.mark.Watermark),
	}
	m := t.conflict.Stats()
	t.merging.Lock()                 // a checkpoint beside may be at it
	survey, _ := t.conflict.Survey() // what is wrong with it is for Check to say
	t.merging.Unlock()
	return append(all, TableStats{
		Name: confName, Rows: survey.Pairs + uint64(m.Delta), HeadBytes: uint64(m.Bytes), Buckets: m.State.Buckets,
		Load: survey.Load, ProbeMean: survey.LinesMean, ProbeMax: survey.LinesMax,
		Watermark: durable.conf.Watermark, Archive: true,
	}, TableStats{
		Name: pendingName, Rows: uint64(len(t.pending.at)), BodyBytes: uint64(t.pending.body.Len()),
	})
}

func bodyStats(name string, rows uint64, b *store.Body) TableStats {
	return TableStats{Name: name, Rows: rows, BodyBytes: uint64(b.Len()), Archive: true}
}

func mapStats(name string, rows uint64, b *store.Body, m hashmap.Stats, watermark uint64) TableStats {
	s := bodyStats(name, rows, b)
	s.HeadBytes, s.Buckets, s.Load = uint64(m.Bytes), m.Buckets, m.Load
	s.ProbeMean, s.ProbeMax = m.ProbeMean, m.ProbeMax
	s.Watermark = watermark
	return s
}

func cellStats(name string, rows, watermark uint64) TableStats {
	return TableStats{Name: name, Rows: rows, HeadBytes: rows * 4, Watermark: watermark, Archive: true}
}

// WireBytes returns the bytes that the archived blocks have on the wire.
func (t *Tables) WireBytes() uint64 {
	var sum uint64
	for s := range t.place {
		sum += uint64(t.block(TxsLink(s)).Size)
	}
	return sum
}
