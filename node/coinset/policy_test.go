package coinset

import "testing"

// Images are seldom, however a sync goes: no more than 17 over mainnet's 3.4 billion inputs, none of a small set.
func TestDue(t *testing.T) {
	const blocks, inputs = 900_000, 3_400_000_000
	images, since, written := 0, uint64(0), int64(0)
	for n := range int64(blocks) {
		set := n * (9 << 30) / blocks
		if since += inputs / blocks; Due(since, set) {
			images, since, written = images+1, 0, written+set
		}
	}
	if images < 15 || images > 17 || written > 80<<30 {
		t.Errorf("%d images of %d bytes", images, written)
	}
	for _, c := range []struct {
		since, outputs uint64
		want           bool
	}{
		{NoImage, 1_000_000, false},
		{NoImage, 3_750_000_000, true},
		{700_000, 3_750_000_000, false}, // a day of blocks
		{7_000_000, 3_750_000_000, true},
	} {
		if DueAtStop(c.since, c.outputs) != c.want {
			t.Errorf("%+v", c)
		}
	}
	if Due(NoImage, smallSet-1) {
		t.Error("an image of a small set")
	}
}
