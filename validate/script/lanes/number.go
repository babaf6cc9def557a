package lanes

//go:generate go run ./gen

const (
	lanes = 8 // of a group
	most  = 16
	round = most * lanes // items that are verified together at most
)

// vector is one word of each of eight lanes: 64 bytes, a register.
type vector [lanes]uint64

// number is an integer modulo p = 2^256 - 2^32 - 977 in each of eight lanes, as five limbs of 52 bits, least
// significant first:
//
//	| limb 0: lane 0 ... lane 7 | limb 1 | limb 2 | limb 3 | limb 4 |    320 bytes
//
// Magnitude m says: the limbs 0 to 3 are below 2^52, and the number below m*p + 2^216. An open number has junk above
// the 52 bits of limbs 0 to 3, and a limb 4 below 2^52; it goes only into products.
type number [5]vector

// point is (x/z^2, y/z^3) in each lane; the pair of two groups lies side by side.
type point struct{ x, y, z number }

// rung is what the table of a key keeps of one odd multiple, of two groups: x and y, and h, with which the addition
// that made it multiplied z.
type rung struct{ x, y, h [2]number }

// line is a point of a table, x then y, each as four words below 2^256, least significant first. One cache line.
type line [8]uint64

// pick names the points of one addition, lane by lane of two groups: the place of a line in its table, and in bit 31
// that the point is to be taken off. One cache line.
type pick [2 * lanes]uint32

const placeMask = 1<<31 - 1

// scratch is what the kernels keep between products.
type scratch [16][2]number

// limbs is one lane of a number.
type limbs [5]uint64

const (
	fold     = 1<<32 + 977 // 2^256 modulo p
	limbMask = 1<<52 - 1
	topMask  = 1<<48 - 1
)

var (
	one       = limbs{1}
	fieldP    = [4]uint64{1<<64 - fold, 1<<64 - 1, 1<<64 - 1, 1<<64 - 1}
	beta      = limbs{0x96c28719501ee, 0x7512f58995c13, 0xc3434e99cf049, 0x7106e64479ea, 0x7ae96a2b657c}
	generator = line{
		0x59f2815b16f81798, 0x029bfcdb2dce28d9, 0x55a06295ce870b07, 0x79be667ef9dcbbac,
		0x9c47d08ffb10d4b8, 0xfd17b448a6855419, 0x5da4fbfc0e1108a8, 0x483ada7726a3c465,
	}
)

func (n *number) lane(l int) limbs { return limbs{n[0][l], n[1][l], n[2][l], n[3][l], n[4][l]} }

func (n *number) setLane(l int, v *limbs) {
	for i, w := range v {
		n[i][l] = w
	}
}

func (n *number) setAll(v *limbs) {
	for l := range lanes {
		n.setLane(l, v)
	}
}

// unpack cuts four words.
func unpack(w *[4]uint64) limbs {
	return limbs{
		w[0] & limbMask, (w[0]>>52 | w[1]<<12) & limbMask, (w[1]>>40 | w[2]<<24) & limbMask,
		(w[2]>>28 | w[3]<<36) & limbMask, w[3] >> 16,
	}
}

// pack joins limbs below 2^52, the last one below 2^48.
func (v *limbs) pack() [4]uint64 {
	return [4]uint64{v[0] | v[1]<<52, v[1]>>12 | v[2]<<40, v[2]>>24 | v[3]<<28, v[3]>>36 | v[4]<<16}
}

func (v *limbs) isZero() bool { return v[0]|v[1]|v[2]|v[3]|v[4] == 0 }
