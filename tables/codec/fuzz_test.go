package codec

import (
	"encoding/binary"
	"testing"
)

// FuzzOutput feeds bytes that a disk made up: what is accepted is what the encoder spells, and nothing panics.
func FuzzOutput(f *testing.F) {
	for _, g := range goldenOutputs() {
		f.Add(g.run)
	}
	f.Fuzz(func(t *testing.T, b []byte) { oneSpellingOutput(t, b) })
}

// FuzzInput does the same for inputs.
func FuzzInput(f *testing.F) {
	for _, g := range goldenInputs() {
		f.Add(g.run, len(g.witness) > 0)
	}
	f.Fuzz(func(t *testing.T, b []byte, witness bool) { oneSpellingInput(t, b, witness) })
}

// FuzzHead does the same for heads.
func FuzzHead(f *testing.F) {
	f.Add(AppendHead(nil, Head{Version: 2, LockTime: 800_000, Witness: true}))
	f.Add(AppendHead(nil, Head{Version: 1 << 29, LockTime: 1 << 30}))
	f.Fuzz(func(t *testing.T, b []byte) { oneSpellingHead(t, b) })
}

// FuzzOutputRoundTrip sends every amount and script through the codec.
func FuzzOutputRoundTrip(f *testing.F) {
	for _, g := range goldenOutputs() {
		f.Add(g.value, g.script)
	}
	f.Fuzz(func(t *testing.T, value int64, script []byte) { new(surviving).output(t, "fuzzed", value, script) })
}

// FuzzInputRoundTrip sends every sequence number, script and stack through the codec. The stack is cut out of free
// bytes: a count, then lengths of one byte or, behind 255, of two.
func FuzzInputRoundTrip(f *testing.F) {
	for _, g := range goldenInputs() {
		var items []byte
		if len(g.witness) > 0 {
			items = append(items, g.witness[0])
			for rest := g.witness[1:]; len(rest) > 0; {
				item, n, _ := bytesField(rest)
				if rest = rest[n:]; len(item) < 0xff {
					items = append(items, byte(len(item)))
				} else {
					items = binary.LittleEndian.AppendUint16(append(items, 0xff), uint16(len(item)))
				}
				items = append(items, item...)
			}
		}
		f.Add(g.sequence, g.script, items)
	}
	f.Fuzz(func(t *testing.T, sequence uint32, script, free []byte) {
		var witness []byte
		if len(free) > 0 {
			witness = stackOf(cutItems(free))
		}
		new(surviving).input(t, "fuzzed", sequence, script, witness)
	})
}

func cutItems(free []byte) (items [][]byte) {
	count, free := int(free[0]), free[1:]
	for range count {
		n, head := 0, 1
		if len(free) == 0 {
			return append(items, nil)
		}
		if n = int(free[0]); n == 0xff && len(free) > 2 {
			n, head = int(binary.LittleEndian.Uint16(free[1:])), 3
		}
		n = min(n, len(free)-head)
		items = append(items, free[head:head+n])
		free = free[head+n:]
	}
	return items
}
