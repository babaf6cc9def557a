package script

// Elements are views: of the transaction, of the coin, of constants, or of the scratch. Nothing writes through one.
//
// The scratch holds what opcodes compute, of which no element is longer than scratchElement bytes. It is filled from
// the front during an input. When it is full, every element that may lie in it moves to the other half, and the halves
// change roles; what an opcode took off the stack before stays readable until the next such turn. At most maxStack
// elements plus those of the running opcode are alive, which fill half of a half: so a turn comes no more often than
// every thousand opcodes, and memory is bounded however long a script is.
const (
	scratchElement = 32
	scratchHalf    = 2 * (maxStack + maxMultisigKeys + 4) * scratchElement // 64 KiB
	keepStack      = 4 * maxStack                                          // elements; a longer stack is given back
)

// top is the element n below the topmost. The stack must hold it.
func (e *Engine) top(n int) []byte { return e.stack[len(e.stack)-1-n] }

func (e *Engine) push(b []byte) { e.stack = append(e.stack, b) }

// pop drops n elements. The stack must hold them.
func (e *Engine) pop(n int) { e.stack = e.stack[:len(e.stack)-n] }

// replace puts b in the place of the n topmost elements, 1 or more. The stack must hold them.
func (e *Engine) replace(n int, b []byte) {
	e.pop(n - 1)
	e.stack[len(e.stack)-1] = b
}

func (e *Engine) pushNumber(v int64) { e.push(e.numberView(v)) }

// numberView is the element of v: a constant for what OP_1NEGATE to OP_16 push, else a view of the scratch.
func (e *Engine) numberView(v int64) []byte {
	if v >= -1 && v <= 16 {
		return smallNumber(int(v))
	}
	return e.keep(appendNumber(e.room(), v))
}

// boolView is the element of v: 1 or nothing.
func boolView(v bool) []byte {
	if v {
		return smallNumber(1)
	}
	return nil
}

// room is free scratch to append up to scratchElement bytes to; keep makes what was appended an element.
func (e *Engine) room() []byte {
	if len(e.scratch)+scratchElement > cap(e.scratch) {
		e.turn()
	}
	n := len(e.scratch)
	return e.scratch[n:n]
}

func (e *Engine) keep(b []byte) []byte {
	n := len(e.scratch)
	e.scratch = e.scratch[:n+len(b)]
	return e.scratch[n : n+len(b) : n+len(b)]
}

// turn moves what may lie in the scratch to the other half.
func (e *Engine) turn() {
	if e.spare == nil {
		e.spare = make([]byte, 0, scratchHalf)
	}
	e.scratch, e.spare = e.spare[:0], e.scratch
	for _, elements := range [2][][]byte{e.stack, e.alt} {
		for i, b := range elements {
			if len(b) > 0 && len(b) <= scratchElement {
				elements[i] = e.keep(append(e.scratch[len(e.scratch):], b...))
			}
		}
	}
}
