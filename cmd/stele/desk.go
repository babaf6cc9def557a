package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"stele/node"
	"stele/node/owner"
	"stele/store"
	"stele/tables"
	"stele/utxo"
)

// answered names the verbs that an owner does for others. What they do with the store is by the readers' view, in the
// request's goroutine, but for those that hand something to the writer themselves or stand in writersVerbs.
var answered = map[string]bool{
	"tx": true, "spender": true, "block": true, "header": true, "utxo get": true, "utxo stats": true,
	"utxo dump": true, "utxo load": true,
	"info": true, "check": true, "checkpoint": true, "backup": true, "invalidate": true, "reconsider": true,
}

// writersVerbs names the lookups that ask the tables what only their writer may: they are done between two blocks.
var writersVerbs = map[string]bool{"info": true}

// desk is where the requests of other processes meet the store that this process has open for writing. Each request is
// a run of the program of its own, whose lookups find the desk's store instead of opening one. A nil desk has no store
// and no requests.
type desk struct {
	conf   *config
	server *owner.Server
	ready  chan struct{} // closed when the store is open
	store  *tables.Tables
	errand chan errand   // to the writer; nobody waits in it but the requests
	copies chan struct{} // one place: there is one backup at a time

	node atomic.Pointer[node.Node] // of a run; nil: an import
	set  atomic.Pointer[utxo.Set]  // that coins come from; its writer alone, in errands, may look at it
}

// errand is what a request has for the writer.
type errand struct {
	ctx  context.Context
	do   func(t *tables.Tables, checkpoint func() error) error
	done chan error // has room for the result
}

// newDesk makes the desk of a claim; it answers nobody yet.
func (a *app) newDesk() *desk {
	conf := *a.conf
	return &desk{
		conf: &conf, ready: make(chan struct{}), errand: make(chan errand), copies: make(chan struct{}, 1),
	}
}

// openDesk begins to take requests for a folder that was locked, and tells where in the lock file. Without a socket the
// work goes on, and others are told that the folder is in use. What a killed owner left goes in any case.
func (a *app) openDesk(d *desk, dir *store.Dir) {
	previous := dir.Previous().Socket
	if d == nil {
		owner.RemoveStale(previous)
		return
	}
	s, err := owner.Listen(dir.Path(), previous, owner.Options{Version: programVersion(), Answer: d.answer})
	if err != nil {
		a.log.Warn().Err(err).Msg("lookups of other processes will not be answered")
		return
	}
	d.server = s
	dir.Announce(s.Path())
}

// serve lets the requests at a store. Its writer must call between from now on.
func (d *desk) serve(t *tables.Tables) {
	if d != nil {
		d.store = t
		close(d.ready)
	}
}

// run has requests that are for a node find it.
func (d *desk) run(n *node.Node) { d.node.Store(n) }

// close ends all requests and waits for them: their views die with the store.
func (d *desk) close() {
	if d != nil && d.server != nil {
		d.server.Close()
	}
}

// between does the errands that wait. The writer calls it between two blocks.
func (d *desk) between(t *tables.Tables, checkpoint func() error) {
	for {
		select {
		case e := <-d.errand:
			if e.ctx.Err() != nil {
				e.done <- e.ctx.Err()
				continue
			}
			e.done <- guarded(func() error { return e.do(t, checkpoint) })
		default:
			return
		}
	}
}

// onWriter has the writer do something, and waits for it. A checkpoint that a reorganisation forbids is tried again.
func (d *desk) onWriter(ctx context.Context, do func(t *tables.Tables, checkpoint func() error) error) error {
	for {
		e := errand{ctx: ctx, do: do, done: make(chan error, 1)}
		select {
		case d.errand <- e:
		case <-ctx.Done():
			return ctx.Err()
		}
		err := <-e.done // the writer has it: it is done before the desk closes
		if !errors.Is(err, node.ErrReorganising) {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lookup answers from the desk's store.
func (d *desk) lookup(ctx context.Context, verb string, f func(t *tables.Tables) error) error {
	if writersVerbs[verb] {
		return d.onWriter(ctx, func(t *tables.Tables, _ func() error) error { return f(t) })
	}
	return f(d.store)
}

// answer does one request: a run of the program whose streams are the other process's.
func (d *desk) answer(ctx context.Context, q *owner.Request, w *owner.Reply) (code int) {
	select {
	case <-d.ready:
	case <-ctx.Done():
		return codeFailed
	}
	conf := *d.conf
	a := &app{
		stdin: strings.NewReader(""), stdout: w.Stdout(), stderr: w.Stderr(), log: zerolog.Nop(), exit: func(int) {},
		ctx: ctx, conf: &conf, desk: d,
	}
	a.sink = &sink{w: a.stderr}
	defer func() {
		if r := recover(); r != nil {
			code = a.end(bug(r))
		}
	}()
	root := a.root()
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	args := q.Args
	if q.JSON {
		args = append([]string{"--json"}, args...)
	}
	cmd, _, err := root.Find(args)
	if err != nil || !answered[verbOf(cmd)] {
		return a.end(misused("", "no verb for a store in use", strings.Join(q.Args, " ")))
	}
	a.relay = func(unit string, r reading) {
		note, err := json.Marshal(progressNote{Stage: r.stage, Unit: unit, Done: r.done, Total: r.total})
		if err == nil {
			_ = w.Progress(note)
		}
	}
	root.SetArgs(args)
	return a.end(root.Execute())
}
