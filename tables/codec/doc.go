// Package codec turns outputs and inputs into the bytes of their slabs and back.
//
// The schema above it (package tables) knows only this: an output is a run of bytes that says its own length, a
// transaction's inputs are a head followed by one self-delimiting run for each input, and no run is longer than the
// wire bytes it came from plus one. That bound is what lets a tx row keep its slab offsets in 21 and 22 bits for
// every block that consensus allows, so it is an invariant of every kind that is ever added here.
//
// # Kinds
//
// The first byte of an output and of a transaction's input head names its kind. Kind zero is the verbatim form: the
// wire fields as they are. It exists for good, as the escape for what no shorter kind can spell; shorter kinds are
// added beside it, each with one spelling for a value.
//
//	output      +0 kind 1 | +1 amount 8 | +9 CompactSize n | script n
//	input head  +0 kind 1 | +1 version 4 | +5 lock time 4
//	input       +0 sequence 4 | +4 CompactSize n | script n [| CompactSize k | k × (CompactSize n | item n)]
//
// The witness part in brackets is there exactly when the head's kind is HeadWitness: then every input of the
// transaction has one, as on the wire.
//
// # Contracts
//
//   - Encoding appends and never fails: every amount, script and witness that a block can carry has a form.
//   - Decoding never panics and reports damage by ok == false: slabs are read in place from a file that a disk may
//     have altered. What it returns are views of the bytes that it was given.
//   - Nothing here allocates beyond the growth of the destination that the caller passed.
//   - Skipping costs the reads of the length fields, never of a script.
package codec
