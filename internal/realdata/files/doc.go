// Package files finds real chain data: the folder that realdata describes, and files inside modules of go.mod. It is
// apart from realdata because benchmarks of the executable look for the same blocks, and must not link a test's tools.
//
// What is absent is an error that wraps fs.ErrNotExist, and nothing else does. All functions may be called from several
// goroutines; the bytes that Read returns belong to the caller.
package files
