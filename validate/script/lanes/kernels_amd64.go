//go:build !purego

package lanes

import "golang.org/x/sys/cpu"

// The kernels, in kernels_amd64.s. They take numbers by address, of one group of lanes or of a pair, and use every
// vector register. What they take and give is said there and, in Go, by the twins.

// present tells whether this processor has what the kernels need.
var present = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512BW &&
	cpu.X86.HasAVX512IFMA

//go:noescape
func mulLanes(r, a, b *number, groups int)

//go:noescape
func sqrLanes(r, a *number, groups, n int)

//go:noescape
func normaliseLanes(r, a *number, groups int)

//go:noescape
func doubleOne(p *point, times int, s *scratch)

//go:noescape
func doublePair(p *point, times int, s *scratch)

//go:noescape
func addKeyOne(p *point, table *line, at *pick, s *scratch)

//go:noescape
func addKeyPair(p *point, table *line, at *pick, s *scratch)

//go:noescape
func addBaseOne(p *point, table *line, at *pick, s *scratch, scale *number)

//go:noescape
func addBasePair(p *point, table *line, at *pick, s *scratch, scale *number)

//go:noescape
func climbOne(from, to, step *rung, s *scratch)

//go:noescape
func climbPair(from, to, step *rung, s *scratch)

//go:noescape
func lineOne(from *rung, z *number, table *line, s *scratch)

//go:noescape
func linePair(from *rung, z *number, table *line, s *scratch)
