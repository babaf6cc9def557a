package hashmap

import (
	"fmt"
	"sync"
	"sync/atomic"

	"stele/store"
)

// Spec declares a map. All but MergeBytes must be the same at every open: the lines on disk depend on it.
type Spec struct {
	Name        string   // of the table: its files are NAME.lines-GENERATION; at most 32 bytes
	UniformBits int      // leading key bits that are uniform: 256 for a txid, 160 for a block hash; 84 to 256
	Window      uint8    // bit offset of the window, drawn when the store was made: see DrawWindow
	Mixed       bool     // keys are not uniform: window and tag come from Mix with Secret, and the two above are unused
	Secret      [16]byte // of the store
	MergeBytes  int64    // memory that a merge may take for rows to sort or lines to build; 0: 64 MiB
}

const defaultMergeBytes = 64 << 20

// Rows says where a map finds the keys: 32 bytes at KeyOff of each row of Width bytes. A link is a row's number.
type Rows struct {
	Body   *store.Body
	Width  int
	KeyOff int
}

// key returns the key of a row, in place.
func (r *Rows) key(link uint32) *[32]byte {
	return (*[32]byte)(r.Body.At(int64(link)*int64(r.Width)+int64(r.KeyOff), 32))
}

// windowRows is how many rows are asked for at once by what goes through them in order: 1.4 MB of the widest.
const windowRows = 1 << 15

// window asks for the rows of the window that row i begins, if it begins one.
func (r *Rows) window(i uint64) {
	if i%windowRows == 0 {
		r.Body.WillNeed(int64(i)*int64(r.Width), windowRows*int64(r.Width))
	}
}

// count returns the number of whole rows that were appended.
func (r *Rows) count() uint64 { return uint64(r.Body.Len()) / uint64(r.Width) }

// Map finds rows by their key. One goroutine, the writer, inserts, seals and merges; any number of goroutines look up
// in views. See the package comment.
type Map struct {
	disk  store.Disk
	id    [16]byte
	spec  Spec
	place place
	rows  Rows

	// Fields, so that tests can make crowded generations and short pieces.
	leastBuckets, spare uint64 // of a new generation
	piece               uint64 // lines that a merge writes at a time

	view atomic.Pointer[MapView] // what View hands out; replaced whole

	merging sync.Mutex // one merge at a time; taken before mu

	mu       sync.Mutex    // guards what follows and replacements of view; held for moments only, never over I/O
	state    State         // of the lines in view
	given    State         // as State returned it last: what the next manifest names
	sealedTo uint64        // rows below it are in lines or in the sealed delta
	building uint32        // generation that a merge is making, which Retire must leave alone; 0: none
	old      []*generation // served once; mapped until Close for views that still hold them
}

// MapView is a map as it was when the view was taken: an immutable value that any number of goroutines may use at the
// same time and keep for as long as the map is open. Later merges neither change its answers nor free what it reads.
//
// Rows inserted later may be in what it holds. Every lookup therefore names a limit, which is the number of rows in the
// cut that the caller looks from: links at or beyond it are ignored before their row is touched.
type MapView struct {
	m      *Map
	gen    *generation // rows below the watermark, and perhaps some beyond it that are in a delta, too; nil: none
	active *delta      // rows that were inserted since the last seal
	sealed *delta      // rows that are being merged; nil: none
}

// OpenMap opens the map of the given rows at the state that the manifest names; with the zero State it has no file yet.
// The caller then inserts all rows from State().Watermark on. A file that does not fit the state is *store.Damaged, one
// of another store *store.Foreign, and one that a merge took beyond the rows that exist is *Ahead.
func OpenMap(d store.Disk, id [16]byte, spec Spec, rows Rows, st State) (*Map, error) {
	p, err := newPlace(&spec)
	if err != nil {
		return nil, err
	}
	if len(spec.Name) == 0 || len(spec.Name) > nameSize {
		return nil, fmt.Errorf("map name %q: want 1 to %d bytes", spec.Name, nameSize)
	}
	if rows.KeyOff < 0 || rows.KeyOff+32 > rows.Width {
		return nil, fmt.Errorf("%s: a key at %d leaves the row of %d bytes", spec.Name, rows.KeyOff, rows.Width)
	}
	if spec.MergeBytes <= 0 {
		spec.MergeBytes = defaultMergeBytes
	}
	m := &Map{disk: d, id: id, spec: spec, place: p, rows: rows, state: st, given: st, sealedTo: st.Watermark}
	m.leastBuckets, m.spare, m.piece = firstLines-spareLines, spareLines, pieceLines
	var gen *generation
	if err := m.checkState(); err != nil {
		return nil, err
	}
	if st.Generation != 0 {
		if gen, err = openGeneration(m); err != nil {
			return nil, err
		}
	}
	m.view.Store(&MapView{m: m, gen: gen, active: newDelta(0)})
	return m, nil
}

// checkState refuses a state that cannot be one of these rows.
func (m *Map) checkState() error {
	st, rows := m.state, m.rows.count()
	switch {
	case st.Generation == 0 && st != State{}:
		return m.damaged("has a state without a generation that is not empty")
	case st.Watermark > rows || st.Watermark > MaxRows:
		return m.damaged("is said to cover %d rows of the %d that exist", st.Watermark, rows)
	case st.Entries != st.Watermark:
		return m.damaged("is said to hold %d entries for %d rows", st.Entries, st.Watermark)
	case st.Generation != 0 && (st.Buckets == 0 || st.Buckets > maxBuckets):
		return m.damaged("is said to have %d buckets", st.Buckets)
	}
	return nil
}

// damaged names the file of the state's generation.
func (m *Map) damaged(format string, args ...any) error {
	return &store.Damaged{Name: m.fileName(m.state.Generation), What: fmt.Sprintf(format, args...)}
}

// Insert makes an appended row findable: its key is read from the row. Only the writer calls it, for rows from the
// watermark on. A link beyond what 32 bits can name is *LinkOverflow and is not stored. It allocates only when the
// delta grows.
func (m *Map) Insert(link uint32) error {
	if uint64(link) >= MaxRows {
		return &LinkOverflow{Name: m.spec.Name, Row: uint64(link)}
	}
	v := m.view.Load()
	window, _ := m.place.of(m.rows.key(link))
	v.active.insert(window, link)
	return nil
}

// View returns the map as it is now.
func (m *Map) View() MapView { return *m.view.Load() }

// State returns what the next manifest must keep of the map: the state of the last merge that was synced.
func (m *Map) State() State {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.given = m.state
	return m.state
}

// now is State for the map itself, which does not write manifests.
func (m *Map) now() State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state
}

// Pending returns how many rows wait in memory for a merge, and the bytes that they take.
func (m *Map) Pending() (rows uint64, bytes int64) {
	v := m.View()
	rows, bytes = v.active.count.Load(), v.active.bytes()
	if v.sealed != nil {
		rows, bytes = rows+v.sealed.count.Load(), bytes+v.sealed.bytes()
	}
	return rows, bytes
}

// Close unmaps and closes all files, also of generations that were retired. No view may be used any more.
func (m *Map) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var first error
	if v := m.view.Load(); v.gen != nil {
		first = v.gen.file.Close()
	}
	for _, g := range m.old {
		if err := g.file.Close(); first == nil {
			first = err
		}
	}
	m.old = nil
	return first
}
