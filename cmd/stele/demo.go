package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"stele/chain"
	"stele/internal/mainnet"
	"stele/node"
	"stele/store"
	"stele/tables"
	"stele/validate/script"
)

// demoDocument is what demo answers with --json.
type demoDocument struct {
	Import       *node.ImportReport `json:"import"`
	Lookups      []demoLookup       `json:"lookups"`
	Tables       []infoTable        `json:"tables"`
	WireBytes    uint64             `json:"wire_bytes"`
	ArchiveBytes uint64             `json:"archive_bytes"`
	Ratio        float64            `json:"ratio"`
	Kept         string             `json:"kept,omitempty"` // the data folder, under --keep
	Seconds      float64            `json:"seconds"`        // from the start of the program
}

// demoVerb archives the embedded blocks into a store of its own and shows what can be asked of it.
func (a *app) demoVerb() *cobra.Command {
	var keep string
	c := &cobra.Command{
		Use:   "demo",
		Short: "archive the embedded first 14,132 mainnet blocks and look things up in them",
		Args:  exactly("demo"),
		RunE: a.verb(func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("network") && a.conf.params != chain.Main() {
				return misused("demo", "wrong network", "the embedded blocks are of main")
			}
			return a.demo(keep)
		}),
	}
	c.Flags().StringVar(&keep, "keep", "", "leave the store behind, in this data `folder`")
	return c
}

func (a *app) demo(keep string) error {
	began := time.Now()
	blocks := unpack()
	// The store that this run is about is the demo's, not the configured one: errors name it.
	a.conf.params = chain.Main()
	show := func(t *tables.Tables) error { return a.demoIn(t, blocks, began) }
	if keep != "" {
		folder, err := emptyFolder(keep)
		if err != nil {
			return err
		}
		a.conf.datadir, a.kept = folder, folder
		return a.own("demo", true, show)
	}
	folder, err := os.MkdirTemp("", "stele-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	a.conf.datadir = folder
	d, err := store.OpenDir(a.archive(), store.DirOptions{Create: true, Verb: "demo"})
	if err != nil {
		return err
	}
	defer d.Close()
	t, err := tables.Create(brief{d}, a.conf.params, tables.Options{})
	if err != nil {
		return err
	}
	return show(t) // nobody opens this store again, so it is not closed: its folder goes
}

// demoIn fills a new store and asks it.
func (a *app) demoIn(t *tables.Tables, blocks io.Reader, began time.Time) error {
	created := time.Since(began)
	ctx, stop := a.interruptible()
	defer stop()
	o := node.ImportOptions{Paths: []string{"-"}, Stdin: blocks, StopHeight: -1, Threads: a.conf.threads}
	r, err := node.Import(ctx, t, o)
	if err != nil {
		return err
	}
	if r.Interrupted {
		return a.answer(&demoDocument{Import: r}, func(w io.Writer) { writeImport(w, r) })
	}
	r.Stages = append([]node.Stage{{Name: "create", Seconds: created.Seconds()}}, r.Stages...)
	r.Seconds += created.Seconds()
	doc := &demoDocument{Import: r, WireBytes: t.WireBytes(), Kept: a.kept}
	if doc.Lookups, err = demoLookups(t.View(), a.conf.params); err != nil {
		return err
	}
	doc.Tables, doc.ArchiveBytes = infoTables(t)
	doc.Ratio = float64(doc.ArchiveBytes) / float64(doc.WireBytes)
	doc.Seconds = time.Since(began).Seconds()
	return a.answer(doc, doc.write)
}

// emptyFolder is the data folder of a demo that is kept. It must not hold a store.
func emptyFolder(keep string) (string, error) {
	folder, err := filepath.Abs(keep)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(folder, "archive")); err == nil {
		return "", failed("the demo makes its own store", folder+" holds one already", "name another folder with --keep")
	}
	return folder, nil
}

// lazyReader is a reader whose bytes are made by another goroutine.
type lazyReader struct {
	ready chan struct{}
	r     *bytes.Reader
	err   error
}

// unpack begins to unpack the embedded blocks, while the store is made.
func unpack() *lazyReader {
	l := &lazyReader{ready: make(chan struct{})}
	go func() {
		defer close(l.ready)
		var b []byte
		b, l.err = mainnet.Blocks()
		l.r = bytes.NewReader(b)
	}()
	return l
}

func (l *lazyReader) Read(p []byte) (int, error) {
	<-l.ready
	if l.err != nil {
		return 0, l.err
	}
	return l.r.Read(p)
}

func (d *demoDocument) write(w io.Writer) {
	r := d.Import
	fmt.Fprintf(w, "The first %s blocks of Bitcoin's main chain, January to May 2009\n\n", count(mainnet.Count))
	head := table{gap: 2}
	head.row("archived", fmt.Sprintf("height %s: %s transactions, %s inputs, %s outputs above genesis, in %.3f s",
		count(r.Tip.Height), count(r.Txs), count(r.Inputs), count(r.Outputs), r.Seconds))
	head.row("tip", r.Tip.Hash.String())
	head.row("seconds", stagesText(r.Stages))
	head.row("verified", "every rule of consensus, signatures by "+script.Default().Name())
	head.write(w)

	fmt.Fprintln(w)
	asked := table{gap: 2, right: "lrrl"}
	asked.row("lookup, µs in this process", "first", "warm", "answer")
	for _, l := range d.Lookups {
		asked.row(l.What, micros(l.First), micros(l.Warm), l.Answer)
	}
	asked.write(w)

	fmt.Fprintln(w)
	writeTables(w, d.Tables)
	fmt.Fprintf(w, "\narchive %s bytes, wire %s bytes: %.3f\n", count(d.ArchiveBytes), count(d.WireBytes), d.Ratio)
	if d.Kept != "" {
		fmt.Fprintf(w, "kept: stele --datadir %s info\n", d.Kept)
	} else {
		fmt.Fprintln(w, "the store was temporary: nothing was synced, and it is removed now; --keep DIR leaves one behind")
	}
	fmt.Fprintf(w, "%.3f s from start to end\n", d.Seconds)
}

func micros(f float64) string { return fmt.Sprintf("%.2f", f) }
