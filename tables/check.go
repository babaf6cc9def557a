package tables

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"stele/chain"
	"stele/tables/codec"
)

// CheckReport is what Check found: how many things of each kind it looked at, and what is wrong.
type CheckReport struct {
	Checked  map[string]uint64
	Problems []string
}

// maxProblems bounds a report: a damaged disk can break every row.
const maxProblems = 100

// OK reports whether nothing is wrong.
func (r *CheckReport) OK() bool { return len(r.Problems) == 0 }

func (r *CheckReport) problem(format string, a ...any) {
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, fmt.Sprintf(format, a...))
	}
}

// Check proves the store: every header row against its hash, parent and work; every interval; every tx row's offsets;
// every link of ins and outtx; every index line and cell, both ways; the log. A deep check also rebuilds every archived
// block from its rows and compares txids, merkle root, size and weight, and compares the unspent outputs with a set that
// is kept while the log is replayed. Writer only; progress may be nil.
func (t *Tables) Check(deep bool, progress func(done, total uint64)) (CheckReport, error) {
	return newChecker(t.Live(), progress).run(context.Background(), deep)
}

// Check proves what a view covers as Tables.Check does, beside the writer, for whom it is the view's goroutine's work.
// What only the writer may look at it leaves out: index lines by themselves (what they must lead to is looked up), and
// how many displaced spenders there are. It ends early, with an error, when ctx does.
func (v *View) Check(ctx context.Context, deep bool, progress func(done, total uint64)) (CheckReport, error) {
	c := newChecker(v, progress)
	c.reader = true
	return c.run(ctx, deep)
}

func newChecker(v *View, progress func(done, total uint64)) *checker {
	return &checker{t: v.t, v: v, CheckReport: CheckReport{Checked: map[string]uint64{}}, progress: progress}
}

func (c *checker) run(ctx context.Context, deep bool) (CheckReport, error) {
	c.ctx = ctx
	c.total = uint64(c.v.cut.Headers) + uint64(c.v.cut.Txs)
	if deep {
		c.total += uint64(c.v.cut.Txs)
	}
	c.headers()
	c.archive()
	c.indexes()
	c.marks()
	c.displaced()
	if deep {
		c.blocks()
	}
	c.unspent(deep)
	return c.CheckReport, c.ctx.Err()
}

type checker struct {
	CheckReport
	t           *Tables
	v           *View
	reader      bool // a reader's: nothing of the writer's is looked at
	progress    func(done, total uint64)
	done, total uint64

	ctx   context.Context
	ticks uint32
	over  bool // ctx ended
}

// ended reports, for every row, whether the check is to end early.
func (c *checker) ended() bool {
	if c.ticks++; c.ticks%1024 == 0 {
		c.over = c.over || c.ctx.Err() != nil
	}
	return c.over
}

func (c *checker) step() {
	if c.done++; c.progress != nil && c.done%1024 == 0 {
		c.progress(c.done, c.total)
	}
}

// headers recomputes every header row from the 80 bytes and its parent's row.
func (c *checker) headers() {
	n := c.v.cut.Headers
	for l := range HeaderLink(n) {
		c.step()
		if c.ended() {
			return
		}
		h := c.t.Header(l)
		parent, ok := h.Parent()
		if ok != (l > 0) || ok && parent >= l {
			c.problem("header row %d: its parent does not stand before it", l)
			continue
		}
		wire := c.t.WireHeader(l)
		if wire.Hash() != h.Hash() {
			c.problem("header row %d: the hash is not that of its fields", l)
		}
		height, work := uint32(0), chain.BlockWork(h.Bits())
		if ok {
			p := c.t.Header(parent)
			height, work = p.Height()+1, work.Add(p.Work())
		}
		if h.Height() != height || h.Work() != work {
			c.problem("header row %d: height or work do not follow from its parent", l)
		}
		if binary.LittleEndian.Uint32(h.row[headerFlags:]) != 0 {
			c.problem("header row %d: its flags are not zero", l)
		}
		if h.MTP() != c.medianTime(l) {
			c.problem("header row %d: the median time past is not that of its eleven headers", l)
		}
	}
	c.Checked["headers"] = uint64(n)
}

// medianTime computes the MTP of a header row from the rows below it (BIP113).
func (c *checker) medianTime(l HeaderLink) uint32 {
	var times [11]uint32
	n := 0
	for n < len(times) {
		h := c.t.Header(l)
		at := n
		for ; at > 0 && times[at-1] > h.Time(); at-- {
			times[at] = times[at-1]
		}
		times[at] = h.Time()
		n++
		p, ok := h.Parent()
		if !ok || p >= l {
			break
		}
		l = p
	}
	return times[n/2]
}

// archive walks the txs rows, whose intervals open proved, and the tx, ins and outtx rows in them.
func (c *checker) archive() {
	var ins uint64
	for s := range TxsLink(c.v.cut.Txs) {
		c.step()
		b := c.t.block(s)
		if c.ended() {
			return
		}
		if flags := c.t.txs.At(int64(s)*txsWidth+txsFlags, 2); flags[0]&^txsOverwrites != 0 || flags[1] != 0 {
			c.problem("txs row %d: it has flags that mean nothing", s)
		}
		c.t.willNeed(&b)
		before := txOffset{}
		for i := range b.Txs {
			l := b.FirstTx + TxLink(i)
			o := c.t.span(&b, l)
			first := i > 0 || o.start.outs|o.start.ins|o.start.outBytes|o.start.inBytes == 0
			if !first || !follows(o.start, before) || !follows(o.end, o.start) {
				c.problem("tx row %d: its offsets do not lie between its neighbours'", l)
			}
			if c.t.tx.At(int64(l)*txWidth, txWidth)[txWidth-1]&0xf0 != 0 {
				c.problem("tx row %d: it has flags that mean nothing", l)
			}
			before = o.start
			if o.end.outs == o.start.outs || o.end.ins == o.start.ins {
				c.problem("tx row %d: it owns no output or no input", l)
			}
		}
		for i := range b.Ins {
			o, ok := c.v.Prevout(b.FirstIn + InputLink(i))
			if ok && o >= b.FirstOut+OutputLink(b.Outs) || ok == (i == 0) {
				c.problem("ins row %d: it names an output that is not below its block's", uint64(b.FirstIn)+uint64(i))
			}
			ins++
		}
		c.samples(&b)
	}
	c.Checked["txs"], c.Checked["tx"], c.Checked["ins"] = uint64(c.v.cut.Txs), uint64(c.v.cut.Tx), ins
}

func follows(a, b txOffset) bool {
	return a.outs >= b.outs && a.ins >= b.ins && a.outBytes >= b.outBytes && a.inBytes >= b.inBytes
}

// samples compares the outtx rows among a block's outputs with the transaction that owns them by its offsets.
func (c *checker) samples(b *Block) {
	end := uint64(b.FirstOut) + uint64(b.Outs)
	for k := samples(uint64(b.FirstOut)); k < samples(end); k++ {
		want := uint32(uint64(k)*outTxEvery - uint64(b.FirstOut))
		l := c.v.sample(k)
		if l < uint32(b.FirstTx) || l-uint32(b.FirstTx) >= b.Txs {
			c.problem("outtx row %d: it names no transaction of its block", k)
			continue
		}
		if s := c.t.span(b, TxLink(l)); want < s.start.outs || want >= s.end.outs {
			c.problem("outtx row %d: the transaction that it names does not own output %d", k, k*outTxEvery)
		}
		c.Checked["outtx"]++
	}
}

// indexes proves both maps line by line and row by row.
func (c *checker) indexes() {
	if !c.reader {
		c.lines()
	}
	for l := range TxLink(c.v.cut.Tx) {
		if c.ended() {
			return
		}
		found := false
		var buf [8]uint32
		for _, x := range c.v.txids.FindAll(buf[:0], (*[32]byte)(c.t.txid(l)), c.v.cut.Tx) {
			found = found || TxLink(x) == l
		}
		if !found {
			c.problem("tx row %d: its txid does not lead to it", l)
		}
	}
	for l := range HeaderLink(c.v.cut.Headers) {
		if c.ended() {
			return
		}
		hash := c.t.Header(l).Hash()
		if x, ok := c.v.FindHeader(&hash); !ok || x != l {
			c.problem("header row %d: its hash does not lead to it", l)
		}
	}
	for l := range HeaderLink(c.v.cut.Headers) {
		if c.t.State(l) > StateRejected {
			c.problem("state cell %d: it holds no state", l)
		}
	}
}

// lines proves the files of the indexes by themselves.
func (c *checker) lines() {
	for _, p := range c.t.headerMap.Verify(c.v.cut.Headers) {
		c.problem("%s.lines: %s", headerName, p)
	}
	for _, p := range c.t.txMap.Verify(c.v.cut.Tx) {
		c.problem("%s.lines: %s", txName, p)
	}
	for _, p := range c.t.conflict.Verify() {
		c.problem("%s: %s", confName, p)
	}
}

// marks proves the spend cells both ways: every input of the chain finds itself through the cell of what it spends, and
// every cell that is set names a transaction that spends it, overwrote it, or the reserved value where it belongs.
func (c *checker) marks() {
	for height := range c.v.chain.n {
		if c.ended() {
			return
		}
		b, ok := c.v.Block(c.v.chain.at(height))
		if !ok {
			c.problem("chain: height %d is not archived", height)
			continue
		}
		err := c.t.eachMark(&b, func(o OutputLink, by TxLink) {
			if uint64(o) >= c.v.cut.Outs {
				return // named above
			}
			if s, ok := c.v.Spender(o); !ok || s.Tx != by {
				c.problem("spend cell %d: it does not lead to transaction row %d, which spends it", o, by)
			}
		})
		if err != nil {
			c.problem("%v", err)
		}
	}
	for o := range OutputLink(c.v.cut.Outs) {
		if c.ended() {
			return
		}
		delta, base := c.v.spends.Get(uint64(o))
		for _, mark := range [2]uint32{delta, base} {
			if c.reader && mark != unspendable && mark > c.v.cut.Tx {
				continue // of a block that this view does not know yet
			}
			if mark != 0 && mark != unspendable && !(mark-1 < c.v.cut.Tx && c.v.marks(TxLink(mark-1), o)) {
				c.problem("spend cell %d: the transaction that it names does not spend it", o)
			}
		}
		c.Checked["spend"]++
	}
}

// displaced wants every mark of every block that was ever popped in conflict, and nothing else. (Popping a block that
// repeats a txid adds marks of its own; where there is one, they are not counted.)
func (c *checker) displaced() {
	v := c.t.conflict.View()
	pairs, count := map[[2]uint64]struct{}{}, true
	for i := range int64(c.v.cut.Log) {
		l, pop := c.t.record(i)
		if !pop {
			continue
		}
		b, ok := c.v.Block(l)
		if !ok {
			c.problem("chain record %d: it pops a block that is not archived", i)
			continue
		}
		err := c.t.eachMark(&b, func(o OutputLink, by TxLink) {
			var buf [8]uint64
			pairs[[2]uint64{uint64(o), uint64(by)}] = struct{}{}
			if !slices.Contains(v.All(buf[:0], uint64(o)), uint64(by)) {
				c.problem("conflict: transaction row %d, which spent output %d on a branch that was left, is missing", by, o)
			}
		})
		if err != nil {
			c.problem("%v", err)
		}
		c.Checked["popped"]++
		count = count && !b.overwrites
	}
	// What is in memory may be in the lines already, from a merge that was cut short: then there is nothing to count.
	if c.reader {
		return
	}
	survey, _ := c.t.conflict.Survey()
	if count && c.t.conflict.Len() == 0 && survey.Pairs != uint64(len(pairs)) {
		c.problem("conflict: it holds %d spenders, %d were displaced", survey.Pairs, len(pairs))
	}
}

// blocks rebuilds every archived block from its rows and holds it against its header, txids, size and weight.
func (c *checker) blocks() {
	var raw []byte
	var ids []chain.Hash
	var b chain.Block
	for s := range TxsLink(c.v.cut.Txs) {
		c.step()
		if c.ended() {
			return
		}
		row := c.t.block(s)
		hash := c.t.Header(row.Header).Hash()
		var err error
		if raw, _, err = c.v.AppendBlock(raw[:0], row.Header); err == nil {
			err = b.Decode(raw)
		}
		if err != nil {
			c.problem("block %v: %v", hash, err)
			continue
		}
		ids = b.Txids(ids)
		for i, id := range ids {
			if id != *c.t.txid(row.FirstTx + TxLink(i)) {
				c.problem("block %v: transaction %d has another txid than its row", hash, i)
			}
		}
		if root, mutated := chain.MerkleRoot(ids); root != b.Header.Merkle || mutated {
			c.problem("block %v: its merkle root is not the header's", hash)
		}
		if !witnessCommitted(&b, ids) {
			c.problem("block %v: its coinbase does not commit to its witnesses", hash)
		}
		if len(raw) != int(row.Size) || b.Weight() != int(row.Weight) {
			c.problem("block %v: size or weight are not what its row says", hash)
		}
		c.Checked["blocks"]++
	}
}

// witnessCommitted reports whether the coinbase's commitment is that of the witnesses, where there are any: the last
// output that starts with the commitment's six bytes, over the root of the wtxids, the coinbase's as zero, and the
// coinbase's own stack item (BIP141).
func witnessCommitted(b *chain.Block, ids []chain.Hash) bool {
	witness := false
	for i := range b.Txs {
		witness = witness || b.Txs[i].Witness
	}
	if !witness {
		return true
	}
	var want []byte
	for _, o := range b.Outs[:b.Txs[0].Outs] {
		if s := b.Bytes(o.Script); len(s) >= 38 && bytes.HasPrefix(s, []byte{0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed}) {
			want = s[6:38]
		}
	}
	if want == nil || b.Ins[0].Items != 1 {
		return false
	}
	ids = b.Wtxids(ids)
	ids[0] = chain.Hash{}
	root, _ := chain.MerkleRoot(ids)
	got := chain.DoubleSHA256(append(root[:], b.Bytes(b.Items[b.Ins[0].FirstItem])...))
	return bytes.Equal(got[:], want)
}

// unspent counts the outputs without a spender, and in a deep check compares each with a bit that the blocks of the
// chain set and clear in order: 1 bit an output.
func (c *checker) unspent(deep bool) {
	var bits []uint64
	if deep {
		bits = c.naiveUnspent()
	}
	err := c.v.EachUnspent(func(u *Unspent) error {
		if c.ended() {
			return c.ctx.Err()
		}
		c.Checked["unspent"]++
		if deep {
			if w, m := u.Output/64, uint64(1)<<(u.Output%64); bits[w]&m == 0 {
				c.problem("output %v:%d counts as unspent, and is not", *u.Txid, u.Vout)
			} else {
				bits[w] &^= m
			}
		}
		return nil
	})
	if err != nil {
		c.problem("%v", err)
	}
	for w, word := range bits {
		for i := 0; word != 0; i, word = i+1, word>>1 {
			if word&1 != 0 {
				c.problem("output number %d counts as spent, and is not", w*64+i)
			}
		}
	}
}

// naiveUnspent replays the chain into one bit an output, without any index.
func (c *checker) naiveUnspent() []uint64 {
	bits := make([]uint64, (c.v.cut.Outs+63)/64)
	clearBit := func(o OutputLink) {
		if uint64(o) < c.v.cut.Outs {
			bits[o/64] &^= 1 << (o % 64)
		}
	}
	for height := range c.v.chain.n {
		b, ok := c.v.Block(c.v.chain.at(height))
		if !ok {
			continue
		}
		if b.overwrites && !c.clearRepeated(&b, height, clearBit) {
			c.problem("chain: the block at height %d is said to repeat a txid, and does not", height)
		}
		for o := b.FirstOut; o < b.FirstOut+OutputLink(b.Outs); o++ {
			bits[o/64] |= 1 << (o % 64)
		}
		_ = c.t.eachMark(&b, func(o OutputLink, _ TxLink) { clearBit(o) })
		c.clearUnspendable(&b, clearBit)
	}
	return bits
}

// clearRepeated clears the outputs of every earlier transaction of the chain whose txid block b repeats, and reports
// whether there is one.
func (c *checker) clearRepeated(b *Block, height uint32, clearBit func(OutputLink)) (found bool) {
	below := c.v.Down(height - 1)
	below.eachRepeated(b, below.Strong, func(o OutputLink, _ TxLink) {
		clearBit(o)
		found = true
	})
	return found
}

// clearUnspendable clears the outputs of a block whose scripts say so, and those of genesis.
func (c *checker) clearUnspendable(b *Block, clearBit func(OutputLink)) {
	run := c.t.output.At(b.outBase, int(b.outBytes))
	var buf codec.ScriptBuffer
	for i := range b.Outs {
		o, n, ok := codec.DecodeOutput(run, &buf)
		if !ok {
			c.problem("output number %d: it does not decode", uint64(b.FirstOut)+uint64(i))
			return
		}
		run = run[n:]
		if b.FirstOut == 0 || chain.Unspendable(o.Script) {
			clearBit(b.FirstOut + OutputLink(i))
		}
	}
}
