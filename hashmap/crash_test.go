package hashmap

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"stele/internal/crashdisk"
	"stele/store"
)

var seeds = flag.Int("seeds", 150, "seeds of the crash tests; see docs/testing.md")

// crashIndex is an index over a log, as the crash runs drive it. All but the log is on the crash disk.
type crashIndex interface {
	open(d store.Disk, st State, cut int) error // at the first cut records of the log; those from the watermark on are entered
	enter(at int) error                         // record at was appended
	seal(cut int) error                         // sets apart what was entered, unless something is set apart already
	merge() error                               // what is set apart
	state() State
	retire() error
	check(cut int) error // compares all answers with the log
}

// crashLog is the log: pairs of small numbers. It is cut where a manifest says so, and goes on differently then.
type crashLog struct{ records [][2]uint64 }

// crashManifest is a manifest: it reaches the medium whole, or not.
type crashManifest struct {
	cut int
	st  State
}

// crashRun drives an index on a crash disk.
type crashRun struct {
	r              *rand.Rand
	disk           *crashdisk.Disk
	log            *crashLog
	x              crashIndex
	before         crashManifest // the one that the newest took the place of
	durable        crashManifest
	inflight       *crashManifest
	records, batch int
}

// write makes a manifest durable: names first, then the slot.
func (c *crashRun) write(m crashManifest) error {
	if err := c.disk.Sync(); err != nil {
		return err
	}
	c.inflight = &m
	if err := c.disk.Sync(); err != nil {
		return err
	}
	c.before, c.durable, c.inflight = c.durable, m, nil
	return c.x.retire()
}

// checkpoint covers the log with a manifest, merges up to it, and names the outcome in another one. Sometimes it leaves
// out the merge or what follows it. Then the next one merges first: before the manifest with the state is durable, too.
func (c *crashRun) checkpoint() error {
	m := crashManifest{cut: len(c.log.records), st: c.x.state()}
	if c.r.IntN(3) == 0 { // what an earlier one sealed: its cut is durable
		if err := c.x.merge(); err != nil && !errors.Is(err, ErrUnsettled) {
			return err
		}
	}
	if err := c.x.seal(m.cut); err != nil {
		return err
	}
	if c.r.IntN(3) == 0 { // the writer goes on
		if err := c.append(); err != nil {
			return err
		}
	}
	if err := c.write(m); err != nil || c.r.IntN(6) == 0 {
		return err
	}
	if err := c.x.merge(); err != nil || c.r.IntN(4) == 0 {
		return err
	}
	return c.write(crashManifest{cut: c.durable.cut, st: c.x.state()})
}

func (c *crashRun) append() error {
	for range 1 + c.r.IntN(c.batch) {
		c.log.records = append(c.log.records, [2]uint64{c.r.Uint64N(uint64(c.records)), c.r.Uint64()})
		if err := c.x.enter(len(c.log.records) - 1); err != nil {
			return err
		}
	}
	return nil
}

// life opens the index at a manifest that may be there, and works until the disk stops.
func (c *crashRun) life() error {
	c.disk.StopAt(c.r.IntN(90))
	c.disk.FailSync(c.r.IntN(10 + 40*c.r.IntN(2)))
	c.disk.SetWriteback(c.r.IntN(10))
	if err := c.adopt(); err != nil {
		return err
	}
	for range c.r.IntN(14) {
		err := c.append()
		if err == nil && c.r.IntN(2) == 0 {
			err = c.checkpoint()
		}
		if err != nil {
			return err
		}
		if c.r.IntN(12) == 0 {
			c.disk.LoseWriteback()
		}
		if err := c.x.check(len(c.log.records)); err != nil {
			return fmt.Errorf("running: %w", err)
		}
	}
	return nil
}

func (c *crashRun) adopt() error {
	m := c.durable
	switch {
	case c.inflight != nil && c.r.IntN(2) == 0:
		m = *c.inflight
	case c.r.IntN(10) == 0 && c.before.st.Generation == c.durable.st.Generation:
		m = c.before // the newest decayed
	}
	c.durable, c.inflight = m, nil
	c.log.records = c.log.records[:m.cut]
	if err := c.x.open(c.disk, m.st, m.cut); err != nil {
		return err
	}
	if err := c.x.check(m.cut); err != nil {
		return fmt.Errorf("opened at %d of the log, watermark %d: %w", m.cut, m.st.Watermark, err)
	}
	c.before = m
	err := c.write(crashManifest{cut: m.cut, st: c.x.state()}) // the state may be zero: it begins anew
	if err != nil || c.r.IntN(2) == 0 {
		return err
	}
	// What the replay brought is merged before anything is appended, as it is where memory is short.
	if err := errors.Join(c.x.seal(m.cut), c.x.merge()); err != nil || c.r.IntN(4) == 0 {
		return err
	}
	return c.write(crashManifest{cut: m.cut, st: c.x.state()})
}

func crashSeed(seed uint64, x func(*crashLog, *rand.Rand) crashIndex) (err error) {
	r := rand.New(rand.NewPCG(seed, 4))
	log := &crashLog{}
	c := &crashRun{
		r: r, disk: crashdisk.New(r, 256<<10), log: log, x: x(log, r),
		records: 1 + r.IntN(60), batch: 1 + r.IntN(40),
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		if err != nil {
			err = fmt.Errorf("seed %d, operation %d: %w", seed, c.disk.Ops(), err)
		}
		c.disk.Discard()
	}()
	for range 3 + r.IntN(6) {
		if err := c.life(); err != nil && !c.disk.Stopped() && !errors.Is(err, crashdisk.ErrWriteback) {
			return err
		}
		old := c.disk
		if r.IntN(2) == 0 {
			c.disk = old.Kill(r)
			continue
		}
		c.disk = old.Crash(r)
		old.Discard()
	}
	c.disk.StopAt(0)
	return c.adopt()
}

// crashMap is a map: record at is the key of row at. The rows are on a disk of their own that loses nothing.
type crashMap struct {
	log  *crashLog
	rows *store.Body
	m    *Map
}

func newCrashMap(log *crashLog, _ *rand.Rand) crashIndex {
	d := store.NewMemDisk()
	d.SetReserveCap(256 << 10)
	rows, err := store.OpenBody(d, store.BodySpec{Name: "rows", Kind: "test", Width: 32}, mapID, 0)
	if err != nil {
		panic(err)
	}
	return &crashMap{log: log, rows: rows}
}

func (x *crashMap) key(at int) (k [32]byte) {
	for i := range 4 {
		binary.LittleEndian.PutUint64(k[8*i:], Mix64(x.log.records[at][0]+1, uint64(i)))
	}
	return k
}

func (x *crashMap) enter(at int) error {
	if err := x.rows.Reserve(32); err != nil {
		return err
	}
	k := x.key(at)
	x.rows.Append(k[:])
	if err := x.rows.Flush(); err != nil {
		return err
	}
	return x.m.Insert(uint32(at))
}

func (x *crashMap) open(d store.Disk, st State, cut int) (err error) {
	if err := x.rows.Truncate(int64(cut) * 32); err != nil {
		return err
	}
	spec, rows := Spec{Name: "x", UniformBits: 256, Window: 40}, Rows{Body: x.rows, Width: 32}
	x.m, err = OpenMap(d, mapID, spec, rows, st)
	var ahead *Ahead
	if errors.As(err, &ahead) {
		st = State{}
		x.m, err = OpenMap(d, mapID, spec, rows, st)
	}
	if err != nil {
		return err
	}
	crowded(x.m)
	x.m.leastBuckets = 12
	for at := int(st.Watermark); at < cut; at++ {
		if err := x.m.Insert(uint32(at)); err != nil {
			return err
		}
	}
	return nil
}

func (x *crashMap) seal(cut int) error { return x.m.Seal(uint32(cut)) }
func (x *crashMap) merge() error       { return x.m.MergeSealed() }
func (x *crashMap) state() State       { return x.m.State() }
func (x *crashMap) retire() error      { return x.m.Retire() }

func (x *crashMap) check(cut int) error {
	v := x.m.View()
	want := map[[32]byte][]uint32{}
	for at := cut - 1; at >= 0; at-- {
		want[x.key(at)] = append(want[x.key(at)], uint32(at))
	}
	for k, links := range want {
		if l, ok := v.Find(&k, uint32(cut)); !ok || l != links[0] {
			return fmt.Errorf("the newest row of a key is %d (%v), want %d", l, ok, links[0])
		}
		if all := v.FindAll(nil, &k, uint32(cut)); !slices.Equal(all, links) {
			return fmt.Errorf("rows %v of a key, want %v", all, links)
		}
	}
	if p := x.m.Verify(uint32(cut)); len(p) > 0 {
		return errors.New(p[0])
	}
	return nil
}

// crashCells is an array of cells: a record sets one.
type crashCells struct {
	log *crashLog
	c   *Cells
}

func newCrashCells(log *crashLog, _ *rand.Rand) crashIndex { return &crashCells{log: log} }

func (x *crashCells) set(at int) (n uint64, v uint32) {
	return x.log.records[at][0] * 37 % crashCellCount(at), uint32(x.log.records[at][1] % 5)
}

func (x *crashCells) enter(at int) error {
	x.c.Set(x.set(at))
	return nil
}

func (x *crashCells) open(d store.Disk, st State, cut int) (err error) {
	if x.c, err = OpenCells(d, mapID, CellsSpec{Name: "x"}, st); err == nil && x.c.MergingTo() > uint64(cut) {
		st = State{}
		x.c, err = OpenCells(d, mapID, CellsSpec{Name: "x"}, st)
	}
	for at := int(st.Watermark); at < cut && err == nil; at++ {
		err = x.enter(at)
	}
	return err
}

// seal says that as many cells exist as the log can set up to the cut: the longer it is, the more.
func (x *crashCells) seal(cut int) error {
	if x.c.Sealed() {
		return nil
	}
	return x.c.Seal(crashCellCount(cut), uint64(cut))
}

func crashCellCount(cut int) uint64 { return 400 + uint64(cut)/4 }

func (x *crashCells) merge() error  { return x.c.MergeSealed() }
func (x *crashCells) state() State  { return x.c.State() }
func (x *crashCells) retire() error { return x.c.Retire() }

func (x *crashCells) check(cut int) error {
	want := map[uint64]uint32{}
	for at := range cut {
		n, v := x.set(at)
		want[n] = v
	}
	for n := range crashCellCount(cut) {
		delta, base := x.c.View().Get(n)
		if delta == 0 {
			delta = base
		}
		if delta != want[n] {
			return fmt.Errorf("cell %d is %d, want %d", n, delta, want[n])
		}
	}
	return nil
}

// crashMulti is a multimap of few buckets, so that they overflow: a record adds a pair.
type crashMulti struct {
	log  *crashLog
	spec MultimapSpec
	m    *Multimap
}

func newCrashMulti(log *crashLog, r *rand.Rand) crashIndex {
	spec := MultimapSpec{Name: "x", Buckets: 1 + r.Uint64N(12), Mixed: true, Once: r.IntN(2) == 0, MergePairs: 1 + r.IntN(50)}
	return &crashMulti{log: log, spec: spec}
}

func (x *crashMulti) pair(at int) (key, value uint64) {
	r := x.log.records[at]
	if x.spec.Once {
		return r[0], uint64(at)
	}
	return r[0], r[1] % 100
}

func (x *crashMulti) enter(at int) error {
	x.m.Add(x.pair(at))
	return nil
}

func (x *crashMulti) open(d store.Disk, st State, cut int) (err error) {
	x.m, err = OpenMultimap(d, mapID, x.spec, st)
	var ahead *Ahead
	if errors.As(err, &ahead) || err == nil && x.m.MergingTo() > uint64(cut) {
		st = State{}
		x.m, err = OpenMultimap(d, mapID, x.spec, st)
	}
	for at := int(st.Watermark); at < cut && err == nil; at++ {
		err = x.enter(at)
	}
	return err
}

func (x *crashMulti) seal(cut int) error {
	if x.m.Sealed() {
		return nil
	}
	return x.m.Seal(uint64(cut))
}

func (x *crashMulti) merge() error  { return x.m.MergeSealed() }
func (x *crashMulti) state() State  { return x.m.State() }
func (x *crashMulti) retire() error { return x.m.Retire() }

func (x *crashMulti) check(cut int) error {
	want := map[uint64][]uint64{}
	for at := range cut {
		if k, v := x.pair(at); !slices.Contains(want[k], v) {
			want[k] = append(want[k], v)
		}
	}
	for k, values := range want {
		all := x.m.View().All(nil, k)
		slices.Sort(all)
		slices.Sort(values)
		if !slices.Equal(all, values) {
			return fmt.Errorf("values %v of key %d, want %v", all, k, values)
		}
	}
	if p := x.m.Verify(); len(p) > 0 {
		return errors.New(p[0])
	}
	return nil
}

var crashIndexes = map[string]func(*crashLog, *rand.Rand) crashIndex{
	"map": newCrashMap, "cells": newCrashCells, "multimap": newCrashMulti,
}

// TestCrash runs each index on a disk that loses power, is killed and fails to sync, at random operations, with random
// appends, merges and manifests. Opened at whatever manifest there may be, it must answer as its log says.
func TestCrash(t *testing.T) {
	for name, x := range crashIndexes {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(*seeds) {
				if err := crashSeed(seed, x); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
