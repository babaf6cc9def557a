//go:build generate

package main

// The generator and some tests read data files of this module; importing a package of it keeps it in go.mod.
import _ "github.com/btcsuite/btcd/blockchain/fullblocktests"
