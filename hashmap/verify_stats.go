package hashmap

// Stats describe a map. ProbeMean and ProbeMax count lines from an entry's home to where it lies, both included: the
// lines that a lookup of it reads.
type Stats struct {
	Rows      uint64  // in lines
	Pending   uint64  // in memory, waiting for a merge
	Bytes     int64   // of the file, 0: none yet
	Memory    int64   // of the deltas
	Buckets   uint64  // home lines
	Load      float64 // rows over the slots of the home lines
	Scanned   uint64  // entries that the rest was taken from
	Spilled   float64 // share of the scanned lines that something spilled past
	ProbeMean float64
	ProbeMax  uint64
}

const (
	statRuns  = 64      // evenly spaced runs of lines that are scanned
	statLines = 1 << 14 // lines in all of them: a file of up to 1 MiB is scanned whole
)

// Stats scans lines, all of a small file and a sample of a large one, and reads the row of every entry in them. Any
// goroutine may call it; beside a merge the figures are of some moment in it.
func (m *Map) Stats() Stats {
	m.mu.Lock()
	v, st := *m.view.Load(), m.state
	m.mu.Unlock()
	s := Stats{Rows: st.Entries, Buckets: st.Buckets}
	s.Pending, s.Memory = m.Pending()
	if v.gen == nil {
		return s
	}
	s.Bytes = v.gen.file.Size()
	s.Load = float64(st.Entries) / float64(st.Buckets*lineSlots)
	if v.gen.lines <= statLines {
		v.scan(&s, st.Watermark, [][2]uint64{{0, v.gen.lines}})
		return s
	}
	var runs [][2]uint64
	for i := uint64(0); i < statRuns; i++ {
		from := i * (v.gen.lines / statRuns)
		runs = append(runs, [2]uint64{from, from + statLines/statRuns})
	}
	v.scan(&s, st.Watermark, runs)
	return s
}

// scan fills in what is taken from the given runs of lines. Entries of rows from the watermark on, which the writer may
// still hold, are left out; those that fit no row are left to Verify.
func (v MapView) scan(s *Stats, watermark uint64, runs [][2]uint64) {
	lines, spilled, sum := uint64(0), uint64(0), uint64(0)
	for _, run := range runs {
		for i := run[0]; i < run[1]; i++ {
			l := v.gen.line(i)
			lines++
			if l[lineMeta] != 0 {
				spilled++
			}
			for slot := 0; slot < lineSlots; slot++ {
				stored := l.stored(slot)
				if stored == 0 || uint64(stored) > watermark {
					continue
				}
				window, _ := v.m.place.of(v.m.rows.key(stored - 1))
				home := bucketOf(window, v.gen.buckets)
				if home > i {
					continue
				}
				s.Scanned++
				sum += i - home + 1
				s.ProbeMax = max(s.ProbeMax, i-home+1)
			}
		}
	}
	if s.Scanned != 0 {
		s.ProbeMean = float64(sum) / float64(s.Scanned)
		s.Spilled = float64(spilled) / float64(lines)
	}
}
