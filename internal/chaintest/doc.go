// Package chaintest makes regtest blocks for tests: valid ones by default, with whatever is asked for in them. A block
// costs a handful of hashes, so that a test may make thousands.
package chaintest
