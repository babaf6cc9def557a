package bench

import (
	"fmt"
	"os"
	"testing"
)

// childArgument makes the test's executable a child.
const childArgument = "bench-child"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == childArgument {
		if err := Child(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// tiny runs an experiment in seconds. Its figures mean nothing.
func tiny(t *testing.T) Options {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Options{Scale: 0.002, Runs: 1, Dir: t.TempDir(), Child: []string{exe, childArgument}, lines: 1 << 12}
}
