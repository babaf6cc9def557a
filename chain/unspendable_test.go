package chain

import "testing"

func TestUnspendable(t *testing.T) {
	for _, c := range []struct {
		script []byte
		want   bool
	}{
		{nil, false}, {[]byte{0x6a}, true}, {[]byte{0x51, 0x6a}, false},
		{make([]byte, 10_000), false}, {make([]byte, 10_001), true},
	} {
		if got := Unspendable(c.script); got != c.want {
			t.Errorf("%d bytes %.4x: %v", len(c.script), c.script, got)
		}
	}
}
