package hashmap

import (
	"stele/internal/fault"
	"stele/store"
)

const (
	// pieceLines is the number of lines that are written at a time: 1 MiB.
	pieceLines = 1 << 20 / lineSize
	// gapLines is the run of untouched lines that still is written along with touched ones before and after it: two
	// pages, which the disk would hardly notice.
	gapLines = 2 * 4096 / lineSize
)

// mergeInPlace puts the rows [from, to) into lines that serve, batch after batch, each in one pass over the file.
//
// Readers look on. A merge writes lines whole, but what was in them is written again with equal values, by the rule
// that entries never change; so only the bytes of a new entry can be seen half, in any order: a link of zero is an
// empty slot; a link of which bytes are missing names a row whose key the lookup compares, as it does with any link;
// the right link under a wrong tag is passed over. In each case the row itself is still found in the view's delta,
// which is asked first. A mark that is seen early costs a look at the next line, one that is seen late hides nothing
// that is not in the delta.
//
// A crash leaves any subset of the lines, or of their sectors, as they were. Then the rows [from, to), or more, are
// merged again, over whatever is there: each goes its way from the home line once more, takes the first slot that holds
// its link or is empty, and marks every full line that it passes, so at the end each is reachable. An entry that had
// spilled further in the torn merge, past a line that was not written and has room now, is entered a second time, and
// the later one remains: harmless, since it names the same row and findAll drops doubles. Lines are written again even
// where nothing changed, because memory that equals the file proves nothing about the disk.
func (m *Map) mergeInPlace(gen *generation, from, to uint64) error {
	raised := max(gen.stamp, to) // an interrupted merge may have come further
	if fault.On(fault.MapStampNotRaised) {
		raised = gen.stamp
	}
	if err := gen.file.Rewrite(stamp(raised), headStamp); err != nil {
		return err
	}
	gen.stamp = raised
	if err := gen.file.Sync(); err != nil {
		return err
	}
	// Lookups map the file for scattered reads, which would make a cold pass over it a hundred times slower.
	scan, err := m.disk.Open(gen.file.Name(), store.FileOptions{Reserve: headerSize, MustExist: true})
	if err != nil {
		return err
	}
	defer scan.Close()
	w := lineWriter{gen: gen, piece: m.piece, lines: scan.Mapping().Bytes()[headerSize:]}
	b := m.newBatch(to - from)
	for first := from; first < to; {
		next := b.gather(m, gen.buckets, first, to)
		if err := w.put(b.rows, first); err != nil {
			return err
		}
		first = next
	}
	if fault.On(fault.MapNotSynced) {
		return nil
	}
	return gen.file.Sync()
}

// lineWriter is a window over the lines of a file that moves forward: lines are read into it, changed, and written in
// pieces.
type lineWriter struct {
	gen   *generation
	piece uint64 // lines that are written at a time
	lines []byte // of the file, mapped
	buf   []byte // lines [first, end)
	first uint64
	end   uint64
}

// put enters one batch, sorted, and writes all lines that it touched.
func (w *lineWriter) put(rows []sortRow, base uint64) error {
	w.first, w.end, w.buf = 0, 0, w.buf[:0]
	for _, r := range rows {
		home := r.bucket()
		if err := w.moveTo(home); err != nil {
			return err
		}
		tag, stored := r.tag(), r.stored(base)
		for i := home; !w.at(i).put(tag, stored); i++ {
			if fault.On(fault.MapEntryMoves) {
				tag, stored = w.at(i).displace(tag, stored)
			}
			if i+1 == w.gen.lines {
				return errSpare
			}
		}
	}
	return w.write(w.end)
}

// moveTo makes the window ready for entries with homes from that line on. Lines before it are final: what comes later
// has its home no earlier.
func (w *lineWriter) moveTo(home uint64) error {
	if home > w.end+gapLines {
		if err := w.write(w.end); err != nil {
			return err
		}
		w.first, w.end = home, home
	}
	if home >= w.first+w.piece {
		return w.write(min(home, w.end))
	}
	return nil
}

// at returns a line in the window, which it extends to it.
func (w *lineWriter) at(i uint64) *line {
	if i >= w.end {
		w.buf = append(w.buf, w.lines[w.end*lineSize:(i+1)*lineSize]...)
		w.end = i + 1
	}
	return (*line)(w.buf[(i-w.first)*lineSize:])
}

// write writes the lines of the window before upTo and drops them from it.
func (w *lineWriter) write(upTo uint64) error {
	n := (upTo - w.first) * lineSize
	if n == 0 {
		return nil
	}
	if fault.On(fault.MapChangedOnly) && string(w.lines[w.first*lineSize:][:n]) == string(w.buf[:n]) {
		w.buf, w.first = w.buf[:copy(w.buf, w.buf[n:])], upTo
		return nil
	}
	if err := w.gen.file.Rewrite(w.buf[:n], headerSize+int64(w.first)*lineSize); err != nil {
		return err
	}
	w.buf = w.buf[:copy(w.buf, w.buf[n:])]
	w.first = upTo
	return nil
}
