package p2p

import (
	"math/rand/v2"
	"sync"
)

// nonces are those of our version messages on connections whose handshake is on its way. One of them in a version that
// reaches us tells that we called ourselves.
type nonces struct {
	mu  sync.Mutex
	set map[uint64]struct{}
}

func (n *nonces) add() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.set == nil {
		n.set = make(map[uint64]struct{})
	}
	nonce := rand.Uint64()
	n.set[nonce] = struct{}{}
	return nonce
}

func (n *nonces) remove(nonce uint64) {
	n.mu.Lock()
	delete(n.set, nonce)
	n.mu.Unlock()
}

func (n *nonces) has(nonce uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, ok := n.set[nonce]
	return ok
}
