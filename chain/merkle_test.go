package chain_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
)

// naiveRoot is the definition: append the last to itself where the level is odd, and hash pairs into a new level.
func naiveRoot(level []chain.Hash) chain.Hash {
	if len(level) == 0 {
		return chain.Hash{}
	}
	for len(level) > 1 {
		if len(level)%2 == 1 {
			level = append(slices.Clone(level), level[len(level)-1])
		}
		var up []chain.Hash
		for i := 0; i < len(level); i += 2 {
			up = append(up, doubleSHA(append(slices.Clone(level[i][:]), level[i+1][:]...)))
		}
		level = up
	}
	return level[0]
}

func distinct(n int) []chain.Hash {
	leaves := make([]chain.Hash, n)
	for i := range leaves {
		leaves[i] = chain.Hash{byte(i), byte(i >> 8), 1}
	}
	return leaves
}

func TestMerkleRoot(t *testing.T) {
	for n := range 70 {
		root, mutated := chain.MerkleRoot(distinct(n))
		if want := naiveRoot(distinct(n)); root != want || mutated {
			t.Errorf("%d leaves: %v, mutated %v; want %v", n, root, mutated, want)
		}
	}
}

// TestMerkleMutation builds every list that has the root of a shorter one by repeating its end (CVE-2012-2459), and
// wants all of them found, and no plain list suspected.
func TestMerkleMutation(t *testing.T) {
	for n := 1; n < 70; n++ {
		want := naiveRoot(distinct(n))
		for step := 1; step < n; step *= 2 {
			if n%step != 0 || n/step%2 == 0 {
				continue // at this level nothing is paired with itself
			}
			longer := append(distinct(n), distinct(n)[n-step:]...)
			if root, mutated := chain.MerkleRoot(longer); root != want || !mutated {
				t.Errorf("%d leaves, last %d repeated: root %v, mutated %v; want %v", n, step, root, mutated, want)
			}
		}
	}
}

func TestMerkleProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Few different leaves, so that equal neighbours are frequent.
		leaves := make([]chain.Hash, rapid.IntRange(0, 40).Draw(t, "leaves"))
		for i := range leaves {
			leaves[i][0] = byte(rapid.IntRange(0, 3).Draw(t, "leaf"))
		}
		want, suspect := naiveRoot(leaves), equalPair(leaves)
		if root, mutated := chain.MerkleRoot(leaves); root != want || mutated != suspect {
			t.Fatalf("root %v, mutated %v; want %v, %v", root, mutated, want, suspect)
		}
	})
}

// equalPair looks for two equal hashes in one pair, on any level.
func equalPair(level []chain.Hash) bool {
	found := false
	for len(level) > 1 {
		var up []chain.Hash
		for i := 0; i < len(level); i += 2 {
			pair := level[i:min(i+2, len(level))]
			found = found || len(pair) == 2 && pair[0] == pair[1]
			up = append(up, naiveRoot(pair))
			if len(pair) == 1 {
				up[len(up)-1] = naiveRoot([]chain.Hash{pair[0], pair[0]})
			}
		}
		level = up
	}
	return found
}
