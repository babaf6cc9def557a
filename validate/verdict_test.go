package validate

import "testing"

func TestVerdictString(t *testing.T) {
	for _, x := range []struct {
		v    Verdict
		want string
	}{
		{valid, "valid"},
		{refuse(ReasonSigOps, "out-of-bounds SigOpCount"), "bad-blk-sigops, out-of-bounds SigOpCount"},
		{refuseTx(ReasonNoInputs, 3, none), "bad-txns-vin-empty"},
	} {
		if got := x.v.String(); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}
