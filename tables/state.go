package tables

// State is what is known of a block for good. Only root causes are kept: what follows for descendants is derived.
type State uint32

// The states, as they stand in a cell of the state array (4 bytes a header, by header link).
const (
	StateUnknown State = 0 // not decided
	StateValid   State = 1 // verified in full
	StateInvalid State = 2 // broke a consensus rule, in a way that no other body of the same hash could mend
)

// State returns what is known of header l.
func (t *Tables) State(l HeaderLink) State {
	delta, base := t.states.View().Get(uint64(l))
	if delta != 0 {
		return State(delta)
	}
	return State(base)
}

// SetState keeps what became known of header l. A state is not derived from the log, so it is durable from the next
// checkpoint on, and a crash before that loses it: the block is then judged again. Writer only.
func (t *Tables) SetState(l HeaderLink, s State) error {
	if err := t.writable(); err != nil {
		return err
	}
	t.states.Set(uint64(l), uint32(s))
	t.dirty = true
	return nil
}
