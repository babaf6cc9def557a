package hashmap

import (
	"fmt"
	"unsafe"

	"stele/store"
)

// MultiStats says how large a multimap is. It costs nothing to know; MultiSurvey does.
type MultiStats struct {
	State
	Bytes      int64  // of the file, up to its last line
	Overflow   uint64 // overflow lines: State.Entries by its name. Many more than buckets say that it is time to Rebuild
	Delta      int    // pairs in memory
	DeltaBytes int64  // that they take
}

// Stats returns the sizes of now.
func (m *Multimap) Stats() MultiStats {
	m.mu.Lock()
	s := MultiStats{State: m.state, Overflow: m.state.Entries}
	m.mu.Unlock()
	v := m.View()
	s.Delta, s.DeltaBytes = m.Len(), v.active.bytes()
	if v.sealed != nil {
		s.DeltaBytes += v.sealed.bytes()
	}
	if s.Generation != 0 {
		s.Bytes = multiEnd(s.Buckets, s.Entries)
	}
	return s
}

// MultiSurvey is what a walk through all lines found.
type MultiSurvey struct {
	Pairs     uint64  // in lines
	Lines     uint64  // home lines, and overflow lines that a chain leads to
	Lost      uint64  // overflow lines that none leads to: a merge that found the disk full left them
	Load      float64 // pairs a place of those lines
	LinesMean float64 // lines read to see the whole bucket of a pair, over all pairs
	LinesMax  uint64  // the same for the longest chain
}

// maxProblems is how many problems Verify names.
const multiMaxProblems = 100

// Verify reads all lines and names what is wrong with them, nothing if all is well. No merge may be under way.
func (m *Multimap) Verify() []string {
	_, problems := m.Survey()
	return problems
}

// Survey reads all lines and measures them, and names what is wrong, too. No merge may be under way.
func (m *Multimap) Survey() (MultiSurvey, []string) {
	v := m.View()
	w := multiWalk{view: &v}
	if v.file == nil {
		return w.found, nil
	}
	err := store.Guard(func() error {
		for bucket := range v.file.buckets {
			w.bucket(bucket)
		}
		return nil
	})
	if err != nil {
		w.say("%v", err)
	}
	s := w.found
	s.Lost = v.file.written.Load() + v.file.buckets - s.Lines
	s.Load = float64(s.Pairs) / float64(s.Lines*multiEntries)
	if s.Pairs > 0 {
		s.LinesMean = w.weighted / float64(s.Pairs)
	}
	return s, w.problems
}

type multiWalk struct {
	view     *MultiView
	found    MultiSurvey
	weighted float64 // sum over pairs of the lines of their bucket
	problems []string
}

func (w *multiWalk) say(format string, args ...any) {
	if len(w.problems) < multiMaxProblems {
		w.problems = append(w.problems, w.view.file.file.Name()+": "+fmt.Sprintf(format, args...))
	}
}

// bucket walks one chain. Without a torn merge to mend, all links are good.
func (w *multiWalk) bucket(bucket uint64) {
	g := w.view.file
	limit := g.written.Load()
	home := g.line(bucket)
	links := loadWord(home, multiLinks/8)
	newest, settled := links&(1<<32-1), links>>32
	for _, link := range [2]uint64{newest, settled} {
		if _, _, ok := g.overflow(bucket, link, limit); link != 0 && !ok && !w.view.mending {
			w.say("bucket %d names overflow line %d, which is not its own", bucket, link-1)
		}
	}
	lines := uint64(1)
	pairs, full := w.line(bucket, home)
	link := g.newest(bucket, links, limit)
	if link != 0 && !full {
		w.say("bucket %d has an overflow line beside a home line with room", bucket)
	}
	for first := true; link != 0; first = false {
		p, older, ok := g.overflow(bucket, link, limit)
		if !ok || older >= link {
			w.say("bucket %d: its chain breaks off at overflow line %d", bucket, link-1)
			break
		}
		lines++
		n, full := w.line(bucket, p)
		if !first && !full {
			w.say("bucket %d: overflow line %d has room, and is not the newest", bucket, link-1)
		}
		pairs += n
		link = older
	}
	w.found.Pairs += pairs
	w.found.Lines += lines
	w.found.LinesMax = max(w.found.LinesMax, lines)
	w.weighted += float64(pairs) * float64(lines)
}

// line counts the entries of the line at p, and tells whether it is full.
func (w *multiWalk) line(bucket uint64, p unsafe.Pointer) (pairs uint64, full bool) {
	full = true
	for i := range uint(multiEntries) {
		switch entry := loadWord(p, i); {
		case entry == 0:
			full = false
		case entry&multiValues == 0:
			w.say("bucket %d has an entry with a tag and no value", bucket)
		case !full:
			w.say("bucket %d has an entry behind a free place", bucket)
			pairs++
		default:
			pairs++
		}
	}
	return pairs, full
}
