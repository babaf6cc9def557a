package chain

// Unspendable reports whether an output script can never be satisfied, so that the output is in no set of unspent
// outputs (Core's CScript::IsUnspendable): it starts with OP_RETURN or is over 10,000 bytes.
func Unspendable(script []byte) bool {
	const opReturn, maxScriptSize = 0x6a, 10_000
	return len(script) > 0 && script[0] == opReturn || len(script) > maxScriptSize
}
