package script

import (
	"crypto/sha256"
	"encoding/binary"

	"pgregory.net/rapid"

	"stele/chain"
)

// modelTx is a transaction in pieces. Its hashes are what Core's serialisers write, field by field, every time anew.
type modelTx struct {
	version, lock uint32
	ins           []modelIn
	outs          []modelOut
}

type modelIn struct {
	prevout  [36]byte
	script   []byte
	sequence uint32
	witness  [][]byte
	coin     chain.Coin
}

type modelOut struct {
	value  int64
	script []byte
}

func le32(dst []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(dst, v) }
func le64(dst []byte, v int64) []byte  { return binary.LittleEndian.AppendUint64(dst, uint64(v)) }

func sized(dst, b []byte) []byte {
	return append(chain.AppendCompactSize(dst, uint64(len(b))), b...)
}

func (o *modelOut) append(dst []byte) []byte { return sized(le64(dst, o.value), o.script) }

func (m *modelTx) encode() []byte {
	stacks := false
	for _, in := range m.ins {
		stacks = stacks || len(in.witness) > 0
	}
	b := le32(nil, m.version)
	if stacks {
		b = append(b, 0, 1)
	}
	b = chain.AppendCompactSize(b, uint64(len(m.ins)))
	for _, in := range m.ins {
		b = le32(sized(append(b, in.prevout[:]...), in.script), in.sequence)
	}
	b = chain.AppendCompactSize(b, uint64(len(m.outs)))
	for _, out := range m.outs {
		b = out.append(b)
	}
	for _, in := range m.ins {
		if stacks {
			b = chain.AppendCompactSize(b, uint64(len(in.witness)))
			for _, item := range in.witness {
				b = sized(b, item)
			}
		}
	}
	return le32(b, m.lock)
}

type fataler interface{ Fatal(args ...any) }

// ready makes t stand for the model.
func (m *modelTx) ready(tb fataler, t *Tx) {
	b := new(chain.Block)
	if err := b.DecodeTx(m.encode()); err != nil {
		tb.Fatal(err)
	}
	coins := make([]chain.Coin, len(m.ins))
	for i := range coins {
		coins[i] = m.ins[i].coin
	}
	t.Reset(b, 0, coins)
}

// legacy is SignatureHash for SigVersion::BASE.
func (m *modelTx) legacy(in int, code []byte, hashType uint32) chain.Hash {
	anyone, single, none := hashType&0x80 != 0, hashType&0x1f == 3, hashType&0x1f == 2
	if single && in >= len(m.outs) {
		return chain.Hash{1}
	}
	b := le32(nil, m.version)
	inputs := len(m.ins)
	if anyone {
		inputs = 1
	}
	b = chain.AppendCompactSize(b, uint64(inputs))
	for i := range inputs {
		if anyone {
			i = in
		}
		b = append(b, m.ins[i].prevout[:]...)
		if i == in {
			b = modelScriptCode(b, code)
		} else {
			b = append(b, 0)
		}
		if i != in && (single || none) {
			b = le32(b, 0)
		} else {
			b = le32(b, m.ins[i].sequence)
		}
	}
	outputs := len(m.outs)
	if none {
		outputs = 0
	} else if single {
		outputs = in + 1
	}
	b = chain.AppendCompactSize(b, uint64(outputs))
	for i := range outputs {
		if single && i != in {
			b = (&modelOut{value: -1}).append(b)
		} else {
			b = m.outs[i].append(b)
		}
	}
	return chain.DoubleSHA256(le32(le32(b, m.lock), hashType))
}

// modelGetOp is Core's GetScriptOp: the iterator moves on even where it fails.
func modelGetOp(script []byte, pc int) (op, after int, ok bool) {
	if pc >= len(script) {
		return 0xff, pc, false
	}
	op = int(script[pc])
	pc++
	if op <= 0x4e {
		size := op
		width := map[int]int{0x4c: 1, 0x4d: 2, 0x4e: 4}[op]
		if len(script)-pc < width {
			return 0xff, pc, false
		}
		if width > 0 {
			size = 0
		}
		for i := range width {
			size |= int(script[pc+i]) << (8 * i)
		}
		pc += width
		if len(script)-pc < size {
			return 0xff, pc, false
		}
		pc += size
	}
	return op, pc, true
}

// modelScriptCode is SerializeScriptCode.
func modelScriptCode(dst, code []byte) []byte {
	separators := 0
	for pc := 0; ; {
		op, after, ok := modelGetOp(code, pc)
		if !ok {
			break
		}
		if pc = after; op == 0xab {
			separators++
		}
	}
	dst = chain.AppendCompactSize(dst, uint64(len(code)-separators))
	begin, pc := 0, 0
	for {
		op, after, ok := modelGetOp(code, pc)
		pc = after
		if !ok {
			break
		}
		if op == 0xab {
			dst = append(dst, code[begin:pc-1]...)
			begin = pc
		}
	}
	return append(dst, code[begin:pc]...)
}

// witness is SignatureHash for SigVersion::WITNESS_V0.
func (m *modelTx) witness(in int, code []byte, hashType uint32) chain.Hash {
	var prevouts, sequences, outputs []byte
	for _, x := range m.ins {
		prevouts = append(prevouts, x.prevout[:]...)
		sequences = le32(sequences, x.sequence)
	}
	for _, x := range m.outs {
		outputs = x.append(outputs)
	}
	anyone, single, none := hashType&0x80 != 0, hashType&0x1f == 3, hashType&0x1f == 2
	var hashPrevouts, hashSequences, hashOutputs chain.Hash
	if !anyone {
		hashPrevouts = chain.DoubleSHA256(prevouts)
	}
	if !anyone && !single && !none {
		hashSequences = chain.DoubleSHA256(sequences)
	}
	if !single && !none {
		hashOutputs = chain.DoubleSHA256(outputs)
	} else if single && in < len(m.outs) {
		hashOutputs = chain.DoubleSHA256(m.outs[in].append(nil))
	}
	b := le32(nil, m.version)
	b = append(append(b, hashPrevouts[:]...), hashSequences[:]...)
	b = sized(append(b, m.ins[in].prevout[:]...), code)
	b = le32(le64(b, m.ins[in].coin.Value), m.ins[in].sequence)
	return chain.DoubleSHA256(le32(le32(append(b, hashOutputs[:]...), m.lock), hashType))
}

// taproot is SignatureHashSchnorr.
func (m *modelTx) taproot(in int, x *tapContext, hashType byte) (chain.Hash, bool) {
	switch hashType {
	case 0, 1, 2, 3, 0x81, 0x82, 0x83:
	default:
		return chain.Hash{}, false
	}
	var prevouts, amounts, scripts, sequences, outputs []byte
	for _, i := range m.ins {
		prevouts = append(prevouts, i.prevout[:]...)
		amounts = le64(amounts, i.coin.Value)
		scripts = sized(scripts, i.coin.Script)
		sequences = le32(sequences, i.sequence)
	}
	for _, o := range m.outs {
		outputs = o.append(outputs)
	}
	b := le32(le32([]byte{0, hashType}, m.version), m.lock)
	if hashType&0x80 == 0 {
		for _, part := range [][]byte{prevouts, amounts, scripts, sequences} {
			sum := sha256.Sum256(part)
			b = append(b, sum[:]...)
		}
	}
	if hashType&3 < 2 {
		sum := sha256.Sum256(outputs)
		b = append(b, sum[:]...)
	}
	spend := byte(0)
	if x.script {
		spend += 2
	}
	if x.annex {
		spend++
	}
	b = append(b, spend)
	if own := &m.ins[in]; hashType&0x80 != 0 {
		b = append(b, own.prevout[:]...)
		b = le32(sized(le64(b, own.coin.Value), own.coin.Script), own.sequence)
	} else {
		b = le32(b, uint32(in))
	}
	if x.annex {
		b = append(b, x.annexHash[:]...)
	}
	if hashType&3 == 3 {
		if in >= len(m.outs) {
			return chain.Hash{}, false
		}
		sum := sha256.Sum256(m.outs[in].append(nil))
		b = append(b, sum[:]...)
	}
	if x.script {
		b = le32(append(append(b, x.leaf[:]...), 0), x.separator)
	}
	tag := sha256.Sum256([]byte("TapSighash"))
	return sha256.Sum256(append(append(tag[:], tag[:]...), b...)), true
}

// thick makes scripts full of separators, pushes that hide them, and pushes that are cut short.
var thick = rapid.SliceOfN(rapid.OneOf(
	rapid.SampledFrom([]byte{0, 1, 2, 5, 0x4c, 0x4d, 0x4e, 0x51, 0xab, 0xab, 0xac, 0xae}), rapid.Byte()), 0, 40)

// drawTx draws a transaction. With many, its form is long enough for saved states.
func drawTx(t *rapid.T) *modelTx {
	m := &modelTx{version: rapid.Uint32().Draw(t, "version"), lock: rapid.Uint32().Draw(t, "lock")}
	most := rapid.SampledFrom([]int{1, 3, 12, 60, 300}).Draw(t, "inputs at most")
	n := rapid.IntRange(1, most).Draw(t, "inputs")
	seed := rapid.Byte().Draw(t, "seed")
	coins := [][]byte{
		{0x51}, append([]byte{0x51, 32}, make([]byte, 32)...), append([]byte{0, 20}, make([]byte, 20)...),
		append(append([]byte{0xa9, 20}, make([]byte, 20)...), 0x87),
	}
	for i := range n {
		in := modelIn{sequence: uint32(i)*7919 + uint32(seed), coin: chain.Coin{
			Value: int64(i) << 20, Script: coins[rapid.IntRange(0, len(coins)-1).Draw(t, "coin")]}}
		copy(in.prevout[:], []byte{byte(i), byte(i >> 8), seed, 3: 0xff, 35: seed})
		if rapid.Bool().Draw(t, "scriptSig") {
			in.script = thick.Draw(t, "script")
		}
		m.ins = append(m.ins, in)
	}
	for _, in := range []int{0, n - 1} { // inputs of both kinds of witness, where there are two
		m.ins[in].witness, m.ins[in].coin.Script = [][]byte{{1}}, coins[1+rapid.IntRange(0, 1).Draw(t, "kind")]
	}
	for range rapid.IntRange(0, min(most, 20)).Draw(t, "outputs") {
		script := make([]byte, rapid.SampledFrom([]int{0, 1, 22, 252, 253, 600}).Draw(t, "size"))
		m.outs = append(m.outs, modelOut{rapid.Int64().Draw(t, "value"), script})
	}
	return m
}
