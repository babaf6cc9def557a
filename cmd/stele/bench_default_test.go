//go:build !bench

package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestDefaultExecutable: what only measuring needs, other stores and plots, is not linked unless the tag bench asks for it.
func TestDefaultExecutable(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-tags=", "stele/cmd/stele").Output()
	if err != nil {
		t.Skipf("go list: %v", err)
	}
	all := strings.Fields(string(out))
	if len(all) < 50 {
		t.Fatalf("go list names %d packages", len(all))
	}
	for _, imp := range all {
		for _, module := range []string{
			"github.com/cockroachdb/", "go.etcd.io/bbolt", "github.com/syndtr/goleveldb", "gonum.org/",
			"github.com/zeebo/xxh3", "github.com/btcsuite/btcd/txscript", "github.com/btcsuite/btcd/blockchain",
			"github.com/btcsuite/btcd/btcutil",
		} {
			if strings.HasPrefix(imp, module) {
				t.Errorf("%s is linked", imp)
			}
		}
	}
}

// TestBenchNoPlots: without the tag a wish for plots is refused before anything is measured.
func TestBenchNoPlots(t *testing.T) {
	stele("bench", "all", "--plot", t.TempDir()).want(t, codeUsage, "--plot", "-tags bench")
}
