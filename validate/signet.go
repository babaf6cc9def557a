package validate

import (
	"encoding/binary"

	"stele/chain"
)

// Blocks of a signet are signed (BIP325). The signature, called the solution, stands in the coinbase output that
// commits to the witnesses, as one of the pushes behind the commitment. It signs the block through two transactions
// that are in no block:
//
//	to spend   null outpoint, script | 00 | 48 | version 4, previous hash 32, root 32, time 4 |   ->  0, the challenge
//	to sign    the output of the above, script and witness from the solution                      ->  0, OP_RETURN
//
// Both have version, sequence and lock time zero. The root is the merkle root that the block has without the solution.
var signetMagic = [4]byte{0xec, 0xc7, 0xda, 0xa2}

// signetScratch is what Signet keeps from one block to the next.
type signetScratch struct {
	script, coinbase, solution, spend, sign []byte
	tx                                      chain.Block
	coin                                    chain.Coin
}

// Signet judges the signature of a block of a signet (Core: CheckSignetBlockSolution); on other networks there is
// nothing to judge, and the genesis block needs none. Core asks before the merkle root, so call it before Check; as
// with Check, the header is left alone.
//
// verify runs the scripts of the only input of tx, a transaction that is decoded alone, which spends coin. The flags
// are P2SH, WITNESS, DERSIG and NULLDUMMY, on every signet and at every height. Neither argument outlives the call.
func Signet(p *chain.Params, hash *chain.Hash, b *chain.Block, txids []chain.Hash, scratch *Scratch,
	verify func(tx *chain.Block, coin *chain.Coin) bool,
) Verdict {
	if p.SignetChallenge == nil || *hash == p.GenesisHash {
		return valid
	}
	s := &scratch.signet
	s.coin.Script = p.SignetChallenge
	if !s.build(s.coin.Script, b, txids, scratch) || s.tx.DecodeTx(s.sign) != nil || !verify(&s.tx, &s.coin) {
		return refuse(ReasonSignet, "signet block signature validation failure")
	}
	return valid
}

// SignetPair gives the two transactions by which b is signed, on the wire. It is not ok where b has no witness
// commitment to hold a solution, or what stands there is none. A block without solution has the pair with an empty
// script, which a challenge may accept.
func SignetPair(challenge []byte, b *chain.Block, txids []chain.Hash) (toSpend, toSign []byte, ok bool) {
	var scratch Scratch
	ok = scratch.signet.build(challenge, b, txids, &scratch)
	return scratch.signet.spend, scratch.signet.sign, ok
}

// build makes spend and sign of s, which is a part of scratch.
func (s *signetScratch) build(challenge []byte, b *chain.Block, txids []chain.Hash, scratch *Scratch) bool {
	out := commitment(b)
	if out == none || len(txids) != len(b.Txs) {
		return false
	}
	var found bool
	s.script, s.solution, found = cutSolution(s.script[:0], s.solution[:0], b.Bytes(b.Outs[out].Script))
	script := s.script
	if !found {
		script = b.Bytes(b.Outs[out].Script)
	}
	s.coinbase = appendCoinbase(s.coinbase[:0], b, out, script)
	scratch.level = append(scratch.level[:0], txids...)
	scratch.level[0] = chain.DoubleSHA256(s.coinbase)
	root, _ := chain.MerkleRoot(scratch.level)
	s.spend = appendToSpend(s.spend[:0], &b.Header, &root, challenge)
	spend := chain.DoubleSHA256(s.spend)
	var ok bool
	s.sign, ok = appendToSign(s.sign[:0], &spend, s.solution, found)
	return ok
}

// cutSolution appends to script the commitment's script without its solution, and the solution, if it is found, to
// solution. The solution is the first push that begins with the magic and has more. Core writes the script anew as it
// reads it: pushes get their shortest opcodes, an empty push keeps its opcode alone, and what does not parse any more
// is left out. All of that is part of what is signed.
func cutSolution(script, solution, from []byte) (_, _ []byte, found bool) {
	for len(from) > 0 {
		op := from[0]
		from = from[1:]
		if op > opPushData4 {
			script = append(script, op)
			continue
		}
		n, width := pushSize(op, from)
		if width > len(from) || n > uint64(len(from)-width) {
			break
		}
		data := from[width:][:n]
		from = from[width+int(n):]
		if !found && len(data) > len(signetMagic) && [4]byte(data) == signetMagic {
			found = true
			solution = append(solution, data[len(signetMagic):]...)
			data = data[:len(signetMagic)]
		}
		if len(data) == 0 {
			script = append(script, op)
		} else {
			script = appendPush(script, data)
		}
	}
	return script, solution, found
}

// appendPush appends data behind the shortest opcode that pushes so many bytes (Core: CScript <<, of bytes).
func appendPush(dst, data []byte) []byte {
	switch n := len(data); {
	case n < opPushData1:
		dst = append(dst, byte(n))
	case n <= 0xff:
		dst = append(dst, opPushData1, byte(n))
	case n <= 0xffff:
		dst = binary.LittleEndian.AppendUint16(append(dst, opPushData2), uint16(n))
	default:
		dst = binary.LittleEndian.AppendUint32(append(dst, opPushData4), uint32(n))
	}
	return append(dst, data...)
}

// appendCoinbase appends b's first transaction, without witness, with script in place of that of output out.
func appendCoinbase(dst []byte, b *chain.Block, out int, script []byte) []byte {
	const version, lockTime = 4, 4
	t, old := &b.Txs[0], b.Outs[out].Script
	dst = append(dst, b.Raw[t.Off:t.Off+version]...)
	valueEnd := old.Off - uint32(chain.CompactSizeLen(uint64(old.Len)))
	dst = append(dst, b.Raw[t.Body:valueEnd]...)
	dst = append(chain.AppendCompactSize(dst, uint64(len(script))), script...)
	dst = append(dst, b.Raw[old.Off+old.Len:t.Wit]...)
	return append(dst, b.Raw[t.End-lockTime:t.End]...)
}

// zeroHash is the txid of the null outpoint.
var zeroHash chain.Hash

// appendToSpend appends the transaction whose script holds what is signed.
func appendToSpend(dst []byte, h *chain.Header, root *chain.Hash, challenge []byte) []byte {
	const signed = 4 + 2*chain.HashSize + 4
	dst = append(dst, 0, 0, 0, 0, 1)
	dst = append(dst, zeroHash[:]...)
	dst = append(dst, 0xff, 0xff, 0xff, 0xff, 2+signed, 0, signed)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(h.Version))
	dst = append(dst, h.Prev[:]...)
	dst = append(dst, root[:]...)
	dst = binary.LittleEndian.AppendUint32(dst, h.Time)
	dst = append(dst, 0, 0, 0, 0, 1)
	dst = binary.LittleEndian.AppendUint64(dst, 0)
	dst = append(chain.AppendCompactSize(dst, uint64(len(challenge))), challenge...)
	return append(dst, 0, 0, 0, 0)
}

var noScript [1]byte // a script of length zero

// appendToSign appends the transaction that carries the solution: a script, and a witness stack, each as it stands on
// the wire. It is not ok where the solution is anything else. Without one both are empty.
func appendToSign(dst []byte, spend *chain.Hash, solution []byte, found bool) (_ []byte, ok bool) {
	script, stack := noScript[:], []byte(nil)
	if found {
		n, ok := sized(solution)
		if !ok || !oneStack(solution[n:]) {
			return dst, false
		}
		script, stack = solution[:n], solution[n:]
	}
	witness := len(stack) > 0 && stack[0] != 0
	dst = append(dst, 0, 0, 0, 0)
	if witness {
		dst = append(dst, 0, 1)
	}
	dst = append(append(dst, 1), spend[:]...)
	dst = append(append(dst, 0, 0, 0, 0), script...)
	dst = append(dst, 0, 0, 0, 0, 1)
	dst = append(binary.LittleEndian.AppendUint64(dst, 0), 1, 0x6a)
	if witness {
		dst = append(dst, stack...)
	}
	return append(dst, 0, 0, 0, 0), true
}

// sized is the length of what solution begins with, a run of bytes behind its own length, both counted.
func sized(solution []byte) (n int, ok bool) {
	length, width, ok := chain.CompactSize(solution)
	if !ok || length > uint64(len(solution)-width) {
		return 0, false
	}
	return width + int(length), true
}

// oneStack tells whether raw is a witness stack and nothing else. Each item has a byte at least, so that the count is
// bounded by the bytes that are there.
func oneStack(raw []byte) bool {
	items, width, ok := chain.CompactSize(raw)
	if !ok || items > uint64(len(raw)) {
		return false
	}
	raw = raw[width:]
	for range items {
		n, ok := sized(raw)
		if !ok {
			return false
		}
		raw = raw[n:]
	}
	return len(raw) == 0
}
