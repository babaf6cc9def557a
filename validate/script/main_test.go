package script_test

import (
	"flag"
	"testing"

	"stele/internal/realdata"
)

// everySpend makes the tests of real spends judge every one of them. Without it the largest sets are thinned out.
var everySpend = flag.Bool("all", false, "judge every real spend, not only some of the largest sets")

// some is how many spends the tests go on by where not all are asked for: 1 is all of them.
func some(step int) int {
	if *everySpend {
		return 1
	}
	return step
}

func TestMain(m *testing.M) { realdata.Main(m) }
