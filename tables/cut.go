package tables

import (
	"encoding/binary"

	"stele/hashmap"
	"stele/store"
)

// Cut is how long everything append-only is at one moment: after a push or a pop, after its last byte. Whatever lies
// beyond a cut does not exist for who reads by it.
type Cut struct {
	Headers uint32 // rows
	Txs     uint32 // rows: archived blocks
	Tx      uint32 // rows
	Outs    uint64 // outputs numbered
	Ins     uint64 // inputs numbered
	OutSlab uint64 // bytes
	InSlab  uint64 // bytes
	Log     uint64 // records of the chain log
}

// image is what a manifest slot holds: the cut, the pending file's place, and the state of every index. Little-endian:
//
//	+0   headers 4 | +4 txs 4 | +8 tx 4 | +12 flags 4 (bit 0: closed cleanly, every index level with the cut)
//	+16  outputs 8 | +24 inputs 8 | +32 output slab 8 | +40 input slab 8 | +48 log 8
//	+56  pending generation 4 | +60 zero 4 | +64 pending bytes 8
//	+72  run 8: drawn at each opening for writing
//	+80  header map 32 | +112 tx map 32 | +144 spend cells 32 | +176 conflict 32 | +208 state cells 32
type image struct {
	cut                                 Cut
	clean                               bool
	pendingGen                          uint32
	pendingLen                          uint64
	run                                 uint64
	headerMap, txMap, spend, conf, mark hashmap.State
}

const (
	imageStates = 80
	imageSize   = imageStates + 5*hashmap.StateSize
)

const imageClean = 1

func (m *image) encode() []byte {
	b := make([]byte, imageStates, imageSize)
	binary.LittleEndian.PutUint32(b[0:], m.cut.Headers)
	binary.LittleEndian.PutUint32(b[4:], m.cut.Txs)
	binary.LittleEndian.PutUint32(b[8:], m.cut.Tx)
	if m.clean {
		binary.LittleEndian.PutUint32(b[12:], imageClean)
	}
	binary.LittleEndian.PutUint64(b[16:], m.cut.Outs)
	binary.LittleEndian.PutUint64(b[24:], m.cut.Ins)
	binary.LittleEndian.PutUint64(b[32:], m.cut.OutSlab)
	binary.LittleEndian.PutUint64(b[40:], m.cut.InSlab)
	binary.LittleEndian.PutUint64(b[48:], m.cut.Log)
	binary.LittleEndian.PutUint32(b[56:], m.pendingGen)
	binary.LittleEndian.PutUint64(b[64:], m.pendingLen)
	binary.LittleEndian.PutUint64(b[72:], m.run)
	for _, s := range m.states() {
		b = s.AppendTo(b)
	}
	return b
}

// states lists the index states in the order in which they are stored.
func (m *image) states() [5]*hashmap.State {
	return [5]*hashmap.State{&m.headerMap, &m.txMap, &m.spend, &m.conf, &m.mark}
}

func decodeImage(b []byte) (image, error) {
	var m image
	if len(b) != imageSize {
		return m, &store.Damaged{Name: "manifest", What: "the slot's content has another length than this format's"}
	}
	m.cut = Cut{
		Headers: binary.LittleEndian.Uint32(b[0:]),
		Txs:     binary.LittleEndian.Uint32(b[4:]),
		Tx:      binary.LittleEndian.Uint32(b[8:]),
		Outs:    binary.LittleEndian.Uint64(b[16:]),
		Ins:     binary.LittleEndian.Uint64(b[24:]),
		OutSlab: binary.LittleEndian.Uint64(b[32:]),
		InSlab:  binary.LittleEndian.Uint64(b[40:]),
		Log:     binary.LittleEndian.Uint64(b[48:]),
	}
	m.clean = binary.LittleEndian.Uint32(b[12:])&imageClean != 0
	m.pendingGen = binary.LittleEndian.Uint32(b[56:])
	m.pendingLen = binary.LittleEndian.Uint64(b[64:])
	m.run = binary.LittleEndian.Uint64(b[72:])
	for i, s := range m.states() {
		state, err := hashmap.ParseState(b[imageStates+i*hashmap.StateSize:])
		if err != nil {
			return m, err
		}
		*s = state
	}
	return m, nil
}
