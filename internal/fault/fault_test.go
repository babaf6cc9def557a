package fault

import "testing"

// TestNames wants a name for every fault, and no two alike.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, id := range All() {
		if name := id.String(); name == "" || seen[name] {
			t.Errorf("fault %d is named %q", int(id), name)
		} else {
			seen[name] = true
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d faults", len(seen))
	}
	if !Enabled && On(All()[0]) {
		t.Error("a fault is made without the build tag")
	}
}
