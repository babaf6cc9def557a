package secp256k1

// A sum of many multiples, by Pippenger's method with affine additions. The numbers are cut into windows of c bits,
// as signed digits from -m to m with m = 2^(c-1). For each window there are m buckets, and a point goes into the one
// of its digit's size, negated if the digit is.
//
//	1. Buckets are summed by halves, those of all windows at once.
//	2. A window's value is the sum of d*B[d]. With A[j] = B[j+1] that is the sum of all A[j], and of 2^k times those
//	   whose j has bit k. Adding the upper half of A to the lower, again and again, leaves the first in A[0]; each
//	   upper half is, when it is added, what has bit k, and summed in its place by halves it ends in A[2^k].
//	3. Doubling 128 times, those are added where their bits are.
//
// Additions of 1 and 2 come by the thousands at once and share an inversion: 5 multiplications and a squaring each,
// half of what the others need.

// term is a multiple of a point.
type term struct {
	point affine
	k     half
}

// pippenger is memory. In points, the point at infinity has y = 0, which no other has.
type pippenger struct {
	digits   []int16  // [window][term]
	starts   []uint32 // of the buckets in points, [window][m], and one more
	lengths  []uint32
	points   []affine // sorted by bucket
	buckets  []affine // [window][m]
	pairs    []pair
	slopes   []field
	products []field
}

// pair is an addition points[into] += points[from].
type pair struct {
	into, from uint32
	kind       pairKind
}

type pairKind uint8

const (
	pairAdd    pairKind = iota
	pairDouble          // the two are the same
	pairCancel          // opposite
	pairMove            // the first is at infinity
	pairSkip            // the second is
)

// resize returns s with length n, and new memory only if it must.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// windowFor returns c for a number of terms, so that the additions of 1 (about 128/c a term) and 2 (2^c a window) are
// few.
func windowFor(terms int) uint {
	switch {
	case terms < 40:
		return 3
	case terms < 90:
		return 4
	case terms < 220:
		return 5
	case terms < 500:
		return 6
	case terms < 1000:
		return 7
	}
	return 8
}

// sum sets r to the sum of all terms.
func (s *pippenger) sum(r *point, terms []term) {
	c := windowFor(len(terms))
	windows := int(128/c + 1) // what is carried out of the last bit needs a place
	m := 1 << (c - 1)
	s.recode(terms, c, windows)
	s.sort(terms, windows, m)
	s.sumBuckets()
	s.collect(windows * m)
	for size := m / 2; size > 0; size /= 2 {
		s.pairs = s.pairs[:0]
		for w := range windows {
			s.foldWindow(uint32(w*m), uint32(m), uint32(size))
		}
		s.addPairs(s.buckets)
	}
	s.combine(r, windows, m)
}

// recode cuts the numbers into digits.
func (s *pippenger) recode(terms []term, c uint, windows int) {
	n := len(terms)
	s.digits = resize(s.digits, windows*n)
	half := 1 << (c - 1)
	for t := range terms {
		k := &terms[t].k
		low, high := k.low, k.high
		carry := 0
		for w := range windows {
			d := int(low&(1<<c-1)) + carry
			low, high = low>>c|high<<(64-c), high>>c
			carry = 0
			if d > half {
				d -= 1 << c
				carry = 1
			}
			if k.negative {
				d = -d
			}
			s.digits[w*n+t] = int16(d)
		}
	}
}

// bucketOf returns a digit's bucket in its window.
func bucketOf(d int16) int {
	if d < 0 {
		return -int(d) - 1
	}
	return int(d) - 1
}

// sort fills points, starts and lengths.
func (s *pippenger) sort(terms []term, windows, m int) {
	n := len(terms)
	s.starts, s.lengths = resize(s.starts, windows*m), resize(s.lengths, windows*m)
	clear(s.lengths)
	for i, d := range s.digits {
		if d != 0 {
			s.lengths[i/n*m+bucketOf(d)]++
		}
	}
	total := uint32(0)
	for b, length := range s.lengths {
		s.starts[b] = total
		total += length
	}
	s.points = resize(s.points, int(total))
	for i, d := range s.digits {
		if d == 0 {
			continue
		}
		b := i/n*m + bucketOf(d)
		p := &s.points[s.starts[b]]
		s.starts[b]++
		if *p = terms[i%n].point; d < 0 {
			p.y.neg(&p.y)
		}
	}
	for b, length := range s.lengths {
		s.starts[b] -= length
	}
}

// sumBuckets leaves the sum of each bucket in its first place.
func (s *pippenger) sumBuckets() {
	for {
		s.pairs = s.pairs[:0]
		for b, length := range s.lengths {
			if length < 2 {
				continue
			}
			start, rest := s.starts[b], (length+1)/2
			for i := range length / 2 {
				s.pairs = append(s.pairs, pair{into: start + i, from: start + rest + i})
			}
			s.lengths[b] = rest
		}
		if len(s.pairs) == 0 {
			return
		}
		s.addPairs(s.points)
	}
}

// collect copies the sums into buckets, with infinity for the empty ones.
func (s *pippenger) collect(n int) {
	s.buckets = resize(s.buckets, n)
	for b, length := range s.lengths {
		if length == 0 {
			s.buckets[b] = affine{}
		} else {
			s.buckets[b] = s.points[s.starts[b]]
		}
	}
}

// foldWindow adds the upper half of what is left of A, size each, to the lower; and the upper half of each upper half
// that was added before to its own lower. Those have all come to twice this size.
func (s *pippenger) foldWindow(first, m, size uint32) {
	for at := uint32(0); at < m; {
		for i := range size {
			s.pairs = append(s.pairs, pair{into: first + at + i, from: first + at + size + i})
		}
		if at == 0 {
			at = 2 * size
		} else {
			at *= 2
		}
	}
}

// combine doubles and adds the windows' parts.
func (s *pippenger) combine(r *point, windows, m int) {
	*r = point{infinity: true}
	add := func(a *affine) {
		if a.y != (field{}) {
			r.addAffine(r, a)
		}
	}
	for w := windows - 1; w >= 0; w-- {
		a := s.buckets[w*m : (w+1)*m]
		r.double(r) // c doublings a window: this one, and one for each of the c-1 bits of an index
		for k := m / 2; k > 0; k /= 2 {
			r.double(r)
			add(&a[k])
		}
		add(&a[0])
	}
}

// addPairs does all pairs' additions in points. No point may be in two pairs.
func (s *pippenger) addPairs(points []affine) {
	n := len(s.pairs)
	if checked {
		seen := map[uint32]bool{}
		for _, p := range s.pairs {
			require(!seen[p.into] && !seen[p.from] && p.into != p.from, "a point in two pairs")
			seen[p.into], seen[p.from] = true, true
		}
	}
	s.slopes, s.products = resize(s.slopes, n), resize(s.products, n)
	for i := range s.pairs {
		p := &s.pairs[i]
		p.kind = below(&s.slopes[i], &points[p.into], &points[p.from])
	}
	invertAll(s.slopes, s.products)
	for i := range s.pairs {
		p := &s.pairs[i]
		a, b := &points[p.into], &points[p.from]
		switch p.kind {
		case pairAdd:
			a.addSlope(b, &s.slopes[i])
		case pairDouble:
			a.doubleSlope(&s.slopes[i])
		case pairCancel:
			*a = affine{}
		case pairMove:
			*a = *b
		}
	}
}

// below sets d to what is below the line in the slope through a and b, or to 1 where none is needed.
func below(d *field, a, b *affine) pairKind {
	*d = fieldOne
	if b.y == (field{}) {
		return pairSkip
	}
	if a.y == (field{}) {
		return pairMove
	}
	d.sub(&b.x, &a.x)
	if !d.isZero() {
		return pairAdd
	}
	if !a.y.equal(&b.y) {
		*d = fieldOne
		return pairCancel
	}
	d.double(&a.y)
	return pairDouble
}

// addSlope sets a += b, of another x; inverse is 1/(x2 - x1).
func (a *affine) addSlope(b *affine, inverse *field) {
	var l, x field
	l.sub(&b.y, &a.y)
	l.mul(&l, inverse)
	x.sqr(&l)
	x.sub(&x, &a.x)
	x.sub(&x, &b.x)
	a.finish(&l, &x)
}

// doubleSlope sets a = 2a; inverse is 1/2y.
func (a *affine) doubleSlope(inverse *field) {
	var l, x field
	l.sqr(&a.x)
	x.double(&l)
	l.add(&l, &x)
	l.mul(&l, inverse)
	x.sqr(&l)
	x.sub(&x, &a.x)
	x.sub(&x, &a.x)
	a.finish(&l, &x)
}

// finish sets a to the third point of the line through a of slope l, whose x is known, mirrored.
func (a *affine) finish(l, x *field) {
	a.x.sub(&a.x, x)
	a.x.mul(&a.x, l)
	a.y.sub(&a.x, &a.y)
	a.x = *x
}
