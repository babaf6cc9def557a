package node

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	bench "stele/bench/chain"
	"stele/chain"
	"stele/node/p2p"
	"stele/store"
	"stele/tables"
)

// benchRig is a new store in a folder. A store reserves terabytes of addresses: whoever makes many closes them.
func benchRig(b *testing.B, p *chain.Params) (t *tables.Tables, closing func()) {
	d, err := store.OpenDir(b.TempDir(), store.DirOptions{Create: true, Verb: "bench"})
	if err == nil {
		t, err = tables.Create(d, p, tables.Options{})
	}
	if err != nil {
		b.Fatal(err)
	}
	return t, func() {
		if err := errors.Join(t.Close(), d.Close()); err != nil {
			b.Error(err)
		}
	}
}

// BenchmarkSyncMainnet is a sync of the embedded blocks from one peer on loopback, beside an import of the same blocks from
// a file, in turns: x is the time of the one over that of the other.
func BenchmarkSyncMainnet(b *testing.B) {
	p := chain.Main()
	path := filepath.Join(b.TempDir(), "main.blk")
	if err := os.WriteFile(path, mainBlocks(b), 0o600); err != nil {
		b.Fatal(err)
	}
	source, closing := benchRig(b, p)
	defer closing()
	if _, err := Import(b.Context(), source, ImportOptions{Paths: []string{path}, StopHeight: -1}); err != nil {
		b.Fatal(err)
	}
	from := joined(b, source, p2p.Config{Listen: []string{"127.0.0.1:0"}, MaxInbound: 8}, nil)
	synced, imported := math.Inf(1), math.Inf(1)
	for b.Loop() {
		one, closeOne := benchRig(b, p)
		began := time.Now()
		if _, err := Import(b.Context(), one, ImportOptions{Paths: []string{path}, StopHeight: -1}); err != nil {
			b.Fatal(err)
		}
		imported = min(imported, time.Since(began).Seconds())
		closeOne()
		two, closeTwo := benchRig(b, p)
		began = time.Now()
		us := joined(b, two, p2p.Config{Connect: []string{from.m.Addrs()[0].String()}}, nil)
		us.reach(b, from.n.Status().Confirmed.Height)
		us.close(b)
		synced = min(synced, time.Since(began).Seconds())
		closeTwo()
	}
	b.ReportMetric(imported*1e3, "import-ms")
	b.ReportMetric(synced*1e3, "sync-ms")
	b.ReportMetric(synced/imported, "x")
	from.close(b)
}

// joinedNode is a node with connections.
type joinedNode struct {
	n     *Node
	m     *p2p.Manager
	stop  context.CancelFunc
	ended chan error
}

func joined(b testing.TB, t *tables.Tables, c p2p.Config, change func(o *Options)) *joinedNode {
	o := Options{MinimumChainWork: chain.Work{1}}
	if change != nil {
		change(&o)
	}
	x := &joinedNode{n: New(t, o), ended: make(chan error, 1)}
	c.Chain, c.MinimumWork, c.NoSeeds = x.n, chain.Work{1}, true
	ctx, stop := context.WithCancel(context.Background())
	x.stop = stop
	go func() {
		_, err := x.n.Run(ctx)
		x.ended <- err
	}()
	var err error
	if x.m, err = p2p.New(c); err == nil {
		err = x.m.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	return x
}

// reach waits until the confirmed chain has a height.
func (x *joinedNode) reach(b testing.TB, height uint32) {
	for deadline := time.Now().Add(time.Minute); x.n.Status().Confirmed.Height < height; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatalf("stuck: %+v, %+v", x.n.Status(), x.m.Downloads())
		}
	}
}

func (x *joinedNode) close(b testing.TB) {
	if err := x.m.Close(); err != nil {
		b.Error(err)
	}
	x.stop()
	if err := <-x.ended; err != nil {
		b.Error(err)
	}
}

// BenchmarkServe is how fast blocks are rebuilt from their rows for a peer, on one goroutine: large blocks of today's mix.
func BenchmarkServe(b *testing.B) {
	p := chain.Regtest()
	path := filepath.Join(b.TempDir(), "chain.blk")
	if _, err := bench.Write(path, bench.Options{Seed: 1, Blocks: 260, Txs: 2000, Mix: bench.Mainnet}); err != nil {
		b.Fatal(err)
	}
	t, closing := benchRig(b, p)
	defer closing()
	o := ImportOptions{Paths: []string{path}, StopHeight: -1, Verifier: bench.Trusting{}}
	if _, err := Import(b.Context(), t, o); err != nil {
		b.Fatal(err)
	}
	n := New(t, Options{})
	v := t.View()
	_, tip := v.Tip()
	var buf []byte
	total := int64(0)
	for at := uint32(0); b.Loop(); at++ {
		l, _ := v.HeaderAt(tip - at%64)
		hash := v.Header(l).Hash()
		var ok bool
		var err error
		if buf, ok, err = n.AppendBlock(buf[:0], &hash, true); err != nil || !ok {
			b.Fatal(ok, err)
		}
		total += int64(len(buf))
	}
	b.SetBytes(total / int64(b.N))
}
