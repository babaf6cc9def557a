package hashmap

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"stele/store"
)

// verifyFixture is a small merged map with lines that are full, that spilled, and that have twins.
func verifyFixture(t *testing.T) (*mapFixture, string) {
	t.Helper()
	disk := store.NewMemDisk()
	disk.SetReserveCap(64 << 10)
	f := newMapFixture(t, disk, txidSpec(), crowded)
	r := rand.New(rand.NewPCG(3, 3))
	for range 6 {
		f.add(mapDrawKeys(r, f.spec, 15)...)
	}
	f.add(mapKeysOf(0, 60)...)
	f.merge()
	f.add(mapKeysOf(60, 100)...)
	f.merge()
	f.checkAll()
	var none, passed, twin int
	for i := range f.m.View().gen.lines {
		switch l := f.m.View().gen.line(i); {
		case l[lineMeta] == 0:
			none++
		case l[lineMeta]&metaTwin == 0:
			passed++
		default:
			twin++
		}
	}
	if none == 0 || passed == 0 || twin == 0 {
		t.Fatalf("%d lines have no marks, %d are passed, %d by twins", none, passed, twin)
	}
	return f, f.m.fileName(f.m.State().Generation)
}

// TestVerifyFindsEveryBit flips each bit of the header and of the lines. Opening or verification must notice, and
// lookups must neither fail nor answer with a row of another key.
func TestVerifyFindsEveryBit(t *testing.T) {
	f, name := verifyFixture(t)
	st, file := f.m.State(), fileBytes(t, f.disk, name)
	end := headerSize + int(f.m.View().gen.lines)*lineSize
	step := 1
	if testing.Short() {
		step = 7
	}
	for bit := 0; bit < 8*end; bit += step {
		at := bit / 8
		if at >= stampEnd && at < headerSize && bit%64 != 0 {
			continue // zeros of the page: one bit of each word will do
		}
		file[at] ^= 1 << (bit % 8)
		m, err := OpenMap(f.disk, mapID, f.spec, f.rows(), st)
		var damaged *store.Damaged
		var foreign *store.Foreign
		var ahead *Ahead
		switch {
		case err != nil && !errors.As(err, &damaged) && !errors.As(err, &foreign) && !errors.As(err, &ahead):
			t.Fatalf("bit %d of byte %d: %v", bit%8, at, err)
		case err == nil && len(m.Verify(uint32(len(f.keys)))) == 0:
			t.Fatalf("bit %d of byte %d (line %d, byte %d) passes", bit%8, at, (at-headerSize)/lineSize, at%lineSize)
		case err == nil:
			key := &f.keys[bit%len(f.keys)]
			for _, link := range m.View().FindAll(nil, key, uint32(len(f.keys))) {
				if f.keys[link] != *key {
					t.Fatalf("bit %d of byte %d: a row of another key was found", bit%8, at)
				}
			}
		}
		file[at] ^= 1 << (bit % 8)
	}
	f.checkAll()
}

// TestVerifyNames damages a map in known ways and reads what Verify says.
func TestVerifyNames(t *testing.T) {
	for _, c := range []struct {
		what   string
		damage func(lines []line)
		want   string
	}{
		{"tag", func(l []line) { l[0][0]++ }, "has tag"},
		{"link", func(l []line) { l[0][lineLinks+3] = 0x70 }, "that were merged"},
		{"lost", func(l []line) { clear(l[len(l)-3][:]) }, "is not found"},
		{"moved", func(l []line) { l[0], l[5] = l[5], l[0] }, "whose home is line"},
		{"unmarked", func(l []line) { l[0][lineMeta] = 0 }, "is not marked as passed"},
		{"untwinned", func(l []line) { l[0][lineMeta] &^= metaTwin }, "no mark says so"},
		{"twice", func(l []line) { copy(l[0][lineLinks+4:], l[0][lineLinks:lineLinks+4]) }, "has tag"},
		{"hole", func(l []line) { clear(l[0][lineLinks:][:4]); l[0].setTag(0, 0) }, "follows an empty one"},
		{"marked", func(l []line) { l[len(l)-1][lineMeta] |= 0x40 }, "but has room"},
		{"twin alone", func(l []line) { l[0][lineMeta] = metaTwin }, "but for no entry that passed"},
		{"everything", func(l []line) {
			for i := range l {
				for j := range l[i] {
					l[i][j] = 0xff
				}
			}
		}, "problems more"},
	} {
		t.Run(c.what, func(t *testing.T) {
			f, name := verifyFixture(t)
			b := fileBytes(t, f.disk, name)[headerSize:]
			lines := make([]line, f.m.View().gen.lines)
			for i := range lines {
				copy(lines[i][:], b[i*lineSize:])
			}
			c.damage(lines)
			for i := range lines {
				copy(b[i*lineSize:], lines[i][:])
			}
			problems := f.m.Verify(uint32(len(f.keys)))
			if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, c.want) }) {
				t.Fatalf("Verify says %q, want something %q", problems, c.want)
			}
			if len(problems) > maxProblems+1 {
				t.Fatalf("%d problems are named", len(problems))
			}
		})
	}
}

// TestVerifyLimits: fewer rows than the lines know of are a problem, more are none.
func TestVerifyLimits(t *testing.T) {
	f, _ := verifyFixture(t)
	rows := uint32(len(f.keys))
	if problems := f.m.Verify(rows - 1); len(problems) < 2 {
		t.Fatalf("one row too few: %q", problems)
	}
	if problems := f.m.Verify(rows + 1); len(problems) != 1 || !strings.Contains(problems[0], "are to be there") {
		t.Fatalf("one row too many: %q", problems)
	}
	f.add(mapKeysOf(500, 510)...)
	if problems := f.m.Verify(rows + 10); len(problems) != 0 {
		t.Fatalf("rows in memory: %q", problems)
	}
}
