package script

// The engine has already asked for as many elements as operations names.

func (e *Engine) toAlt() Error {
	e.alt = append(e.alt, e.top(0))
	e.pop(1)
	return OK
}

func (e *Engine) fromAlt() Error {
	n := len(e.alt)
	if n == 0 {
		return InvalidAltStack
	}
	e.push(e.alt[n-1])
	e.alt = e.alt[:n-1]
	return OK
}

func (e *Engine) drop() Error {
	e.pop(1)
	return OK
}

func (e *Engine) drop2() Error {
	e.pop(2)
	return OK
}

func (e *Engine) dup() Error {
	e.push(e.top(0))
	return OK
}

func (e *Engine) dup2() Error {
	e.stack = append(e.stack, e.top(1), e.top(0))
	return OK
}

func (e *Engine) dup3() Error {
	e.stack = append(e.stack, e.top(2), e.top(1), e.top(0))
	return OK
}

func (e *Engine) over() Error {
	e.push(e.top(1))
	return OK
}

func (e *Engine) over2() Error {
	e.stack = append(e.stack, e.top(3), e.top(2))
	return OK
}

// rot: x1 x2 x3 -> x2 x3 x1
func (e *Engine) rot() Error {
	x := e.stack[len(e.stack)-3:]
	x[0], x[1], x[2] = x[1], x[2], x[0]
	return OK
}

// rot2: x1 x2 x3 x4 x5 x6 -> x3 x4 x5 x6 x1 x2
func (e *Engine) rot2() Error {
	x := e.stack[len(e.stack)-6:]
	x[0], x[1], x[2], x[3], x[4], x[5] = x[2], x[3], x[4], x[5], x[0], x[1]
	return OK
}

func (e *Engine) swap() Error {
	x := e.stack[len(e.stack)-2:]
	x[0], x[1] = x[1], x[0]
	return OK
}

// swap2: x1 x2 x3 x4 -> x3 x4 x1 x2
func (e *Engine) swap2() Error {
	x := e.stack[len(e.stack)-4:]
	x[0], x[1], x[2], x[3] = x[2], x[3], x[0], x[1]
	return OK
}

func (e *Engine) ifDup() Error {
	if x := e.top(0); truth(x) {
		e.push(x)
	}
	return OK
}

func (e *Engine) depth() Error {
	e.pushNumber(int64(len(e.stack)))
	return OK
}

func (e *Engine) nip() Error {
	e.replace(2, e.top(0))
	return OK
}

// tuck: x1 x2 -> x2 x1 x2
func (e *Engine) tuck() Error {
	last := e.top(0)
	e.push(last)
	x := e.stack[len(e.stack)-3:]
	x[0], x[1] = last, x[0]
	return OK
}

// pick is OP_PICK and OP_ROLL: the number on top says how far below it the element lies that is copied or moved.
func (e *Engine) pick() Error {
	n, ok := e.number(0)
	if !ok {
		return ScriptNum
	}
	e.pop(1)
	if n < 0 || n >= int64(len(e.stack)) {
		return InvalidStack
	}
	at := len(e.stack) - 1 - int(n)
	x := e.stack[at]
	if e.op == opPick {
		e.push(x)
		return OK
	}
	copy(e.stack[at:], e.stack[at+1:])
	e.stack[len(e.stack)-1] = x
	return OK
}

func (e *Engine) size() Error {
	e.pushNumber(int64(len(e.top(0))))
	return OK
}
