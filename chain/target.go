package chain

// A header's bits are a target in 32 bits: the highest byte counts the bytes of the number, the lower three are its
// most significant ones, of which bit 23 is a sign (Core: arith_uint256::SetCompact, GetCompact).
//
//	31      24 23 22                  0
//	+---------+--+---------------------+
//	| size    | -| mantissa            |     target = mantissa * 256^(size-3)
//	+---------+--+---------------------+
const (
	compactSign     = 0x0080_0000
	compactMantissa = 0x007f_ffff
)

// CompactToTarget unpacks bits as Core's SetCompact does. negative and overflow tell of an encoding that no valid
// header has; t is then what Core computes nevertheless (magnitude, truncated to 256 bits). Zero with a sign is not
// negative.
func CompactToTarget(bits uint32) (t Work, negative, overflow bool) {
	size := uint(bits >> 24)
	word := bits & compactMantissa
	if size <= 3 {
		word >>= 8 * (3 - size)
		t = Work{uint64(word)}
	} else {
		t = Work{uint64(word)}.Lsh(8 * (size - 3))
	}
	negative = word != 0 && bits&compactSign != 0
	overflow = word != 0 && (size > 34 || word > 0xff && size > 33 || word > 0xffff && size > 32)
	return t, negative, overflow
}

// TargetToCompact packs t, dropping what three bytes cannot hold (Core: GetCompact).
func TargetToCompact(t Work) uint32 {
	size := uint(t.BitLen()+7) / 8
	var word uint32
	if size <= 3 {
		word = uint32(t[0]) << (8 * (3 - size))
	} else {
		word = uint32(t.Rsh(8 * (size - 3))[0])
	}
	if word&compactSign != 0 { // would read as negative
		word >>= 8
		size++
	}
	return uint32(size)<<24 | word
}

// BlockWork is the expected number of hashes that a header of these bits stands for: 2^256 / (target+1), rounded
// down; zero where the bits are negative, zero or overflow (Core: GetBlockProof).
func BlockWork(bits uint32) Work {
	t, negative, overflow := CompactToTarget(bits)
	if negative || overflow || t.IsZero() {
		return Work{}
	}
	// 2^256 does not fit; (2^256 - (t+1)) / (t+1) + 1 does, and 2^256 - (t+1) is the complement of t.
	complement := Work{^t[0], ^t[1], ^t[2], ^t[3]}
	one := Work{1}
	return complement.div(t.Add(one)).Add(one)
}

// HashMeetsTarget tells whether h, read as a little-endian number, is at most t.
func HashMeetsTarget(h *Hash, t Work) bool {
	return WorkFromLE(h[:]).Cmp(t) <= 0
}

// Difficulty is the number that Core shows for bits: how many times smaller the target is than that of 1d00ffff, in
// double precision by Core's own steps (GetDifficulty), so that printed digits agree. The sign bit counts as mantissa
// there.
func Difficulty(bits uint32) float64 {
	d := float64(0xffff) / float64(bits&0x00ff_ffff)
	size := bits >> 24
	for ; size < 29; size++ {
		d *= 256
	}
	for ; size > 29; size-- {
		d /= 256
	}
	return d
}
