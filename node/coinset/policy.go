package coinset

import "math"

// When images are worth their writing. What they save is time at the next start; what they cost is a write of nearly all
// of the set, during which the writer waits.
//
// At a million inputs a second, 200 million are a roll of three minutes at the most, and half of that for a process that
// ends at any moment. Mainnet's 3.4 billion inputs make 17 images over a whole sync. The set grows to about 8 GB meanwhile,
// so they add up to some 70 GB, beside the 800 GB of blocks that the sync takes in. Images every 20 million inputs would
// write as much as those.
//
// The pass over the archive takes 220 ns an output on one goroutine where half of the outputs are unspent, with the files
// in memory (BenchmarkLoad), so four million outputs are under a second. An image of a set below 512 MiB saves seconds.
const (
	runInputs   = 200_000_000
	stopInputs  = 1_000_000 // a second of rolling
	stopOutputs = 4_000_000
	smallSet    = 512 << 20
)

// NoImage is the number of inputs since an image where there is none.
const NoImage = math.MaxUint64

// Due says whether a running node should save an image: so many inputs were confirmed since the block of the last one, and
// the set takes so many bytes.
func Due(inputsSince uint64, setBytes int64) bool {
	return inputsSince >= runInputs && setBytes >= smallSet
}

// DueAtStop says whether a node that stops should save one, of an archive with so many outputs: not where the next start
// would take a second without it.
func DueAtStop(inputsSince, archivedOutputs uint64) bool {
	return inputsSince >= stopInputs && archivedOutputs >= stopOutputs
}
