// Package bench measures Stele: each experiment answers one question with ratios that were taken side by side in one
// run, and says how far they may go. `stele bench` runs them; docs/benchmarks.md keeps what they found.
//
// # Parts
//
//	bench.go     what an experiment is, its result, the list of all
//	machine.go   the machine's own speed, measured beside every result
//	text.go      a result as tables
//	child.go     work in a process of its own, which can be killed      job.go  what such a process does
//	folder.go    stores put aside and brought back                      tap.go  a disk that counts and tells
//	recover.go   how soon a killed store answers (victim.go: the store)  written.go  what an import writes
//	lookup*.go   transactions and spenders found (fill, arms, cold)      peer*.go    other stores, under the tag bench
//	decode.go    blocks parsed, against btcd's wire                      block.go    blocks rebuilt from rows
//	hash*.go     functions, probes, chained rows                         size.go     what an archive takes
//	blocks.go    real blocks  bare.go  stores of them without history    turns.go    what takes turns, and how
//	script*.go   scripts of inputs, and btcd's engine under the tag bench
//	confirm*.go  blocks confirmed (feed: made ready, set: what else lies in memory, stages: what a block costs)
//	spend*.go    forms of what is spent, on one trace        reader*.go  rows in place, and through streams
//	sync*.go     whole imports, against btcd under the tag bench         memory.go   in a control group (group*.go)
//	plot*.go     results as pictures, and rows by height, under the tag bench
//	chain/       chains to measure with                                 chaincmd.go  one of them as a file
//
// # Rules of measuring
//
//   - What is compared runs in turns: a b a b a b, in one command, on one machine. The figure is the ratio of medians
//     of five runs or more.
//   - Where a bound is absolute (seconds), the best of the runs counts, since all that others do to a shared machine is
//     add time; memory latency, copy rate and load average stand beside it.
//   - A key takes the worst of an experiment's arms. What a machine cannot measure is null, never zero.
//   - Every experiment has a default size and multiplies it by the scale. At a small one it runs in a test, in seconds,
//     and its figures mean nothing.
//
// # Processes
//
// What is killed, and what is counted by the system for a whole process, runs in a child: the same executable, started
// with Options.Child, which has to end up in Child. Parent and child talk in lines of JSON over standard input and
// output. A child that waits for its end reads its input meanwhile, so none waits for a parent that is gone.
//
// An experiment owns a folder below Options.Dir while it runs, and removes it.
package bench
