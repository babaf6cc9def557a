package p2p

import (
	"cmp"
	"slices"
	"time"

	"stele/node/p2p/addrbook"
)

// How many inbound peers are safe from eviction for one quality each. An attacker who wants us to have his connections
// alone must beat honest peers in all of them (Core: SelectNodeToEvict).
const (
	safeGroups = 4 // by a hash of their group that nobody can foresee
	safePing   = 8 // the nearest
	safeBlocks = 4 // who gave us blocks last
)

// candidate is an inbound peer that might be disconnected to make room.
type candidate struct {
	id        PeerID
	since     time.Time
	ping      int64 // the least, nanoseconds; zero: not known
	lastBlock int64 // Unix nanoseconds; zero: never
	group     addrbook.Group
	mark      uint64 // keyed hash of the group
	local     bool   // of this machine or of a network without addresses: all of these look like one group
}

// evict picks who has to go; ok is false where all are safe.
//
//  1. Safe for their quality: the groups with the highest marks, the nearest, those with the latest blocks.
//  2. Of the others half is safe for the time that they have been connected, local ones a quarter of all first.
//  3. Of the rest the group with the most connections loses its newest one.
func evict(all []candidate) (PeerID, bool) {
	all = slices.Clone(all)
	all = keep(all, safeGroups, func(a, b candidate) int { return cmp.Compare(b.mark, a.mark) })
	all = keep(all, safePing, func(a, b candidate) int { return cmp.Compare(pingRank(a), pingRank(b)) })
	all = keep(all, safeBlocks, func(a, b candidate) int { return cmp.Compare(b.lastBlock, a.lastBlock) })
	oldest := func(a, b candidate) int { return a.since.Compare(b.since) }
	half, spared := len(all)/2, 0
	local := slices.DeleteFunc(slices.Clone(all), func(c candidate) bool { return !c.local })
	slices.SortStableFunc(local, oldest)
	for _, c := range local[:min(len(local), len(all)/4)] {
		all = slices.DeleteFunc(all, func(o candidate) bool { return o.id == c.id })
		spared++
	}
	all = keep(all, half-spared, oldest)
	if len(all) == 0 {
		return 0, false
	}
	return newestOfLargest(all), true
}

// keep takes the first n by an order off the list: they are safe.
func keep(all []candidate, n int, order func(a, b candidate) int) []candidate {
	slices.SortStableFunc(all, order)
	return all[min(n, len(all)):]
}

// pingRank puts those whose ping is not known last.
func pingRank(c candidate) uint64 { return uint64(c.ping) - 1 }

// newestOfLargest is the newest peer of the group with the most members; of equal groups, of the one that got its
// newest last.
func newestOfLargest(all []candidate) PeerID {
	count := map[addrbook.Group]int{}
	newest := map[addrbook.Group]candidate{}
	for _, c := range all {
		count[c.group]++
		if n, ok := newest[c.group]; !ok || c.since.After(n.since) {
			newest[c.group] = c
		}
	}
	var worst candidate
	for group, c := range newest {
		if worst.id == 0 || count[group] > count[worst.group] ||
			count[group] == count[worst.group] && c.since.After(worst.since) {
			worst = c
		}
	}
	return worst.id
}
