package store

// Growth in steps: a file grows by a sixteenth of itself, so that the number of allocations is logarithmic and the
// space allocated ahead stays near six per cent, but by no less than stepMin (a small store stays small) and no more
// than stepMax (one allocation stays short).
const (
	stepMin = 64 << 10
	stepMax = 64 << 20
)

// Step returns the size in bytes that a file of size bytes is given when need bytes are asked for and it may become
// no larger than reserve; need must not exceed reserve.
//
// An empty file gets what is asked for in whole pages: whoever creates a file knows its header page, and a store has
// many files that stay at it. Below stepMax sizes fall on multiples of stepMin where that still covers the need.
func Step(size, need, reserve int64) int64 {
	if size == 0 {
		return min(pages(need), reserve)
	}
	next := size + min(max(size/16, stepMin), stepMax)
	next -= next % stepMin
	return min(max(next, pages(need)), reserve)
}

// pages rounds n up to whole pages.
func pages(n int64) int64 { return (n + PageSize - 1) &^ (PageSize - 1) }
