package node

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"stele/chain"
	"stele/tables"
)

// both runs a test with files and with streams.
func both(t *testing.T, f func(t *testing.T, load func(r *rig, blocks ...[]byte) *ImportReport)) {
	t.Run("file", func(t *testing.T) {
		f(t, func(r *rig, blocks ...[]byte) *ImportReport { t.Helper(); return r.load(t, blocks...) })
	})
	t.Run("stream", func(t *testing.T) {
		f(t, func(r *rig, blocks ...[]byte) *ImportReport {
			t.Helper()
			return r.run(t, streamOptions(file(r.p, blocks...)))
		})
	})
}

func (r *rig) link(t fataler, block []byte) tables.HeaderLink {
	t.Helper()
	hash := hashOf(block)
	l, ok := r.t.FindHeader(&hash)
	if !ok {
		t.Fatalf("header %v is not known", hash)
	}
	return l
}

// legacy returns the transactions of a block but the coinbase, without witnesses, in another version, and so with
// other txids.
func legacy(t fataler, block []byte) (txs [][]byte) {
	t.Helper()
	var b chain.Block
	if err := b.Decode(block); err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(b.Txs); i++ {
		tx := b.AppendTx(nil, i, false)
		tx[0] ^= 2
		txs = append(txs, tx)
	}
	return txs
}

// The branch of most work spends again what transactions of the chain below it spent: its first
// bad block is rejected, those on it are not tried, and the chain is what Bitcoin Core's is.
func TestInvalidBranchOfMostWork(t *testing.T) {
	c := core(t)
	i := len(c.best) - 20
	for len(legacy(t, c.best[i])) == 0 {
		i--
	}
	parent, err := chain.ParseHeader(c.best[i])
	if err != nil {
		t.Fatal(err)
	}
	var m maker
	good, on := m.block(at{hashOf(c.best[i]), uint32(i + 1), parent.Time})
	bad, on := m.block(on, legacy(t, c.best[i])...)
	rest, _ := m.branch(on, 60)
	both(t, func(t *testing.T, load func(*rig, ...[]byte) *ImportReport) {
		r := memRig(t, chain.Regtest())
		rep := load(r, slices.Concat(c.blocks, [][]byte{good, bad}, rest)...)
		r.wantCore(t, c)
		wantReasons(t, rep, "bad-txns-inputs-missingorspent")
		if x := rep.Rejected[0]; x.Hash != hashOf(bad).String() || x.Height != int64(i+3) || rep.Descendants != 60 {
			t.Fatalf("report %+v", rep)
		}
		if r.t.State(r.link(t, bad)) != tables.StateInvalid || r.t.State(r.link(t, rest[0])) != tables.StateUnknown {
			t.Fatal("not the root cause alone is marked")
		}
		// Later imports know: the block is refused for that, its descendants are not tried, and a new one neither.
		r.reopen(t)
		more, _ := m.block(on)
		rep = load(r, bad, rest[0], rest[59], more)
		wantReasons(t, rep, "duplicate-invalid")
		if rep.Descendants != 3 || rep.Blocks != 0 {
			t.Fatalf("report %+v", rep)
		}
		rep = load(r, more)
		wantReasons(t, rep, "bad-prevblk")
		r.wantCore(t, c)
	})
}

// The old best chain comes back when a reorganisation fails in the middle, and a chain that is as long as it but
// ends in the failure does not replace it.
func TestReorganisationFails(t *testing.T) {
	var m maker
	p := chain.Regtest()
	trunk, fork := m.branch(genesisAt(p), 10)
	old, _ := m.branch(fork, 5)
	for _, before := range []int{0, 3, 5, 6} {
		side, on := m.branch(fork, before)
		bad, on := m.block(on, missing(byte(before)))
		rest, _ := m.branch(on, 20)
		both(t, func(t *testing.T, load func(*rig, ...[]byte) *ImportReport) {
			r := memRig(t, p)
			load(r, append(trunk, old...)...)
			rep := load(r, slices.Concat(side, [][]byte{bad}, rest)...)
			wantReasons(t, rep, "bad-txns-inputs-missingorspent")
			if before > 5 {
				r.wantTip(t, side[before-1])
			} else {
				r.wantTip(t, old[4])
			}
			r.reopen(t)
			if l, _ := r.t.Tip(); r.t.State(l) != tables.StateUnknown {
				t.Fatal("the tip is marked")
			}
		})
	}
}

func TestEqualWorkFirstStays(t *testing.T) {
	var m maker
	p := chain.Regtest()
	trunk, fork := m.branch(genesisAt(p), 3)
	a, onA := m.branch(fork, 2)
	b, onB := m.branch(fork, 2)
	a3, _ := m.block(onA)
	b3, _ := m.block(onB)
	both(t, func(t *testing.T, load func(*rig, ...[]byte) *ImportReport) {
		for _, order := range []struct {
			blocks [][]byte
			tip    []byte
		}{
			{slices.Concat(trunk, a, b), a[1]},
			{slices.Concat(trunk, b, a), b[1]},
			{[][]byte{trunk[0], trunk[1], trunk[2], a[0], b[0], b[1], a[1]}, b[1]},
			// All complete at once: the first block of b came first.
			{[][]byte{a[1], b[1], b[0], a[0], trunk[2], trunk[1], trunk[0]}, b[1]},
		} {
			r := memRig(t, p)
			load(r, order.blocks...)
			r.wantTip(t, order.tip)
			r.reopen(t)
			load(r, slices.Concat(b, a)...)
			r.wantTip(t, order.tip)
			load(r, b3)
			r.wantTip(t, b3)
			load(r, a3)
			r.wantTip(t, b3)
		}
	})
}

func TestBodyThatFailsCheck(t *testing.T) {
	var m maker
	p := chain.Regtest()
	blocks, _ := m.branch(genesisAt(p), 30)
	both(t, func(t *testing.T, load func(*rig, ...[]byte) *ImportReport) {
		r := memRig(t, p)
		// The bad body comes first, the good one later in the same input.
		rep := load(r, slices.Concat(blocks[:10], [][]byte{damagedBody(blocks[10])}, blocks[10:20])...)
		wantReasons(t, rep, "bad-txnmrklroot")
		if x := rep.Rejected[0]; x.Hash != hashOf(blocks[10]).String() || x.Height != 11 {
			t.Fatalf("rejected %+v", x)
		}
		r.wantTip(t, blocks[19])
		// The good one comes with a later import; what stands on it waits.
		rep = load(r, slices.Concat(blocks[25:], [][]byte{damagedBody(blocks[20])}, blocks[21:25])...)
		wantReasons(t, rep, "bad-txnmrklroot")
		r.wantTip(t, blocks[19])
		if rep.Parked != 9 {
			t.Fatalf("report %+v", rep)
		}
		r.reopen(t)
		rep = load(r, blocks[20])
		r.wantTip(t, blocks[29])
		if rep.Blocks != 10 {
			t.Fatalf("report %+v", rep)
		}
	})
}

// CVE-2012-2459: the last two transactions once more give the same merkle root.
func TestMutatedBlock(t *testing.T) {
	c := core(t)
	// A block of three: the third is paired with itself.
	i := slices.IndexFunc(c.best, func(b []byte) bool { return len(legacy(t, b)) == 2 })
	if i < 0 {
		t.Fatal("the chain has no block of three transactions")
	}
	var b chain.Block
	if err := b.Decode(c.best[i]); err != nil {
		t.Fatal(err)
	}
	mutated := append(bytes.Clone(c.best[i][:80]), 4)
	for _, tx := range []int{0, 1, 2, 2} {
		mutated = b.AppendTx(mutated, tx, true)
	}
	both(t, func(t *testing.T, load func(*rig, ...[]byte) *ImportReport) {
		r := memRig(t, chain.Regtest())
		rep := load(r, append(slices.Clone(c.best[:i]), mutated)...)
		wantReasons(t, rep, "bad-txns-duplicate")
		r.wantTip(t, c.best[i-1])
		r.reopen(t)
		rep = load(r, append([][]byte{mutated}, c.blocks...)...)
		wantReasons(t, rep, "bad-txns-duplicate")
		r.wantCore(t, c)
	})
}

func TestFutureHeaderIsTemporary(t *testing.T) {
	var m maker
	p := chain.Regtest()
	blocks, on := m.branch(genesisAt(p), 3)
	future, on := m.blockTime(on, on.time+100_000)
	after, next := m.blockTime(on, on.time)
	last, _ := m.blockTime(next, on.time)
	clock := func(add int64) func() time.Time {
		return func() time.Time { return time.Unix(int64(on.time)+add, 0) }
	}
	both(t, func(t *testing.T, _ func(*rig, ...[]byte) *ImportReport) {
		r := memRig(t, p)
		o := fileOptions(t, file(p, slices.Concat(blocks, [][]byte{future, after, last})...))
		o.Now = clock(-7201)
		rep := r.run(t, o)
		wantReasons(t, rep, "time-too-new")
		r.wantTip(t, blocks[2])
		r.reopen(t)
		o = fileOptions(t, file(p, future))
		o.Now = clock(-7200)
		wantReasons(t, r.run(t, o))
		r.wantTip(t, last)
	})
}

func TestHeaderRejections(t *testing.T) {
	var m maker
	p := chain.Regtest()
	blocks, on := m.branch(genesisAt(p), 12)
	remine := func(change func(h *chain.Header)) []byte {
		b, _ := m.block(on)
		h, err := chain.ParseHeader(b)
		if err != nil {
			t.Fatal(err)
		}
		change(&h)
		mine(&h)
		return append(h.Append(nil), b[80:]...)
	}
	old := remine(func(h *chain.Header) { h.Time = on.time - 5*600 }) // the median of the last eleven
	version := remine(func(h *chain.Header) { h.Version = 3 })
	bits := remine(func(h *chain.Header) { h.Bits = 0x207ffffe })
	noWork := bytes.Clone(blocks[11])
	for h := hashOf(noWork); chain.HashMeetsTarget(&h, p.PowLimit); h = hashOf(noWork) {
		binary.LittleEndian.PutUint32(noWork[76:], binary.LittleEndian.Uint32(noWork[76:])+1)
	}
	child, _ := m.block(at{hashOf(version), 13, on.time + 600})
	both(t, func(t *testing.T, load func(*rig, ...[]byte) *ImportReport) {
		r := memRig(t, p)
		rep := load(r, append(blocks, old, version, bits, noWork, child)...)
		wantReasons(t, rep, "time-too-old", "bad-version(0x00000003)", "bad-diffbits", "high-hash")
		if rep.Descendants != 1 || rep.Parked != 0 || rep.Rejected[0].Height != 13 {
			t.Fatalf("report %+v", rep)
		}
		// The same where the child came first, and had to wait.
		rep = load(r, child, version)
		wantReasons(t, rep, "bad-version(0x00000003)")
		if rep.Descendants != 1 || rep.Parked != 0 {
			t.Fatalf("report %+v", rep)
		}
		r.wantTip(t, blocks[11])
		if r.t.Headers() != 13 {
			t.Fatalf("%d headers are kept, want those of 12 blocks and genesis", r.t.Headers())
		}
	})
}

// A record that is no block is named by its header, and hides nothing that its length covers.
func TestBadEncoding(t *testing.T) {
	var m maker
	p := chain.Regtest()
	blocks, _ := m.branch(genesisAt(p), 8)
	swallow := file(p, blocks...)
	off := len(file(p, blocks[:2]...)) + 4
	binary.LittleEndian.PutUint32(swallow[off:], uint32(len(file(p, blocks[2:5]...))+20))
	t.Run("length covers others", func(t *testing.T) {
		for name, o := range map[string]ImportOptions{"file": fileOptions(t, swallow), "stream": streamOptions(swallow)} {
			r := memRig(t, p)
			rep := r.run(t, o)
			wantReasons(t, rep, "bad-block-encoding")
			if x := rep.Rejected[0]; x.Hash != hashOf(blocks[2]).String() || x.Height != 3 {
				t.Fatalf("%s: rejected %+v", name, x)
			}
			r.wantTip(t, blocks[1])
			if rep.Parked != 5 {
				t.Fatalf("%s: report %+v", name, rep)
			}
			r.load(t, blocks[2])
			r.wantTip(t, blocks[7])
		}
	})
	t.Run("known block, another length", func(t *testing.T) {
		r := memRig(t, p)
		r.load(t, blocks[:4]...)
		rep := r.run(t, fileOptions(t, swallow))
		wantReasons(t, rep, "bad-block-encoding")
		r.wantTip(t, blocks[7])
	})
	t.Run("impossible length", func(t *testing.T) {
		whole := append(file(p, blocks[:2]...), p.Magic[:]...)
		whole = append(append(whole, 0xff, 0xff, 0xff, 0xff), file(p, blocks[2:]...)...)
		for _, o := range []ImportOptions{fileOptions(t, whole), streamOptions(whole)} {
			r := memRig(t, p)
			rep := r.run(t, o)
			wantReasons(t, rep, "bad-block-encoding")
			if rep.Rejected[0].Hash != "" || rep.Rejected[0].Height != -1 {
				t.Fatalf("rejected %+v", rep.Rejected[0])
			}
			r.wantTip(t, blocks[7])
		}
	})
}

// Any number of rejections: the list ends, the count goes on.
func TestRejectionsAreBounded(t *testing.T) {
	p := chain.Regtest()
	one := append(bytes.Clone(p.Magic[:]), 0, 0, 0, 0)
	var m maker
	b, _ := m.block(genesisAt(p))
	r := memRig(t, p)
	rep := r.run(t, fileOptions(t, append(bytes.Repeat(one, maxRejected+7), file(p, b)...)))
	if len(rep.Rejected) != maxRejected || rep.RejectedMore != 7 {
		t.Fatalf("%d listed, %d more", len(rep.Rejected), rep.RejectedMore)
	}
	r.wantTip(t, b)
}

// Pending blocks are read back as if a stranger had sent them.
func TestDamagedPendingBlock(t *testing.T) {
	var m maker
	p := chain.Regtest()
	blocks, _ := m.branch(genesisAt(p), 5)
	r := memRig(t, p)
	if rep := r.load(t, blocks[1:]...); rep.Parked != 4 {
		t.Fatalf("report %+v", rep)
	}
	hash := hashOf(blocks[2])
	r.t.DropPending(&hash)
	if kept, err := r.t.PutPending(damagedBody(blocks[2])); err != nil || !kept {
		t.Fatal(kept, err)
	}
	rep := r.load(t, blocks[0])
	wantReasons(t, rep)
	if rep.Lost != 1 {
		t.Fatalf("report %+v", rep)
	}
	r.wantTip(t, blocks[1])
	if _, ok := r.t.Pending(&hash); ok {
		t.Fatal("the damaged block is kept")
	}
	r.load(t, blocks[2])
	r.wantTip(t, blocks[4])
	r.t.EachPending(func(chain.Hash, chain.Hash, int) bool {
		t.Fatal("an archived block is pending still")
		return false
	})
}
