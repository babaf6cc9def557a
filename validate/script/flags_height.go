package script

import "stele/chain"

// FlagsAt gives the rules that the scripts of a block obey (Core: GetBlockScriptFlags). P2SH, witness and taproot rules
// hold from the genesis block on, as no block but the network's exceptions broke them before they were laid down; those
// are known by hash, so that no other block at their height is excepted. The rest begin at heights, in exceptions too.
func FlagsAt(p *chain.Params, height uint32, hash *chain.Hash) Flags {
	f := P2SH | Witness | Taproot
	for i := range p.ScriptExceptions {
		if x := &p.ScriptExceptions[i]; x.Hash == *hash {
			f = when(x.P2SH, P2SH) | when(x.Witness, Witness) | when(x.Taproot, Taproot)
		}
	}
	return f | when(height >= p.BIP66, DerSig) | when(height >= p.BIP65, CLTV) | when(height >= p.CSV, CSV) |
		when(height >= p.Segwit, NullDummy)
}

func when(v bool, f Flags) Flags {
	if v {
		return f
	}
	return NoFlags
}
