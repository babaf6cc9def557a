package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"stele/chain"
	"stele/internal/mainnet"
)

// probes fills tables to the load at which they would grow, and counts how many lines lie between an entry's home and
// itself, against entries that are thrown at lines at random.
func (h *hashing) probes(context.Context) error {
	real, err := mainnetTxids()
	if err != nil {
		return err
	}
	var ratios []Number
	for _, set := range []struct {
		name string
		keys []key
	}{{"generated", h.tr.ids}, {"mainnet", real}} {
		h.o.Note(fmt.Sprintf("probes of %d %s txids", len(set.keys), set.name))
		for _, f := range functions() {
			if f.of == nil {
				h.result.single(fmt.Sprintf("probes.%s.%s", set.name, f.name), "ratio", None, needsTag)
				continue
			}
			n, err := h.probe(set.name, f, set.keys)
			if err != nil {
				return err
			}
			if f.name == "truncation" {
				ratios = append(ratios, n)
			}
		}
	}
	h.result.ratio("hash.probe_vs_random", worst(ratios...))
	return nil
}

// probe merges half the keys, which makes lines for twice as many, and then the rest.
func (h *hashing) probe(set string, f function, keys []key) (Number, error) {
	t, err := newTable(f, len(keys))
	if err != nil {
		return None, err
	}
	defer t.disk.Discard()
	for _, part := range [2][]key{keys[:len(keys)/2], keys[len(keys)/2:]} {
		if err := errors.Join(t.insert(part), t.mergeAll()); err != nil {
			return None, err
		}
	}
	if problems := t.m.Verify(t.rows); len(problems) > 0 {
		return None, fmt.Errorf("%s, %s: %s", set, f.name, problems[0])
	}
	s := t.m.Stats()
	random := randomProbes(s.Buckets, uint64(len(keys)))
	name := fmt.Sprintf("probes.%s.%s", set, f.name)
	h.result.single(name+".bytes", "bytes", Number(s.Bytes)/Number(len(keys)), "of lines, a row")
	return h.result.single(name, "ratio", Number(s.ProbeMean)/random,
		fmt.Sprintf("%.4f lines, at random %.4f; %d rows at load %.2f, %d lines at the most",
			s.ProbeMean, float64(random), len(keys), s.Load, s.ProbeMax)), nil
}

// lineSlots is how many entries a line of the map has.
const lineSlots = 12

// randomProbes throws rows at lines and returns their mean probes over some throws: what a full line cannot take moves
// on by one. The sum does not depend on who moves.
func randomProbes(buckets, rows uint64) Number {
	const throws = 5
	sum := uint64(0)
	counts := make([]uint32, buckets)
	for throw := range throws {
		clear(counts)
		r := rand.New(rand.NewPCG(seed, uint64(throw)))
		for range rows {
			counts[r.Uint64N(buckets)]++
		}
		moved := uint64(0)
		for _, n := range counts {
			moved += uint64(n)
			moved -= min(moved, lineSlots)
			sum += moved
		}
		for ; moved > 0; moved -= min(moved, lineSlots) { // into the spare lines
			sum += moved - min(moved, lineSlots)
		}
		sum += rows
	}
	return Number(sum) / Number(rows*throws)
}

// mainnetTxids returns those of the embedded blocks, and of the real blocks on this machine.
func mainnetTxids() (all []key, err error) {
	file, err := mainnet.Blocks()
	if err != nil {
		return nil, err
	}
	add := func(b *chain.Block) {
		for _, id := range b.Txids(nil) {
			all = append(all, key(id))
		}
	}
	if err := eachBlock(bytes.NewReader(file), add); err != nil {
		return nil, err
	}
	for _, height := range rebuiltBlocks {
		if b, err := mainBlock(height).read(); err == nil {
			add(b)
		}
	}
	return all, nil
}
