package bench

import (
	"context"
	"runtime"
	"time"
)

// way is one way of doing what others do, too: what is measured, and how often in a row.
type way struct {
	name string
	reps int // of do in one turn; 0: as many as fill turnTime
	do   func() error
}

// turnTime is how much work a turn should be: much more than the clock's steps and a collection of garbage.
const turnTime = 60 * time.Millisecond

// inTurns does the same work in several ways, one after the other and all of that Runs times. It returns, by way and
// run, the processor time of one repetition in nanoseconds, and leaves the repetitions in the ways. Every turn begins
// with the garbage of the others collected.
func (o *Options) inTurns(ctx context.Context, ways []way) ([][]Number, error) {
	for i := range ways {
		if err := ways[i].settle(o.Scale); err != nil {
			return nil, err
		}
	}
	all := make([][]Number, len(ways))
	for range o.Runs {
		for i := range ways {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			n, err := ways[i].turn()
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], n)
		}
	}
	return all, nil
}

// settle warms a way up, and finds how often it must be repeated.
func (w *way) settle(scale float64) error {
	want := time.Duration(float64(turnTime) * min(scale, 1))
	if w.reps > 0 {
		return w.do()
	}
	for w.reps = 1; ; w.reps *= 2 {
		n, err := w.turn()
		if err != nil {
			return err
		}
		if n*Number(w.reps) >= Number(want.Nanoseconds()) {
			return nil
		}
	}
}

// turn does one turn.
func (w *way) turn() (Number, error) {
	runtime.GC()
	before := processorTime()
	for range w.reps {
		if err := w.do(); err != nil {
			return None, err
		}
	}
	return Number((processorTime() - before).Nanoseconds()) / Number(w.reps), nil
}

// scaled multiplies figures.
func scaled(all []Number, by float64) []Number {
	more := make([]Number, len(all))
	for i, n := range all {
		more[i] = n * Number(by)
	}
	return more
}

// slowest is the least of several ratios, the worst of what should be large; unknown where one of them is.
func slowest(all ...Number) Number {
	return -worst(scaled(all, -1)...)
}

// needsTag is the note of a row that needs others' code.
const needsTag = "not measured: built without the tag bench"
