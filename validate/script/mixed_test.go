package script_test

import (
	"slices"
	"testing"

	"stele/chain"
	"stele/validate/script"
)

// padded is a script of n bytes that ends in a check against a signer's key and does nothing before.
func padded(n, key int) []byte {
	tail := append(push(nil, compressed(key)), opCheckSig)
	s := make([]byte, 0, n)
	for _, chunk := range []int{500, 70} {
		for n-len(s)-len(tail) > chunk+4 {
			s = append(push(s, make([]byte, chunk)), opDrop)
		}
	}
	return append(append(s, slices.Repeat([]byte{opNop}, n-len(s)-len(tail))...), tail...)
}

// Counts and lengths on both sides of where CompactSize grows, in all that signatures commit to. btcd signs.
func TestHashesOfAllSizes(t *testing.T) {
	j := newJudge()
	for _, size := range []int{60, 252, 253, 9_999, 10_000} {
		for _, count := range []struct{ ins, outs int }{{1, 1}, {252, 0}, {253, 252}, {2, 253}, {300, 1}} {
			s := bare(padded(size, 0))
			s.outs = slices.Repeat([]output{{7, asm("1")}}, count.outs)
			for i := 1; i < count.ins; i++ {
				s.ins = append(s.ins, input{txid: chain.Hash{2}, vout: uint32(i), coin: chain.Coin{Script: asm("1")}})
			}
			in := count.ins - 1
			s.ins[0], s.ins[in] = s.ins[in], s.ins[0]
			code := padded(size, 0)
			v0, v1 := s.clone(), s.clone()
			s.ins[in].script = push(nil, signBare(t, s, in, code, 1, 0))
			v0.ins[in].coin.Script = append([]byte{op0, 32}, sum(code)...)
			v0.ins[in].witness = [][]byte{signWitness(t, v0, in, code, 1, 0), code}
			leaf := slices.Concat(slices.Repeat([]byte{opNop}, size-34), push(nil, xOnly(0)), []byte{opCheckSig})
			output, control := taprootLeaf(t, unhex(t, numsKey), 0xc0, leaf)
			v1.ins[in].coin.Script = append([]byte{op1, 32}, output...)
			v1.ins[in].witness = [][]byte{leaf, control}
			v1.ins[in].witness = slices.Insert(v1.ins[in].witness, 0, signLeaf(t, v1, in, 1, 0, noSeparator, nil))
			for form, x := range map[string]*spend{"bare": s, "version 0": v0, "version 1": v1} {
				x.ins[in].script = slices.Clip(x.ins[in].script)
				if e := j.judgeSpend(t, x, in, script.Consensus); e != script.OK {
					t.Errorf("%s, script of %d, %d inputs, %d outputs: %s", form, size, count.ins, count.outs, e)
				}
			}
		}
	}
	want(t, "spends", j.inputs, 5*5*3)
}

// One transaction of 70 inputs of all kinds and hash types, 40 outputs: each must pass, whatever ran before it, on one
// engine and in any order. So no hash that inputs share is another's.
func TestMixedTransaction(t *testing.T) {
	s := &spend{version: 2, lock: 77}
	hashTypes := []byte{1, 2, 3, 0x81, 0x82, 0x83}
	const count, outs = 70, 40
	for i := range outs {
		s.outs = append(s.outs, output{int64(1000 + i), append(asm("1"), make([]byte, i*3)...)})
	}
	key := func(in int) int { return in % len(signers) }
	for i := range count {
		in := input{txid: chain.Hash{byte(i), 5}, vout: uint32(i), seq: uint32(0xfffffffe - i)}
		in.coin.Value = int64(5000 + i)
		switch i % 3 {
		case 0:
			in.coin.Script = payToKeyHash(compressed(key(i)))
		case 1:
			in.coin.Script = append([]byte{op0, 20}, hash160(compressed(key(i)))...)
		case 2:
			in.coin.Script = append([]byte{op1, 32}, xOnly(key(i))...)
		}
		s.ins = append(s.ins, in)
	}
	for i := range s.ins {
		in, hashType := &s.ins[i], hashTypes[i/3%len(hashTypes)]
		code := payToKeyHash(compressed(key(i)))
		switch i % 3 {
		case 0:
			in.script = pushAll([][]byte{signBare(t, s, i, code, hashType, key(i)), compressed(key(i))})
		case 1:
			in.witness = [][]byte{signWitness(t, s, i, code, hashType, key(i)), compressed(key(i))}
		case 2:
			if hashType&3 == 3 && i >= outs {
				hashType = 0
			}
			in.witness = [][]byte{signKeyPath(t, s, i, hashType, key(i))}
		}
	}
	j := newJudge()
	j.take(t, s)
	order := make([]int, count)
	for i := range order {
		order[i] = i
	}
	orders := map[string][]int{"up": order, "down": slices.Clone(order), "shuffled": nil}
	slices.Reverse(orders["down"])
	for i := range order {
		orders["shuffled"] = append(orders["shuffled"], i*29%count)
	}
	for name, order := range orders {
		for _, in := range order {
			if e := j.verdict(t, in, script.Consensus); e != script.OK {
				t.Errorf("%s: input %d: %s", name, in, e)
			}
		}
	}
	want(t, "inputs", j.inputs, 3*count)
	want(t, "inputs run again", j.rerun, 0)
	for in := range s.ins { // none of them passes for another input's reasons
		twin := s.clone()
		twin.ins[in].txid[31] ^= 1
		// A legacy SINGLE without its output signs the number one, and so nothing.
		nothing := in%3 == 0 && in >= outs && hashTypes[in/3%len(hashTypes)]&3 == 3
		if e := j.judgeSpend(t, twin, in, script.Consensus); (e == script.OK) != nothing {
			t.Errorf("input %d with another outpoint: %s", in, e)
		}
	}
	want(t, "inputs and twins", j.inputs, 4*count)
	t.Logf("%d inputs in three orders, %d checks put off", count, j.checks)
}
