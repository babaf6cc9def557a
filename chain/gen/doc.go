// Command gen writes chain/ripemd_rounds.go: the rounds of RIPEMD-160 step by step, so that every index and every
// rotation is a constant. `go generate ./chain` runs it in the folder of package chain.
//
// The file is read as what it is, eighty steps of two lines; what it is made from is the page of tables in ripemd.go.
// hash160_test.go of package chain compares the whole with golang.org/x/crypto.
package main
