package node

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// Nothing of an import may be left running when it returned.
func TestMain(m *testing.M) {
	if dir := os.Getenv(asVictim); dir != "" {
		fmt.Fprintln(os.Stderr, victim(dir))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}
