package script_test

import (
	"errors"
	"fmt"
	"math/big"
	"runtime"
	"slices"
	"testing"

	"stele/chain"
	"stele/validate"
	"stele/validate/script"
)

// Counts that bytes cannot hold are refused before anything is made for them.
func TestTrap17DecodeBounds(t *testing.T) {
	good := keyPath(0)
	good.ins[0].witness = [][]byte{make([]byte, 64)}
	raw := good.raw()
	count := len(raw) - 4 - 64 - 2 // of the stack
	for _, n := range []uint64{2, 300, 70_000, 1 << 24, chain.MaxSize} {
		bad := slices.Concat(raw[:count], chain.AppendCompactSize(nil, n), raw[count+1:])
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := new(chain.Block).DecodeTx(bad)
		runtime.ReadMemStats(&after)
		var form *chain.DecodeError
		if !errors.As(err, &form) {
			t.Errorf("%d items: %v", n, err)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > uint64(100*len(bad)) {
			t.Errorf("%d items: %d bytes made for %d", n, grown, len(bad))
		}
	}
	for cut := range raw {
		if new(chain.Block).DecodeTx(raw[:cut]) == nil {
			t.Errorf("%d bytes of %d decode", cut, len(raw))
		}
	}
}

// Marker and flag with nothing behind them, and unknown flags, are no transaction.
func TestTrap18SuperfluousWitness(t *testing.T) {
	s := bare(asm("1"))
	raw := s.raw()
	dressed := slices.Concat(raw[:4], []byte{0, 1}, raw[4:len(raw)-4], []byte{0}, raw[len(raw)-4:])
	if new(chain.Block).DecodeTx(raw) != nil || new(chain.Block).DecodeTx(dressed) == nil {
		t.Error("an empty witness decodes")
	}
	s.ins[0].witness = [][]byte{{1}}
	raw = s.raw()
	for flag := range 256 {
		raw[5] = byte(flag)
		if ok := new(chain.Block).DecodeTx(raw) == nil; ok != (flag == 1) {
			t.Errorf("flag %d decodes: %v", flag, ok)
		}
	}
}

// Counts have one form only.
func TestTrap19CompactSizes(t *testing.T) {
	s := bare(asm("1"))
	raw := s.raw()
	long := func(at int, n byte) [][]byte {
		var all [][]byte
		for _, form := range [][]byte{{0xfd, n, 0}, {0xfe, n, 0, 0, 0}, {0xff, n, 0, 0, 0, 0, 0, 0, 0}} {
			all = append(all, slices.Concat(raw[:at], form, raw[at+1:]))
		}
		return all
	}
	for n := range 253 {
		s.ins[0].script = make([]byte, n)
		raw = s.raw()
		if new(chain.Block).DecodeTx(raw) != nil {
			t.Fatalf("script of %d", n)
		}
		for _, bad := range append(long(4, 1), long(4+1+36, byte(n))...) {
			if new(chain.Block).DecodeTx(bad) == nil {
				t.Errorf("%x decodes", bad)
			}
		}
	}
}

// Rules by height, and the exceptions by hash: another block of that height has none.
func TestTrap22FlagsByHeightAndHash(t *testing.T) {
	hash := func(text string) chain.Hash {
		h, err := chain.ParseHash(text)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	base := script.P2SH | script.Witness | script.Taproot
	dersig := base | script.DerSig
	cltv := dersig | script.CLTV
	csv := cltv | script.CSV
	other := chain.Hash{1}
	bip16 := hash("00000000000002dc756eebf4f49723ed8d30cc28a5f108eb94b1ba88ac4f9c22")
	taproot := hash("0000000000000000000f14c35b2d841e986ab5441de8c585d5ffe55ea1e395ad")
	bip16test := hash("00000000dd30457c001f4095d208cc1296b0eed002427aa599874af7a432b105")
	cases := 0
	for _, c := range []struct {
		net    *chain.Params
		height uint32
		hash   chain.Hash
		want   script.Flags
	}{
		{chain.Main(), 0, other, base}, {chain.Main(), 170_059, other, base}, {chain.Main(), 170_060, other, base},
		{chain.Main(), 170_060, bip16, 0}, {chain.Main(), 170_061, other, base}, {chain.Main(), 363_724, other, base},
		{chain.Main(), 363_725, other, dersig}, {chain.Main(), 388_380, other, dersig}, {chain.Main(), 388_381, other, cltv},
		{chain.Main(), 419_327, other, cltv}, {chain.Main(), 419_328, other, csv}, {chain.Main(), 481_823, other, csv},
		{chain.Main(), 481_824, other, script.Consensus}, {chain.Main(), 692_261, other, script.Consensus},
		{chain.Main(), 692_261, taproot, script.Consensus &^ script.Taproot},
		{chain.Main(), 692_262, other, script.Consensus},
		{chain.Main(), 960_000, other, script.Consensus}, {chain.Testnet3(), 514, bip16test, 0},
		{chain.Testnet3(), 514, bip16, base},
		{chain.Main(), 514, bip16test, base}, {chain.Testnet3(), 330_775, other, base},
		{chain.Testnet3(), 330_776, other, dersig},
		{chain.Testnet3(), 581_884, other, dersig}, {chain.Testnet3(), 581_885, other, cltv},
		{chain.Testnet3(), 770_111, other, cltv},
		{chain.Testnet3(), 770_112, other, csv}, {chain.Testnet3(), 834_623, other, csv},
		{chain.Testnet3(), 834_624, other, script.Consensus}, {chain.Testnet4(), 0, other, base},
		{chain.Testnet4(), 1, other, script.Consensus}, {chain.Signet(), 0, other, base},
		{chain.Signet(), 1, other, script.Consensus},
		{chain.Regtest(), 0, other, base | script.NullDummy}, {chain.Regtest(), 1, other, script.Consensus},
	} {
		cases++
		if f := script.FlagsAt(c.net, c.height, &c.hash); f != c.want {
			t.Errorf("%s %d %s: %v, not %v", c.net.Name, c.height, c.hash, f.Names(), c.want.Names())
		}
	}
	want(t, "cases", cases, 34)
}

// Below BIP66 a signature may be encoded loosely and have a high s; from there it is strict, and a high s still passes.
func TestTrap23LaxSpends(t *testing.T) {
	code := payToKeyHash(compressed(0))
	s := bare(code)
	sig := signBare(t, s, 0, code, 1, 0)
	r, sv, integer, sequence := takeDER(sig)
	lower := script.Consensus &^ script.DerSig
	for what, der := range laxForms(sig) {
		x := s.clone()
		x.ins[0].script = pushAll([][]byte{append(der, 1), compressed(0)})
		verdicts(t, []verdictCase{{what, x, script.OK, lower, 0}, {what + ", BIP66", x, script.SigDER, 0, 0}})
	}
	overflow := s.clone() // r at and above the order is no signature, and no error either
	overflow.ins[0].script = pushAll([][]byte{
		append(sequence(append([]byte{2, 33, 0}, slices.Repeat([]byte{0xff}, 32)...), integer(sv, 0)), 1), compressed(0),
	})
	high := s.clone()
	high.ins[0].script = pushAll([][]byte{append(sequence(integer(r, 0), integer(highS(sv), 0)), 1), compressed(0)})
	verdicts(t, []verdictCase{
		{"overflow", overflow, script.EvalFalse, lower, 0}, {"overflow, BIP66", overflow, script.EvalFalse, 0, 0},
		{"high s", high, script.OK, lower, 0}, {"high s, BIP66", high, script.OK, 0, 0},
		{"high s, policy", high, script.SigHighS, script.Consensus | script.LowS, 0},
	})
}

// Hybrid keys verify in legacy and version 0 where their first byte tells the parity, and policy refuses them.
func TestTrap25HybridSpends(t *testing.T) {
	for key := range signers {
		pub := signers[key].PubKey().SerializeUncompressed()
		for _, first := range []byte{6, 7} {
			hybrid := append([]byte{first}, pub[1:]...)
			wanted := script.EvalFalse
			if pub[64]&1 == first&1 {
				wanted = script.OK
			}
			code := join(push(nil, hybrid), []byte{opCheckSig})
			legacy, v0 := bare(code), p2wsh(code)
			legacy.ins[0].script = push(nil, signBare(t, legacy, 0, code, 1, key))
			v0.ins[0].witness = [][]byte{signWitness(t, v0, 0, code, 1, key), code}
			what := fmt.Sprintf("key %d, %#x", key, first)
			verdicts(t, []verdictCase{
				{what, legacy, wanted, 0, 0}, {what + ", witness", v0, wanted, 0, 0},
				{what + ", policy", legacy, script.PubkeyType, script.Consensus | script.StrictEnc, 0},
			})
		}
	}
}

// Numbers of opcodes have four bytes at most, even where only their truth is asked; results may have five.
func TestTrap26LongNumbers(t *testing.T) {
	long := "0x05 0x0000000001"
	for _, op := range []string{"1ADD", "1SUB", "NEGATE", "ABS", "NOT", "0NOTEQUAL"} {
		verdicts(t, []verdictCase{{op, bare(asm(long + " " + op)), script.ScriptNum, 0, 0}})
	}
	for _, op := range []string{"ADD", "SUB", "BOOLAND", "BOOLOR", "NUMEQUAL", "NUMEQUALVERIFY", "NUMNOTEQUAL", "LESSTHAN",
		"GREATERTHAN", "LESSTHANOREQUAL", "GREATERTHANOREQUAL", "MIN", "MAX"} {
		verdicts(t, []verdictCase{
			{op, bare(asm("1 " + long + " " + op)), script.ScriptNum, 0, 0},
			{op, bare(asm(long + " 1 " + op)), script.ScriptNum, 0, 0},
		})
	}
	for _, args := range []string{"1 1 " + long, "1 " + long + " 1", long + " 1 1"} {
		verdicts(t, []verdictCase{{args, bare(asm(args + " WITHIN")), script.ScriptNum, 0, 0}})
	}
	for _, text := range []string{
		"1 " + long + " PICK", "1 " + long + " ROLL", "0 0 " + long + " CHECKMULTISIG", "0 " + long + " 0 CHECKMULTISIG",
	} {
		verdicts(t, []verdictCase{{text, bare(asm(text)), script.ScriptNum, 0, 0}})
	}
	verdicts(t, []verdictCase{
		{"CHECKSIGADD", tapscript(t, asm("0 "+long+" 1 CHECKSIGADD")), script.ScriptNum, 0, 0},
		{"a result of five bytes", bare(asm("2147483647 DUP ADD 0x05 0xfeffffff00 EQUAL")), script.OK, 0, 0},
		{"which is no operand", bare(asm("2147483647 DUP ADD 0NOTEQUAL")), script.ScriptNum, 0, 0},
		{"a truth of any length", bare(asm(long)), script.OK, 0, 0},
	})
}

// Every byte string of up to two bytes, and those of three that are made of telling bytes: true where a byte is not
// zero, but for a lone sign in the last.
func TestTrap28Truth(t *testing.T) {
	var all [][]byte
	all = append(all, nil)
	for i := range 256 {
		all = append(all, []byte{byte(i)})
		for k := range 256 {
			all = append(all, []byte{byte(i), byte(k)})
		}
	}
	telling := []byte{0, 1, 0x7f, 0x80, 0x81, 0xff}
	for i := range 216 {
		all = append(all, []byte{telling[i/36], telling[i/6%6], telling[i%6]})
	}
	tail := [][]byte{
		asm("IF 1 ELSE 0 ENDIF"), asm("NOTIF 0 ELSE 1 ENDIF"), asm("VERIFY 1"), asm("1 BOOLAND"), asm("0 BOOLOR"),
		asm("NOT NOT"), asm("0NOTEQUAL"), asm("IFDUP DEPTH 2 EQUAL"), asm("NOP"),
	}
	e, tx := script.NewEngine(backend()), new(script.Tx)
	count := 0
	for _, value := range all {
		truth := len(value) > 0 && value[len(value)-1]&0x7f != 0
		for _, b := range value[:max(len(value)-1, 0)] {
			truth = truth || b != 0
		}
		for _, code := range tail {
			s := credit(push(nil, value), code, nil, 0)
			tx.Reset(s.block(t), 0, s.coins())
			count++
			if err := e.Verify(tx, 0, script.Consensus); (err == script.OK) != truth {
				t.Errorf("%x %x: %s", value, code, err)
			}
		}
	}
	t.Logf("%d scripts", count)
	want(t, "scripts", count, 9*(1+256+65536+216))
}

// Operands of the lock opcodes: five bytes, never negative, and of sequences only the type and 16 bits count.
func TestTrap29LockOperands(t *testing.T) {
	neg, no, num := script.NegativeLockTime, script.UnsatisfiedLockTime, script.ScriptNum
	for _, c := range []struct {
		code      string
		lock, seq uint32
		want      script.Error
	}{
		{"0 CLTV 1", 0, 0, script.OK}, {"-1 CLTV", 0, 0, neg}, {"0x01 0x80 CLTV 1", 0, 0, script.OK},
		{"499999999 CLTV", 499_999_999, 0, script.OK}, {"499999999 CLTV", 499_999_998, 0, no},
		{"499999999 CLTV", 500_000_000, 0, no}, {"500000000 CLTV", 499_999_999, 0, no},
		{"500000000 CLTV", 500_000_000, 0, script.OK},
		{"2147483647 CLTV", 2147483647, 0, script.OK}, {"2147483648 CLTV", 2147483648, 0, script.OK},
		{"4294967295 CLTV", 0xffffffff, 0, script.OK}, {"0x05 0x0000000001 CLTV", 0xffffffff, 0, no},
		{"0x05 0xffffffff7f CLTV", 0xffffffff, 0, no}, {"0x05 0xffffffffff CLTV", 0xffffffff, 0, neg},
		{"0x06 0x000000000000 CLTV", 0xffffffff, 0, num}, {"1 CLTV", 1, 0xffffffff, no}, {"1 CLTV", 1, 0xfffffffe, script.OK},
		{"0 CSV 1", 0, 0, script.OK}, {"-1 CSV", 0, 0, neg}, {"0x01 0x80 CSV 1", 0, 0, script.OK},
		{"2147483647 CSV", 0, 0x0040ffff, script.OK}, {"2147483647 CSV", 0, 0x0000ffff, no},
		{"2147483648 CSV", 0, 0, script.OK}, {"2147483648 CSV", 0, 0xffffffff, script.OK},
		{"4294967295 CSV", 0, 0, script.OK},
		{"0x05 0x0000000001 CSV", 0, 0, script.OK}, {"0x05 0x0000008001 CSV", 0, 0, script.OK},
		{"0x05 0x0100000001 CSV", 0, 0, no}, {"0x05 0xffffffff7f CSV", 0, 0, script.OK}, {"0x05 0xffffffffff CSV", 0, 0, neg},
		{"0x06 0x000000000000 CSV", 0, 0, num}, {"5 CSV", 0, 0xffff0005 &^ (1<<31 | 1<<22), script.OK},
		{"5 CSV", 0, 1<<31 | 5, no},
		{"5 CSV", 0, 1<<22 | 5, no}, {"4194309 CSV", 0, 1<<22 | 5, script.OK}, {"4194309 CSV", 0, 1<<22 | 4, no},
		{"4194309 CSV", 0, 5, no},
	} {
		s := bare(asm(c.code))
		s.version, s.lock, s.ins[0].seq = 2, c.lock, c.seq
		verdicts(t, []verdictCase{{fmt.Sprintf("%s, lock time %d, sequence %#x", c.code, c.lock, c.seq), s, c.want, 0, 0}})
	}
	empty := bare(asm("CLTV"))
	verdicts(t, []verdictCase{
		{"no operand", empty, script.InvalidStack, 0, 0}, {"a NOP", bare(asm("CLTV 1")), script.OK, script.P2SH, 0},
	})
}

// Which opcodes fail although they are not run, and which only when they are.
func TestTrap30DeadOpcodes(t *testing.T) {
	disabled := map[int]bool{}
	for _, op := range []int{0x7e, 0x7f, 0x80, 0x81, 0x83, 0x84, 0x85, 0x86, 0x8d, 0x8e, 0x95, 0x96, 0x97, 0x98, 0x99} {
		disabled[op] = true
	}
	for op := op16 + 1; op < 256; op++ {
		dead, live := script.OK, script.OK
		switch {
		case disabled[op]:
			dead, live = script.DisabledOpcode, script.DisabledOpcode
		case op == 0x65 || op == 0x66:
			dead, live = script.BadOpcode, script.BadOpcode
		case op == 0x63 || op == 0x64 || op == 0x68:
			continue
		case op == opReturn:
			live = script.OpReturn
		case op == 0x62 || op == 0x89 || op == 0x8a || op > 0xb9:
			live = script.BadOpcode
		}
		code := join(asm("0 IF"), []byte{byte(op)}, asm("ENDIF 1"))
		what := fmt.Sprintf("%#x", op)
		verdicts(t, []verdictCase{
			{what + ", dead", bare(code), dead, 0, 0}, {what + ", dead, witness", p2wsh(code), dead, 0, 0},
		})
		if live != script.OK {
			verdicts(t, []verdictCase{{what, bare(join([]byte{byte(op)}, asm("1"))), live, 0, 0}})
		}
	}
	large := push(nil, make([]byte, 521))
	verdicts(t, []verdictCase{
		{"RESERVED, dead", bare(asm("0 IF RESERVED ENDIF 1")), script.OK, 0, 0},
		{"RESERVED", bare(asm("RESERVED 1")), script.BadOpcode, 0, 0},
		{"large push, dead", bare(join(asm("0 IF"), large, asm("ENDIF 1"))), script.PushSize, 0, 0},
		{"largest push, dead", bare(join(asm("0 IF"), push(nil, make([]byte, 520)), asm("ENDIF 1"))), script.OK, 0, 0},
		{"201 opcodes, dead", bare(join(asm("0 IF"), slices.Repeat(asm("NOP"), 199), asm("ENDIF 1"))), script.OK, 0, 0},
		{"202 opcodes, dead", bare(join(asm("0 IF"), slices.Repeat(asm("NOP"), 200), asm("ENDIF 1"))), script.OpCount, 0, 0},
		{"201 with keys", bare(join(slices.Repeat(asm("NOP"), 198), asm("0 0 1 2 2 CHECKMULTISIG"))), script.OK, 0, 0},
		{"202 with keys", bare(join(slices.Repeat(asm("NOP"), 199), asm("0 0 1 2 2 CHECKMULTISIG"))), script.OpCount, 0, 0},
		{"many ELSE", bare(asm("0 IF 0 ELSE 1 ELSE RETURN ELSE 1 ELSE RETURN ENDIF")), script.OK, 0, 0},
		{"IF over the border", credit(asm("1 1 IF"), asm("ENDIF"), nil, 1), script.UnbalancedConditional, 0, 0},
		{"alt stack over the border", credit(asm("1 TOALTSTACK"), asm("FROMALTSTACK"), nil, 1), script.InvalidAltStack, 0, 0},
	})
}

// Signature operations count with their keys only inside P2SH and version 0, and where nothing runs too.
func TestTrap32SigOps(t *testing.T) {
	two := asm("2 0 0 2 CHECKMULTISIG") // accurate: 2
	dead := asm("RETURN CHECKSIG 0 IF CHECKSIGVERIFY ENDIF")
	notPushOnly := p2sh(two)
	notPushOnly.ins[0].script = join(asm("NOP"), notPushOnly.ins[0].script)
	nested := p2sh(append([]byte{op0, 32}, sum(two)...))
	nested.ins[0].witness = [][]byte{two}
	paying := bare(asm("1"))
	paying.outs = append(paying.outs, output{0, two}, output{0, dead})
	cut := bare(asm("1"))
	cut.outs = append(cut.outs, output{0, join(asm("CHECKSIG"), []byte{opPushData1, 9}, asm("CHECKSIG"))})
	for what, c := range map[string]struct {
		s    *spend
		cost int
	}{
		"spends a bare multisig": {bare(two), 0}, "pays to them": {paying, 4 * (20 + 2)}, "P2SH": {p2sh(two), 4 * 2},
		"P2SH, dead": {p2sh(dead), 4 * 2}, "P2SH, not push only": {notPushOnly, 0}, "P2WSH": {p2wsh(two), 2},
		"P2WSH, dead": {p2wsh(dead), 2}, "nested": {nested, 2}, "taproot": {tapscript(t, dead), 0},
		"taproot key": {keyPath(0), 0},
		"P2WPKH":      {credit(nil, append([]byte{op0, 20}, make([]byte, 20)...), nil, 0), 1}, "cut push": {cut, 4},
	} {
		if have := validate.SigOpsCost(c.s.block(t), 0, c.s.coins(), true, true); have != c.cost {
			t.Errorf("%s: %d, not %d", what, have, c.cost)
		}
	}
}

// takeDER gives r and s of a strict signature, and how such things are written.
func takeDER(sig []byte) (r, s []byte, integer func([]byte, int) []byte, sequence func(...[]byte) []byte) {
	integer = func(b []byte, pad int) []byte {
		b = append(make([]byte, pad), b...)
		return append([]byte{2, byte(len(b))}, b...)
	}
	sequence = func(parts ...[]byte) []byte {
		body := join(parts...)
		return append([]byte{0x30, byte(len(body))}, body...)
	}
	return sig[4 : 4+sig[3]], sig[6+sig[3] : len(sig)-1], integer, sequence
}

// laxForms writes a strict signature, hash type left out, in the ways that Core reads without BIP66.
func laxForms(sig []byte) map[string][]byte {
	r, s, integer, sequence := takeDER(sig)
	return map[string][]byte{
		"padded r":        sequence(integer(r, 3), integer(s, 0)),
		"padded s":        sequence(integer(r, 0), integer(s, 9)),
		"long length":     append([]byte{0x30, 0x81, sig[1]}, sig[2:len(sig)-1]...),
		"wrong length":    append([]byte{0x30, 0x02}, sig[2:len(sig)-1]...),
		"longest length":  append([]byte{0x30, 0x84, 0, 0, 0, 0}, sig[2:len(sig)-1]...),
		"long r length":   sequence(slices.Concat([]byte{2, 0x82, 0, byte(len(r))}, r), integer(s, 0)),
		"bytes behind":    sequence(integer(r, 0), integer(s, 0), make([]byte, 40)),
		"bytes after all": append(sig[:len(sig)-1:len(sig)-1], 1, 2, 3),
	}
}

// highS is the order less s.
func highS(s []byte) []byte {
	order, _ := new(big.Int).SetString("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141", 16)
	high := order.Sub(order, new(big.Int).SetBytes(s)).Bytes()
	return append([]byte{0}, high...)
}
