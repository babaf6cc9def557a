package chain

// MerkleRoot hashes neighbours together, in place, until one hash is left; a level's last hash without neighbour is
// paired with itself. level is destroyed. No hashes have the zero root, one hash is its own (Core:
// ComputeMerkleRoot).
//
// Because of that pairing a list whose end is repeated in the right way has the same root. mutated tells that
// somewhere two equal neighbours were hashed together, other than the self-paired last: then the transactions may not
// be the ones that the header commits to, and a failure must not be remembered against it (CVE-2012-2459).
func MerkleRoot(level []Hash) (root Hash, mutated bool) {
	if len(level) == 0 {
		return Hash{}, false
	}
	var pair [2 * HashSize]byte
	for len(level) > 1 {
		n := len(level)
		for i := 0; i+1 < n; i += 2 {
			mutated = mutated || level[i] == level[i+1]
			copy(pair[:HashSize], level[i][:])
			copy(pair[HashSize:], level[i+1][:])
			level[i/2] = DoubleSHA256(pair[:])
		}
		if n&1 == 1 {
			copy(pair[:HashSize], level[n-1][:])
			copy(pair[HashSize:], level[n-1][:])
			level[n/2] = DoubleSHA256(pair[:])
		}
		level = level[:(n+1)/2]
	}
	return level[0], mutated
}
