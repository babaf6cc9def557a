//go:build !amd64 || purego

package lanes

// There are no kernels here: present is false, and nothing calls them.
const present = false

func mulLanes(_, _, _ *number, _ int)                    {}
func sqrLanes(_, _ *number, _, _ int)                    {}
func normaliseLanes(_, _ *number, _ int)                 {}
func doubleOne(*point, int, *scratch)                    {}
func doublePair(*point, int, *scratch)                   {}
func addKeyOne(*point, *line, *pick, *scratch)           {}
func addKeyPair(*point, *line, *pick, *scratch)          {}
func addBaseOne(*point, *line, *pick, *scratch, *number) {}
func addBasePair(*point, *line, *pick, *scratch, *number) {
}
func climbOne(_, _, _ *rung, _ *scratch)       {}
func climbPair(_, _, _ *rung, _ *scratch)      {}
func lineOne(*rung, *number, *line, *scratch)  {}
func linePair(*rung, *number, *line, *scratch) {}
