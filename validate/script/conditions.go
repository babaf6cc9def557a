package script

// conditions are the branches that a script is in, one truth each. Only whether all are true is ever asked, and only
// the last can change; so the depth and the place of the first false say all (Core: ConditionStack). 8 bytes; the zero
// value is outside of all branches.
type conditions struct {
	depth uint32
	dead  uint32 // 1 + place of the first false; 0: all are true
}

func (c *conditions) live() bool { return c.dead == 0 }

func (c *conditions) push(v bool) {
	c.depth++
	if c.dead == 0 && !v {
		c.dead = c.depth
	}
}

// toggle changes the last one. Where an earlier one is false, nobody can tell. There must be one.
func (c *conditions) toggle() {
	switch c.dead {
	case 0:
		c.dead = c.depth
	case c.depth:
		c.dead = 0
	}
}

// pop forgets the last one. There must be one.
func (c *conditions) pop() {
	if c.dead == c.depth {
		c.dead = 0
	}
	c.depth--
}
