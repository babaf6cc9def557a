// Package btcdpeer runs btcd, another implementation of Bitcoin, as a regtest node on loopback: a peer that mines, makes
// reorganisations and has opinions of its own. Only tests import it.
//
// The program is built from the very version of github.com/btcsuite/btcd in go.mod, once a process, with the go command
// and copies of go.mod and go.sum, since the program needs modules that Stele does not. Where it cannot be built (no go
// command, a module that is neither cached nor to be had) the test is skipped with the reason. Clean removes it; call it
// when all tests of a process are done.
//
// A Node belongs to the test that started it: failures of its methods end that test, which stops it at the end. It keeps
// all its files in a folder of the test and listens on ports that the system chose, with a password made for the run.
// Methods may be called from any goroutine of the test but Start, Stop and Kill, which are for the one that runs it,
// as are those that end the test. One goroutine waits for the process and one reads its output; both have ended when
// Stop or Kill returns. On linux the process dies with the one that started it, whatever ends that.
package btcdpeer
