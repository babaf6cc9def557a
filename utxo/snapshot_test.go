package utxo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"stele/chain"
	"stele/internal/realdata"
)

// readSnapshot reads a file into a map; its transactions come in order and without numbers.
func readSnapshot(r io.Reader) (SnapshotHead, naive, error) {
	s, err := NewSnapshotReader(r)
	if err != nil {
		return SnapshotHead{}, nil, err
	}
	n := naive{}
	for {
		c, err := s.Next()
		if errors.Is(err, io.EOF) {
			return s.Head, n, nil
		}
		if err != nil {
			return s.Head, n, err
		}
		n.add(c)
	}
}

func writeSnapshot(t interface{ Fatal(...any) }, head SnapshotHead, s naive) []byte {
	var file bytes.Buffer
	head.Coins = s.outputs()
	if _, _, err := WriteSnapshot(&file, head, s, 3, nil); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// Core's own file comes out again to the byte, with the hash that Core gave.
func TestCoreSnapshotAgain(t *testing.T) {
	want := answers(t)
	file := realdata.Read(t, "core_regtest", "utxo_snapshot_415.dat")
	head, set, err := readSnapshot(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if head.Base.String() != want.Final.BestBlock || head.Network != chain.Regtest().Magic || head.Coins != want.Final.TxOuts {
		t.Errorf("%+v", head)
	}
	want.Final.check(t, set.coins())
	var again bytes.Buffer
	stats, hash, err := WriteSnapshot(&again, head, set, 2, nil)
	if err != nil || hash.String() != want.Final.Serialized3 || stats.Outputs != want.Final.TxOuts ||
		stats.Transactions != want.Final.Transactions {
		t.Errorf("hash %v, %+v, %v; want %+v", hash, stats, err, want.Final)
	}
	if !bytes.Equal(again.Bytes(), file) {
		t.Errorf("%d bytes are not Core's %d", again.Len(), len(file))
	}
	s, err := NewSnapshotReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if _, hash, err := s.VerifySnapshot(set, 2, nil); err != nil || hash.String() != want.Final.Serialized3 {
		t.Errorf("verified: %v, %v", hash, err)
	}
	for _, n := range []int{0, 4, 50, 51, 52, 1000, len(file) - 1} {
		if _, _, err := readSnapshot(bytes.NewReader(file[:n])); err == nil {
			t.Errorf("its first %d bytes are taken for a snapshot", n)
		}
	}
}

// A set comes back from its file, byte by byte read too; the naive reader of the tests sees the same coins; and the same
// set gives the same file, in whatever order it is read.
func TestSnapshotRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		set := sets().Draw(rt, "set")
		head := SnapshotHead{Network: chain.Regtest().Magic, Base: chain.Hash{1, 2, 3}}
		file := writeSnapshot(rt, head, set)
		if !bytes.Equal(file, writeSnapshot(rt, head, set)) {
			rt.Fatal("two files of one set")
		}
		for _, c := range set {
			c.First = 0
		}
		for what, r := range map[string]io.Reader{
			"whole": bytes.NewReader(file), "bytes": iotest.OneByteReader(bytes.NewReader(file)),
			"error with data": iotest.DataErrReader(bytes.NewReader(file)),
		} {
			got, back, err := readSnapshot(r)
			if err != nil {
				rt.Fatal(err)
			}
			same(rt, what, back, set)
			if head.Coins = set.outputs(); got != head {
				rt.Fatalf("head %+v, want %+v", got, head)
			}
		}
		naively, want := snapshot(t, file, head.Base.String()), set.coins()
		if len(naively) != len(want) {
			rt.Fatalf("%d coins, want %d", len(naively), len(want))
		}
		for i := range want {
			if !bytes.Equal(naively[i].Append(nil), want[i].Append(nil)) {
				rt.Fatalf("coin %+v, want %+v", naively[i], want[i])
			}
		}
	})
}

// Core's database gives 16512 before 256.
func TestSnapshotOrder(t *testing.T) {
	set := naive{}
	c := Record{Txid: chain.Hash{5}}
	for _, vout := range []uint32{0, 255, 256, 16511, 16512, 16513, 32896} {
		c.Outs = append(c.Outs, Entry{Vout: vout})
	}
	set.add(&c)
	file := writeSnapshot(t, SnapshotHead{}, set)
	b := file[snapshotHead+32+1:]
	var got []uint32
	for len(b) > 0 {
		n, size, _ := chain.CompactSize(b)
		got = append(got, uint32(n))
		b = b[size+3:] // height 0, amount 0, an empty script
	}
	if want := []uint32{0, 255, 16512, 16513, 256, 16511, 32896}; !slices.Equal(got[:3], want[:3]) || len(got) != len(want) {
		t.Errorf("%d", got)
	}
	if !slices.IsSortedFunc(got, func(a, b uint32) int {
		return bytes.Compare(appendVarint(nil, uint64(a)), appendVarint(nil, uint64(b)))
	}) {
		t.Errorf("%d", got)
	}
}

func TestSnapshotCount(t *testing.T) {
	set := naive{}
	set.add(&Record{Txid: chain.Hash{5}, Outs: []Entry{{Vout: 1}, {Vout: 2}}})
	var wrong *CountError
	if _, _, err := WriteSnapshot(io.Discard, SnapshotHead{Coins: 3}, set, 1, nil); !errors.As(err, &wrong) {
		t.Errorf("written: %v", err)
	}
	file := writeSnapshot(t, SnapshotHead{}, set)
	file[43]++
	if _, _, err := readSnapshot(bytes.NewReader(file)); !errors.As(err, &wrong) || *wrong != (CountError{3, 2}) {
		t.Errorf("read: %v", err)
	}
	s, err := NewSnapshotReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = s.VerifySnapshot(set, 1, nil); !errors.As(err, &wrong) {
		t.Errorf("verified: %v", err)
	}
}

// What no block can make is not written.
func TestUnwritable(t *testing.T) {
	long := make([]byte, maxScript)
	for what, c := range map[string]Record{
		"no coin":      {},
		"too high":     {Height: 1 << 31, Outs: []Entry{{}}},
		"out of order": {Outs: []Entry{{Vout: 1}, {Vout: 1}}},
		"last output":  {Outs: []Entry{{Vout: maxVout + 1}}},
		"all money":    {Outs: []Entry{{Value: chain.MaxMoney + 1}}},
		"than all":     {Outs: []Entry{{Value: -1}}},
		"cannot":       {Outs: []Entry{{Script: append(long, 0)}}},
		"more coins":   {Outs: make([]Entry, maxTxCoins+1)},
		"longer":       {Outs: slices.Repeat([]Entry{{Script: long}}, 101)},
	} {
		for i := range c.Outs {
			if what == "more coins" || what == "longer" {
				c.Outs[i].Vout = uint32(i)
			}
		}
		if _, err := appendSnapshotTx(nil, &c); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := appendImageTx(nil, &c); err == nil {
			t.Errorf("%s: an image takes it", what)
		}
	}
}

// Spellings that Core's reader takes and its writer does not make, and what nobody may take.
func TestSnapshotRefused(t *testing.T) {
	head := SnapshotHead{Coins: 1}
	tx := func(txid byte, rest ...byte) []byte {
		return append(append([]byte{txid}, make([]byte, 31)...), rest...)
	}
	// One coin: vout 0, height 1, an amount of 1, and script 51; one with P2SH, but for its last byte; one with too much.
	coin := []byte{1, 0, 2, 1, 7, 0x51}
	plain := append([]byte{1, 0, 2, 1, 29, 0xa9, 20}, make([]byte, 20)...)
	rich := append(appendVarint([]byte{1, 0, 2}, 1<<60), 7, 0x51)
	if _, _, err := readSnapshot(bytes.NewReader(append(head.append(nil), tx(1, coin...)...))); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		rest [][]byte
		tell string
	}{
		"no coins":               {[][]byte{tx(1, 0)}, "0 coins"},
		"too many":               {[][]byte{tx(1, 0xfe, 0, 0, 0, 1)}, "16777216 coins"},
		"count in a long form":   {[][]byte{tx(1, 0xfd, 1, 0, 0, 2, 1, 7, 0x51), tx(2, coin...)}, "number"},
		"vout in a long form":    {[][]byte{tx(1, 1, 0xfd, 0, 0, 2, 1, 7, 0x51), tx(2, coin...)}, "number"},
		"the last vout":          {[][]byte{tx(1, 1, 0xfe, 255, 255, 255, 255, 2, 1, 7, 0x51)}, "beyond"},
		"a vout of 64 bits":      {[][]byte{tx(1, 1, 0xff, 0, 0, 0, 0, 1, 0, 0, 0, 2, 1, 7, 0x51)}, "beyond"},
		"height above 2^31":      {[][]byte{tx(1, 1, 0, 0x8e, 0xfe, 0xfe, 0xff, 0, 1, 7, 0x51)}, "number"},
		"more than all money":    {[][]byte{tx(1, rich...)}, "money"},
		"equal vouts":            {[][]byte{tx(1, 2, 0, 2, 1, 7, 0x51, 0, 2, 1, 7, 0x51)}, "order"},
		"two heights":            {[][]byte{tx(1, 2, 0, 2, 1, 7, 0x51, 1, 4, 1, 7, 0x51)}, "more than one block"},
		"txids equal":            {[][]byte{tx(1, coin...), tx(1, coin...)}, "order"},
		"txids descending":       {[][]byte{tx(2, coin...), tx(1, coin...)}, "order"},
		"a byte more":            {[][]byte{tx(1, coin...), {0}}, "ends in the middle"},
		"a script too long":      {[][]byte{tx(1, append([]byte{1, 0, 2, 1, 0xcd, 0x17}, make([]byte, 10_001)...)...)}, "script"},
		"P2SH in plain":          {[][]byte{tx(1, append(slices.Clone(plain), 0x87)...)}, "script"},
		"an x of no point":       {[][]byte{tx(1, append([]byte{1, 0, 2, 1, 4}, bytes.Repeat([]byte{0xff}, 32)...)...)}, "script"},
		"the same, x of field 5": {[][]byte{tx(1, append(append([]byte{1, 0, 2, 1, 4}, make([]byte, 31)...), 5)...)}, "script"},
	} {
		_, _, err := readSnapshot(bytes.NewReader(append(head.append(nil), bytes.Join(c.rest, nil)...)))
		var bad *SnapshotError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.tell) {
			t.Errorf("%s: %v", what, err)
		}
	}
	var bad *SnapshotError
	for at, tell := range map[int]string{0: "no snapshot", 5: "version is 3"} {
		b := head.append(nil)
		b[at] ^= 1
		if _, err := NewSnapshotReader(bytes.NewReader(b)); !errors.As(err, &bad) || !strings.Contains(err.Error(), tell) {
			t.Errorf("byte %d: %v", at, err)
		}
	}
	failing := iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(head.append(nil))))
	if _, err := NewSnapshotReader(failing); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("a reader's error becomes %v", err)
	}
}

// FuzzSnapshot: what is taken for a snapshot is the one file of its set; what is not is an error of its kind.
func FuzzSnapshot(f *testing.F) {
	f.Add(headOf(0).append(nil))
	f.Add(append(headOf(1).append(nil), append(make([]byte, 32), 1, 0, 2, 1, 7, 0x51)...))
	two := append(make([]byte, 32), 2, 0xfd, 0, 1, 2, 1, 6, 0xfe, 0x80, 0x40, 0, 0, 2, 9, 6)
	f.Add(append(headOf(2).append(nil), two...))
	if path, ok := realdata.Dir(); ok && path != "" {
		f.Add(coreStart(f))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		head, set, err := readSnapshot(bytes.NewReader(file))
		if err != nil {
			var bad *SnapshotError
			var count *CountError
			if !errors.As(err, &bad) && !errors.As(err, &count) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		var again bytes.Buffer
		if _, _, err := WriteSnapshot(&again, head, set, 1, nil); err != nil || !bytes.Equal(again.Bytes(), file) {
			t.Fatalf("%x\nis written as\n%x, %v", file, again.Bytes(), err)
		}
		s, err := NewSnapshotReader(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.VerifySnapshot(set, 1, nil); err != nil {
			t.Fatalf("%x\nis not the file of its set: %v", file, err)
		}
	})
}

// headOf is a head of a number of coins.
func headOf(coins uint64) *SnapshotHead { return &SnapshotHead{Coins: coins} }

// coreStart is the first transaction of Core's file, with a head that says so.
func coreStart(f *testing.F) []byte {
	file := realdata.Read(f, "core_regtest", "utxo_snapshot_415.dat")
	s, err := NewSnapshotReader(bytes.NewReader(file))
	if err != nil {
		f.Fatal(err)
	}
	c, err := s.Next()
	if err != nil {
		f.Fatal(err)
	}
	start := slices.Clone(file[:s.w.off])
	binary.LittleEndian.PutUint64(start[43:], uint64(len(c.Outs)))
	return start
}
