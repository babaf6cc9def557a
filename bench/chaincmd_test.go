package bench

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stele/chain"
)

// TestWriteChain: the file holds the blocks that the report counts, up to its tip; what exists is kept, and what is
// interrupted leaves nothing.
func TestWriteChain(t *testing.T) {
	dir := t.TempDir()
	calls := 0
	o := ChainOptions{
		Path: filepath.Join(dir, "a.blk"), Scale: 0.001, Seed: 5, Signed: true, Stale: 2,
		Progress: func(uint32, uint32, uint64, uint64, uint64) { calls++ },
	}
	r, err := WriteChain(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	blocks, txs, tip := uint64(0), 0, chain.Hash{}
	err = eachBlockOf(o.Path, func(b *chain.Block) {
		blocks++
		txs += len(b.Txs)
		tip = b.Header.Hash()
	})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(o.Path)
	if err != nil || uint64(info.Size()) != r.Bytes {
		t.Errorf("%v bytes, %d reported (%v)", info, r.Bytes, err)
	}
	if blocks != r.Blocks+r.Stale || r.Stale != 4 || tip != r.Tip || uint64(calls) != r.Blocks || uint64(txs) <= r.Txs {
		t.Errorf("%d blocks of %d transactions up to %v, %d calls: %+v", blocks, txs, tip, calls, r)
	}
	sum := [3]uint64{}
	for _, k := range r.Kinds {
		sum[0], sum[1] = sum[0]+k.Outs, sum[1]+k.Ins
	}
	for _, a := range r.Ages {
		sum[2] += a.Ins
	}
	if sum != [3]uint64{r.Outs, r.Ins, r.Ins} {
		t.Errorf("kinds and ages make %d of %d outputs and %d inputs", sum, r.Outs, r.Ins)
	}
	var text bytes.Buffer
	r.WriteText(&text)
	if !strings.Contains(text.String(), "p2tr-script") || strings.Contains(text.String(), "NaN") {
		t.Errorf("%s", text.String())
	}
	if _, err := WriteChain(context.Background(), o); !errors.Is(err, ErrChainExists) {
		t.Errorf("a file that exists: %v", err)
	}
	interrupted(t, o)
}

// interrupted wants nothing left of a chain that was stopped, beside the one that is whole.
func interrupted(t *testing.T, o ChainOptions) {
	ctx, stop := context.WithCancel(context.Background())
	o.Progress = func(height, _ uint32, _, _, _ uint64) {
		if height == 50 {
			stop()
		}
	}
	dir := filepath.Dir(o.Path)
	o.Path = filepath.Join(dir, "b.blk")
	if _, err := WriteChain(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted chain: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("it leaves %v", left)
	}
}
