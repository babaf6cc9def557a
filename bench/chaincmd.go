package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"text/tabwriter"
	"time"

	gen "stele/bench/chain"
	"stele/chain"
)

// ErrChainExists says that there is a file where a chain was to be written.
var ErrChainExists = errors.New("the file exists")

// ChainOptions say which chain WriteChain makes: one of today's mix, of 1,400 blocks of 2,000 transactions, about 1.5
// GB, times the scale, with fewer blocks of fewer transactions below that and more blocks above.
type ChainOptions struct {
	Path     string // of the file, which must not exist
	Scale    float64
	Seed     uint64
	Signed   bool
	Stale    uint32 // depth of a branch off the chain every hundred blocks; 0: none
	Progress func(height, blocks uint32, bytes, txs, inputs uint64)
}

// staleEvery is the distance of branches, in blocks.
const staleEvery = 100

// ChainReport is what WriteChain made. Txs, inputs, outputs, kinds and ages leave out coinbases and fan-outs, which
// split them at the beginning.
type ChainReport struct {
	File    string     `json:"file"`
	Network string     `json:"network"`
	Seed    uint64     `json:"seed"`
	Signed  bool       `json:"signed"`
	Tip     chain.Hash `json:"tip"`
	Blocks  uint64     `json:"blocks"`
	Stale   uint64     `json:"stale_blocks"`
	Bytes   uint64     `json:"bytes"` // of the file
	Txs     uint64     `json:"txs"`
	Ins     uint64     `json:"inputs"`
	Outs    uint64     `json:"outputs"`
	FanOuts uint64     `json:"fan_outs"`
	Locked  uint64     `json:"lock_times"`
	MaxIns  uint64     `json:"most_inputs"`
	MaxOuts uint64     `json:"most_outputs"`
	Small   uint64     `json:"small_outputs"` // less than a thousand satoshis, data apart
	Coins   uint64     `json:"unspent_outputs"`
	Records uint64     `json:"unspent_txs"` // that have one
	Kinds   []KindRow  `json:"kinds"`
	Ages    []AgeRow   `json:"ages"`
	Seconds float64    `json:"seconds"`
}

// KindRow is how many outputs have a form, and how many inputs spend one.
type KindRow struct {
	Kind string `json:"kind"`
	Outs uint64 `json:"outputs"`
	Ins  uint64 `json:"inputs"`
}

// AgeRow is how many inputs spend outputs of an age.
type AgeRow struct {
	Blocks string `json:"blocks"`
	Ins    uint64 `json:"inputs"`
}

// WriteChain makes a chain and writes it into a block file, under another name until it is whole. What is begun is
// removed where it fails, or where ctx ends it.
func WriteChain(ctx context.Context, o ChainOptions) (*ChainReport, error) {
	if _, err := os.Lstat(o.Path); err == nil {
		return nil, ErrChainExists
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	c := chainOptions(o.Scale)
	c.Seed, c.Mix, c.Signed = o.Seed, gen.Mainnet, o.Signed
	if o.Stale > 0 {
		c.Stale = gen.Stale{Every: staleEvery, Depth: o.Stale}
	}
	g, err := gen.New(c)
	if err != nil {
		return nil, err
	}
	start, part := time.Now(), o.Path+".part"
	f, err := os.Create(part)
	if err != nil {
		return nil, err
	}
	r, err := o.write(ctx, g, c.Blocks, f)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(part, o.Path)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(part))
	}
	r.count(g)
	r.Seconds = time.Since(start).Seconds()
	return r, nil
}

func (o *ChainOptions) write(ctx context.Context, g *gen.Source, blocks uint32, f io.Writer) (*ChainReport, error) {
	r := &ChainReport{File: o.Path, Network: chain.Regtest().Name, Seed: o.Seed, Signed: o.Signed}
	w := bufio.NewWriterSize(f, 1<<20)
	var b gen.Block
	for g.Next(&b) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := gen.WriteRecord(w, b.Raw); err != nil {
			return nil, err
		}
		r.Bytes += uint64(len(b.Raw)) + gen.RecordHead
		if s := g.Stats(); !b.Stale {
			r.Tip = b.Hash
			o.Progress(b.Height, blocks, r.Bytes, s.Txs, s.Ins)
		}
	}
	return r, w.Flush()
}

// count takes what the source counted.
func (r *ChainReport) count(g *gen.Source) {
	s := g.Stats()
	r.Blocks, r.Stale, r.Txs, r.Ins, r.Outs, r.FanOuts = s.Coinbases, s.Stale, s.Txs, s.Ins, s.Outs, s.FanOuts
	r.Locked, r.MaxIns, r.MaxOuts, r.Small = s.Locked, s.MaxIns, s.MaxOuts, s.Small
	r.Coins, r.Records = g.Coins()
	for k := range gen.Kinds {
		r.Kinds = append(r.Kinds, KindRow{k.String(), s.OutKinds[k], s.InKinds[k]})
	}
	for i, span := range gen.AgeSpans() {
		r.Ages = append(r.Ages, AgeRow{span, s.Ages[i]})
	}
}

// WriteText writes the report as tables.
func (r *ChainReport) WriteText(w io.Writer) {
	per := func(n, of uint64) float64 { return float64(n) / float64(max(1, of)) }
	how := "signed"
	if !r.Signed {
		how = "with made-up signatures, which no import takes"
	}
	fmt.Fprintf(w, "%s: %s, seed %d, %s\ntip %v\n", r.File, r.Network, r.Seed, how, r.Tip)
	fmt.Fprintf(w, "%d blocks and %d stale ones, %d bytes, %.1f s, %.1f MB/s, %.0f inputs/s\n", r.Blocks, r.Stale, r.Bytes,
		r.Seconds, float64(r.Bytes)/1e6/r.Seconds, float64(r.Ins)/r.Seconds)
	fmt.Fprintf(w, "%d transactions: %.2f inputs (%d at most), %.2f outputs (%d at most), %.0f bytes; %.1f %% with a "+
		"lock time\n", r.Txs, per(r.Ins, r.Txs), r.MaxIns, per(r.Outs, r.Txs), r.MaxOuts, per(r.Bytes, r.Txs),
		100*per(r.Locked, r.Txs))
	fmt.Fprintf(w, "%d outputs unspent in %d transactions, %.2f each; %.1f %% of outputs of less than 1,000 satoshis\n\n",
		r.Coins, r.Records, per(r.Coins, r.Records), 100*per(r.Small, r.Outs))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "kind\toutputs\t%\tinputs\t%\t\n")
	for _, k := range r.Kinds {
		fmt.Fprintf(t, "%s\t%d\t%.1f\t%d\t%.1f\t\n", k.Kind, k.Outs, 100*per(k.Outs, r.Outs), k.Ins, 100*per(k.Ins, r.Ins))
	}
	fmt.Fprint(t, "\nage in blocks\tinputs\t%\t\n")
	for _, a := range r.Ages {
		fmt.Fprintf(t, "%s\t%d\t%.1f\t\n", a.Blocks, a.Ins, 100*per(a.Ins, r.Ins))
	}
	_ = t.Flush() // into what takes everything
}
