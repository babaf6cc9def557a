// Package realdata finds the real chain data and published vectors that tests
// compare with: block files, headers, Core's own answers. They are too large
// for the repository and live in a folder of their own.
//
// The folder is $STELE_DATA, or else shared/data next to the repository's
// folder (found by walking up from the working directory to go.mod). A test
// that asks for a file which is not there is skipped as
//
//	realdata absent: chains/mainnet_0_14131.blk.gz
//
// and the skip is counted for the whole process, so that a TestMain can print
// how much was left out and a green run cannot be mistaken for a full one.
//
// Module serves the second source: files that come inside a module of go.mod.
//
// Only tests import this package; the finding itself is done by package files,
// which is all of Stele that it imports. All functions may be called from
// parallel tests. The bytes that Read, Split and Blocks return belong to the
// caller; nothing is cached but folder names.
package realdata
