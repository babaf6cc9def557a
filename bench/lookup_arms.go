package bench

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"unsafe"

	"stele/chain"
	"stele/hashmap"
	"stele/node/esplora"
	"stele/tables"
)

// queries are the questions of one run, drawn evenly and read in sequence, each beside its answer.
type queries struct {
	hits, misses []chain.Hash
	links, none  []uint32 // of the hits, of the misses

	outputs    []tables.OutputLink
	outpoints  []byte // of the outputs, 36 bytes each
	spenderIDs []chain.Hash

	peerHits, peerSpends, peerNone []uint64 // values that peers answer with
}

func (l *lookups) draw(run, n int) *queries {
	r := rand.New(rand.NewPCG(seed, uint64(run)))
	q := &queries{misses: make([]chain.Hash, n)}
	for i := range n {
		link := r.IntN(len(l.keys))
		q.hits, q.links = append(q.hits, l.keys[link]), append(q.links, uint32(link))
		q.none = append(q.none, hashmap.NoLink)
		q.peerHits = append(q.peerHits, txAnswer(uint32(link)))
		for at := 0; at < chain.HashSize; at += 8 {
			binary.LittleEndian.PutUint64(q.misses[i][at:], r.Uint64())
		}
		s := l.spends[r.IntN(len(l.spends))]
		q.outputs, q.outpoints = append(q.outputs, l.output(s)), append(q.outpoints, l.outpoint(s)...)
		q.spenderIDs = append(q.spenderIDs, l.keys[s.by])
		q.peerSpends, q.peerNone = append(q.peerSpends, spendAnswer(s)), append(q.peerNone, absent)
	}
	return q
}

// warm reads every row of every store once, so that all is mapped or cached, and nothing is missing.
func (l *lookups) warm() error {
	l.o.Note("reading everything once")
	v := l.t.View()
	for i := range l.keys {
		if link, ok := v.FindTx(&l.keys[i]); !ok || link != tables.TxLink(i) {
			return fmt.Errorf("transaction %d is found at %d, %v", i, link, ok)
		}
	}
	for _, s := range l.spends {
		if by, ok := v.Spender(l.output(s)); !ok || by.Tx != tables.TxLink(s.by) || by.Index != 0 {
			return fmt.Errorf("the spender %d is found at %+v, %v", s.by, by, ok)
		}
	}
	found := make([]uint32, len(l.keys))
	l.bare.m.View().FindGroup(plain(l.keys), l.bare.rows, found)
	for i, link := range found {
		if link != uint32(i) {
			return fmt.Errorf("row %d is found at %d", i, link)
		}
	}
	for _, r := range l.peers {
		for _, t := range []*peerTable{r.tx, r.spend} {
			if n, err := t.scan(); err != nil || n != t.rows {
				return fmt.Errorf("%s has %d rows of %d: %w", r.name, n, t.rows, err)
			}
		}
	}
	return nil
}

// measure runs all arms in turns. The first round is not counted.
func (l *lookups) measure() error {
	n := max(leastCount, int(lookupCount*min(l.o.Scale, 1)))
	filled := maps.Clone(l.times)
	for run := range l.o.Runs + 1 {
		l.o.Note(fmt.Sprintf("looking up, round %d of %d", run, l.o.Runs))
		if err := l.round(l.draw(2*run, n), l.draw(2*run+1, n)); err != nil {
			return err
		}
		if run == 0 {
			l.times = maps.Clone(filled)
		}
	}
	l.tellLookups()
	return nil
}

// round runs every arm once. It takes two sets of questions, so that no arm finds in the caches what one before it read:
// an arm that reads the same tables as another takes the other set.
func (l *lookups) round(a, b *queries) error {
	n, v := len(a.hits), l.t.View()
	for _, arm := range []struct {
		row string
		ask func() int
	}{
		{"tx.hit", func() int { return askTx(v, a.hits, a.links) }},
		{"spender.link", func() int { return askSpent(v, a.outputs) }},
		{"spender.full", func() int { return askSpender(v, b) }},
		{"tx.two", func() int { return askTxTwo(v, b.hits, b.links) }},
		{"tx.miss", func() int { return askAbsent(v, a.misses) }},
	} {
		if err := l.ask(arm.row, n, func() (int, error) { return arm.ask(), nil }); err != nil {
			return err
		}
	}
	if err := l.askGroups(a, b); err != nil {
		return err
	}
	for _, r := range l.peers {
		if err := l.askPeer(r, a, n/peerShare); err != nil {
			return err
		}
	}
	return nil
}

// ask clocks one run of an arm, which counts its wrong answers.
func (l *lookups) ask(row string, n int, arm func() (wrong int, err error)) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	runtime.GC() // what others left is not this arm's
	start := processorTime()
	wrong, err := arm()
	l.clocked(row, n, processorTime()-start)
	if err == nil && wrong > 0 {
		err = fmt.Errorf("%s: %d of %d answers are wrong", row, wrong, n)
	}
	return err
}

func askTx(v *tables.View, keys []chain.Hash, links []uint32) (wrong int) {
	for i := range keys {
		if l, ok := v.FindTx(&keys[i]); !ok || uint32(l) != links[i] {
			wrong++
		}
	}
	return wrong
}

// askTxTwo is askTx in two goroutines, each with half of the questions.
func askTxTwo(v *tables.View, keys []chain.Hash, links []uint32) int {
	half := len(keys) / 2
	other := make(chan int)
	go func() { other <- askTx(v, keys[:half], links[:half]) }()
	wrong := askTx(v, keys[half:], links[half:])
	return wrong + <-other
}

func askAbsent(v *tables.View, keys []chain.Hash) (wrong int) {
	for i := range keys {
		if _, ok := v.FindTx(&keys[i]); ok {
			wrong++
		}
	}
	return wrong
}

// askSpent asks for what proves a spend, which is the spender's link: Spent reads it and says only that there is one.
func askSpent(v *tables.View, outputs []tables.OutputLink) (wrong int) {
	for _, o := range outputs {
		if !v.Spent(o) {
			wrong++
		}
	}
	return wrong
}

func askSpender(v *tables.View, q *queries) (wrong int) {
	for i, o := range q.outputs {
		if s := esplora.SpenderOf(v, o); !s.Spent || *s.Txid != q.spenderIDs[i] || *s.Vin != 0 || !s.Status.Confirmed {
			wrong++
		}
	}
	return wrong
}

// askGroups looks up in the bare map, one by one and in groups.
func (l *lookups) askGroups(a, b *queries) error {
	v, below, n := l.bare.m.View(), l.bare.rows, len(a.hits)
	found := make([]uint32, n)
	one := func(keys [][32]byte, links []uint32) (int, error) {
		for i := range keys {
			link, ok := v.Find(&keys[i], below)
			if found[i] = link; !ok {
				found[i] = hashmap.NoLink
			}
		}
		return differ(found, links), nil
	}
	many := func(keys [][32]byte, links []uint32) (int, error) {
		v.FindGroup(keys, below, found)
		return differ(found, links), nil
	}
	for _, arm := range []struct {
		row   string
		find  func(keys [][32]byte, links []uint32) (int, error)
		keys  []chain.Hash
		links []uint32
	}{
		{"map.single.hit", one, a.hits, a.links}, {"map.grouped.hit", many, b.hits, b.links},
		{"map.single.miss", one, a.misses, a.none}, {"map.grouped.miss", many, b.misses, b.none},
	} {
		if err := l.ask(arm.row, n, func() (int, error) { return arm.find(plain(arm.keys), arm.links) }); err != nil {
			return err
		}
	}
	return nil
}

func differ(have, want []uint32) (n int) {
	for i := range have {
		if have[i] != want[i] {
			n++
		}
	}
	return n
}

func (l *lookups) askPeer(r *rival, q *queries, n int) error {
	for _, arm := range []struct {
		row    string
		table  *peerTable
		keys   []byte
		wanted []uint64
	}{
		{".tx.hit", r.tx, flat(q.hits), q.peerHits},
		{".tx.miss", r.tx, flat(q.misses), q.peerNone},
		{".spender", r.spend, q.outpoints, q.peerSpends},
	} {
		t := arm.table
		err := l.ask(r.name+arm.row, n, func() (int, error) { return t.get(arm.keys[:n*t.width], t.width, arm.wanted[:n]) })
		if err != nil {
			return err
		}
	}
	return nil
}

// plain and flat are the same keys, as the map takes them and as peers do.
func plain(keys []chain.Hash) [][32]byte {
	return unsafe.Slice((*[32]byte)(unsafe.Pointer(unsafe.SliceData(keys))), len(keys))
}

func flat(keys []chain.Hash) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(keys))), len(keys)*chain.HashSize)
}
