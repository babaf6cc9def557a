package lanes

import (
	"fmt"
	"math/big"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// contender is one of the things that a benchmark compares.
type contender struct {
	name string
	ops  int // that one run does
	run  func()
}

// others has libsecp256k1 under the tag of that name.
var others []struct {
	name string
	ask  func(q *Item) bool
}

// threadNanos is the processor time of this thread.
func threadNanos() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

// inTurns runs all contenders one after the other, b.N times, and reports each one's median and least processor time,
// and how many times faster than the first it is by each, so that a change of the machine's load meets all.
func inTurns(b *testing.B, all []contender) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	samples := make([][]float64, len(all))
	for range b.N + 1 {
		for i := range all {
			start := threadNanos()
			all[i].run()
			samples[i] = append(samples[i], float64(threadNanos()-start)/float64(all[i].ops))
		}
	}
	if b.N == 1 {
		return // the trial that go test begins with
	}
	b.ReportMetric(0, "ns/op")
	var text strings.Builder
	first := samples[0]
	slices.Sort(first)
	for i, s := range samples {
		slices.Sort(s)
		median, least := s[len(s)/2], s[0]
		fmt.Fprintf(&text, "\n%-16s median %9.1f  least %9.1f  cpu-ns  %5.2fx %5.2fx", all[i].name, median, least,
			first[len(first)/2]/median, first[0]/least)
	}
	b.Log(text.String())
}

// valid makes n true items of a kind.
func valid(kind Kind, n int) []Item {
	m := newMaker(uint64(kind))
	items := make([]Item, n)
	random := func() *big.Int {
		b := m.bytes()
		return new(big.Int).SetBytes(b[1:])
	}
	for i := range items {
		switch kind {
		case ECDSA:
			items[i] = sign(random(), random(), random(), 2)
		case Schnorr:
			items[i] = signSchnorr(random(), random(), m.bytes())
		default:
			items[i] = tweak(random(), random())
		}
	}
	return items
}

// BenchmarkTurns compares whole verifications, keys and signatures parsed, of 128, 16, 8 and 4 items: the first
// contender is libsecp256k1 under its tag, otherwise the scalar verifier.
func BenchmarkTurns(b *testing.B) {
	if !present {
		b.Skip("no AVX-512 IFMA here")
	}
	for kind, name := range []string{"ecdsa", "schnorr", "tweak"} {
		for _, n := range []int{128, 16, 8, 4, 2} {
			items := valid(Kind(kind), n)
			v := New()
			one := func(ask func(q *Item) bool) func() {
				return func() {
					for i := range items {
						if !ask(&items[i]) {
							b.Error("refused")
						}
					}
				}
			}
			var all []contender
			for _, o := range others {
				all = append(all, contender{o.name, n, one(o.ask)})
			}
			all = append(all, contender{"scalar", n, one((*Item).Ask)}, contender{"lanes", n, func() {
				if v.Verify(items, nil) != nil {
					b.Error("refused")
				}
			}})
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) { inTurns(b, all) })
		}
	}
}

// BenchmarkParts is what the kernels take for eight lanes, and what is done in Go for each item.
func BenchmarkParts(b *testing.B) {
	if !present {
		b.Skip("no AVX-512 IFMA here")
	}
	const many = 500
	loop := func(name string, lanesOf int, f func()) contender {
		return contender{name, many * lanesOf, func() {
			for range many {
				f()
			}
		}}
	}
	v, d := New(), newDraw(9)
	var x [4]number
	var p [2]point
	var at pick
	var scale [2]number
	for i := range x {
		x[i] = d.number(d.limbs, 1)
	}
	for i := range p {
		p[i] = point{d.number(d.limbs, 1), d.number(d.limbs, 1), d.number(d.limbs, 1)}
	}
	scale = [2]number{x[0], x[1]}
	items := valid(ECDSA, 1)
	k := scalar(words(items[0].Sig[:]))
	r := k
	inTurns(b, []contender{
		loop("mul", 4, func() { v.mul(x[:], x[:], x[:]) }),
		loop("sqr", 40, func() { v.sqr(x[:], x[:], 10) }),
		loop("double one", 4, func() { v.double(p[:1], 4) }),
		loop("double pair", 8, func() { v.double(p[:], 4) }),
		loop("add key pair", 2, func() { v.addKey(p[:], &v.keys, &at) }),
		loop("add base pair", 2, func() { v.addBase(p[:], base(), &at, &scale) }),
		loop("table pair", 2, func() { v.table(x[:2], x[2:], &scale) }),
		loop("root of four", 4, func() { v.root(x[:], x[:]) }),
		loop("picks of 16", 2, func() {
			for i := range 16 {
				v.setPicks(i/8, i%8, &k, &k)
			}
		}),
		loop("prepare 8", 1, func() {
			for i := range 8 {
				v.all.prepare(&items[0], i)
			}
		}),
		loop("scalar mul", 1, func() { r.mul(&r, &k) }),
		loop("scalar inverse", 1, func() { r.inverse(&k) }),
	})
}
