package main

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"stele/chain"
	"stele/node"
	"stele/node/blockfile"
	"stele/tables"
)

// maxListed bounds the rejected blocks that are listed as text.
const maxListed = 20

// importVerb archives the blocks of files.
func (a *app) importVerb() *cobra.Command {
	var stop uint32
	c := &cobra.Command{
		Use:   "import PATH...",
		Short: "archive block files, folders of blk*.dat, or - for standard input",
		Args:  atLeastOne("import", "PATH"),
		RunE: a.verb(func(cmd *cobra.Command, args []string) error {
			o := node.ImportOptions{
				Paths: args, Stdin: a.stdin, StopHeight: -1, Threads: a.conf.threads, Memory: int64(a.conf.memory),
				AssumeValid: a.conf.assumeValid, Verifier: a.conf.verifier, TablesAlone: !a.conf.utxo,
				LimitHeap: true,
			}
			if cmd.Flags().Changed("stop-height") {
				o.StopHeight = int64(stop)
			}
			if err := readable(args); err != nil {
				return err
			}
			return a.importBlocks(o)
		}),
	}
	addFlags(c.Flags(), "import")
	c.Flags().Uint32Var(&stop, "stop-height", 0, "archive no block above this `height`")
	return c
}

// readable looks for every path before a store is made.
func readable(paths []string) error {
	for _, p := range paths {
		if p == "-" {
			continue
		}
		if _, err := os.Stat(p); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) importBlocks(o node.ImportOptions) error {
	desk := a.newDesk()
	o.Between, o.Using = desk.between, desk.set.Store
	return a.claim(claim{verb: "import", create: true, desk: desk}, func(t *tables.Tables) error {
		ctx, stop := a.interruptible()
		defer stop()
		a.log.Info().Str("verifier", o.Verifier.Name()).Stringer("assume_valid", assumed(a.conf.assumeValid)).
			Msg("importing")
		bar := a.meter("import", "bytes")
		o.Progress = func(p node.Progress) {
			bar.update(reading{
				stage: p.Stage, height: p.Height, done: uint64(p.Done), total: uint64(p.Total), txs: p.Txs, inputs: p.Inputs,
			})
		}
		o.Note = a.note
		o.Remark = func(text string) { a.log.Warn().Msg(text) }
		r, err := node.Import(ctx, t, o)
		bar.close()
		if err != nil {
			return err
		}
		return a.answer(r, func(w io.Writer) { writeImport(w, r) })
	})
}

// assumed is a block hash, or none.
type assumed chain.Hash

func (h assumed) String() string {
	if h == (assumed{}) {
		return none
	}
	return chain.Hash(h).String()
}

// note logs a remark on the input.
func (a *app) note(n blockfile.Note) {
	what := "skipped bytes that are no record"
	if n.Kind == blockfile.CutTail {
		what = "the file ends inside a record"
	}
	a.log.Info().Str("file", n.Path).Int64("offset", n.Off).Int64("bytes", n.Bytes).Msg(what)
}

func writeImport(w io.Writer, r *node.ImportReport) {
	t := table{gap: 2}
	verb := "imported"
	if r.Interrupted {
		verb = "stopped"
	}
	t.row(verb, fmt.Sprintf("%s blocks, %s transactions, %s inputs, %s outputs, %s bytes in %.2f s",
		count(r.Blocks), count(r.Txs), count(r.Inputs), count(r.Outputs), count(r.WireBytes), r.Seconds))
	t.row("tip", fmt.Sprintf("height %s, block %v", count(r.Tip.Height), r.Tip.Hash))
	t.row("seconds", stagesText(r.Stages))
	if r.Assumed > 0 {
		t.row("scripts", fmt.Sprintf("not run in %s blocks that lie below the one assumed to be valid", count(r.Assumed)))
	}
	for _, c := range []struct {
		what string
		n    uint64
	}{
		{"known before", r.Skipped}, {"kept as pending", r.Parked}, {"not kept", r.Dropped},
		{"above an invalid block", r.Descendants},
	} {
		if c.n > 0 {
			t.row("records", count(c.n)+" "+c.what)
		}
	}
	for i, x := range r.Rejected {
		if i == maxListed {
			t.row("rejected", count(uint64(len(r.Rejected)-i)+r.RejectedMore)+" more")
			break
		}
		t.row("rejected", rejectedText(&x))
	}
	t.write(w)
}

func rejectedText(x *node.Rejected) string {
	s := x.Reason
	if x.Hash != "" {
		s += ": block " + x.Hash
	}
	if x.Height >= 0 {
		s += " at height " + strconv.FormatInt(x.Height, 10)
	}
	return s
}

func stagesText(stages []node.Stage) string {
	s := ""
	for _, x := range stages {
		if x.Seconds >= 0.0005 {
			s += fmt.Sprintf("%s %.3f  ", x.Name, x.Seconds)
		}
	}
	return s
}
