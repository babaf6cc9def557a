package script_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"stele/validate/script"
)

// signature is where one of an input's signatures stands: in the stack, or in the script (item -1).
type signature struct{ item, off, size int }

// signatures finds the signatures of an input: what has the form of one, in the only places where one can stand.
func (in *input) signatures() (all []signature) {
	tap := in.form() == "p2tr key" || in.form() == "p2tr script"
	last := len(in.witness)
	if in.form() == "p2tr script" {
		last -= 2
	}
	for i := range max(last, 0) {
		item := in.witness[i]
		if tap && (len(item) == 64 || len(item) == 65) || !tap && looksDER(item) {
			all = append(all, signature{i, 0, len(item)})
		}
	}
	pushes, err := split(in.script)
	if err != nil {
		return all
	}
	for _, p := range pushes {
		if looksDER(p) {
			all = append(all, signature{-1, bytes.Index(in.script, p), len(p)})
		}
	}
	return all
}

func looksDER(b []byte) bool {
	return len(b) >= 9 && len(b) <= 73 && b[0] == 0x30 && int(b[1]) == len(b)-3
}

// hashType is what the signature says that it commits to.
func (in *input) hashType(s signature) byte {
	from := in.script
	if s.item >= 0 {
		from = in.witness[s.item]
	}
	if s.size == 64 {
		return 0
	}
	return from[s.off+s.size-1]
}

// anchor tells whether the input spends an anchor of a Lightning channel (BOLT 3).
func (in *input) anchor() bool {
	n := len(in.witness)
	return n > 0 && bytes.HasSuffix(in.witness[n-1], asm("CHECKSIG IFDUP NOTIF 16 CSV ENDIF"))
}

// flip changes one bit of b.
func flip(b []byte, bit int) { b[bit/8] ^= 1 << (bit % 8) }

// A real spend that passes fails when one bit is changed: of any of its signatures, of the hash or the key in the
// output that it spends, of its own sequence; of the value, where signatures commit to it, and only there; of an
// output, where the hash type covers it. What is not covered may change.
func TestAlteredTwins(t *testing.T) {
	r := rand.New(rand.NewPCG(341, 143))
	j := newJudge()
	counts := map[string]int{}
	all := samples(t)
	for i := 0; i < len(all); i += some(10) {
		s := all[i]
		for in := range s.ins {
			x := &s.ins[in]
			sigs := x.signatures()
			if len(sigs) == 0 {
				counts["without signature"]++
				continue
			}
			alter := func(what string, fails bool, f func(c *spend, x *input)) {
				c := s.clone()
				f(c, &c.ins[in])
				counts[what]++
				if e := j.judgeSpend(t, c, in, script.Consensus); (e != script.OK) != fails {
					t.Errorf("transaction %d, input %d (%s), %s: %s", i, in, x.form(), what, e)
				}
			}
			alterSignatures(r, sigs, alter)
			alterCommitted(r, s, in, sigs, alter)
		}
	}
	t.Logf("%d twins: %v", j.inputs, counts)
	signed, signatures, twins := 396, 437, 4317
	if *everySpend {
		signed, signatures, twins = 3599, 3965, 38361
	}
	want(t, "signed inputs", counts["version"], signed)
	want(t, "altered signatures", counts["signature"], signatures)
	want(t, "twins", j.inputs, twins)
}

type alteration func(what string, fails bool, f func(c *spend, x *input))

func alterSignatures(r *rand.Rand, sigs []signature, alter alteration) {
	for _, at := range sigs {
		alter("signature", true, func(_ *spend, x *input) {
			from := x.script
			if at.item >= 0 {
				from = x.witness[at.item]
			}
			flip(from[at.off:], r.IntN(8*at.size))
		})
	}
}

func alterCommitted(r *rand.Rand, s *spend, in int, sigs []signature, alter alteration) {
	x := &s.ins[in]
	segwit := len(x.witness) > 0
	alter("value", segwit, func(_ *spend, x *input) { x.coin.Value++ })
	if !x.anchor() { // whoever has the output of an anchor needs no signature when it is old enough
		alter("own sequence", true, func(_ *spend, x *input) { flipWord(&x.seq, r) })
	}
	alter("version", true, func(c *spend, _ *input) { flipWord(&c.version, r) })
	alter("lock time", true, func(c *spend, _ *input) { flipWord(&c.lock, r) })
	alter("outpoint", true, func(_ *spend, x *input) { flip(x.txid[:], r.IntN(256)) })
	alter("output script", true, func(_ *spend, x *input) {
		from := x.coin.Script // of the templates, the last 20 bytes before the ending are all of the hash or key
		if form := x.form(); form == "p2pkh" {
			from = from[3:23]
		} else if form != "other" {
			from = from[2:22]
		}
		flip(from, r.IntN(8*len(from)))
	})
	hashType := x.hashType(sigs[0])
	for _, at := range sigs {
		if x.hashType(at) != hashType {
			return
		}
	}
	if len(s.outs) == 0 {
		return
	}
	covers := hashType&0x1f != 2 && (hashType&0x1f != 3 || in == 0)
	alter("first output", covers, func(c *spend, _ *input) { c.outs[0].value ^= 1 })
	if other := (in + 1) % len(s.ins); other != in {
		all := hashType&0x80 == 0
		sequences := all && (hashType&0x1f == 1 || hashType == 0 || x.coin.Script[0] == op1)
		alter("other sequence", sequences, func(c *spend, _ *input) { flipWord(&c.ins[other].seq, r) })
		alter("other outpoint", all, func(c *spend, _ *input) { c.ins[other].vout ^= 1 })
		tap := x.coin.Script[0] == op1
		alter("other value", all && tap, func(c *spend, _ *input) { c.ins[other].coin.Value ^= 1 })
		alter("other script", all && tap, func(c *spend, _ *input) { flip(c.ins[other].coin.Script, 0) })
	}
}

func flipWord(w *uint32, r *rand.Rand) { *w ^= 1 << r.IntN(32) }
