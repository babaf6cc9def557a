package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"

	"stele/chain"
)

var decodeExperiment = Experiment{
	Name:  "decode",
	About: "real blocks parsed into offsets over their bytes, against btcd's wire",
	Keys: []Key{
		{Name: "decode.fresh", Reach: 8},
		{Name: "decode.reused", Reach: 20},
		{Name: "decode.allocs", Reach: 0, Most: true},
	},
	Run: runDecode,
}

// decodeBlock is a block that decode times are stated for, by the row's name.
type decodeBlock struct {
	name string
	realBlock
}

var decodeBlocks = []decodeBlock{
	{"0.3MB", mainBlock("300025")},
	{"1.0MB", mainBlock("426884")},
	{"1.8MB", realBlock{net: "testnet3", height: "928831"}},
}

// moduleBlocks are decoded where those are not on this machine. They come with btcd and its wire.
var moduleBlocks = []decodeBlock{
	{"0.1MB", realBlock{
		net: "mainnet", height: "277647", module: [2]string{"github.com/btcsuite/btcd", "blockchain/testdata/277647.dat.bz2"},
		record: true,
	}},
	{"1.2MB", wireBlock("574200", "0000000000000000001602407ac49862a7bca9d00f7f402db20b7be2f5de59d2")},
	{"2.3MB", wireBlock("540107", "00000000000000000021868c2cefc52a480d173c849412fe81c4e5ab806f94ab")},
}

func wireBlock(height, hash string) realBlock {
	module := [2]string{"github.com/btcsuite/btcd/wire/v2", "testdata/block-" + hash + ".blk"}
	return realBlock{net: "mainnet", height: height, module: module}
}

// allocRuns is how many decodings allocations are counted over. A collection of garbage in between may allocate a few
// times; the mean is rounded down, so that this is not taken for the decoder's.
const allocRuns = 200

func runDecode(ctx context.Context, o Options) (*Result, error) {
	r := &Result{}
	list, note := decodeBlocks, ""
	blocks, err := readDecodeBlocks(list)
	if errors.Is(err, fs.ErrNotExist) {
		list, note = moduleBlocks, "; a block of a module, for want of the stated ones"
		blocks, err = readDecodeBlocks(list)
	}
	if err != nil {
		return r, r.absent("blocks", "ns", err)
	}
	var fresh, reused, allocs []Number
	for i, b := range blocks {
		o.Note(fmt.Sprintf("decoding block %v", list[i].realBlock))
		d := decoding{r: r, name: list[i].name, raw: b.Raw, note: fmt.Sprintf("block %v, %d bytes, %d transactions%s",
			list[i].realBlock, len(b.Raw), len(b.Txs), note)}
		if err := d.run(ctx, &o); err != nil {
			return nil, fmt.Errorf("block %v: %w", list[i].realBlock, err)
		}
		fresh, reused, allocs = append(fresh, d.fresh), append(reused, d.reused), append(allocs, d.allocs)
	}
	r.ratio("decode.fresh", slowest(fresh...))
	r.ratio("decode.reused", slowest(reused...))
	r.ratio("decode.allocs", worst(allocs...))
	return r, nil
}

func readDecodeBlocks(list []decodeBlock) ([]*chain.Block, error) {
	all := make([]realBlock, len(list))
	for i := range list {
		all[i] = list[i].realBlock
	}
	return readAll(all)
}

// decoding measures one block.
type decoding struct {
	r                     *Result
	name, note            string
	raw                   []byte
	fresh, reused, allocs Number
}

func (d *decoding) run(ctx context.Context, o *Options) error {
	if err := d.verify(); err != nil {
		return err
	}
	var kept chain.Block
	ways := []way{
		{name: "reused", do: func() error { return kept.Decode(d.raw) }},
		{name: "fresh", do: func() error { return new(chain.Block).Decode(d.raw) }},
	}
	if wireDecode != nil {
		ways = append(ways, way{name: "wire", do: func() error { return wireDecode(d.raw) }})
	}
	times, err := o.inTurns(ctx, ways)
	if err != nil {
		return err
	}
	our := [2]Number{}
	for i := range our {
		our[i] = d.r.median(d.name+"."+ways[i].name, "µs", scaled(times[i], 1e-3), d.note)
	}
	wire, note := None, needsTag
	if wireDecode != nil {
		wire, note = d.r.median(d.name+".wire", "µs", scaled(times[2], 1e-3), d.note), "medians"
	} else {
		d.r.single(d.name+".wire", "µs", None, needsTag)
	}
	d.reused = d.r.single(d.name+".reused_vs_wire", "ratio", wire/our[0], note)
	d.fresh = d.r.single(d.name+".fresh_vs_wire", "ratio", wire/our[1], note)
	d.allocs = d.r.single(d.name+".allocs", "allocations", allocations(allocRuns, func() { _ = kept.Decode(d.raw) }),
		fmt.Sprintf("arrays reused; mean of %d, rounded down", allocRuns))
	return nil
}

// verify decodes the block once and wants its bytes back, and of the peer the same transactions.
func (d *decoding) verify() error {
	var b chain.Block
	if err := b.Decode(d.raw); err != nil {
		return err
	}
	if !bytes.Equal(b.Append(nil), d.raw) {
		return errors.New("the decoded block is written as other bytes")
	}
	if wireTxids == nil {
		return nil
	}
	theirs, err := wireTxids(d.raw)
	if err != nil {
		return err
	}
	ours := b.Txids(nil)
	if len(ours) != len(theirs) {
		return fmt.Errorf("%d transactions, btcd's wire finds %d", len(ours), len(theirs))
	}
	for i := range ours {
		if ours[i] != theirs[i] {
			return fmt.Errorf("transaction %d is %v, to btcd's wire %v", i, ours[i], theirs[i])
		}
	}
	return nil
}

// allocations counts what a call allocates, the mean of n calls rounded down.
func allocations(n uint64, call func()) Number {
	call()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range n {
		call()
	}
	runtime.ReadMemStats(&after)
	return Number((after.Mallocs - before.Mallocs) / n)
}
