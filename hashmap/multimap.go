package hashmap

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"stele/store"
)

// MaxMultiValue is the largest value of a multimap: values have 40 bits and are stored plus one.
const MaxMultiValue = uint64(1)<<40 - 2

// ErrUnsettled is returned by merges of a multimap between State and Retire. See Multimap.
var ErrUnsettled = errors.New("a state of the multimap was given out, and is in no durable manifest yet")

// MultimapSpec declares a multimap. All but Reserve, Buckets and MergePairs must be the same at every open: the lines
// on disk depend on it.
type MultimapSpec struct {
	Name    string   // of the table: its files are NAME.multi-GENERATION; at most 32 bytes
	Reserve int64    // bytes of address space to map a file, and so its largest size; 0: store.DefaultReserve
	Buckets uint64   // of the first generation; 0: 64, a page of the file
	Mixed   bool     // keys are not uniform, or can be chosen: they are mixed with Secret
	Secret  [16]byte // of the store
	// Once says that the log adds a value at most once, under one key (replays apart), as an index of rows by one key
	// does. Merges then need not look through a bucket's chain for an equal pair, and an insert costs the same however
	// long the chain is.
	Once       bool
	MergePairs int // pairs that a merge sorts, and a rebuild collects, at a time, about 24 bytes each; 0: 2^21
}

const defaultMergePairs = 1 << 21

// Multimap maps 64-bit keys to sets of 40-bit values behind a watermark. Lines keep 24 bits of a key beside its bucket,
// so an answer is a list of candidates: all values of the key, and a value of another key once in 2^24 entries read
// (a line holds 7; in memory keys are compared whole). The caller proves each.
//
// The file holds what the log said up to the watermark; what it said since lies in one or two deltas:
//
//	Add -> active delta --Seal--> sealed delta --MergeSealed--> lines, State, next manifest
//
// One goroutine, the writer, calls Add and Seal. MergeSealed and Rebuild may run in another one meanwhile. View may be
// called, and views may be read, by any number of goroutines. After a crash the log is replayed from State().Watermark
// by the same calls.
//
// How far a crash can take the file back decides what merges may overwrite (see multimap_line.go). So the owner tells:
// State is called for the next manifest, Retire once that manifest is durable. In between no merge is begun
// (ErrUnsettled); merge after merge without either is fine, and so is a checkpoint beside a merge.
type Multimap struct {
	files cellsFiles
	spec  MultimapSpec
	view  atomic.Pointer[MultiView] // what View hands out; replaced whole

	merging sync.Mutex   // one merge or rebuild at a time; taken before mu
	half    bool         // a merge failed on its way: pairs of the sealed delta may be in the lines; guarded by merging
	old     []*multiFile // served once; mapped until Close for views that still hold them; guarded by merging

	mu      sync.Mutex // guards what follows and replacements of view; held for moments only, never over I/O
	state   State      // of the file as views read it; Entries counts overflow lines
	given   State      // what State returned last
	durable State      // what a durable manifest says
	busy    bool       // a merge is changing the lines, or failed on its way
	// building is the newest generation that this process made, from before its file is.
	building uint32
	stamp    cellsStamp // as in the file; raised by the merge
	mendTo   uint64     // mark of the merge that a crash tore before the file was opened; at or below the watermark: none
	sealed   bool       // a sealed delta is in view; it is what the log says up to
	mark     uint64     // this mark
}

// OpenMultimap opens the multimap at the state that the manifest names; with the zero State it has no file yet and is
// empty. The caller then adds again what its log says from State().Watermark on. A file that does not fit the state is
// *store.Damaged, one of another store *store.Foreign, and one whose lines were overwritten by merges that only a later
// state could be safe from is *Ahead.
func OpenMultimap(d store.Disk, id [16]byte, spec MultimapSpec, st State) (*Multimap, error) {
	if spec.Buckets == 0 {
		spec.Buckets = store.PageSize / lineSize
	}
	if spec.MergePairs <= 0 {
		spec.MergePairs = defaultMergePairs
	}
	m := &Multimap{
		files: cellsFiles{disk: d, id: id, name: spec.Name, suffix: multiSuffix, magic: multiMagic, reserve: spec.Reserve},
		spec:  spec, state: st, given: st, durable: st,
	}
	if err := m.files.check(); err != nil {
		return nil, err
	}
	if spec.Buckets > multiMaxLines {
		return nil, fmt.Errorf("%s: %d buckets, want at most %d", spec.Name, spec.Buckets, multiMaxLines)
	}
	v := &MultiView{m: m, active: newMultiDelta(0), lines: st.Entries}
	switch {
	case st.Generation == 0 && (st.Buckets != 0 || st.Entries != 0), st.Generation != 0 && st.Buckets == 0,
		st.Buckets > multiMaxLines, st.Entries > multiMaxLines:
		return nil, m.files.damaged(st.Generation, "has a state that no multimap can have: %+v", st)
	case st.Generation != 0:
		if err := m.openLines(v); err != nil {
			return nil, err
		}
	}
	m.view.Store(v)
	return m, nil
}

// openLines opens the file of the adopted state. Where its stamp is above the watermark a merge was torn, and pairs
// that the replay will add again may be in the lines already.
func (m *Multimap) openLines(v *MultiView) (err error) {
	st := m.state
	file, stamp, err := m.files.open(st.Generation, st.Buckets, multiEnd(st.Buckets, st.Entries))
	if err != nil {
		return err
	}
	if stamp.base > st.Entries {
		file.Close()
		return &Ahead{Name: m.files.file(st.Generation), Stamp: stamp.to, Existing: st.Watermark}
	}
	m.stamp, m.mendTo = stamp, stamp.to
	v.file = newMultiFile(file, st.Generation, st.Buckets, st.Entries)
	v.mending = stamp.to > st.Watermark
	return nil
}

// Add puts a value into a key's set. Only the writer calls it. It allocates only when the delta grows. A value beyond
// MaxMultiValue is a mistake of the caller and panics: values are links, which are checked where they are made.
func (m *Multimap) Add(key, value uint64) {
	if value > MaxMultiValue {
		panic(fmt.Sprintf("hashmap: value %d of %s is beyond 40 bits", value, m.spec.Name))
	}
	v := m.view.Load()
	key = m.mix(key)
	if !m.spec.Once && (v.active.has(key, value) || v.sealed != nil && v.sealed.has(key, value)) {
		return
	}
	v.active.add(key, value)
}

// mix returns the word that the rest of the multimap knows a key by. It is a bijection.
func (m *Multimap) mix(key uint64) uint64 {
	if !m.spec.Mixed {
		return key
	}
	return multiMix(key, &m.spec.Secret)
}

// View returns the multimap as it is now.
func (m *Multimap) View() MultiView { return *m.view.Load() }

// Len returns how many pairs wait in memory for a merge.
func (m *Multimap) Len() int {
	v := m.View()
	n := v.active.count.Load()
	if v.sealed != nil {
		n += v.sealed.count.Load()
	}
	return int(n)
}

// State returns what the next manifest must say of the multimap: the state of the last merge that was synced, or what
// the last manifest said, where a merge is under way that only that one is safe from. Once the manifest is durable,
// call Retire.
func (m *Multimap) State() State {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.given = m.state
	if m.busy && m.state.Entries != m.settled() {
		m.given = m.durable
	}
	return m.given
}

// settled returns how many overflow lines of the file every state counts that a crash could bring back. The caller
// holds mu.
func (m *Multimap) settled() uint64 {
	if m.durable.Generation != m.state.Generation {
		return 0
	}
	return m.durable.Entries
}

// MergingTo returns the mark that merges have put pairs into the file up to, perhaps in part: the watermark after a
// clean one, more after a crash in a merge. Beyond the log that the adopted manifest covers, it means that pairs of a
// future which was lost may be in the file: open with the zero State and replay the whole log, or Rebuild.
func (m *Multimap) MergingTo() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stamp.to
}

// Seal freezes what was added so far, and begins a new delta: it is what the log says up to mark (a length of the log).
// Only the writer calls it. A delta that is sealed already must be merged first.
func (m *Multimap) Seal(mark uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.sealed:
		return fmt.Errorf("%s: a sealed delta is still to be merged", m.spec.Name)
	case mark < m.state.Watermark:
		return fmt.Errorf("%s: merge to %d, below watermark %d", m.spec.Name, mark, m.state.Watermark)
	}
	v := *m.view.Load()
	v.sealed = v.active
	v.active = newMultiDelta(v.sealed.count.Load())
	m.mark, m.sealed = mark, true
	m.view.Store(&v)
	return nil
}

// Merge brings the file level with all that was added: Seal and MergeSealed, after what an earlier merge left. The log
// up to mark must be durable, and covered by a durable manifest. On an error, *store.DiskFull among them, the pairs
// stay in memory, the watermark stays where it was, and Merge may be called again.
func (m *Multimap) Merge(mark uint64) error {
	if err := m.MergeSealed(); err != nil {
		return err
	}
	if err := m.Seal(mark); err != nil {
		return err
	}
	return m.MergeSealed()
}

// Retire tells that a manifest with what State returned is durable, and removes files that no manifest names any more.
// Views that hold an old generation go on reading it: its mapping lives until Close.
func (m *Multimap) Retire() error {
	m.mu.Lock()
	m.durable = m.given
	m.mu.Unlock()
	return m.files.retire(func() []uint32 {
		m.mu.Lock()
		defer m.mu.Unlock()
		return []uint32{m.state.Generation, m.given.Generation, m.building}
	})
}

// begin tells the merge what to do, nothing where no delta is sealed. From here on State gives out no state that the
// merge could hurt.
func (m *Multimap) begin() (v MultiView, next State, settled uint64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, next, settled = *m.view.Load(), m.state, m.settled()
	if !m.sealed {
		v.sealed = nil
		return v, next, settled, nil
	}
	next.Watermark = m.mark
	if v.sealed.count.Load() == 0 {
		return v, next, settled, nil
	}
	if m.given.Generation == m.state.Generation && m.given.Entries != settled {
		return v, next, settled, ErrUnsettled
	}
	m.busy = true
	return v, next, settled, nil
}

// Close closes all files, also of generations that were retired. No view may be used any more; what was not merged is
// given up.
func (m *Multimap) Close() error {
	m.merging.Lock()
	defer m.merging.Unlock()
	var first error
	files := m.old
	if v := m.View(); v.file != nil {
		files = append(files, v.file)
	}
	for _, f := range files {
		if err := f.file.Close(); first == nil {
			first = err
		}
	}
	m.old = nil
	return first
}
