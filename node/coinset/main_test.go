package coinset

import (
	"testing"

	"go.uber.org/goleak"
)

// Nothing of a loader may be left running when it was closed.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
