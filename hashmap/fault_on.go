//go:build faults

package hashmap

// displace is the mistake of fault.MapEntryMoves: the first entry of a full line makes room for a new one, with the marks
// that it leaves on its way, and is returned to be entered further on.
func (l *line) displace(tag, stored uint32) (oldTag, oldStored uint32) {
	oldTag, oldStored = l.tag(0), l.stored(0)
	l.setTag(0, tag)
	for i := range 4 {
		l[lineLinks+i] = byte(stored >> (8 * i))
	}
	l[lineMeta] |= passMark(oldTag) | metaTwin
	return oldTag, oldStored
}
