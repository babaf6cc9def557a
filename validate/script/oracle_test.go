package script_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2/ecdsa"
	"github.com/btcsuite/btcd/txscript/v2"
	"github.com/btcsuite/btcd/wire/v2"

	"stele/validate/script"
)

// Package txscript of btcd is the second opinion on scripts that no vector has. It is not the truth, Core is: where
// btcd is known to differ, divergences says so.

var btcdFlags = map[script.Flags]txscript.ScriptFlags{
	script.P2SH: txscript.ScriptBip16, script.DerSig: txscript.ScriptVerifyDERSignatures,
	script.CLTV: txscript.ScriptVerifyCheckLockTimeVerify, script.CSV: txscript.ScriptVerifyCheckSequenceVerify,
	script.Witness: txscript.ScriptVerifyWitness, script.NullDummy: txscript.ScriptStrictMultiSig,
	script.Taproot: txscript.ScriptVerifyTaproot,
}

// wired is s as btcd has transactions.
func (s *spend) wired(tb testing.TB) (*wire.MsgTx, *txscript.MultiPrevOutFetcher) {
	tb.Helper()
	tx := new(wire.MsgTx)
	if err := tx.Deserialize(bytes.NewReader(s.raw())); err != nil {
		tb.Fatalf("btcd reads no %x: %v", s.raw(), err)
	}
	prevouts := txscript.NewMultiPrevOutFetcher(nil)
	for i := range s.ins {
		prevouts.AddPrevOut(tx.TxIn[i].PreviousOutPoint, &wire.TxOut{
			Value: s.ins[i].coin.Value, PkScript: s.ins[i].coin.Script,
		})
	}
	return tx, prevouts
}

// oracle is btcd's verdict; nil is that the input passes.
func oracle(tb testing.TB, s *spend, in int, f script.Flags) (err error) {
	tb.Helper()
	tx, prevouts := s.wired(tb)
	flags := txscript.ScriptFlags(0)
	for ours, theirs := range btcdFlags {
		if f.Has(ours) {
			flags |= theirs
		}
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	coin := &s.ins[in].coin
	hashes := txscript.NewTxSigHashes(tx, prevouts)
	e, err := txscript.NewEngine(coin.Script, tx, in, flags, nil, hashes, coin.Value, prevouts)
	if err != nil {
		return err
	}
	return e.Execute()
}

// divergence is a way in which btcd is known to differ from Core.
type divergence struct {
	name, reason string
	holds        func(s *spend, in int, f script.Flags) bool
	count        int
}

func newDivergences() []*divergence {
	return []*divergence{{
		name: "lax DER",
		reason: "without DERSIG btcd reads signatures as BER by rules of its own; Core's ecdsa_signature_parse_der_lax " +
			"allows lengths, padding and bytes behind that btcd refuses",
		holds: func(s *spend, in int, f script.Flags) bool {
			return !f.Has(script.DerSig) && slices.ContainsFunc(s.items(in), readsOtherwise)
		},
	}}
}

// items lists all that the scripts of input in can find on their stacks without computing it: witness items, and what
// every script that may run pushes.
func (s *spend) items(in int) (all [][]byte) {
	x := &s.ins[in]
	all = append(all, x.witness...)
	scripts := append([][]byte{x.script, x.coin.Script}, x.witness...)
	for i := 0; i < len(scripts); i++ {
		for tokens := txscript.MakeScriptTokenizer(0, scripts[i]); tokens.Next(); {
			if data := tokens.Data(); len(data) > 0 {
				all = append(all, data)
				if i == 0 { // it may be a P2SH output's script
					scripts = append(scripts, data)
				}
			}
		}
	}
	return all
}

// readsOtherwise tells whether item is a signature with its hash type that btcd does not read as Core does.
func readsOtherwise(item []byte) bool {
	if len(item) == 0 {
		return false
	}
	ours, ok := script.LaxDER(item[:len(item)-1])
	theirs, err := ecdsa.ParseSignature(item[:len(item)-1])
	if err != nil || !ok {
		return ok != (err == nil)
	}
	r, s := theirs.R(), theirs.S()
	if s.IsOverHalfOrder() {
		s.Negate()
	}
	rb, sb := r.Bytes(), s.Bytes()
	return ours != [64]byte(append(rb[:], sb[:]...))
}

// compare fails the test where btcd and we differ and no divergence accounts for it.
func compare(tb testing.TB, j *judge, known []*divergence, s *spend, in int, f script.Flags) script.Error {
	tb.Helper()
	ours := j.judgeSpend(tb, s, in, f)
	theirs := oracle(tb, s, in, f)
	if (ours == script.OK) == (theirs == nil) {
		return ours
	}
	for _, d := range known {
		if d.holds(s, in, f) {
			d.count++
			return ours
		}
	}
	x := &s.ins[in]
	tb.Errorf("we say %s, btcd %v\nflags %v\ninput %d of %x\nspends %d %x\nscript %x\nwitness %x",
		ours.Name(), theirs, f.Names(), in, s.raw(), x.coin.Value, x.coin.Script, x.script, x.witness)
	return ours
}
