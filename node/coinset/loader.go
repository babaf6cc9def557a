package coinset

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"sync"

	"stele/store"
	"stele/tables"
	"stele/utxo"
)

// Options of a Loader.
type Options struct {
	Salt    uint64 // of the set (utxo.Options)
	Memory  int64  // bytes that the set may take; 0: any
	Threads int    // goroutines that load, and workers of the set; 0: as many as processors
	Heap    bool   // the set's memory comes from the heap
	Reserve int    // of the set (utxo.Options)

	// Roll brings a set from the state after block from to a view's tip (confirm.Roll). told may be called by the goroutine
	// that called Roll alone, while nothing changes the set. nil: an image whose block is not the tip is not used.
	Roll func(ctx context.Context, v *tables.View, s *utxo.Set, from tables.HeaderLink, told func(done, total uint32)) error

	// Progress is told how far a step has come: "image" in shards, "archive" in outputs, "roll" in blocks. It may be nil.
	// Calls come from several goroutines, one at a time.
	Progress func(step string, done, total uint64)
	// Damaged is told of an image that is not used, and why. It may be nil.
	Damaged func(image string, why error)
}

func (o Options) withDefaults() Options {
	if o.Threads <= 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	if o.Damaged == nil {
		o.Damaged = func(string, error) {}
	}
	return o
}

// Loader is a set that is coming into being.
type Loader struct {
	v      *tables.View
	d      store.Disk
	o      Options
	images []string // good ones, the newest first
	cancel context.CancelFunc
	ready  chan struct{}

	telling sync.Mutex // held while Progress is called

	mu    sync.Mutex // guards what follows, once ready is closed
	set   *utxo.Set
	err   error
	since uint64
	taken bool
}

// Start looks through the images on a disk, removes those that are not good for the view, and then begins to bring the
// set of the view's tip into being, on goroutines of its own. It must be called, and have returned, before anything is
// appended to the tables. The view, the disk and the tables below must stay open until Close has returned.
//
// Errors are those of the disk: *store.Fault.
func Start(v *tables.View, d store.Disk, o Options) (*Loader, error) {
	o = o.withDefaults()
	images, err := vet(v, d, o.Damaged)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &Loader{v: v, d: d, o: o, images: images, cancel: cancel, ready: make(chan struct{}), since: NoImage}
	go l.run(ctx)
	return l, nil
}

// Ready is closed when there is a set, or an error.
func (l *Loader) Ready() <-chan struct{} { return l.ready }

// Result waits until the loader is ready, and hands the set over, which is the caller's to close from then on. It is as
// after block at, the tip of the view of Start. Errors: *TooLarge where Options.Memory does not do, *utxo.FullError where
// the system gives no memory, *store.Fault and *store.Damaged of the archive, context.Canceled after Close.
func (l *Loader) Result() (set *utxo.Set, at tables.HeaderLink, err error) {
	<-l.ready
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken = true
	at, _ = l.v.Tip()
	return l.set, at, l.err
}

// Since returns how many inputs there are between the image that the set came from and the tip (see Due); NoImage where it
// came from the archive. It waits as Result does.
func (l *Loader) Since() uint64 {
	<-l.ready
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.since
}

// Close ends the loading, waits for its goroutines, and frees a set that nobody took.
func (l *Loader) Close() {
	l.cancel()
	<-l.ready
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.set != nil && !l.taken {
		l.set.Close()
		l.set, l.err = nil, context.Canceled
	}
}

func (l *Loader) run(ctx context.Context) {
	defer close(l.ready)
	set, since, err := l.bring(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set, l.since, l.err = set, since, err
}

// bring makes the set, from the newest image that proves good or else from the archive. since is as Since has it.
func (l *Loader) bring(ctx context.Context) (set *utxo.Set, since uint64, err error) {
	for _, name := range l.images {
		set, since, err := l.fromImage(ctx, name)
		if errors.Is(err, errNoRoll) {
			continue
		}
		if !spoiled(err, name) {
			return set, since, err
		}
		l.o.Damaged(name, err)
		// A crash may bring it back: then it is as damaged as it was.
		if err := l.d.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, store.ErrReadOnly) {
			return nil, NoImage, err
		}
	}
	set, err = l.fromArchive(ctx)
	return set, NoImage, err
}

// fill makes a set with what load puts into it.
func (l *Loader) fill(
	ctx context.Context, records uint64, load func(ctx context.Context, set *utxo.Set) error,
) (*utxo.Set, error) {
	set := utxo.New(utxo.Options{
		Salt: l.o.Salt, Records: records, Workers: l.o.Threads, Heap: l.o.Heap, Reserve: l.o.Reserve,
	})
	err := load(ctx, set)
	if err == nil {
		err = tooLarge(set, l.o.Memory)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		set.Close()
		return nil, err
	}
	return set, nil
}

func (l *Loader) tell(step string, done, total uint64) {
	if l.o.Progress != nil {
		l.telling.Lock()
		defer l.telling.Unlock()
		l.o.Progress(step, done, total)
	}
}
