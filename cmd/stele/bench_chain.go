package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"stele/bench"
)

// maxStale is how deep a branch can be: the generator's bound.
const maxStale = 50

// benchChainVerb writes a block file to measure with. Its JSON is bench.ChainReport.
func (a *app) benchChainVerb() *cobra.Command {
	var o bench.ChainOptions
	c := &cobra.Command{
		Use:   "chain --out FILE",
		Short: "make a block file of regtest with mainnet's shape, of any size",
		Args:  exactly("bench chain"),
		RunE: a.verb(func(*cobra.Command, []string) error {
			switch {
			case o.Path == "":
				return misused("bench chain", "no file", "--out names it")
			case !(o.Scale > 0) || o.Scale > 1_000:
				return misused("bench chain", "wrong size", "--scale must be above zero, and at most 1,000")
			case o.Stale > maxStale:
				return misused("bench chain", "wrong depth", "--stale must be at most 50")
			}
			return a.benchChain(o)
		}),
	}
	c.Flags().StringVar(&o.Path, "out", "", "`file` to write, which must not exist")
	c.Flags().Float64Var(&o.Scale, "scale", 1, "`N` times 1,400 blocks of 2,000 transactions, 1.5 GB")
	c.Flags().BoolVar(&o.Signed, "signed", true, "true signatures; false: made up, for experiments only")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "`number` from which all is drawn")
	c.Flags().Uint32Var(&o.Stale, "stale", 0, "leave the chain every hundred blocks, `N` deep")
	return c
}

func (a *app) benchChain(o bench.ChainOptions) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	bar := a.meter("making blocks", "blocks")
	o.Progress = func(height, blocks uint32, _, txs, inputs uint64) {
		bar.update(reading{height: height, done: uint64(height), total: uint64(blocks), txs: txs, inputs: inputs})
	}
	r, err := bench.WriteChain(ctx, o)
	bar.close()
	switch {
	case errors.Is(err, bench.ErrChainExists):
		return failed("will not overwrite", o.Path+" exists", "move it away, or name another file with --out")
	case ctx.Err() != nil && err != nil:
		return failed("stopped", "bench chain", "nothing of it is left behind")
	case err != nil:
		return err
	}
	return a.answer(r, func(w io.Writer) { r.WriteText(w) })
}
