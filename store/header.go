package store

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc64"
	"strconv"
)

// Checksums are CRC-64 with the ECMA polynomial over whole pages of 4 KiB. A torn page is a mix of two good ones, which
// 64 bits let pass once in 2^64 where CRC-32C would once in 2^32; pages are summed a few times a minute, so that the
// faster sum would buy nothing.
var crcTable = crc64.MakeTable(crc64.ECMA)

// sumPage sums a page without the 8 bytes at offset hole, where the sum itself is kept, continuing from seed.
func sumPage(seed uint64, page []byte, hole int) uint64 {
	sum := crc64.Update(seed, crcTable, page[:hole])
	return crc64.Update(sum, crcTable, page[hole+8:PageSize])
}

// The header page of a body, little-endian; its data begin at byte 4096. All that is not zero lies in the first 512
// bytes, so that it is written whole or not at all.
//
//	 0      8        12       16                 32               48               80         88         4096
//	+------+--------+--------+------------------+----------------+----------------+----------+----------+
//	| magic| format | width  | store id         | kind           | name           | checksum | zero     |
//	| 8    | 4      | 4      | 16               | 16, NUL padded | 32, NUL padded | 8        | 4008     |
//	+------+--------+--------+------------------+----------------+----------------+----------+----------+
const (
	bodyMagic    = "stelebdy"
	bodyFormat   = 1
	hdrFormat    = 8
	hdrWidth     = 12
	hdrID        = 16
	hdrKind      = 32
	hdrName      = 48
	hdrSum       = 80
	hdrSumEnd    = 88
	maxKind      = hdrName - hdrKind
	maxName      = hdrSum - hdrName
	maxBodyWidth = 1 << 16
)

// headerPage returns the page for a body.
func headerPage(s BodySpec, id [16]byte) []byte {
	p := make([]byte, PageSize)
	copy(p, bodyMagic)
	binary.LittleEndian.PutUint32(p[hdrFormat:], bodyFormat)
	binary.LittleEndian.PutUint32(p[hdrWidth:], uint32(s.Width))
	copy(p[hdrID:], id[:])
	copy(p[hdrKind:], s.Kind)
	copy(p[hdrName:], s.Name)
	binary.LittleEndian.PutUint64(p[hdrSum:], sumPage(0, p, hdrSum))
	return p
}

// checkHeader compares a page with the body that is asked for: *Damaged where the page is none or broken, *Foreign
// where it is a good page of something else.
func checkHeader(p []byte, s BodySpec, id [16]byte) error {
	switch {
	case string(p[:hdrFormat]) != bodyMagic:
		return &Damaged{Name: s.Name, What: "does not begin with the header page of a body"}
	case binary.LittleEndian.Uint64(p[hdrSum:]) != sumPage(0, p, hdrSum):
		return &Damaged{Name: s.Name, What: "has a header page whose checksum does not match"}
	}
	want := headerPage(s, id)
	fields := []struct {
		what     string
		off, end int
		text     func([]byte) string
	}{
		{"header format", hdrFormat, hdrWidth, decimal},
		{"store id", hdrID, hdrKind, hex.EncodeToString},
		{"kind", hdrKind, hdrName, padded},
		{"name", hdrName, hdrSum, padded},
		{"row width", hdrWidth, hdrID, decimal},
	}
	for _, f := range fields {
		if have, want := p[f.off:f.end], want[f.off:f.end]; !bytes.Equal(have, want) {
			return &Foreign{What: f.what + " of file " + s.Name, Have: f.text(have), Want: f.text(want)}
		}
	}
	return nil
}

func decimal(b []byte) string { return strconv.FormatUint(uint64(binary.LittleEndian.Uint32(b)), 10) }

func padded(b []byte) string { return fmt.Sprintf("%q", bytes.TrimRight(b, "\x00")) }
