package utxo

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"stele/chain"
)

// SnapshotReader reads a snapshot as it comes. It takes what WriteSnapshot can write and nothing else: every number,
// amount and script in its one spelling, transactions and coins in order, as many as the head says, and no byte more. So
// what it has read and WriteSnapshot writes again is the same file. Its memory is bounded whatever it reads.
type SnapshotReader struct {
	Head SnapshotHead

	w       window
	read    uint64 // coins
	last    chain.Hash
	any     bool
	tx      Record
	scripts []byte
}

// NewSnapshotReader reads the head. What is no snapshot, or of another version, is a *SnapshotError.
func NewSnapshotReader(r io.Reader) (*SnapshotReader, error) {
	s := &SnapshotReader{w: window{r: r}}
	b, err := s.w.bytes(snapshotHead)
	switch {
	case err != nil:
		return nil, s.fail(0, nil, err)
	case string(b[:5]) != snapshotMagic:
		return nil, &SnapshotError{0, "is no snapshot of unspent outputs"}
	case binary.LittleEndian.Uint16(b[5:]) != snapshotVersion:
		return nil, &SnapshotError{5, fmt.Sprintf("its version is %d, not 2", binary.LittleEndian.Uint16(b[5:]))}
	}
	s.Head = SnapshotHead{[4]byte(b[7:]), chain.Hash(b[11:43]), binary.LittleEndian.Uint64(b[43:])}
	s.w.skip(snapshotHead)
	return s, nil
}

// fail makes the error of a transaction that starts at off. txid is nil where not even that was read.
func (s *SnapshotReader) fail(off int64, txid *chain.Hash, err error) error {
	var bad *malformed
	switch {
	case errors.As(err, &bad):
		return &SnapshotError{off, fmt.Sprintf("transaction %v %s", txid, bad.what)}
	case errors.Is(err, io.EOF):
		return &SnapshotError{off, "the file ends in the middle"}
	}
	return err
}

// Next returns the coins of the next transaction, in ascending order of vout; they are valid until the next call. At the
// end it is io.EOF. What no writer wrote is a *SnapshotError or a *CountError.
func (s *SnapshotReader) Next() (*Record, error) {
	off := s.w.off
	b, err := s.w.bytes(32 + 1)
	if errors.Is(err, io.EOF) && len(b) == 0 {
		if s.read != s.Head.Coins {
			return nil, &CountError{Head: s.Head.Coins, Have: s.read}
		}
		return nil, io.EOF
	}
	if err != nil {
		return nil, s.fail(off, nil, err)
	}
	t := &s.tx
	*t = Record{Txid: chain.Hash(b), Outs: t.Outs[:0]}
	s.w.skip(32)
	coins, err := s.compactSize()
	switch {
	case err != nil:
		return nil, s.fail(off, &t.Txid, err)
	case s.any && bytes.Compare(s.last[:], t.Txid[:]) >= 0:
		return nil, &SnapshotError{off, "transactions are out of order"}
	case coins == 0 || coins > maxTxCoins:
		return nil, &SnapshotError{off, fmt.Sprintf("a transaction with %d coins", coins)}
	}
	if err := s.coins(int(coins)); err != nil {
		return nil, s.fail(off, &t.Txid, err)
	}
	s.any, s.last = true, t.Txid
	s.read += coins
	return t, nil
}

// malformed says what is wrong with a transaction of a file.
type malformed struct{ what string }

func (e *malformed) Error() string { return e.what }

var (
	errSpelling = &malformed{"has a number that is spelt in no right way"}
	errMixed    = &malformed{"has coins of more than one block"}
	errOrder    = &malformed{"has coins out of order"}
	errVout     = &malformed{"has a coin beyond the last output"}
	errAmount   = &malformed{"has a coin of more than all money"}
	errScript   = &malformed{"has a script that is spelt in no right way"}
	errLong     = &malformed{"has longer scripts than a transaction has room for"}
)

// coins reads the coins of the transaction in hand.
func (s *SnapshotReader) coins(n int) error {
	t := &s.tx
	s.scripts = s.scripts[:0]
	high := false // the order is not that of numbers
	for i := range n {
		o, code, err := s.coin()
		if err != nil {
			return err
		}
		t.Outs = append(t.Outs, o)
		switch height := uint32(code >> 1); {
		case code > 1<<32-1:
			return errSpelling
		case i == 0:
			t.Height, t.Coinbase = height, code&1 == 1
		case code != t.head().code:
			return errMixed
		case varintOrder(t.Outs[i-1].Vout, o.Vout) >= 0:
			return errOrder
		}
		if len(s.scripts) > maxTxBytes {
			return errLong
		}
		high = high || o.Vout >= numeric
	}
	ends := 0
	for i := range t.Outs { // the scripts' buffer does not move any more
		o := &t.Outs[i]
		from := ends
		ends += len(o.Script)
		o.Script = s.scripts[from:ends:ends]
	}
	if high {
		slices.SortFunc(t.Outs, func(a, b Entry) int { return cmp.Compare(a.Vout, b.Vout) })
	}
	return nil
}

// coin reads one coin. Its script is at the end of s.scripts, and only its length is right.
func (s *SnapshotReader) coin() (o Entry, code uint64, err error) {
	vout, err := s.compactSize()
	if err != nil {
		return o, 0, err
	}
	if vout > maxVout {
		return o, 0, errVout
	}
	if code, err = s.varint(); err != nil {
		return o, 0, err
	}
	amount, err := s.varint()
	if err != nil {
		return o, 0, err
	}
	value, ok := decompressAmount(amount)
	if !ok {
		return o, 0, errAmount
	}
	kind, err := s.varint()
	if err != nil {
		return o, 0, err
	}
	n, ok := scriptBytes(kind)
	if !ok {
		return o, 0, errScript
	}
	b, err := s.w.bytes(n)
	if err != nil {
		return o, 0, err
	}
	from := len(s.scripts)
	if s.scripts, ok = decompressScript(s.scripts, kind, b, true); !ok {
		return o, 0, errScript
	}
	s.w.skip(n)
	return Entry{Vout: uint32(vout), Value: value, Script: s.scripts[from:]}, code, nil
}

func (s *SnapshotReader) compactSize() (uint64, error) {
	b, err := s.w.bytes(9)
	n, size, ok := chain.CompactSize(b)
	return s.number(n, size, ok, err)
}

func (s *SnapshotReader) varint() (uint64, error) {
	b, err := s.w.bytes(10)
	n, size, ok := varint(b)
	return s.number(n, size, ok, err)
}

// number passes over a number that was read from up to as many bytes as it may have. Near the end of the file there are
// fewer, which matters only to a number that they are too few for.
func (s *SnapshotReader) number(n uint64, size int, ok bool, err error) (uint64, error) {
	if ok {
		s.w.skip(size)
		return n, nil
	}
	if err != nil {
		return 0, err
	}
	return 0, errSpelling
}
