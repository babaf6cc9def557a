package utxo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"stele/chain"
)

// A Difference is the first coin in which a snapshot and a set differ, in the order of the snapshot.
type Difference struct {
	Txid chain.Hash
	Vout uint32
	File *Record // what the snapshot has of the transaction; nil: nothing
	Set  *Record // what the set has
}

// Error tells the difference in a line.
func (d *Difference) Error() string {
	at := fmt.Sprintf("%v:%d", d.Txid, d.Vout)
	file, set := d.File.entry(d.Vout), d.Set.entry(d.Vout)
	switch {
	case file == nil:
		return "the snapshot lacks " + at
	case set == nil:
		return "the snapshot has " + at + ", which is not in the set"
	}
	var what []string
	differ := func(field string, file, set any) {
		if file != set {
			what = append(what, fmt.Sprintf("%s %v, not %v", field, file, set))
		}
	}
	differ("height", d.File.Height, d.Set.Height)
	differ("coinbase", d.File.Coinbase, d.Set.Coinbase)
	differ("value", file.Value, set.Value)
	if !bytes.Equal(file.Script, set.Script) {
		what = append(what, fmt.Sprintf("script %s, not %s", shown(file.Script), shown(set.Script)))
	}
	return fmt.Sprintf("the snapshot has %s with %s", at, strings.Join(what, ", "))
}

// shown is a script as a message has room for it.
func shown(script []byte) string {
	const most = 40
	if len(script) > most {
		return fmt.Sprintf("%x... of %d bytes", script[:most], len(script))
	}
	return fmt.Sprintf("%x", script)
}

// find returns the coin with a vout, or nil.
func (t *Record) entry(vout uint32) *Entry {
	if t == nil {
		return nil
	}
	for i := range t.Outs {
		if t.Outs[i].Vout == vout {
			return &t.Outs[i]
		}
	}
	return nil
}

// VerifySnapshot reads a snapshot to its end and compares it with a set, which it also counts and hashes
// (hash_serialized_3). The set is spelt as the snapshot should be, on several goroutines, and only bytes are compared;
// what differs is decoded to tell. It returns a *Difference, a *SnapshotError or *CountError for a file that no set could
// have made, or the reader's or the source's own error. Progress, if it is not nil, is told how many shards are done.
func (s *SnapshotReader) VerifySnapshot(set Source, threads int, progress func(shards int),
) (stats Stats, hash chain.Hash, err error) {
	h := NewSerialized3()
	how := spelling{hash: true, file: appendSnapshotTx}
	err = eachSorted(set, threads, how, func(shard int, b *sorted) error {
		b.hashInto(h)
		for i := range b.pieces {
			want := b.pieces[i].file.of(b.file)
			if got, _ := s.w.bytes(len(want)); !bytes.Equal(got, want) {
				return s.differs(want)
			}
			s.w.skip(len(want))
		}
		stats.Combine(&b.stats)
		s.read += b.stats.Outputs
		tell(progress, shard+1)
		return nil
	})
	if err == nil {
		err = s.differs(nil)
	}
	return stats, h.Sum(), err
}

// differs says how what comes next in the snapshot differs from the spelling of a transaction, or of nothing.
func (s *SnapshotReader) differs(want []byte) error {
	set, err := decodeTx(want)
	if err != nil {
		return err
	}
	file, err := s.Next()
	var count *CountError
	switch ended := errors.Is(err, io.EOF) || errors.As(err, &count); {
	case ended && set != nil: // whatever the head says
		return differenceOf(nil, set)
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	return differenceOf(file, set)
}

// decodeTx reads back one transaction's part of a snapshot; nil where there is none.
func decodeTx(b []byte) (*Record, error) {
	if len(b) == 0 {
		return nil, nil
	}
	r := SnapshotReader{w: window{r: bytes.NewReader(b)}}
	return r.Next()
}

// differenceOf compares what two sets have next, of which one may have nothing.
func differenceOf(file, set *Record) error {
	order := 0
	switch {
	case file == nil:
		order = 1
	case set == nil:
		order = -1
	default:
		order = bytes.Compare(file.Txid[:], set.Txid[:])
	}
	switch {
	case order < 0:
		return &Difference{Txid: file.Txid, Vout: file.Outs[0].Vout, File: file}
	case order > 0:
		return &Difference{Txid: set.Txid, Vout: set.Outs[0].Vout, Set: set}
	}
	d := &Difference{Txid: set.Txid, File: file, Set: set}
	for i, j := 0, 0; i < len(file.Outs) || j < len(set.Outs); {
		switch {
		case j == len(set.Outs) || i < len(file.Outs) && file.Outs[i].Vout < set.Outs[j].Vout:
			d.Vout = file.Outs[i].Vout
			return d
		case i == len(file.Outs) || set.Outs[j].Vout < file.Outs[i].Vout:
			d.Vout = set.Outs[j].Vout
			return d
		}
		a, b := &file.Outs[i], &set.Outs[j]
		if file.head().code != set.head().code || a.Value != b.Value || !bytes.Equal(a.Script, b.Script) {
			d.Vout = a.Vout
			return d
		}
		i, j = i+1, j+1
	}
	return fmt.Errorf("transaction %v has two spellings", set.Txid) // not to a reader that takes one
}
