package store

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"stele/internal/fault"
)

// ManifestName is the file that makes a folder a store.
//
//	 0             4096          8192          12288
//	+-------------+-------------+-------------+
//	| preamble    | slot 0      | slot 1      |
//	+-------------+-------------+-------------+
//
// Preamble, little-endian, never changed once complete. The places of magic, format, state and checksum hold for every
// format:
//
//	 0       8        12        16         32        48       52     56         64     4096
//	+-------+--------+---------+----------+---------+--------+------+----------+------+
//	| magic | format | network | store id | secret  | state  | zero | checksum | zero |
//	| 8     | 4      | 4       | 16       | 16      | 4      | 4    | 8        | 4032 |
//	+-------+--------+---------+----------+---------+--------+------+----------+------+
//
// Slot, little-endian. The checksum covers the preamble's, so that a slot of another store is none of ours:
//
//	 0          8          16       20     24                       4096
//	+----------+----------+--------+------+-------------------------+
//	| checksum | sequence | length | zero | payload, then zeros     |
//	| 8        | 8        | 4      | 4    | at most 4072            |
//	+----------+----------+--------+------+-------------------------+
const ManifestName = "manifest"

// MaxPayload is the most bytes that a slot holds.
const MaxPayload = PageSize - slotPayload

const (
	manifestMagic = "stele\r\n\x1a"
	manifestSize  = 3 * PageSize

	preFormat  = 8
	preNetwork = 12
	preID      = 16
	preSecret  = 32
	preState   = 48
	preSum     = 56

	slotSequence = 8
	slotLength   = 16
	slotPayload  = 24

	// States of the preamble. It is complete only after a slot is durable, so that a store that is being created
	// can never be taken for one that lost its slots.
	stateCreating = 1
	stateComplete = 2
)

// Preamble is what never changes in the life of a store.
type Preamble struct {
	Format  uint32   // of all files together
	Network [4]byte  // the network's magic
	ID      [16]byte // random; in every file of the store
	Secret  [16]byte // random; never leaves the store
}

// Manifest is the file of that name, open. One goroutine uses it at a time.
type Manifest struct {
	disk    Disk
	file    File
	pre     Preamble
	state   uint32
	sum     uint64 // of the preamble when complete: seed of the slots' sums
	slot    int    // that holds the latest, or -1
	seq     uint64 // of the latest valid slot
	tried   uint64 // highest sequence that was ever put to the file
	payload []byte
	owned   bool // the latest slot was made durable by this process
}

func encodePreamble(p Preamble, state uint32) []byte {
	b := make([]byte, PageSize)
	copy(b, manifestMagic)
	binary.LittleEndian.PutUint32(b[preFormat:], p.Format)
	copy(b[preNetwork:], p.Network[:])
	copy(b[preID:], p.ID[:])
	copy(b[preSecret:], p.Secret[:])
	binary.LittleEndian.PutUint32(b[preState:], state)
	binary.LittleEndian.PutUint64(b[preSum:], sumPage(0, b, preSum))
	return b
}

func preambleSum(p Preamble) uint64 {
	return binary.LittleEndian.Uint64(encodePreamble(p, stateComplete)[preSum:])
}

// decodePreamble checks a page against what this program reads.
func decodePreamble(b []byte, format uint32, network [4]byte) (p Preamble, state uint32, err error) {
	switch {
	case string(b[:preFormat]) != manifestMagic:
		return p, 0, &Damaged{ManifestName, "has a preamble that does not begin with Stele's magic"}
	case binary.LittleEndian.Uint64(b[preSum:]) != sumPage(0, b, preSum):
		return p, 0, &Damaged{ManifestName, "has a preamble whose checksum does not match"}
	}
	p.Format = binary.LittleEndian.Uint32(b[preFormat:])
	copy(p.Network[:], b[preNetwork:])
	copy(p.ID[:], b[preID:])
	copy(p.Secret[:], b[preSecret:])
	state = binary.LittleEndian.Uint32(b[preState:])
	switch {
	case state == stateCreating:
		return p, state, nil // no store yet, whatever it was going to be
	case p.Format != format:
		return p, 0, &Foreign{"format version", fmt.Sprint(p.Format), fmt.Sprint(format)}
	case p.Network != network:
		return p, 0, &Foreign{"network magic", hex.EncodeToString(p.Network[:]), hex.EncodeToString(network[:])}
	case state != stateComplete:
		return p, 0, &Damaged{ManifestName, fmt.Sprintf("has a preamble in the unknown state %d", state)}
	}
	return p, state, nil
}

// CreateManifest begins a store on a disk that has none (fs.ErrExist otherwise; what an interrupted creation left
// behind is removed). The store exists once the first Write has returned: before that, OpenManifest finds none.
func CreateManifest(d Disk, p Preamble) (*Manifest, error) {
	switch old, err := OpenManifest(d, p.Format, p.Network); {
	case err == nil:
		old.Close()
		return nil, &Fault{Op: "open", Name: ManifestName, Off: -1, Err: fs.ErrExist}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	f, err := d.Open(ManifestName, FileOptions{Reserve: manifestSize})
	if err != nil {
		return nil, err
	}
	m := &Manifest{disk: d, file: f, pre: p, state: stateCreating, sum: preambleSum(p), slot: -1}
	if err := m.begin(); err != nil {
		f.Close()
		return nil, err
	}
	return m, nil
}

// begin allocates the file and marks it as being created, durably, before any slot is written.
func (m *Manifest) begin() error {
	if m.file.Size() > 0 {
		if err := removeOthers(m.disk); err != nil {
			return err
		}
	}
	if err := m.file.Allocate(manifestSize); err != nil {
		return err
	}
	state := uint32(stateCreating)
	if fault.On(fault.CompleteBeforeSlot) {
		state = stateComplete
	}
	if err := m.file.WriteAt(encodePreamble(m.pre, state), 0); err != nil {
		return err
	}
	if err := m.file.WriteAt(make([]byte, 2*PageSize), PageSize); err != nil {
		return err
	}
	if err := m.file.Sync(); err != nil {
		return err
	}
	return m.disk.Sync()
}
