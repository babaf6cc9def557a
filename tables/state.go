package tables

// State is what is known of a block until it is told otherwise. Only root causes are kept: what follows for
// descendants is derived.
type State uint32

// The states, as they stand in a cell of the state array (4 bytes a header, by header link).
const (
	StateUnknown  State = 0 // not decided, or cleared: setting it writes a zero over what was there
	StateValid    State = 1 // verified in full
	StateInvalid  State = 2 // broke a consensus rule, in a way that no other body of the same hash could mend
	StateRejected State = 3 // marked invalid by hand; no rule that it breaks is known
)

// Invalid reports whether no chain may hold the block, whatever the reason.
func (s State) Invalid() bool { return s == StateInvalid || s == StateRejected }

// State returns what is known of header l.
func (t *Tables) State(l HeaderLink) State {
	delta, base := t.states.View().Get(uint64(l))
	if delta != 0 {
		return State(delta)
	}
	return State(base) // zero, where the newest value in memory is a cleared one
}

// SetState keeps what became known of header l, StateUnknown among it: that clears the cell for good, where it had a
// value. A state is not derived from the log, so it is durable from the next checkpoint on, and a crash before that
// loses it: the block is then judged again, or stays marked although it was cleared. Writer only.
func (t *Tables) SetState(l HeaderLink, s State) error {
	if err := t.writable(); err != nil {
		return err
	}
	t.states.Set(uint64(l), uint32(s))
	t.dirty = true
	return nil
}
