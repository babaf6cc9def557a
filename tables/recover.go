package tables

import (
	"encoding/binary"
	"errors"
	"fmt"

	"stele/hashmap"
	"stele/internal/fault"
	"stele/store"
)

// openIndexes opens every index at the state that the image gives it. One that a merge took beyond what the adopted
// manifest covers (that manifest is then an older one, its successor having been lost) is opened empty instead, and its
// state in the image set to zero: it is made again from the rows or the log, like any index that is missing.
func (t *Tables) openIndexes(pre store.Preamble, m *image) (err error) {
	if err := t.forget(m); err != nil {
		return err
	}
	defer func() {
		if damaged(err) {
			err = fmt.Errorf("%w ('stele rebuild' makes an index again from the rows)", err)
		}
	}()
	secret := binary.LittleEndian.Uint64(pre.Secret[:])
	if t.headerMap, err = t.openMap(pre, headerName, 160, secret,
		hashmap.Rows{Body: t.header, Width: headerWidth, KeyOff: headerHash}, &m.headerMap); err != nil {
		return err
	}
	if t.txMap, err = t.openMap(pre, txName, 256, secret>>32,
		hashmap.Rows{Body: t.tx, Width: txWidth, KeyOff: txTxid}, &m.txMap); err != nil {
		return err
	}
	// States are in no log: a merge of them may be ahead of every manifest, and is right for all headers that exist.
	if t.states, err = t.openCells(pre, stateName, reserve.states, &m.mark, ^uint64(0)); err != nil {
		return err
	}
	if t.spend, err = t.openCells(pre, spendName, reserve.cells, &m.spend, m.cut.Log); err != nil {
		return err
	}
	conflict := hashmap.MultimapSpec{
		Name: confName, Reserve: reserve.conflict, Mixed: true, Secret: pre.Secret, // output numbers are not uniform
	}
	t.conflict, err = hashmap.OpenMultimap(t.disk, pre.ID, conflict, m.conf)
	var ahead *hashmap.Ahead
	switch {
	case errors.As(err, &ahead):
	case err != nil:
		return err
	case t.conflict.MergingTo() <= m.cut.Log:
		return nil
	default:
		if err := t.conflict.Close(); err != nil {
			return err
		}
	}
	m.conf = hashmap.State{}
	t.conflict, err = hashmap.OpenMultimap(t.disk, pre.ID, conflict, m.conf)
	return err
}

// forget takes the indexes that are to be made again out of an image.
func (t *Tables) forget(m *image) error {
	for _, name := range t.options.Rebuild {
		s, ok := map[string]*hashmap.State{
			headerName: &m.headerMap, txName: &m.txMap, spendName: &m.spend, confName: &m.conf,
		}[name]
		if !ok {
			return fmt.Errorf("rebuild: %q is no index: there are %s, %s, %s and %s", name, headerName, txName, spendName, confName)
		}
		*s = hashmap.State{}
		t.dirty = true
	}
	return nil
}

// openMap opens a map of 32-byte keys of which the first uniform bits are so; random places its window.
func (t *Tables) openMap(pre store.Preamble, name string, uniform int, random uint64, rows hashmap.Rows, st *hashmap.State,
) (*hashmap.Map, error) {
	s := hashmap.Spec{
		Name: name, UniformBits: uniform, Window: hashmap.DrawWindow(uniform, random), MergeBytes: t.options.MergeBytes,
	}
	m, err := hashmap.OpenMap(t.disk, pre.ID, s, rows, *st)
	var ahead *hashmap.Ahead
	if errors.As(err, &ahead) {
		*st = hashmap.State{}
		m, err = hashmap.OpenMap(t.disk, pre.ID, s, rows, *st)
	}
	return m, err
}

// openCells opens an array of cells whose merges may have come up to mark.
func (t *Tables) openCells(pre store.Preamble, name string, reserve int64, st *hashmap.State, mark uint64,
) (*hashmap.Cells, error) {
	s := hashmap.CellsSpec{Name: name, Reserve: reserve}
	c, err := hashmap.OpenCells(t.disk, pre.ID, s, *st)
	if err != nil || c.MergingTo() <= mark || fault.On(fault.MergeBeforeManifest) {
		return c, err
	}
	if err := c.Close(); err != nil {
		return nil, err
	}
	*st = hashmap.State{}
	return hashmap.OpenCells(t.disk, pre.ID, s, *st)
}

// DeltaBytes returns the memory that the deltas of all indexes take: what was appended and marked since their watermarks.
func (t *Tables) DeltaBytes() int64 {
	_, headers := t.headerMap.Pending()
	_, txids := t.txMap.Pending()
	return headers + txids + t.markBytes()
}

// markBytes is the part of DeltaBytes that the log fills.
func (t *Tables) markBytes() int64 {
	return t.spend.Stats().DeltaBytes + t.conflict.Stats().DeltaBytes
}

// refillCheck is how many rows or records are entered between two looks at the memory that they take.
const refillCheck = 1 << 14

// logCheck is how many records of the log are replayed between two notes of progress: blocks, with thousands of marks.
const logCheck = 64

// tell tells how far an opening has come.
func (t *Tables) tell(index string, done, total uint64) {
	if t.options.Progress != nil {
		t.options.Progress(index, done, total)
	}
}

// refill enters the rows from a map's watermark to the cut into its delta, and merges whenever the budget is used up:
// the adopted manifest covers all of them. A merge that finds no room leaves them in memory.
func (t *Tables) refill(m *hashmap.Map, from uint64, to uint32) error {
	name, body := txName, t.tx
	if m == t.headerMap {
		name, body = headerName, t.header
	}
	if fault.On(fault.RefillFromCut) {
		from = uint64(to)
	}
	width := int64(body.Width())
	for l := from; l < uint64(to); l++ {
		if l == from || l%refillCheck == 0 {
			body.WillNeed(int64(l)*width, refillCheck*width)
		}
		if err := m.Insert(uint32(l)); err != nil {
			return err
		}
		if l%refillCheck != 0 {
			continue
		}
		t.tell(name, l, uint64(to))
		if t.disk.ReadOnly() {
			continue
		}
		if _, bytes := m.Pending(); bytes > t.options.DeltaBytes {
			if err := t.catchUp(m.Merge(uint32(l) + 1)); err != nil {
				return err
			}
		}
	}
	return nil
}

// catchUp takes note of a merge during recovery.
func (t *Tables) catchUp(err error) error {
	t.dirty = true
	_, other := store.NoRoom(err)
	return other
}

// replay rebuilds the chain from the log, and the spend and conflict deltas from where the lower of their watermarks
// left off; what the log says before it is in their files. Whenever the budget is used up they are merged, each only
// where the replay has passed its own watermark: before that, its file is ahead of what the delta says.
func (t *Tables) replay(c Cut, mark uint64) error {
	for i := range c.Log {
		l, pop := t.record(int64(i))
		if uint32(l) >= c.Headers {
			return damage(chainName, fmt.Sprintf("record %d names no header", i))
		}
		if err := t.replayRecord(l, pop, i >= mark); err != nil {
			return err
		}
		if i%logCheck == 0 {
			t.tell(chainName, i, c.Log)
		}
		if i < mark || t.disk.ReadOnly() || t.markBytes() <= t.options.DeltaBytes {
			continue
		}
		if i+1 >= t.conflict.Stats().Watermark {
			if err := t.catchUp(t.conflict.Merge(i + 1)); err != nil {
				return err
			}
		}
		if i+1 >= t.spend.Stats().Watermark {
			if err := t.catchUp(t.spend.Merge(c.Outs, i+1)); err != nil {
				return err
			}
		}
	}
	if t.members.now.n == 0 {
		return damage(chainName, "it holds no chain")
	}
	t.refresh()
	return nil
}

func (t *Tables) replayRecord(l HeaderLink, pop, marks bool) error {
	s, ok := t.Archived(l)
	switch {
	case !ok || !t.continues(l, pop):
		return damage(chainName, "a record does not continue the chain before it")
	case pop && marks:
		t.refresh()
		return t.applyPop()
	case pop:
		t.members.pop()
		return nil
	case marks:
		t.refresh()
		b := t.block(s)
		t.willNeed(&b)
		return t.applyPush(l, s)
	default:
		t.members.push(l)
		return nil
	}
}

// continues reports whether a record fits the chain that the records before it made.
func (t *Tables) continues(l HeaderLink, pop bool) bool {
	n := t.members.now.n
	if pop {
		return n > 1 && t.members.now.at(n-1) == l
	}
	parent, ok := t.Header(l).Parent()
	return ok == (n > 0) && (n == 0 || parent == t.members.now.at(n-1))
}
