//go:build bench

package bench

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

// A result becomes two pictures that show every figure which was measured.
func TestPlotter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "plots")
	draw, err := Plotter(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := &Result{Experiment: "recover"}
	r.ratio("recover.lookups_s", 2)
	r.ratio("recover.ready_s", 20)
	r.ratio("recover.clean_s", None)
	r.median("even.one", "s", []Number{1, 2, 3}, "")
	r.median("even.two", "s", []Number{4, 5, 6}, "")
	r.single("spread.small", "MB", 0.5, "")
	r.single("spread.large", "MB", 5_000, "")
	r.single("spread.unknown", "MB", None, "")
	r.single("nothing", "pages", 0, "")
	for _, name := range []string{"stage.1.take", "stage.1.put", "stage.2.take"} {
		r.add(Row{Name: name, Unit: "s", Value: 3, Points: []Point{{100, 1, 1}, {200, 2, 3}, {300, None, None}}})
	}
	if err := draw(r); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(filepath.Join(dir, "recover.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"recover.lookups_s", "20 (≤ 10)", "even.one", "even.two", "spread.small", "5000", "pages",
	} {
		if !bytes.Contains(svg, []byte(">"+text+"<")) {
			t.Errorf("%q is not in the picture", text)
		}
	}
	if bytes.Contains(svg, []byte("unknown")) || bytes.Contains(svg, []byte("clean_s")) {
		t.Error("what was not measured is in the picture")
	}
	heights, err := os.ReadFile(filepath.Join(dir, "recover-heights.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for text, count := range map[string]int{
		"stage.1, s by height": 1, "stage.2, s sum up to a height": 1, "take": 2, "put": 1, // the legends' words
	} {
		if n := bytes.Count(heights, []byte(">"+text+"<")); n != count {
			t.Errorf("%q is %d times in the picture by height", text, n)
		}
	}
	f, err := os.Open(filepath.Join(dir, "recover.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if img, err := png.Decode(f); err != nil || img.Bounds().Dx() != 9*120 || img.Bounds().Dy() < 300 {
		t.Errorf("%v, %v", img.Bounds(), err)
	}
	if _, err := Plotter(filepath.Join(dir, "recover.svg", "below")); err == nil {
		t.Error("plots go into a file")
	}
}

// Marks of a scale of powers lie in its range, and only the powers have a figure.
func TestDecades(t *testing.T) {
	labels := ""
	for _, tick := range decades(0.5, 120) {
		if tick.Value < 0.5 || tick.Value > 120 {
			t.Errorf("a mark at %v", tick.Value)
		}
		labels += tick.Label + " "
	}
	if want := "     1         10         100 "; labels != want {
		t.Errorf("the marks are %q, not %q", labels, want)
	}
}
