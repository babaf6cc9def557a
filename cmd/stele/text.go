package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// table is text in columns. Columns are as wide as their widest cell; those that right names are aligned right.
type table struct {
	rows  [][]string
	right string // one letter a column: r is right, anything else left
	gap   int    // spaces between columns
	lead  string // before every row
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) write(w io.Writer) {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if len(row) > 1 { // a row of one cell is a heading
				widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			}
		}
	}
	for _, row := range t.rows {
		var line strings.Builder
		line.WriteString(t.lead)
		for i, cell := range row {
			pad := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell)))
			if i < len(t.right) && t.right[i] == 'r' {
				line.WriteString(pad + cell)
			} else {
				line.WriteString(cell + pad)
			}
			line.WriteString(strings.Repeat(" ", t.gap))
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// count writes a number with commas between groups of three digits.
func count[T uint32 | uint64 | int | int64](n T) string {
	digits := strconv.FormatUint(uint64(n), 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// utc writes a header's time.
func utc(seconds uint32) string {
	return time.Unix(int64(seconds), 0).UTC().Format("2006-01-02 15:04:05")
}

// byteSize writes a number of bytes in the unit that keeps it short.
func byteSize(n uint64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return strconv.FormatUint(n, 10) + " B"
	}
	f, unit := float64(n)/1024, 0
	for f >= 1024 && unit+1 < len(units) {
		f, unit = f/1024, unit+1
	}
	return fmt.Sprintf("%.1f %ciB", f, units[unit])
}

// short abbreviates a hash to its first and last eight digits.
func short(hash fmt.Stringer) string {
	s := hash.String()
	if len(s) <= 19 {
		return s
	}
	return s[:8] + "…" + s[len(s)-8:]
}
