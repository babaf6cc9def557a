package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"stele/node"
	"stele/node/p2p"
	"stele/node/p2p/addrbook"
	"stele/tables"
)

// runDocument is what run answers with --json when it was stopped.
type runDocument struct {
	Network  string          `json:"network"`
	Tip      node.Tip        `json:"tip"`
	Headers  place           `json:"headers"`
	Blocks   uint64          `json:"blocks"` // newly archived
	Txs      uint64          `json:"txs"`
	Inputs   uint64          `json:"inputs"`
	Rejected []node.Rejected `json:"rejected"`
	Popped   uint64          `json:"popped"`
	BytesIn  int64           `json:"bytes_in"`
	BytesOut int64           `json:"bytes_out"`
	Seconds  float64         `json:"seconds"`
	Stages   []node.Stage    `json:"stages"`
}

// runVerb is the node.
func (a *app) runVerb() *cobra.Command {
	c := &cobra.Command{
		Use:   "run",
		Short: "sync with the network, follow it, and serve blocks to others",
		Args:  exactly("run"),
		RunE:  a.verb(func(*cobra.Command, []string) error { return a.runNode() }),
	}
	addFlags(c.Flags(), "import", "p2p")
	return c
}

// runNode runs until a signal, or until the node cannot go on.
func (a *app) runNode() error {
	desk := a.newDesk()
	return a.claim(claim{verb: "run", create: true, desk: desk}, func(t *tables.Tables) error {
		ctx, stop := a.interruptible()
		defer stop()
		n := node.New(t, a.nodeOptions(desk))
		desk.run(n)
		book, err := a.openBook()
		if err != nil {
			return err
		}
		m, err := p2p.New(a.peerConfig(n, book))
		if err != nil {
			return errors.Join(err, book.Close())
		}
		r, err := a.drive(ctx, n, m)
		totals := m.Totals()
		if err = errors.Join(err, book.Close()); err != nil {
			return err
		}
		doc := runDocument{
			Network: r.Network, Tip: r.Tip, Headers: headersOf(n), Blocks: r.Blocks, Txs: r.Txs, Inputs: r.Inputs,
			Rejected: r.Rejected, Popped: r.Popped, BytesIn: totals.BytesIn, BytesOut: totals.BytesOut, Seconds: r.Seconds,
			Stages: r.Stages,
		}
		return a.answer(doc, func(w io.Writer) {
			t := table{gap: 2}
			t.row("stopped", fmt.Sprintf("after %s: %s blocks, %s transactions, %s inputs",
				time.Duration(r.Seconds*float64(time.Second)).Round(time.Second), count(r.Blocks), count(r.Txs), count(r.Inputs)))
			t.row("tip", fmt.Sprintf("height %s, block %v", count(r.Tip.Height), r.Tip.Hash))
			t.row("seconds", stagesText(r.Stages))
			t.write(w)
		})
	})
}

// drive runs the node and the connections. The connections end first: they ask the node to the last.
func (a *app) drive(ctx context.Context, n *node.Node, m *p2p.Manager) (*node.ImportReport, error) {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	ended := runBeside(inner, n)
	if err := m.Start(); err != nil {
		cancel()
		<-ended
		return nil, err
	}
	for _, at := range m.Addrs() {
		a.log.Info().Stringer("at", at).Msg("listening")
	}
	show := a.newSyncMeter(n, m)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			show.meter.close()
			closing := m.Close()
			cancel()
			o := <-ended
			return o.r, errors.Join(o.err, closing)
		case o := <-ended: // the store failed, or a block at or below the assumed one is invalid
			show.meter.close()
			if o.err == nil {
				o.err = node.ErrStopped
			}
			return o.r, errors.Join(o.err, m.Close())
		case <-tick.C:
			show.update()
		}
	}
}

// outcome is what came of a node that has ended.
type outcome struct {
	r   *node.ImportReport
	err error
}

// runBeside runs a node on a goroutine of its own, which sends once when the node has ended.
func runBeside(ctx context.Context, n *node.Node) <-chan outcome {
	ended := make(chan outcome, 1)
	go func() {
		var o outcome
		o.err = guarded(func() (err error) {
			o.r, err = n.Run(ctx)
			return err
		})
		ended <- o
	}()
	return ended
}

func (a *app) nodeOptions(desk *desk) node.Options {
	return node.Options{
		ImportOptions: node.ImportOptions{
			Threads: a.conf.threads, Memory: int64(a.conf.memory), AssumeValid: a.conf.assumeValid,
			Verifier: a.conf.verifier, TablesAlone: !a.conf.utxo, Between: desk.between, LimitHeap: true,
			Using:  desk.set.Store,
			Remark: func(text string) { a.log.Warn().Msg(text) },
		},
		MinimumChainWork: a.conf.minimumWork,
		Full: func(err error) {
			a.log.Error().Err(err).Msg("no room: blocks wait until there is some; lookups are answered meanwhile")
		},
		Refused: func(x node.Rejected) {
			a.log.Warn().Str("block", x.Hash).Int64("height", x.Height).Str("reason", x.Reason).Msg("refused")
		},
	}
}

// openBook opens the address book of the network's data folder.
func (a *app) openBook() (*addrbook.Book, error) {
	book, err := addrbook.Open(filepath.Join(filepath.Dir(a.archive()), "addresses"), addrbook.Options{
		Magic: binary.LittleEndian.Uint32(a.conf.params.Magic[:]),
	})
	var bad *addrbook.FileError
	if errors.As(err, &bad) && book != nil {
		a.log.Warn().Err(err).Msg("beginning with an empty address book")
		return book, nil
	}
	return book, err
}

func (a *app) peerConfig(n *node.Node, book *addrbook.Book) p2p.Config {
	c := a.conf
	return p2p.Config{
		Chain: n, Book: book, Folder: filepath.Dir(a.archive()), Listen: c.listen, Connect: c.connect, AddNode: c.addNode,
		Proxy: c.proxy, NoSeeds: !c.seeds, MaxInbound: c.maxInbound, NoEncryption: !c.encrypt,
		UserAgent: "/Stele:" + programVersion() + "/", MinimumWork: c.minimumWork,
		Log: func(line string) { a.log.Info().Msg(line) },
	}
}

func headersOf(n *node.Node) place {
	p := n.Status().Headers
	return place{p.Height, p.Hash}
}

// syncMeter shows how far a node has come.
type syncMeter struct {
	a     *app
	n     *node.Node
	m     *p2p.Manager
	meter *meter    // of the initial sync
	told  p2p.Point // tip of the last line after it
}

func (a *app) newSyncMeter(n *node.Node, m *p2p.Manager) *syncMeter {
	return &syncMeter{a: a, n: n, m: m, meter: a.meter("sync", "tx")}
}

// update shows a reading: by transactions while the initial sync lasts, then a line for each new tip.
func (s *syncMeter) update() {
	st := s.n.Status()
	if st.Initial {
		done := s.n.Counts()
		s.meter.update(reading{
			stage:  fmt.Sprintf("sync h%d d%d v%d p%d", st.Headers.Height, st.Downloaded.Height, st.Validated.Height, s.peers()),
			height: st.Confirmed.Height, done: done.Txs, total: s.estimate(&st, done), txs: done.NewTxs, inputs: done.NewInputs,
		})
		return
	}
	if st.Confirmed != s.told {
		s.meter.close()
		s.told = st.Confirmed
		s.a.log.Info().Uint32("height", st.Confirmed.Height).Stringer("block", st.Confirmed.Hash).
			Uint32("headers", st.Headers.Height).Int("peers", s.peers()).Msg("tip")
	}
}

func (s *syncMeter) peers() int {
	t := s.m.Totals()
	return t.Inbound + t.Outbound
}

// estimate is how many transactions there will be at the best header. Where the network's count at some height is known
// that is what it goes by, and on as between the last two such heights; else by the blocks of lately.
func (s *syncMeter) estimate(st *p2p.Status, done node.Counts) uint64 {
	top, known := st.Headers.Height, s.a.conf.params.Snapshots
	if n := len(known); n > 1 && st.Confirmed.Height < known[n-1].Height {
		last, before := &known[n-1], &known[n-2]
		total := last.Transactions
		if top > last.Height {
			lately := (last.Transactions - before.Transactions) / uint64(last.Height-before.Height)
			total += uint64(top-last.Height) * lately
		}
		return max(total, done.Txs)
	}
	return done.Txs + uint64(top-min(top, st.Confirmed.Height))*max(done.Lately, 1)
}
