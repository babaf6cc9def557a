package secp256k1

import (
	"fmt"
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

// cpuNanos is the processor time of this thread, which the load of others does not show in but by shared caches.
func cpuNanos() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

// inTurns runs all contenders one after the other, b.N times, and reports each one's median and least processor time,
// and how many times faster it is than the first, by medians: so a change of the machine's load meets all of them.
// Give -benchtime=30x or more.
func inTurns(b *testing.B, all []contender) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	times := make([][]float64, len(all))
	for i := range all {
		all[i].run()
	}
	for range b.N {
		for i := range all {
			start := cpuNanos()
			all[i].run()
			times[i] = append(times[i], float64(cpuNanos()-start)/float64(all[i].ops))
		}
	}
	if b.N == 1 {
		return // the trial that go test begins with
	}
	b.ReportMetric(0, "ns/op")
	var text strings.Builder
	for i := range all {
		slices.Sort(times[i])
		median, first := times[i][len(times[i])/2], times[0][len(times[0])/2]
		fmt.Fprintf(&text, "\n%-16s median %9.0f  min %9.0f  cpu-ns  %5.2fx", all[i].name, median, times[i][0], first/median)
	}
	b.Log(text.String())
}

// benchSet is n valid questions of each kind.
func benchSet(n int) (e []ecdsaCase, s []SchnorrCheck, w []tweakCase) {
	for seed := uint64(0); len(e) < n || len(s) < n || len(w) < n; seed++ {
		m := newMaker(seed)
		if c := m.ecdsa(); c.want == 1 && len(c.key) == 33 {
			e = append(e, c)
		}
		if c := m.schnorr(); c.want == 1 {
			s = append(s, c.SchnorrCheck)
		}
		if c := m.check(); c.want == 1 {
			w = append(w, c)
		}
	}
	return e[:n], s[:n], w[:n]
}

const benchSize = 64

// BenchmarkTurns compares whole verifications, with the parsing of key and signature, over 64 of each kind a turn.
func BenchmarkTurns(b *testing.B) {
	e, s, w := benchSet(benchSize)
	self := oracle{"stele", VerifyECDSA, func(key *[32]byte, sig *[64]byte, hash *[32]byte) bool {
		return VerifySchnorr(key, sig, hash[:])
	}, CheckTweak}
	var ecdsa, schnorr, tweak []contender
	for _, o := range append(slices.Clone(oracles), self) {
		ecdsa = append(ecdsa, contender{o.name, benchSize, func() {
			for i := range e {
				if !o.ecdsa(e[i].key, &e[i].rs, &e[i].hash) {
					b.Error("refused")
				}
			}
		}})
		schnorr = append(schnorr, contender{o.name, benchSize, func() {
			for i := range s {
				if !o.schnorr(&s[i].Key, &s[i].Sig, &s[i].Msg) {
					b.Error("refused")
				}
			}
		}})
		tweak = append(tweak, contender{o.name, benchSize, func() {
			for i := range w {
				if !o.tweak(&w[i].output, &w[i].internal, &w[i].tweak, w[i].odd) {
					b.Error("refused")
				}
			}
		}})
	}
	b.Run("ecdsa", func(b *testing.B) { inTurns(b, ecdsa) })
	b.Run("schnorr", func(b *testing.B) { inTurns(b, schnorr) })
	b.Run("tweak", func(b *testing.B) { inTurns(b, tweak) })
}

// BenchmarkBatch compares batches with single verifications of the same checks.
func BenchmarkBatch(b *testing.B) {
	for _, n := range []int{4, 8, 12, 16, 24, 32, 64, 128, 256, 512} {
		_, checks, _ := benchSet(n)
		var s Scratch
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			inTurns(b, []contender{
				{"single", n, func() {
					for i := range checks {
						if !VerifySchnorr(&checks[i].Key, &checks[i].Sig, checks[i].Msg[:]) {
							b.Error("refused")
						}
					}
				}},
				{"batch", n, func() {
					if !verifyBatch(checks, &s) {
						b.Error("refused")
					}
				}},
			})
		})
	}
}

// BenchmarkBaseWindow weighs the size of G's tables against speed: multiplications with tables of several windows.
func BenchmarkBaseWindow(b *testing.B) {
	m := newMaker(5)
	key := times(m.number())
	var g, k [benchSize]scalar
	for i := range g {
		g[i], k[i] = bigScalar(m.number()), bigScalar(m.number())
	}
	var all []contender
	for _, w := range []uint{8, 10, 11, 12, 13, 14, 15} {
		tables := newBaseTables(&generator, w, keyWindow)
		all = append(all, contender{fmt.Sprintf("%d-%dKiB", w, 128<<(w-2)>>10), benchSize, func() {
			for i := range g {
				parts := k[i].split()
				var r point
				r.multiply(&g[i], &key, &parts, tables)
			}
		}})
	}
	inTurns(b, all)
}

// BenchmarkBaseTables is what the first verification of a process costs more than others.
func BenchmarkBaseTables(b *testing.B) {
	inTurns(b, []contender{{"tables", 1, func() { newBaseTables(&generator, baseWindow, keyWindow) }}})
}

// BenchmarkParts is what a verification is made of.
func BenchmarkParts(b *testing.B) {
	m := newMaker(6)
	hash := m.bytes()
	var k scalar
	k.setBytes(&hash)
	const many = 500
	loop := func(name string, f func()) contender {
		return contender{name, many, func() {
			for range many {
				f()
			}
		}}
	}
	key := times(m.number())
	x, p, parts := key.x, point{x: key.x, y: key.y, z: fieldBeta}, k.split()
	var r scalar
	var f field
	var d digits
	var odd [1 << (keyWindow - 2)]affine
	var e scalar
	var msg [32]byte
	inTurns(b, []contender{
		loop("multiply", func() { q := p; q.multiply(&k, &key, &parts, base()) }),
		loop("multiplyBase", func() { q := p; q.multiplyBase(&k, base()) }),
		loop("odd multiples", func() { oddMultiples(odd[:], &key) }),
		loop("lift", func() { var a affine; a.lift(&x, true) }),
		loop("field inverse", func() { f.inverse(&x) }),
		loop("scalar inverse", func() { r.inverse(&k) }),
		loop("scalar mul", func() { r.mul(&k, &k) }),
		loop("split", func() { parts = k.split() }),
		loop("recode", func() { d = digits{}; d.recode(&parts[0], keyWindow) }),
		loop("challenge", func() { e.challenge(&msg, &msg, msg[:]) }),
	})
}
