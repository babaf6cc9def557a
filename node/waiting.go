package node

import "stele/chain"

// waiting holds the headers whose parent is not known, by the parent's hash, in the order in which they came. It is as
// large as the input makes it: about 200 bytes a header, none of which is without proof of work.
type waiting struct {
	all  []waiter
	ends map[chain.Hash]ends
	free uint32 // plus one: first of a list of waiters that are not in use
}

// waiter is one header, and the body that came with it.
type waiter struct {
	header chain.Header
	hash   chain.Hash
	body   uint32
	next   uint32 // plus one
}

// ends are the first and the last waiter for one parent, plus one.
type ends struct{ first, last uint32 }

// add lets a header wait for its parent.
func (w *waiting) add(h *chain.Header, hash *chain.Hash, body uint32) {
	n := w.free
	if n == 0 {
		w.all = append(w.all, waiter{})
		n = uint32(len(w.all))
	} else {
		w.free = w.all[n-1].next
	}
	w.all[n-1] = waiter{header: *h, hash: *hash, body: body}
	e, ok := w.ends[h.Prev]
	if ok {
		w.all[e.last-1].next = n
	} else {
		e.first = n
	}
	e.last = n
	w.ends[h.Prev] = e
}

// take appends the headers that waited for a parent, and forgets them.
func (w *waiting) take(dst []waiter, parent *chain.Hash) []waiter {
	if len(w.ends) == 0 {
		return dst
	}
	e, ok := w.ends[*parent]
	if !ok {
		return dst
	}
	delete(w.ends, *parent)
	for n := e.first; n != 0; {
		one := &w.all[n-1]
		dst = append(dst, *one)
		next := one.next
		one.next, w.free = w.free, n
		n = next
	}
	return dst
}
