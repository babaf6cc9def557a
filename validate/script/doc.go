// Package script runs the scripts of inputs as Bitcoin Core does: what Core accepts is accepted, what it refuses is
// refused, under any set of its flags, and for the same reason. It knows scripts and signature hashes; curves are
// behind a Verifier, and which rules a block obeys is one function of its height and hash.
//
// # Use
//
//	tx.Reset(block, i, coins)              once for each transaction: hashes that its inputs share
//	engine.Verify(&tx, in, flags)          the verdict on an input
//	engine.Defer(&tx, in, flags, &batch)   the same, with its signatures put aside
//	batch.Verify(verifier, failed)         which answers for them in groups
//
// # Two modes
//
// Verify asks the Verifier at once, and what it says is the truth. Defer writes questions into a Batch and goes on as
// if each were answered with yes. There are three outcomes:
//
//	OK, certain      valid if every check in the batch is true; if one is not, Verify must tell
//	error, certain   invalid, for the reason that Verify would give: nothing had been assumed before
//	error, not       unknown: an assumption led there; Verify must tell
//
// After an error the batch is as it was. Put off are CHECKSIG, CHECKSIGADD, CHECKMULTISIG with as many signatures as
// keys, the key path of taproot and its commitment. In any other CHECKMULTISIG the answer to one pair decides which
// pair is next, so those are asked at once. What needs no curve (an empty or malformed signature, a key of no form) is
// never assumed.
//
// # The engine
//
// Verify goes input's script, output's script, then redeem script or witness program, each a run on one stack. A run
// reads an instruction, pushes what it pushes, and else looks up what the opcode does. Scripts of key hash programs
// run like any other: there is no second way through for common forms.
//
// # Invariants
//
//   - Elements are views of the transaction, the coin, constants or the engine's scratch; nobody writes through one.
//   - The scratch is bounded (see stack.go), as are both stacks while a script runs; IF and ELSE need two numbers.
//   - No script panics, loops or recurses. The usual spends allocate nothing (asserted in tests).
//   - Every limit and every order of questions is Core's, also where only the error depends on it.
//   - A Tx is read-only between two Resets and serves any number of goroutines; an Engine and a Batch serve one. They
//     hold on to the block and the coins that they saw last.
//   - Flags that Core does not allow (Witness without P2SH, CleanStack without both) run without a guarantee.
//
// # Where things are
//
//	verify.go witness.go taproot.go         what of an input runs, and in which order
//	engine.go opcodes.go ops_*.go           one script; the table of opcodes; what they do
//	checks.go multisig.go                   signatures: forms, hash, question
//	stack.go number.go conditions.go        elements and scratch, numbers and truth, branches
//	parse.go findanddelete.go               instructions, forms of scripts, deleting signatures
//	flags.go flags_height.go errors.go      rules, when they hold, why a script failed
//	tx.go sighash*.go                       what signatures commit to
//	der.go keys.go                          forms of signatures and keys
//	verifier.go backend_*.go default.go     who verifies
//	batch.go group.go cache.go              questions put off, answered in groups; scripts that passed before
package script
