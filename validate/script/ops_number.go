package script

// number reads the element n below the topmost as an operand.
func (e *Engine) number(n int) (int64, bool) {
	return parseNumber(e.top(n), numberSize, e.minimal)
}

// small is OP_1NEGATE and OP_1 to OP_16.
func (e *Engine) small() Error {
	e.push(smallNumber(int(e.op) - (op1 - 1)))
	return OK
}

func (e *Engine) unary() Error {
	x, ok := e.number(0)
	if !ok {
		return ScriptNum
	}
	switch e.op {
	case op1Add:
		x++
	case op1Sub:
		x--
	case opNegate:
		x = -x
	case opAbs:
		x = max(x, -x)
	case opNot:
		x = toNumber(x == 0)
	case op0NotEqual:
		x = toNumber(x != 0)
	}
	e.replace(1, e.numberView(x))
	return OK
}

func (e *Engine) binary() Error {
	x, ok := e.number(1)
	y, ok2 := e.number(0)
	if !ok || !ok2 {
		return ScriptNum
	}
	var v int64
	switch e.op {
	case opAdd:
		v = x + y
	case opSub:
		v = x - y
	case opBoolAnd:
		v = toNumber(x != 0 && y != 0)
	case opBoolOr:
		v = toNumber(x != 0 || y != 0)
	case opNumEqual, opNumEqualVerify:
		v = toNumber(x == y)
	case opNumNotEqual:
		v = toNumber(x != y)
	case opLessThan:
		v = toNumber(x < y)
	case opGreaterThan:
		v = toNumber(x > y)
	case opLessThanOrEqual:
		v = toNumber(x <= y)
	case opGreaterThanOrEqual:
		v = toNumber(x >= y)
	case opMin:
		v = min(x, y)
	case opMax:
		v = max(x, y)
	}
	if e.op == opNumEqualVerify {
		return e.demand(2, v != 0, NumEqualVerify)
	}
	e.replace(2, e.numberView(v))
	return OK
}

// within: x min max -> min <= x < max
func (e *Engine) within() Error {
	x, ok := e.number(2)
	low, ok2 := e.number(1)
	high, ok3 := e.number(0)
	if !ok || !ok2 || !ok3 {
		return ScriptNum
	}
	e.replace(3, boolView(low <= x && x < high))
	return OK
}

func toNumber(v bool) int64 {
	if v {
		return 1
	}
	return 0
}
