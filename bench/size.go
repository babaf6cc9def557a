package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	gen "stele/bench/chain"
	"stele/chain"
	"stele/internal/mainnet"
	"stele/store"
	"stele/tables"
	"stele/tables/codec"
)

var sizeExperiment = Experiment{
	Name:  "size",
	About: "bytes of the archive with tx and spend index over those of the wire, by table and by kind",
	Keys: []Key{
		{Name: "size.modern", Reach: 0.85, Most: true},
		{Name: "size.ratio", Reach: 0.87, Most: true},
	},
	Run: runSize,
}

// modernBlocks are those whose size is promised: of 2021 to 2026.
var modernBlocks = []string{"702861", "709632", "757739", "800000", "951658"}

// sizing runs the experiment.
type sizing struct {
	o      *Options
	result Result
}

func runSize(ctx context.Context, o Options) (*Result, error) {
	s := &sizing{o: &o}
	if err := s.modern(); err != nil {
		return nil, err
	}
	blocks, err := mainnet.Blocks()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(o.Dir, "mainnet.blk")
	if err := os.WriteFile(path, blocks, 0o600); err != nil {
		return nil, err
	}
	if _, err := s.whole(ctx, "mainnet", path, chain.Main()); err != nil {
		return nil, err
	}
	c := chainOptions(o.Scale)
	c.Mix = gen.Mainnet
	f, err := o.makeChain("generated.blk", c)
	if err != nil {
		return nil, err
	}
	ratio, err := s.whole(ctx, "generated", f.Path, chain.Regtest())
	s.result.ratio("size.ratio", ratio)
	return &s.result, err
}

// modern sends the modern blocks through the codecs, and through a store, which must take the same bytes.
func (s *sizing) modern() error {
	list := make([]realBlock, len(modernBlocks))
	for i, height := range modernBlocks {
		list[i] = mainBlock(height)
	}
	blocks, err := readAll(list)
	if err != nil {
		return s.result.absent("modern.mean_load", "ratio", err)
	}
	s.o.Note("encoding the modern blocks")
	var all codec.Sizes
	for i, b := range blocks {
		var one codec.Sizes
		one.Add(b)
		all.Add(b)
		s.ratio("modern."+modernBlocks[i], &one, codec.IndexMean, fmt.Sprintf("%d bytes, %d transactions", one.Wire, one.Txs))
	}
	if err := s.stored(blocks, &all); err != nil {
		return err
	}
	s.kinds("modern", &all)
	s.ratio("modern.full_map", &all, codec.IndexFull, "the txid map at 80 % load")
	s.result.ratio("size.modern", s.ratio("modern.mean_load", &all, codec.IndexMean, "the txid map at 60 % load, its mean"))
	return nil
}

func (s *sizing) ratio(name string, all *codec.Sizes, index float64, note string) Number {
	return s.result.single(name, "ratio", Number(all.Archive(index)/float64(all.Wire)), note)
}

// roundBlock is by how much the round figure for a block's own rows may be too large, in bytes.
const roundBlock = 20

// stored archives the blocks and compares what the tables grew by with what the codecs counted: all but the maps of
// hashes, whose share depends on their load.
func (s *sizing) stored(blocks []*chain.Block, all *codec.Sizes) error {
	a, err := newBareArchive(filepath.Join(s.o.Dir, "modern"))
	if err != nil {
		return err
	}
	defer a.close()
	if err := a.putBare(parents(blocks), 20); err != nil {
		return err
	}
	for _, b := range blocks {
		if _, err := a.putParent(b); err != nil {
			return err
		}
	}
	before := tableBytes(a.t)
	for _, b := range blocks {
		if _, err := a.putReal(b); err != nil {
			return err
		}
	}
	after, took := tableBytes(a.t), uint64(0)
	for name, n := range after {
		took += n - before[name]
	}
	if slab := after["output"] + after["input"] - before["output"] - before["input"]; slab != uint64(all.Slab) {
		return fmt.Errorf("the store's slabs took %d bytes for the modern blocks, the codecs %d", slab, all.Slab)
	}
	if count := uint64(all.Archive(0)); took > count || count-took > roundBlock*uint64(all.Blocks) {
		return fmt.Errorf("the store took %d bytes for the modern blocks, counted were %d", took, count)
	}
	s.result.single("modern.stored", "ratio", Number(took)/Number(all.Wire),
		fmt.Sprintf("%d bytes of all tables but the txid map", took))
	return nil
}

// tableBytes returns what each table has, but for the lines of maps, which grow by leaps.
func tableBytes(t *tables.Tables) map[string]uint64 {
	all := map[string]uint64{}
	for _, x := range t.Stats() {
		if x.Archive {
			all[x.Name] = x.BodyBytes
			if x.Buckets == 0 {
				all[x.Name] += x.HeadBytes
			}
		}
	}
	return all
}

// kinds adds a row for every kind of run: its share of all wire bytes.
func (s *sizing) kinds(name string, all *codec.Sizes) {
	for _, k := range all.Kinds() {
		row := fmt.Sprintf("%s.%s.%s", name, k.Of, strings.NewReplacer(" ", "-", ",", "").Replace(k.Name))
		s.result.single(row, "of the wire", Number(k.Slab)/Number(all.Wire),
			fmt.Sprintf("%d, %d wire bytes, %d slab bytes", k.Count, k.Wire, k.Slab))
	}
}

// whole imports a block file and tells what each table takes.
func (s *sizing) whole(ctx context.Context, name, path string, p *chain.Params) (Number, error) {
	s.o.Note(name + ": importing")
	var all codec.Sizes
	if err := eachBlockOf(path, all.Add); err != nil {
		return None, err
	}
	stats, wire, err := s.imported(ctx, path, p)
	if err != nil {
		return None, err
	}
	var sum, slab uint64
	for _, t := range stats {
		if !t.Archive {
			continue
		}
		n := t.BodyBytes + t.HeadBytes
		sum += n
		if t.Name == "output" || t.Name == "input" {
			slab += n
		}
		note := fmt.Sprintf("%d rows, %d bytes, %d of them index", t.Rows, n, t.HeadBytes)
		if t.Buckets > 0 {
			note += fmt.Sprintf(" at load %.2f", t.Load)
		}
		s.result.single(name+".table."+t.Name, "of the wire", Number(n)/Number(wire), note)
	}
	if slab < uint64(all.Slab) || slab-uint64(all.Slab) > genesisSlab {
		return None, fmt.Errorf("%s: the store's slabs have %d bytes, the codecs make %d of the chain", name, slab, all.Slab)
	}
	s.kinds(name, &all)
	return s.result.single(name+".archive_vs_wire", "ratio", Number(sum)/Number(wire),
		fmt.Sprintf("%d bytes for %d on the wire", sum, wire)), nil
}

// genesisSlab is more than the slab bytes of a genesis block, which no generated file has.
const genesisSlab = 400

// imported imports a block file into a new store, in a process of its own, and returns what its tables take, and the
// bytes of its blocks on the wire. The store is removed again.
func (s *sizing) imported(ctx context.Context, path string, p *chain.Params) ([]tables.TableStats, uint64, error) {
	dir := filepath.Join(s.o.Dir, "whole")
	defer os.RemoveAll(dir)
	c, err := s.o.start(ctx, job{Dir: dir, Network: p.Name, Import: &importJob{Path: path, Stop: -1}})
	if err != nil {
		return nil, 0, err
	}
	if _, err := c.await(saidClosed); err != nil {
		return nil, 0, err
	}
	if err := c.end(); err != nil {
		return nil, 0, err
	}
	d, err := store.OpenDir(dir, store.DirOptions{Verb: "bench"})
	if err != nil {
		return nil, 0, err
	}
	defer d.Close()
	t, err := tables.Open(d, p, tables.Options{})
	if err != nil {
		return nil, 0, err
	}
	stats, wire := t.Stats(), t.WireBytes()
	return stats, wire, t.Close()
}

// eachBlockOf is eachBlock of a file.
func eachBlockOf(path string, f func(*chain.Block)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return eachBlock(bufio.NewReaderSize(file, 1<<20), f)
}

// eachBlock calls f for every block of a block file without gaps. The block's bytes hold until the next call.
func eachBlock(in io.Reader, f func(*chain.Block)) error {
	var head [gen.RecordHead]byte
	var raw []byte
	var b chain.Block
	for {
		if _, err := io.ReadFull(in, head[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		n := int(binary.LittleEndian.Uint32(head[4:]))
		raw = slices.Grow(raw[:0], n)[:n]
		if _, err := io.ReadFull(in, raw); err != nil {
			return err
		}
		if err := b.Decode(raw); err != nil {
			return err
		}
		f(&b)
	}
}
