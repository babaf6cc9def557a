package utxo

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"stele/chain"
)

// A snapshot is a file of Core's dumptxoutset, version 2:
//
//	0          5         7       11      43      51
//	+----------+---------+-------+-------+-------+
//	| utxo ff  | version | magic | base  | coins |            magic is the network's, base the hash of the block after
//	| 5        | 2       | 4     | 32    | 8     |            which the set was so
//	+----------+---------+-------+-------+-------+
//
// and for each transaction with unspent outputs, in ascending order of the bytes of its txid:
//
//	+------+-----------------+
//	| txid | coins           |
//	| 32   | CompactSize     |
//	+------+-----------------+---------------------+-------------------+---------+-----------------+
//	| vout            | height<<1 | coinbase        | compressed amount | kind    | script, as the  |    for each coin
//	| CompactSize     | VARINT                      | VARINT            | VARINT  | kind has it     |
//	+-----------------+-----------------------------+-------------------+---------+-----------------+
//
// Coins of a transaction are in the order of varintOrder. VARINT, amounts and scripts are drawn in compress.go.
const (
	snapshotMagic   = "utxo\xff"
	snapshotVersion = 2
	snapshotHead    = 51
)

// Limits of a transaction that a block has room for: its bytes without witness, and an output's least.
const (
	maxTxBytes = 1_000_000
	maxTxCoins = maxTxBytes / 9
	maxVout    = 1<<32 - 2 // Core's: the next one stands for no output
)

// SnapshotHead is what a snapshot says of itself.
type SnapshotHead struct {
	Network [4]byte    // magic
	Base    chain.Hash // block after which the set was so
	Coins   uint64
}

func (h *SnapshotHead) append(dst []byte) []byte {
	dst = append(dst, snapshotMagic...)
	dst = binary.LittleEndian.AppendUint16(dst, snapshotVersion)
	dst = append(append(dst, h.Network[:]...), h.Base[:]...)
	return binary.LittleEndian.AppendUint64(dst, h.Coins)
}

// SnapshotError says what makes a snapshot unreadable, and where.
type SnapshotError struct {
	Off  int64 // of the byte, or of the transaction's first
	What string
}

func (e *SnapshotError) Error() string {
	return fmt.Sprintf("byte %d of the snapshot: %s", e.Off, e.What)
}

// CountError says that a head promises other coins than there are.
type CountError struct{ Head, Have uint64 }

func (e *CountError) Error() string {
	return fmt.Sprintf("the head of the snapshot says %d coins, there are %d", e.Head, e.Have)
}

// appendSnapshotTx appends a transaction's part of a snapshot. It fails where a coin could not be read again.
func appendSnapshotTx(dst []byte, t *Record) ([]byte, error) {
	if err := t.fileable(); err != nil {
		return dst, err
	}
	outs := t.Outs
	if outs[len(outs)-1].Vout >= numeric {
		outs = slices.Clone(outs)
		slices.SortFunc(outs, func(a, b Entry) int { return varintOrder(a.Vout, b.Vout) })
	}
	dst = append(dst, t.Txid[:]...)
	dst = chain.AppendCompactSize(dst, uint64(len(outs)))
	code := t.head().code
	for i := range outs {
		o := &outs[i]
		dst = chain.AppendCompactSize(dst, uint64(o.Vout))
		dst = appendVarint(dst, code)
		dst = appendVarint(dst, compressAmount(uint64(o.Value)))
		dst = appendScript(dst, o.Script, true)
	}
	return dst, nil
}

// check tells what keeps coins out of a file: nothing that a block could make does.
func (t *Record) fileable() error {
	what := ""
	switch {
	case len(t.Outs) == 0:
		what = "has no coin"
	case len(t.Outs) > maxTxCoins:
		what = "has more coins than a transaction has room for"
	case t.Height >= 1<<31:
		what = "is too high"
	}
	total := 0
	for i := range t.Outs {
		o := &t.Outs[i]
		total += len(o.Script)
		switch {
		case i > 0 && o.Vout <= t.Outs[i-1].Vout:
			what = "has coins out of order"
		case o.Vout > maxVout:
			what = "has a coin beyond the last output"
		case uint64(o.Value) > uint64(chain.MaxMoney):
			what = "has a coin of more than all money"
		case len(o.Script) > maxScript:
			what = "has a script that cannot be run"
		}
	}
	if total > maxTxBytes {
		what = "has longer scripts than a transaction has room for"
	}
	if what != "" {
		return fmt.Errorf("transaction %v %s", t.Txid, what)
	}
	return nil
}

// WriteSnapshot writes a set as Core's dumptxoutset does, to the byte, and counts and hashes it: the hash is
// hash_serialized_3. The head's count must be the set's (a *CountError else). Several goroutines spell, one hashes and
// writes, in order. Progress, if it is not nil, is told how many shards are done.
func WriteSnapshot(w io.Writer, head SnapshotHead, s Source, threads int, progress func(shards int),
) (stats Stats, hash chain.Hash, err error) {
	out := make([]byte, 0, writeChunk)
	out = head.append(out)
	h := NewSerialized3()
	err = eachSorted(s, threads, spelling{hash: true, file: appendSnapshotTx}, func(shard int, b *sorted) error {
		b.hashInto(h)
		stats.Combine(&b.stats)
		for i := range b.pieces {
			if out = append(out, b.pieces[i].file.of(b.file)...); len(out) < writeChunk {
				continue
			}
			if _, err := w.Write(out); err != nil {
				return err
			}
			out = out[:0]
		}
		tell(progress, shard+1)
		return nil
	})
	if err == nil {
		_, err = w.Write(out)
	}
	if err == nil && stats.Outputs != head.Coins {
		err = &CountError{Head: head.Coins, Have: stats.Outputs}
	}
	return stats, h.Sum(), err
}

// writeChunk is how many bytes are gathered for one write.
const writeChunk = 1 << 20
