package main

import (
	"fmt"
	"io"
	"runtime"
	"strconv"

	"github.com/spf13/cobra"

	"stele/tables"
	"stele/utxo"
	"stele/validate/script"
)

// infoDocument is what info answers with --json. Bytes are bytes in use, not reserved.
type infoDocument struct {
	Network      string      `json:"network"`
	Tip          place       `json:"tip"`     // of the confirmed chain
	Headers      place       `json:"headers"` // of the header chain with the most work
	WireBytes    uint64      `json:"wire_bytes"`
	ArchiveBytes uint64      `json:"archive_bytes"` // all tables but the optional ones and pending
	Ratio        float64     `json:"ratio"`         // archive over wire
	Tables       []infoTable `json:"tables"`
	UTXO         *infoSet    `json:"utxo"` // null: no set is kept in memory, unspent outputs come from the tables
	Chains       []infoChain `json:"chains"`
	Memory       infoMemory  `json:"memory"`
	Verifier     string      `json:"verifier"` // of signatures, in an import without --verifier
}

type infoTable struct {
	Name      string  `json:"name"`
	Rows      uint64  `json:"rows"`
	BodyBytes uint64  `json:"body_bytes"`
	HeadBytes uint64  `json:"head_bytes"`
	Buckets   uint64  `json:"buckets"`
	Load      float64 `json:"load"`
	ProbeMean float64 `json:"probe_mean"` // lines that a find of a present key reads
	ProbeMax  uint64  `json:"probe_max"`
	Watermark uint64  `json:"watermark"` // what is below is in the index's file
}

// infoChain is a header without children: the end of a branch. Status is active, archived (its block has rows, but the
// branch was left), headers (its block has none) or invalid.
type infoChain struct {
	place
	Branch uint32 `json:"branch_length"` // headers above the fork from the active chain
	Status string `json:"status"`
}

// infoSet is the set of unspent outputs that an import or a run has in memory.
type infoSet struct {
	Outputs    uint64  `json:"outputs"`
	Records    uint64  `json:"records"` // transactions
	Payload    uint64  `json:"payload_bytes"`
	Accounted  uint64  `json:"accounted_bytes"` // with free cells and indexes
	BytesAnOut float64 `json:"bytes_per_output"`
}

type infoMemory struct {
	Heap   uint64 `json:"heap_bytes"`
	System uint64 `json:"system_bytes"` // what the runtime has from the system, maps of files not included
}

// infoVerb describes the store.
func (a *app) infoVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "info",
		Short: "tip, chains, tables, sizes, memory",
		Args:  exactly("info"),
		RunE: a.verb(func(*cobra.Command, []string) error {
			return a.lookup("info", func(t *tables.Tables) error {
				doc := a.describe(t)
				return a.answer(doc, doc.write)
			})
		}),
	}
}

func (a *app) describe(t *tables.Tables) *infoDocument {
	v := t.View()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	doc := &infoDocument{
		Network: a.conf.params.Name, Tip: tipOf(v), WireBytes: t.WireBytes(), Tables: []infoTable{},
		Verifier: script.Default().Name(),
		Memory:   infoMemory{m.HeapAlloc, m.Sys},
	}
	doc.Tables, doc.ArchiveBytes = infoTables(t)
	if doc.WireBytes > 0 {
		doc.Ratio = float64(doc.ArchiveBytes) / float64(doc.WireBytes)
	}
	doc.Headers, doc.Chains = chainTips(t, v)
	if a.desk != nil {
		doc.UTXO = infoOfSet(a.desk.set.Load())
	}
	return doc
}

// infoOfSet describes a set; nil where there is none.
func infoOfSet(s *utxo.Set) *infoSet {
	if s == nil {
		return nil
	}
	r := s.Report()
	return &infoSet{r.Outputs, r.Records, r.Payload, r.Accounted, float64(r.Accounted) / float64(max(r.Outputs, 1))}
}

// infoTables lists the tables and adds up those that are the archive.
func infoTables(t *tables.Tables) (all []infoTable, archive uint64) {
	for _, s := range t.Stats() {
		all = append(all, infoTable{
			s.Name, s.Rows, s.BodyBytes, s.HeadBytes, s.Buckets, s.Load, s.ProbeMean, s.ProbeMax, s.Watermark,
		})
		if s.Archive {
			archive += s.BodyBytes + s.HeadBytes
		}
	}
	return all, archive
}

// chainTips finds the end of every branch, newest header first, and the header with the most work (the first known of
// several). One pass over the header rows, and one walk to the fork for each branch.
func chainTips(t *tables.Tables, v *tables.View) (best place, tips []infoChain) {
	n := v.Cut().Headers
	hasChild := make([]bool, n)
	top := tables.HeaderLink(0)
	for l := range tables.HeaderLink(n) {
		h := v.Header(l)
		if p, ok := h.Parent(); ok && uint32(p) < n {
			hasChild[p] = true
		}
		if h.Work().Cmp(v.Header(top).Work()) > 0 {
			top = l
		}
	}
	best = place{v.Header(top).Height(), v.Header(top).Hash()}
	active, _ := v.Tip()
	tips = []infoChain{}
	for l := tables.HeaderLink(n); l > 0; {
		if l--; hasChild[l] && l != active {
			continue
		}
		h := v.Header(l)
		tip := infoChain{place: place{h.Height(), h.Hash()}, Status: "headers"}
		_, archived := v.Block(l)
		switch {
		case l == active:
			tip.Status = "active"
		case t.State(l).Invalid():
			tip.Status = "invalid"
		case archived:
			tip.Status = "archived"
		}
		for at := l; !v.Confirmed(at); tip.Branch++ {
			parent, ok := v.Header(at).Parent()
			if !ok {
				break
			}
			at = parent
		}
		tips = append(tips, tip)
	}
	return best, tips
}

func (d *infoDocument) write(w io.Writer) {
	head := table{gap: 2}
	head.row("network", d.Network)
	head.row("tip", fmt.Sprintf("%s  %v", count(d.Tip.Height), d.Tip.Hash))
	head.row("headers", fmt.Sprintf("%s  %v", count(d.Headers.Height), d.Headers.Hash))
	head.row("wire", count(d.WireBytes)+" bytes")
	head.row("archive", fmt.Sprintf("%s bytes, %.3f of the wire", count(d.ArchiveBytes), d.Ratio))
	head.row("signatures", "by "+d.Verifier)
	head.row("memory", fmt.Sprintf("%s in use, %s from the system", byteSize(d.Memory.Heap), byteSize(d.Memory.System)))
	if u := d.UTXO; u != nil {
		head.row("unspent", fmt.Sprintf("%s outputs of %s transactions, %s, %.1f bytes each", count(u.Outputs), count(u.Records),
			byteSize(u.Accounted), u.BytesAnOut))
	}
	head.write(w)
	fmt.Fprintln(w)
	writeTables(w, d.Tables)
	if len(d.Chains) > 1 {
		fmt.Fprintln(w)
		chains := table{gap: 2, right: "lrr"}
		chains.row("chain", "height", "branch", "tip")
		for _, c := range d.Chains {
			chains.row(c.Status, count(c.Height), count(c.Branch), c.Hash.String())
		}
		chains.write(w)
	}
}

// writeTables writes the table of sizes.
func writeTables(w io.Writer, all []infoTable) {
	text := table{gap: 2, right: "lrrrrrrr"}
	text.row("table", "rows", "body", "index", "buckets", "load", "probes", "most")
	for _, t := range all {
		buckets, load, mean, most := "", "", "", ""
		if t.Buckets > 0 {
			buckets, load = count(t.Buckets), strconv.FormatFloat(t.Load, 'f', 3, 64)
		}
		if t.ProbeMean > 0 {
			mean, most = strconv.FormatFloat(t.ProbeMean, 'f', 3, 64), count(t.ProbeMax)
		}
		text.row(t.Name, count(t.Rows), count(t.BodyBytes), count(t.HeadBytes), buckets, load, mean, most)
	}
	text.write(w)
}
