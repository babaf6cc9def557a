package tables

import (
	"encoding/binary"
	"fmt"
	"sort"

	"stele/chain"
	"stele/internal/fault"
	"stele/store"
)

// Pending record: a block that is not archived, in a slab of its own. Blocks of other branches wait here, and blocks
// whose parent is not known.
//
//	+0  length 4 | +4 wire bytes (magic and length of a block file left out)
//
// The slab is named pending-GENERATION. It is covered by the manifest's length, but not trusted: what is read back is
// checked in full by whoever asked, so damage costs a block that can be had again. A block that is dropped leaves a
// hole; when the holes outweigh the rest, a checkpoint copies the rest into the next generation.
const pendingHead = 4

// pending is the slab and what is known of it in memory. Writer only.
type pending struct {
	body  *store.Body
	gen   uint32
	at    map[chain.Hash]pendingPlace
	bytes int64    // of the records that count
	old   []string // files of earlier generations that a manifest may still name
}

// pendingPlace is where a pending block stands.
type pendingPlace struct {
	off  int64 // of the wire bytes
	size int32
	prev chain.Hash
}

func pendingFile(gen uint32) string { return fmt.Sprintf("%s-%d", pendingName, gen) }

// openPending maps the slab of a generation and lists its records. A record that makes no sense ends the list: the
// bytes after it are given up.
func (t *Tables) openPending(gen uint32, length uint64, id [16]byte) error {
	body, err := store.OpenBody(t.disk, spec(pendingFile(gen), "slab", 1, reserve.pending), id, int64(length))
	if err != nil {
		return err
	}
	t.pending = pending{body: body, gen: gen, at: map[chain.Hash]pendingPlace{}}
	for off := int64(0); off+pendingHead+chain.HeaderSize <= body.Len(); {
		size := int64(binary.LittleEndian.Uint32(body.At(off, pendingHead)))
		off += pendingHead
		if size < chain.HeaderSize || size > body.Len()-off {
			break
		}
		h, err := chain.ParseHeader(body.At(off, chain.HeaderSize))
		if err != nil {
			break
		}
		hash := h.Hash()
		if l, ok := t.FindHeader(&hash); !ok || !t.isArchived(l) {
			t.pending.add(hash, pendingPlace{off: off, size: int32(size), prev: h.Prev})
		}
		off += size
	}
	return nil
}

func (t *Tables) isArchived(l HeaderLink) bool {
	_, ok := t.Archived(l)
	return ok
}

func (p *pending) add(hash chain.Hash, at pendingPlace) {
	p.at[hash] = at
	p.bytes += int64(at.size) + pendingHead
}

// PutPending keeps the wire bytes of a block that cannot be archived now, and reports whether it did: where the budget
// is used up, blocks without a known parent give way first, then those with the least work, and the new one may be the
// one that gives way. Writer only.
func (t *Tables) PutPending(raw []byte) (kept bool, err error) {
	if err := t.writable(); err != nil {
		return false, err
	}
	h, err := chain.ParseHeader(raw)
	if err != nil {
		return false, err
	}
	hash := h.Hash()
	if _, ok := t.pending.at[hash]; ok {
		return true, nil
	}
	size := int64(len(raw)) + pendingHead
	if !t.makeRoom(size, t.worth(&hash)) {
		return false, nil
	}
	body := t.pending.body
	if err := body.Reserve(size); err != nil {
		return false, err
	}
	b := body.Grow(int(size))
	binary.LittleEndian.PutUint32(b, uint32(len(raw)))
	copy(b[pendingHead:], raw)
	t.pending.add(hash, pendingPlace{off: body.Len() - int64(len(raw)), size: int32(len(raw)), prev: h.Prev})
	t.dirty = true
	return true, t.fail(body.FlushIfLarge())
}

// PendingBudget returns the wire bytes that may be pending.
func (t *Tables) PendingBudget() int64 { return t.options.PendingBytes }

// worth is what decides who gives way: the work of a block's chain, zero for one whose header is not known.
func (t *Tables) worth(hash *chain.Hash) chain.Work {
	if l, ok := t.FindHeader(hash); ok {
		return t.Header(l).Work()
	}
	return chain.Work{}
}

// makeRoom drops pending blocks that are worth less than w until size more bytes fit.
func (t *Tables) makeRoom(size int64, w chain.Work) bool {
	budget := t.options.PendingBytes
	if t.pending.bytes+size <= budget {
		return true
	}
	type candidate struct {
		hash chain.Hash
		work chain.Work
	}
	var all []candidate
	for hash := range t.pending.at {
		if c := (candidate{hash, t.worth(&hash)}); c.work.Cmp(w) < 0 {
			all = append(all, c)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].work.Cmp(all[j].work) < 0 })
	for i := 0; i < len(all) && t.pending.bytes+size > budget; i++ {
		t.DropPending(&all[i].hash)
	}
	return t.pending.bytes+size <= budget
}

// Pending returns the wire bytes of a pending block, valid until the next checkpoint. They are as they came back from
// the disk: the caller checks them as it would check a peer's. Writer only.
func (t *Tables) Pending(hash *chain.Hash) ([]byte, bool) {
	p, ok := t.pending.at[*hash]
	if !ok {
		return nil, false
	}
	return t.pending.body.At(p.off, int(p.size)), true
}

// DropPending forgets a pending block: it was archived, or its bytes turned out damaged.
func (t *Tables) DropPending(hash *chain.Hash) {
	if p, ok := t.pending.at[*hash]; ok {
		delete(t.pending.at, *hash)
		t.pending.bytes -= int64(p.size) + pendingHead
		t.dirty = true
	}
}

// EachPending calls f for every pending block, in no order, until it returns false. f must not change the set.
func (t *Tables) EachPending(f func(hash, prev chain.Hash, size int) bool) {
	for hash, p := range t.pending.at {
		if !f(hash, p.prev, int(p.size)) {
			return
		}
	}
}

// pendingSlack is how many bytes of holes a pending slab may have before they are worth a copy.
const pendingSlack = 1 << 20

// compactPending copies what counts into the next generation where the holes outweigh it. The old file goes when a
// manifest that names the new one is durable.
func (t *Tables) compactPending(id [16]byte) error {
	p := &t.pending
	if p.body.Len()-p.bytes <= max(p.bytes, pendingSlack) && !(p.bytes == 0 && p.body.Len() > 0) {
		return nil
	}
	body, err := store.OpenBody(t.disk, spec(pendingFile(p.gen+1), "slab", 1, reserve.pending), id, 0)
	if err != nil {
		return err
	}
	next := pending{body: body, gen: p.gen + 1, at: make(map[chain.Hash]pendingPlace, len(p.at))}
	next.old = append(p.old, pendingFile(p.gen))
	for hash, at := range p.at {
		size := int(at.size) + pendingHead
		if err := body.Reserve(int64(size)); err != nil {
			_ = body.Close()
			_ = t.disk.Remove(pendingFile(next.gen))
			return err
		}
		body.Append(p.body.At(at.off-pendingHead, size))
		if err := body.FlushIfLarge(); err != nil {
			return err
		}
		next.add(hash, pendingPlace{off: body.Len() - int64(at.size), size: at.size, prev: at.prev})
	}
	if err := body.Sync(); err != nil {
		return err
	}
	if err := p.body.Close(); err != nil {
		return err
	}
	*p = next
	if fault.On(fault.RetireBeforeManifest) {
		return t.retirePending()
	}
	return nil
}

// retirePending removes the generations before this one, once no manifest names them any more.
func (t *Tables) retirePending() error {
	for len(t.pending.old) > 0 {
		if err := t.disk.Remove(t.pending.old[0]); err != nil {
			return err
		}
		t.pending.old = t.pending.old[1:]
	}
	return nil
}
