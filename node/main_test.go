package node

import (
	"testing"

	"go.uber.org/goleak"
)

// Nothing of an import may be left running when it returned.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
