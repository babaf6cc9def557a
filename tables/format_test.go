package tables

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"stele/hashmap"
)

// TestFormatDocument holds docs/format.md against the constants of the schema: every file with its row width, and every
// field of every row with its offset and width.
func TestFormatDocument(t *testing.T) {
	b, err := os.ReadFile("../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(b)
	want := []string{fmt.Sprintf("Format **%d**", Format)}
	for _, f := range []struct {
		name, kind string
		width      int
	}{
		{headerName, "body", headerWidth}, {headerName + ".lines-N", "lines", 64}, {txsName, "body", txsWidth},
		{txName, "body", txWidth}, {txName + ".lines-N", "lines", 64}, {insName, "array", insWidth},
		{outTxName, "array", outTxWidth}, {outputName, "slab", 1}, {inputName, "slab", 1}, {spendName + ".cells-N", "cells", 4},
		{confName + ".multi-N", "lines", 64}, {chainName, "log", chainWidth}, {stateName + ".cells-N", "cells", 4},
		{pendingName + "-N", "slab", 1},
	} {
		want = append(want, fmt.Sprintf("| `%s` | %s | %d | ", f.name, f.kind, f.width))
	}
	section := func(title string, offsets ...int) {
		text := between(doc, title)
		if text == "" {
			t.Errorf("docs/format.md has no section %q", title)
		}
		for i, off := range offsets[:len(offsets)-1] {
			if row := fmt.Sprintf("\n| %d | %d | ", off, offsets[i+1]-off); !strings.Contains(text, row) {
				t.Errorf("docs/format.md, %q: no row %q", title, row[1:])
			}
		}
		if got := strings.Count(text, "\n| "); got != len(offsets)-1+1 { // and the table's head
			t.Errorf("docs/format.md, %q: %d rows, want %d", title, got-1, len(offsets)-1)
		}
	}
	section(fmt.Sprintf("\n## header: %d bytes\n", headerWidth), headerHash, headerMerkle, headerFields, headerParent,
		headerHeight, headerMTP, headerFlags, headerWork, headerWidth)
	section(fmt.Sprintf("\n## txs: %d bytes\n", txsWidth), txsHeader, txsFirstTx, txsCount, txsFirstOut, txsFirstIn,
		txsOutBase, txsInBase, txsOuts, txsIns, txsOutBytes, txsInBytes, txsSize, txsWeight, txsFlags, txsWidth)
	section(fmt.Sprintf("\n## tx: %d bytes\n", txWidth), txTxid, txOffsets, txWidth)
	section(fmt.Sprintf("payload of a slot, %d bytes", imageSize), 0, 4, 8, 12, 16, 24, 32, 40, 48, 56, 60, 64, 72, imageStates,
		imageStates+hashmap.StateSize, imageStates+2*hashmap.StateSize, imageStates+3*hashmap.StateSize,
		imageStates+4*hashmap.StateSize, imageSize)
	for _, w := range want {
		if !strings.Contains(doc, w) {
			t.Errorf("docs/format.md does not say %q", w)
		}
	}
}

// between returns the text from a title to the next section.
func between(doc, title string) string {
	_, rest, ok := strings.Cut(doc, title)
	if !ok {
		return ""
	}
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// TestImageFields checks that the document's offsets of the manifest's payload are where encode puts the fields.
func TestImageFields(t *testing.T) {
	m := image{
		cut:   Cut{Headers: 1, Txs: 2, Tx: 3, Outs: 5, Ins: 6, OutSlab: 7, InSlab: 8, Log: 9},
		clean: true, pendingGen: 10, pendingLen: 11, run: 12,
	}
	for i, s := range m.states() {
		*s = hashmap.State{Generation: uint32(20 + i), Buckets: 30, Watermark: 40, Entries: 50}
	}
	b := m.encode()
	if len(b) != imageSize {
		t.Fatalf("%d bytes, want %d", len(b), imageSize)
	}
	for off, want := range map[int]byte{0: 1, 4: 2, 8: 3, 12: 1, 16: 5, 24: 6, 32: 7, 40: 8, 48: 9, 56: 10, 60: 0, 64: 11,
		72: 12, 80: 20, 112: 21, 144: 22, 176: 23, 208: 24} {
		if b[off] != want {
			t.Errorf("byte %d is %d, want %d", off, b[off], want)
		}
	}
	back, err := decodeImage(b)
	if err != nil || back != m {
		t.Errorf("read back as %+v (%v), want %+v", back, err, m)
	}
	if _, err := decodeImage(b[1:]); err == nil {
		t.Error("a short payload is accepted")
	}
}
