package store

import "testing"

func TestStep(t *testing.T) {
	const k, m, g = 1 << 10, 1 << 20, 1 << 30
	for _, c := range []struct{ size, need, reserve, want int64 }{
		{0, 1, g, 4 * k},                       // an empty file gets whole pages of what is asked for
		{0, 4 * k, g, 4 * k},                   // a header page
		{0, 100*k + 1, g, 104 * k},             //
		{4 * k, 4*k + 1, g, 64 * k},            // the first step lands on a multiple of 64 KiB
		{4 * k, 64*k + 1, g, 68 * k},           // unless more is needed
		{64 * k, 64*k + 1, g, 128 * k},         // at least 64 KiB
		{100 * k, 101 * k, g, 128 * k},         //
		{1 * m, 1*m + 1, g, 1*m + 64*k},        // a sixteenth of 1 MiB is 64 KiB
		{16 * m, 16*m + 1, g, 17 * m},          // a sixteenth
		{16*m + 17, 16*m + 18, g, 17 * m},      // from any size
		{1 * g, 1*g + 1, 9 * g, 1*g + 64*m},    // a sixteenth of 1 GiB is 64 MiB
		{8 * g, 8*g + 1, 9 * g, 8*g + 64*m},    // at most 64 MiB
		{8 * g, 8*g + 70*m, 9 * g, 8*g + 70*m}, // unless more is needed
		{64 * k, 65 * k, 100 * k, 100 * k},     // never more than the reserve
		{96 * k, 97 * k, 100 * k, 100 * k},     //
		{0, 100 * k, 100 * k, 100 * k},         // all of it
		{64 * k, 99*k + 1, 100 * k, 100 * k},   //
	} {
		got := Step(c.size, c.need, c.reserve)
		if got != c.want {
			t.Errorf("Step(%d, %d, %d) = %d, want %d", c.size, c.need, c.reserve, got, c.want)
		}
		if got < c.need || got > c.reserve || got <= c.size {
			t.Errorf("Step(%d, %d, %d) = %d breaks its own bounds", c.size, c.need, c.reserve, got)
		}
	}
}

// A store of sixteen files that hold a row each stays near a megabyte, and growth to the size of the largest mainnet
// table takes a number of allocations that is small beside its blocks.
func TestStepTotals(t *testing.T) {
	if total := 16 * Step(Step(0, PageSize, 1<<40), PageSize+42, 1<<40); total > 1<<20 {
		t.Errorf("sixteen files of one row take %d bytes, want at most 1 MiB", total)
	}
	steps := 0
	for size := int64(0); size < 500<<30; size = Step(size, size+1, 1<<40) {
		steps++
	}
	// 1 GiB is reached in about 16+16*ln(1024) steps, the rest are 64 MiB each.
	if steps > 8200 {
		t.Errorf("500 GiB are reached in %d steps", steps)
	}
}
