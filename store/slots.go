package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"

	"stele/internal/fault"
)

// OpenManifest opens the manifest of a store. fs.ErrNotExist: there is no store (no file, or its creation was
// interrupted before the first Write returned). *Foreign: of another format or network. *Damaged: the preamble is
// broken, or no slot is valid.
func OpenManifest(d Disk, format uint32, network [4]byte) (*Manifest, error) {
	f, err := d.Open(ManifestName, FileOptions{Reserve: manifestSize, MustExist: true})
	if err != nil {
		return nil, err
	}
	m := &Manifest{disk: d, file: f, slot: -1}
	if err := m.load(format, network); err != nil {
		f.Close()
		return nil, err
	}
	return m, nil
}

// load reads the whole file. What a shorter one lacks counts as zeros.
func (m *Manifest) load(format uint32, network [4]byte) (err error) {
	b := make([]byte, manifestSize)
	err = Guard(func() error {
		copy(b, m.file.Mapping().Bytes()[:min(m.file.Size(), manifestSize)])
		return nil
	})
	if err != nil {
		return err
	}
	if isZero(b) {
		return &Fault{Op: "open", Name: ManifestName, Off: -1, Err: errUnfinished}
	}
	m.pre, m.state, err = decodePreamble(b[:PageSize], format, network)
	if err != nil {
		return err
	}
	if m.state == stateCreating {
		return &Fault{Op: "open", Name: ManifestName, Off: -1, Err: errUnfinished}
	}
	if size := m.file.Size(); size < manifestSize {
		// All of it was allocated before the preamble was complete.
		return &Damaged{ManifestName, fmt.Sprintf("is cut short: %d bytes of %d", size, int64(manifestSize))}
	}
	if !bytes.Equal(b[:PageSize], encodePreamble(m.pre, m.state)) {
		// It is written again before the first slot is, and slots are summed with it.
		return &Damaged{ManifestName, "has a preamble that says something which this format does not know"}
	}
	m.sum = binary.LittleEndian.Uint64(b[preSum:])
	for i := range 2 {
		seq, payload, ok := m.decodeSlot(b[PageSize*(1+i):][:PageSize])
		if ok && (seq > m.seq) != (fault.On(fault.SlotOldest) && m.slot >= 0) {
			m.slot, m.seq, m.payload = i, seq, payload
		}
	}
	if m.slot < 0 {
		return &Damaged{ManifestName, "holds no valid slot"}
	}
	m.tried = m.seq
	return nil
}

var errUnfinished = fmt.Errorf("the creation of the store was interrupted: %w", fs.ErrNotExist)

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

func (m *Manifest) encodeSlot(seq uint64, payload []byte) []byte {
	b := make([]byte, PageSize)
	binary.LittleEndian.PutUint64(b[slotSequence:], seq)
	binary.LittleEndian.PutUint32(b[slotLength:], uint32(len(payload)))
	copy(b[slotPayload:], payload)
	binary.LittleEndian.PutUint64(b, sumPage(m.sum, b, 0))
	return b
}

func (m *Manifest) decodeSlot(b []byte) (seq uint64, payload []byte, ok bool) {
	seq = binary.LittleEndian.Uint64(b[slotSequence:])
	n := binary.LittleEndian.Uint32(b[slotLength:])
	whole := binary.LittleEndian.Uint64(b) == sumPage(m.sum, b, 0) || fault.On(fault.SlotNotSummed)
	if seq == 0 || seq == math.MaxUint64 || n > MaxPayload || !whole {
		return 0, nil, false
	}
	return seq, b[slotPayload : slotPayload+n : slotPayload+n], true
}

// Preamble returns what never changes.
func (m *Manifest) Preamble() Preamble { return m.pre }

// Latest returns what the newest valid slot holds; ok is false until the first Write of a new store. The payload is the
// manifest's own until the next Write.
func (m *Manifest) Latest() (seq uint64, payload []byte, ok bool) {
	return m.seq, m.payload, m.slot >= 0
}

// Write puts the payload (at most MaxPayload bytes) under the next sequence number into the older slot and makes it
// durable, by (7). Everything that the payload names must have been synced before; names of files are synced here. It
// is refused once any sync of this disk has failed, by (8). After any other failure the older state stands and Write
// may be tried again.
func (m *Manifest) Write(payload []byte) (seq uint64, err error) {
	if len(payload) > MaxPayload {
		return 0, fmt.Errorf("store: a manifest of %d bytes does not fit a slot of %d", len(payload), MaxPayload)
	}
	names := m.disk.Sync // returns the sticky failure, if there was one
	if fault.On(fault.FolderNotSynced) {
		names = m.disk.Health().Err
	}
	if err := names(); err != nil {
		return 0, err
	}
	if err := m.file.Allocate(manifestSize); err != nil {
		return 0, err
	}
	if err := m.own(); err != nil {
		return 0, err
	}
	slot := 0
	if m.slot == 0 && !fault.On(fault.SlotAlwaysFirst) {
		slot = 1
	}
	if !fault.On(fault.SlotSequenceStays) || m.tried == 0 {
		m.tried++
	}
	if err := m.file.WriteAt(m.encodeSlot(m.tried, payload), PageSize*int64(1+slot)); err != nil {
		return 0, err
	}
	if err := m.syncSlot(); err != nil {
		return 0, err
	}
	if err := m.complete(); err != nil {
		return 0, err
	}
	m.slot, m.seq, m.owned = slot, m.tried, true
	m.payload = append(m.payload[:0:0], payload...)
	return m.seq, nil
}

// own makes what was found durable, before the first Write of this process overwrites the older slot. A process that was
// killed after a failed sync leaves a newest slot, and a preamble, that the page cache shows as clean and the medium does
// not have: then the older slot is the only one that the medium has.
func (m *Manifest) own() error {
	if m.slot < 0 || m.owned || fault.On(fault.SlotNotOwned) {
		return nil
	}
	if err := m.file.WriteAt(encodePreamble(m.pre, m.state), 0); err != nil {
		return err
	}
	if err := m.file.WriteAt(m.encodeSlot(m.seq, m.payload), PageSize*int64(1+m.slot)); err != nil {
		return err
	}
	if err := m.file.Sync(); err != nil {
		return err
	}
	m.owned = true
	return nil
}

func (m *Manifest) syncSlot() error {
	if fault.On(fault.SlotNotSynced) {
		return nil
	}
	return m.file.Sync()
}

// complete ends the creation of a store: its first slot is durable.
func (m *Manifest) complete() error {
	if m.state == stateComplete {
		return nil
	}
	if err := m.file.WriteAt(encodePreamble(m.pre, stateComplete), 0); err != nil {
		return err
	}
	if err := m.file.Sync(); err != nil {
		return err
	}
	m.state = stateComplete
	return nil
}

// Close closes the file.
func (m *Manifest) Close() error { return m.file.Close() }

// removeOthers deletes what an interrupted creation left besides the manifest: files that begin with a magic of ours or
// with nothing at all. Anything else in the folder is not ours to remove.
func removeOthers(d Disk) error {
	names, err := d.List()
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == ManifestName {
			continue
		}
		ours, size, err := leftover(d, name)
		if err != nil {
			return err
		}
		if !ours {
			continue
		}
		if size > maxLeftover {
			return &Damaged{ManifestName, fmt.Sprintf("says that nothing was stored here yet, beside %s of %d bytes: "+
				"restore it from a backup, or empty the folder", name, size)}
		}
		if err := d.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// maxLeftover is more than any file of a store has before its first manifest is durable.
const maxLeftover = 1 << 20

func leftover(d Disk, name string) (ours bool, size int64, err error) {
	f, err := d.Open(name, FileOptions{Reserve: PageSize, MustExist: true})
	if err != nil {
		return false, 0, err
	}
	defer f.Close()
	err = Guard(func() error {
		b := f.Mapping().Bytes()[:min(f.Size(), PageSize)]
		ours = isZero(b) || len(b) >= 5 && string(b[:5]) == manifestMagic[:5]
		return nil
	})
	return ours, f.Size(), err
}
