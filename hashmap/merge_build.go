package hashmap

import (
	"unsafe"

	"stele/internal/fault"
	"stele/store"
)

// build makes a new generation out of the rows [0, to) of the body: for one range of buckets after another, as large as
// the memory allows, it reads all rows and enters those of the range in memory, then writes the range. So rows are read
// and lines are written sequentially, and rows are read once for each MergeBytes of lines. Nobody looks at the file
// before it is complete and synced, its name included.
func (m *Map) build(to uint64) (gen *generation, err error) {
	number, err := m.nextNumber()
	if err != nil {
		return nil, err
	}
	name := m.fileName(number)
	m.setBuilding(number)
	defer m.setBuilding(0)
	buckets := m.bucketsFor(to)
	// Rows that spill off the last bucket lie in one run, even if all have equal keys.
	reserve := headerSize + int64(buckets+to/(lineSlots/2)+2*m.spare)*lineSize
	f, err := m.disk.Open(name, store.FileOptions{Reserve: reserve, Random: true})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = m.disk.Remove(name)
		}
	}()
	b := builder{m: m, file: f, buckets: buckets, rows: to}
	if err := b.run(number); err != nil {
		return nil, err
	}
	return newGeneration(f, number, buckets, b.lines, to), nil
}

// nextNumber returns a generation number above all that have a file. The one that serves may have none (a rebuild), and
// a file above it may be named by an older manifest, or be left over from a crash.
func (m *Map) nextNumber() (uint32, error) {
	names, err := m.disk.List()
	if err != nil {
		return 0, err
	}
	last := m.now().Generation
	for _, name := range names {
		if number, ok := m.generationOf(name); ok {
			last = max(last, number)
		}
	}
	if last == ^uint32(0) {
		return 0, m.damaged("is the last generation that has a number")
	}
	return last + 1, nil
}

func (m *Map) setBuilding(number uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.building = number
}

// builder fills a file that nobody reads yet.
type builder struct {
	m       *Map
	file    store.File
	buckets uint64
	rows    uint64
	lines   uint64 // written, spare ones included

	first uint64    // line that buf begins with
	buf   []byte    // lines of the range
	carry []carried // what spilled beyond the range, in the order in which it did
}

// carried is an entry that passed all lines from its home to the end of a range.
type carried struct{ tag, stored uint32 }

// run writes all ranges, then the spare lines, then the header.
func (b *builder) run(number uint32) error {
	if err := b.file.Allocate(headerSize + int64(b.buckets+b.m.spare)*lineSize); err != nil {
		return err
	}
	step := max(uint64(b.m.spec.MergeBytes)/lineSize, 1)
	for b.first = 0; b.first < b.buckets; b.first += step {
		n := min(step, b.buckets-b.first)
		b.reset(n)
		for i := uint64(0); i < b.rows; i += groupSize {
			b.m.rows.window(i)
			b.putGroup(n, i, min(i+groupSize, b.rows))
		}
		if err := b.write(); err != nil {
			return err
		}
	}
	// As many spare lines again as were needed, so that the next merges find some.
	b.first = b.buckets
	b.reset(b.m.spare + uint64(len(b.carry))/(lineSlots/2))
	if err := b.file.Allocate(headerSize + int64(b.lines)*lineSize + int64(len(b.buf))); err != nil {
		return err
	}
	if err := b.write(); err != nil {
		return err
	}
	page := append(b.m.header(number, b.buckets, b.lines), stamp(b.rows)...)
	if err := b.file.WriteAt(append(page, make([]byte, headerSize-len(page))...), 0); err != nil {
		return err
	}
	if fault.On(fault.MapBuildNotSynced) {
		return nil
	}
	if err := b.file.Sync(); err != nil {
		return err
	}
	return b.m.disk.Sync()
}

// reset begins a range of n empty lines with what spilled into it.
func (b *builder) reset(n uint64) {
	if uint64(cap(b.buf)) < n*lineSize {
		b.buf = make([]byte, n*lineSize)
	}
	b.buf = b.buf[:n*lineSize]
	clear(b.buf)
	spilled := b.carry
	b.carry = nil
	for _, c := range spilled {
		b.put(0, c)
	}
}

// putGroup enters those of a few rows that have their home among the n lines of the range. The lines are asked for
// first, so that their misses overlap.
func (b *builder) putGroup(n, from, to uint64) {
	var homes [groupSize]uint64
	var entries [groupSize]carried
	k := 0
	for i := from; i < to; i++ {
		window, tag := b.m.place.of(b.m.rows.key(uint32(i)))
		if home := bucketOf(window, b.buckets) - b.first; home < n {
			prefetch(unsafe.Pointer(&b.buf[home*lineSize]))
			homes[k], entries[k] = home, carried{tag, uint32(i + 1)}
			k++
		}
	}
	for j := range k {
		b.put(homes[j], entries[j])
	}
}

// put enters an entry from a line of the range on.
func (b *builder) put(i uint64, c carried) {
	for ; i < uint64(len(b.buf))/lineSize; i++ {
		if (*line)(b.buf[i*lineSize:]).put(c.tag, c.stored) {
			return
		}
	}
	b.carry = append(b.carry, c)
}

// write appends the range to the file.
func (b *builder) write() error {
	for p := b.buf; len(p) > 0; {
		n := min(len(p), pieceLines*lineSize)
		if err := b.file.WriteAt(p[:n], headerSize+int64(b.lines)*lineSize); err != nil {
			return err
		}
		b.lines += uint64(n / lineSize)
		p = p[n:]
	}
	return nil
}
