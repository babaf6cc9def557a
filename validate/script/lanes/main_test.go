package lanes

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"stele/internal/realdata"
)

// skipped counts the tests that need the kernels and found none.
var skipped atomic.Int64

func TestMain(m *testing.M) {
	code := m.Run()
	if n := skipped.Load(); n > 0 {
		fmt.Fprintf(os.Stderr, "lanes: %d tests of kernels skipped: no AVX-512 IFMA\n", n)
	}
	if n, names := realdata.Skipped(); n > 0 {
		fmt.Fprintf(os.Stderr, "realdata: %d skipped; absent: %s\n", n, strings.Join(names, ", "))
	}
	os.Exit(code)
}
