package bench

import (
	"context"
	"maps"
	"strings"
	"testing"

	"stele/internal/realdata"
)

func init() {
	maps.Copy(rowsOf, map[string][]string{"script": {"p2wpkh.us", "p2pkh.us"}})
}

// The two large transactions are what their rows say, every run input passes a real check in the measurement itself, and
// nothing is allocated for the small ones.
func TestScriptWork(t *testing.T) {
	realdata.Path(t, "mainnet", "blocks", "367891.blk.gz")
	for _, c := range []struct {
		name        string
		read        func(every int) (*scriptWork, error)
		every       int
		inputs, run int
	}{
		{"quadratic", quadraticSpending, 1000, 20_000, 20}, {"many", manySpending, 500, 5569, 11},
		{"small", func(int) (*scriptWork, error) { return keyHashSpending() }, 1, 1, 1},
	} {
		s, err := c.read(c.every)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.block.Ins) != c.inputs || len(s.ins) != c.run {
			t.Errorf("%s: %d inputs, %d run; want %d, %d", c.name, len(s.block.Ins), len(s.ins), c.inputs, c.run)
		}
	}
	r, err := scriptExperiment.Measure(context.Background(), tiny(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		if strings.HasSuffix(row.Name, ".allocs") && row.Value != 0 {
			t.Errorf("%s: %v", row.Name, row.Value)
		}
	}
}
