package hashmap

// Sealed reports whether a sealed delta waits to be merged, or is being merged.
func (c *Cells) Sealed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sealed
}

// Sealed reports whether a sealed delta waits to be merged, or is being merged.
func (m *Multimap) Sealed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sealed
}
