package script

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
)

// What the low bits of a signature's hash type choose, and the high one (Core: script/interpreter.h). Legacy and witness
// signatures may have any type: what is neither NONE nor SINGLE under typeMask is ALL.
const (
	sigHashAll    = 1
	sigHashNone   = 2
	sigHashSingle = 3
	anyoneCanPay  = 0x80

	typeMask = 0x1f
)

// hashWhole is up to how many bytes a message is put together and hashed in one go; larger ones are streamed, and
// their state before the hash type is kept.
const hashWhole = 1024

// hashCache computes signature hashes for one goroutine. For one input at a time it keeps, for each way to lay a
// message out, the SHA-256 state of the last large one up to its hash type: a script with many checks over one code
// hashes the transaction once and not once for every check (Core: SigHashCache). What methods return is overwritten
// by the next call. The zero hashCache is ready; it allocates when it is first used and when buffers grow.
type hashCache struct {
	tx *Tx // what is kept belongs to this input of it
	in int

	digest digest
	buf    []byte
	sum    [32]byte

	full  uint16 // bit i: slots[i] holds
	slots [2 * slotsEach]hashSlot

	single     bool     // singleHash holds
	singleHash [32]byte // SHA-256 of the output of the input's own index
}

// hashSlot is the state of a message that ended with code but for the hash type.
type hashSlot struct{ code, state []byte }

// slotsEach is the number of layouts that legacy hashes have, and again witness ones: ALL, NONE and SINGLE, without and
// with ANYONECANPAY.
const slotsEach = 6

// reset forgets what is kept and begins another input. It must be called after every Reset of t, as the same input of
// the same Tx is another one then; other changes are noticed without.
func (h *hashCache) reset(t *Tx, in int) { h.tx, h.in, h.full, h.single = t, in, 0, false }

// at makes sure that what is kept belongs to the input.
func (h *hashCache) at(t *Tx, in int) {
	if h.tx != t || h.in != in {
		h.reset(t, in)
	}
}

// slotOf is the index of a hash type's layout.
func slotOf(hashType uint32) int {
	slot := 0
	switch hashType & typeMask {
	case sigHashNone:
		slot = 1
	case sigHashSingle:
		slot = 2
	}
	if hashType&anyoneCanPay != 0 {
		slot += 3
	}
	return slot
}

// resume takes up the state of slot if it is that of code.
func (h *hashCache) resume(slot int, code []byte) bool {
	if h.full>>slot&1 == 0 || !bytes.Equal(h.slots[slot].code, code) {
		return false
	}
	h.restore(h.slots[slot].state)
	return true
}

// restore makes the digest stand at state; nil is the beginning.
func (h *hashCache) restore(state []byte) {
	if h.digest == nil {
		h.digest = newDigest()
	}
	if state == nil || h.digest.UnmarshalBinary(state) != nil { // no error: states are this library's own
		h.digest.Reset()
	}
}

// keep saves the digest's state as that of code.
func (h *hashCache) keep(slot int, code []byte) {
	s := &h.slots[slot]
	s.code = append(s.code[:0], code...)
	s.state = appendState(s.state[:0], h.digest)
	h.full |= 1 << slot
}

// finish adds the hash type to what the digest has taken and gives the double hash.
func (h *hashCache) finish(hashType uint32) *[32]byte {
	h.buf = binary.LittleEndian.AppendUint32(h.buf[:0], hashType)
	h.digest.Write(h.buf)
	h.digest.Sum(h.sum[:0])
	h.sum = sha256.Sum256(h.sum[:])
	return &h.sum
}

// message is the double hash of h.buf and the hash type behind it. A large one is kept for code.
func (h *hashCache) message(slot int, code []byte, hashType uint32) *[32]byte {
	if len(h.buf) > hashWhole {
		h.restore(nil)
		h.digest.Write(h.buf)
		h.keep(slot, code)
		return h.finish(hashType)
	}
	h.buf = binary.LittleEndian.AppendUint32(h.buf, hashType)
	once := sha256.Sum256(h.buf)
	h.sum = sha256.Sum256(once[:])
	return &h.sum
}

// ownOutput is the SHA-256 of the output whose index is in, which must exist.
func (h *hashCache) ownOutput(t *Tx, in int) *[32]byte {
	if !h.single {
		h.singleHash, h.single = sha256.Sum256(t.output(in)), true
	}
	return &h.singleHash
}
