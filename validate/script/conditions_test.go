package script

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestConditions: the two numbers tell what a list of all branches would.
func TestConditions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c conditions
		var model []bool
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			step := rapid.SampledFrom([]string{"true", "false", "toggle", "pop"}).Draw(t, "step")
			switch {
			case step == "true" || step == "false":
				c.push(step == "true")
				model = append(model, step == "true")
			case len(model) == 0:
			case step == "toggle":
				c.toggle()
				model[len(model)-1] = !model[len(model)-1]
			default:
				c.pop()
				model = model[:len(model)-1]
			}
			if c.live() != !slices.Contains(model, false) || int(c.depth) != len(model) {
				t.Fatalf("%v: live %v, depth %d", model, c.live(), c.depth)
			}
		}
	})
}
