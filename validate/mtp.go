package validate

// mtpSpan is the number of headers whose median counts as the time of the last of them (Core: nMedianTimeSpan).
const mtpSpan = 11

// MTP is the median time past: the median of the times of the last 11 headers of a branch, in any order; of fewer
// near the genesis block, where the upper of two middle ones counts. Of more than 11 times the last 11 are taken;
// of none it is 0. It does not allocate.
func MTP(times []uint32) uint32 {
	if len(times) > mtpSpan {
		times = times[len(times)-mtpSpan:]
	}
	if len(times) == 0 {
		return 0
	}
	var sorted [mtpSpan]uint32
	for n, time := range times {
		i := n
		for ; i > 0 && sorted[i-1] > time; i-- {
			sorted[i] = sorted[i-1]
		}
		sorted[i] = time
	}
	return sorted[len(times)/2]
}

// NextMTP is the median time past of a header of the given time as a child of parent: of it and up to ten ancestors.
func NextMTP(parent Parent, anc Ancestry, time uint32) uint32 {
	var times [mtpSpan]uint32
	times[0], times[1] = time, parent.Time
	n := 2
	for height := parent.Height; height > 0 && n < mtpSpan; n++ {
		height--
		times[n], _ = anc.At(height)
	}
	return MTP(times[:n])
}
