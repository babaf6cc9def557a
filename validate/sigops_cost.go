package validate

import "stele/chain"

// SigOpsCost is the cost of a transaction's signature operations, of which a block may have 80,000 (BIP141; Core:
// GetTransactionSigOpCost). coins has what each of its inputs spends, in order; a coinbase needs none. p2sh and witness
// tell whether those rules hold; witness without p2sh does not occur.
//
//	4 * legacy count of its own scripts, of inputs and outputs
//	4 * accurate count of the scripts that P2SH inputs push last
//	1 * of witness programs of version 0: 1 for a key, the accurate count of a script
//
// Later versions cost nothing here: tapscripts have a budget of their own (BIP342).
func SigOpsCost(b *chain.Block, tx int, coins []chain.Coin, p2sh, witness bool) int {
	t := &b.Txs[tx]
	legacy, program := 0, 0
	ins := b.Ins[t.FirstIn:][:t.Ins]
	for i := range ins {
		legacy += LegacySigOps(b.Bytes(ins[i].Script))
	}
	outs := b.Outs[t.FirstOut:][:t.Outs]
	for i := range outs {
		legacy += LegacySigOps(b.Bytes(outs[i].Script))
	}
	if !p2sh || b.Coinbase(tx) {
		return chain.WitnessScale * legacy
	}
	for i := range ins {
		runs := coins[i].Script
		if isScriptHash(runs) {
			pushed, ok := lastPush(b.Bytes(ins[i].Script))
			if !ok {
				continue
			}
			legacy += AccurateSigOps(pushed)
			runs = pushed
		}
		if witness {
			program += witnessSigOps(b, &ins[i], runs)
		}
	}
	return chain.WitnessScale*legacy + program
}

// witnessSigOps is what an input adds that runs program, its coin's script or what it pushed for a P2SH one (Core:
// WitnessSigOps). Whether the program's hash fits is not asked.
func witnessSigOps(b *chain.Block, in *chain.In, program []byte) int {
	const keyHash, scriptHash = 2 + 20, 2 + 32
	if len(program) < 2 || program[0] != 0 || int(program[1]) != len(program)-2 {
		return 0
	}
	switch {
	case len(program) == keyHash:
		return 1
	case len(program) == scriptHash && in.Items > 0:
		return AccurateSigOps(b.Bytes(b.Items[in.FirstItem+in.Items-1]))
	}
	return 0
}

// isScriptHash tells whether an output's script is OP_HASH160 <20 bytes> OP_EQUAL (BIP16).
func isScriptHash(script []byte) bool {
	return len(script) == 23 && script[0] == opHash160 && script[1] == 20 && script[22] == opEqual
}

// lastPush is what the last instruction of an input's script pushes; of OP_1NEGATE to OP_16 it is taken to be nothing, as
// Core does here. It is not ok where anything but pushes is there (OP_RESERVED counts as one), or a push is cut short.
func lastPush(script []byte) (push []byte, ok bool) {
	for len(script) > 0 {
		var op byte
		if op, push, script, ok = nextOp(script); !ok || op > op16 {
			return nil, false
		}
	}
	return push, true
}
