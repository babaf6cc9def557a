package presync

import (
	"slices"
	"testing"

	"stele/chain"
)

// world is what the fuzzed peer has: a trunk, and a branch that leaves it at a quarter.
type world struct {
	p      *chain.Params
	start  Start
	chains [2][]chain.Header
}

func newWorld() *world {
	p := easy()
	start := genesis(p)
	trunk := mine(p, start.Hash, 4_000, 0)
	branch := append(slices.Clone(trunk[:1_000]), mine(p, trunk[1_000].Prev, 4_000, 1)...)
	return &world{p, start, [2][]chain.Header{trunk, branch}}
}

// message makes headers of 4 bytes: which chain, where it starts (or where the last ended), how many, what is damaged.
func (w *world) message(op []byte, at int) []chain.Header {
	c := w.chains[op[0]&1]
	if op[0]&2 != 0 {
		at = int(op[1]) * 16
	}
	at = min(at, len(c))
	hs := slices.Clone(c[at:min(len(c), at+int(op[2])*8)])
	if op[3] != 0 && len(hs) > 0 {
		h := &hs[int(op[1])%len(hs)]
		switch op[3] % 4 {
		case 0:
			h.Bits ^= 1 << (op[3] / 4 % 32)
		case 1:
			h.Nonce += uint32(op[3])
		case 2:
			h.Prev[op[3]%32] ^= op[3]
		}
	}
	return hs
}

// FuzzPut plays messages, most of them such as a peer could send next, and checks after each that memory is within its
// bound, and that what came out is a chain from the start with proof of work, of headers that came in.
func FuzzPut(f *testing.F) {
	f.Add([]byte{0, 0, 250, 0, 0, 0, 250, 0, 0, 0, 250, 0, 0, 0, 250, 0}, uint16(3_000), byte(1))
	f.Add([]byte{0, 0, 250, 0, 0, 0, 250, 0, 1, 0, 250, 0, 1, 0, 250, 0}, uint16(2_500), byte(2))
	f.Add([]byte{0, 0, 10, 0, 0, 9, 10, 8}, uint16(9), byte(0))
	f.Add([]byte{4, 0, 100, 0}, uint16(4_000), byte(3))
	w := newWorld()
	f.Fuzz(func(t *testing.T, ops []byte, work uint16, secret byte) {
		minimum := workOf(w.p, uint32(work))
		s := New(w.p, w.start, minimum, now, [32]byte{secret})
		s.sizes = sizes{7, 160} // so that a thousand headers are many
		s.offset = uint32(secret) % 7
		tip, got := w.start.Hash, w.start.Work
		for n := 0; len(ops) >= 4 && n < 40; n, ops = n+1, ops[4:] {
			hs := w.message(ops, int(s.Taken()))
			r := s.Put(hs, ops[0]&4 == 0)
			for i := range r.Released {
				h := &r.Released[i]
				hash := h.Hash()
				target, _, _ := chain.CompactToTarget(h.Bits)
				if h.Prev != tip || !chain.HashMeetsTarget(&hash, target) || h.Bits != w.p.PowLimitBits {
					t.Fatalf("message %d: header %d released: %+v after %v", n, i, h, tip)
				}
				tip, got = hash, got.Add(chain.BlockWork(h.Bits))
			}
			if s.Bytes() > 64<<10+chain.HeaderSize*2*2_200 {
				t.Fatalf("message %d: %d bytes", n, s.Bytes())
			}
			if r.Status == Done && got.Cmp(minimum) < 0 {
				t.Fatalf("done with work %v of %v", got, minimum)
			}
			if r.Status == More && len(r.Locator) == 0 {
				t.Fatal("no locator")
			}
			if r.Status != More {
				return
			}
		}
	})
}
