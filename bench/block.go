package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"stele/chain"
	"stele/tables"
)

var blockExperiment = Experiment{
	Name:  "block",
	About: "real blocks rebuilt from the rows of a store, byte for byte, with all memory warm",
	Keys:  []Key{{Name: "block.raw_ms", Reach: 5, Most: true}},
	Run:   runBlock,
}

// statedBlock is the one whose time is the key.
const statedBlock = "709632"

// rebuiltBlocks are of all sizes and times; the one of 20,817 inputs has the most prevouts to look up.
var rebuiltBlocks = []string{
	"951658", "300025", "757739", "363731", "426884", "367891", "702861", statedBlock, "800000", "540107",
}

// spreadTxs is how many other transactions lie around the parents of the blocks, where they are spread: 60 MB of rows
// and outputs, and 50,000 blocks.
const spreadTxs = 1_000_000

// rebuilding runs the experiment.
type rebuilding struct {
	o      *Options
	result Result
	names  []string
	blocks []*chain.Block
}

func runBlock(ctx context.Context, o Options) (*Result, error) {
	r := &rebuilding{o: &o}
	for _, height := range rebuiltBlocks {
		b, err := mainBlock(height).read()
		if errors.Is(err, fs.ErrNotExist) {
			if err := r.result.absent(height+".ms", "ms", err); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		r.names, r.blocks = append(r.names, height), append(r.blocks, b)
	}
	if len(r.blocks) == 0 {
		return &r.result, nil
	}
	var stated []Number
	for _, a := range []struct {
		name   string
		others int
	}{{"packed", 0}, {"spread", max(1, int(spreadTxs*o.Scale))}} {
		n, err := r.arm(ctx, a.name, a.others)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.name, err)
		}
		stated = append(stated, n)
	}
	r.result.ratio("block.raw_ms", worst(stated...))
	return &r.result, nil
}

// arm rebuilds all blocks from one store, and returns the time of the stated one in milliseconds.
func (r *rebuilding) arm(ctx context.Context, name string, others int) (Number, error) {
	r.o.Note(fmt.Sprintf("%s: archiving %d real blocks among %d other transactions", name, len(r.blocks), others))
	a, links, err := r.o.bareStore(name, r.blocks, others)
	if err != nil {
		return None, err
	}
	defer a.close()
	v := a.t.Live()
	ways := make([]way, len(links))
	var buf []byte
	for i, l := range links {
		if err := rebuilds(v, l, r.blocks[i].Raw); err != nil {
			return None, fmt.Errorf("block %s: %w", r.names[i], err)
		}
		ways[i].do = func() (err error) {
			buf, _, err = v.AppendBlock(buf[:0], l)
			return err
		}
	}
	times, err := r.o.inTurns(ctx, ways)
	if err != nil {
		return None, err
	}
	stated := None
	for i, b := range r.blocks {
		note := fmt.Sprintf("%d bytes, %d transactions, %d inputs, %d outputs", len(b.Raw), len(b.Txs), len(b.Ins), len(b.Outs))
		n := r.result.best(fmt.Sprintf("%s.%s.ms", name, r.names[i]), "ms", scaled(times[i], 1e-6), note)
		r.result.single(fmt.Sprintf("%s.%s.rate", name, r.names[i]), "MB/s", Number(len(b.Raw))/1e3/n, "")
		if r.names[i] == statedBlock {
			stated = n
		}
	}
	return stated, nil
}

// rebuilds wants the bytes of a block back from its rows, its header's included.
func rebuilds(v *tables.View, l tables.HeaderLink, raw []byte) error {
	have, ok, err := v.AppendBlock(nil, l)
	switch {
	case err != nil:
		return err
	case !ok || !bytes.Equal(have, raw):
		return errors.New("its rows make other bytes")
	}
	return nil
}
