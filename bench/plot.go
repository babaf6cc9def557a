//go:build bench

package bench

import (
	"errors"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Plotter makes a folder for plots. Each result that draw is given becomes EXPERIMENT.svg and EXPERIMENT.png in it: a
// panel of the keys, and one of the rows of each unit. Rows by height become EXPERIMENT-heights besides.
func Plotter(dir string) (draw func(*Result) error, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	return func(r *Result) error {
		path := filepath.Join(dir, r.Experiment)
		return errors.Join(drawResult(r, path), drawHeights(r, path+"-heights"))
	}, nil
}

// Sizes of a page: all panels have its width, and a height for each of their bars.
const (
	pageWidth   = 9 * vg.Inch
	barHeight   = 16 * vg.Length(1)
	panelHeight = 60 * vg.Length(1) // of title, axis and margins
	margin      = 8 * vg.Length(1)
)

var (
	barBlue   = color.NRGBA{0x4c, 0x72, 0xb0, 0xff} // blue: a row, and a key that reaches its bound
	barOrange = color.NRGBA{0xdd, 0x84, 0x52, 0xff} // orange: a key that does not
	dark      = color.NRGBA{0x22, 0x22, 0x22, 0xff}
)

// bar is one figure of a panel, with the least and the largest of its runs.
type bar struct {
	name             string
	value, low, high float64
	text             string
	fill             color.Color
}

// panel is the bars of one unit. It is a plotter of itself.
type panel struct {
	title string
	bars  []bar // from top to bottom
	line  float64
	log   bool
}

func drawResult(r *Result, path string) error {
	all := panels(r)
	height := 2 * margin
	for _, p := range all {
		height += p.height()
	}
	svg := vgsvg.New(pageWidth, height)
	img := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(pageWidth, height), vgimg.UseDPI(120))}
	drawPage(draw.NewCanvas(svg, pageWidth, height), all)
	drawPage(draw.NewCanvas(img, pageWidth, height), all)
	return errors.Join(writePlot(path+".svg", svg), writePlot(path+".png", img))
}

func writePlot(path string, w io.WriterTo) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = w.WriteTo(f)
	return errors.Join(err, f.Close())
}

// drawPage draws panels below each other.
func drawPage(page draw.Canvas, all []*panel) {
	top := page.Max.Y - margin
	for _, p := range all {
		c := page
		c.Min.X, c.Max.X, c.Max.Y, c.Min.Y = page.Min.X+margin, page.Max.X-margin, top, top-p.height()
		p.plot().Draw(c)
		top = c.Min.Y
	}
}

// panels sorts the figures of a result by unit, in the order in which units come up. What was not measured is left out.
func panels(r *Result) (all []*panel) {
	e, _ := Find(r.Experiment)
	keys := &panel{title: r.Experiment + ": keys over their bounds, from 1 on reached", line: 1}
	for _, k := range e.Keys {
		n := r.Ratios[k.Name]
		if b := k.bar(n); n.Known() && Number(b.value).Known() && b.value > 0 {
			keys.bars = append(keys.bars, b)
		}
	}
	all = append(all, keys)
	for _, row := range r.Rows {
		if !row.Value.Known() {
			continue
		}
		i := slices.IndexFunc(all[1:], func(p *panel) bool { return p.title == row.Unit }) + 1
		if i == 0 {
			i = len(all)
			all = append(all, &panel{title: row.Unit})
		}
		all[i].bars = append(all[i].bars, row.bar())
	}
	all = slices.DeleteFunc(all, func(p *panel) bool { return len(p.bars) == 0 })
	for _, p := range all {
		p.log = p.spread()
	}
	return all
}

// bar is how far a key goes: its value over its bound, or the other way where less is better.
func (k *Key) bar(n Number) bar {
	far, fill := float64(n)/k.Reach, barBlue
	if k.Most {
		far = k.Reach / float64(n)
	}
	if far < 1 {
		fill = barOrange
	}
	return bar{name: k.Name, value: far, low: far, high: far, text: short(n) + " (" + k.bound() + ")", fill: fill}
}

func (r *Row) bar() bar {
	b := bar{name: r.Name, value: float64(r.Value), text: short(r.Value), fill: barBlue}
	b.low, b.high = b.value, b.value
	for _, n := range r.Runs {
		if n.Known() {
			b.low, b.high = min(b.low, float64(n)), max(b.high, float64(n))
		}
	}
	return b
}

// spread tells whether the bars are too different for an even scale. Zero has no place on another one.
func (p *panel) spread() bool {
	least, most := math.Inf(1), 0.0
	for _, b := range p.bars {
		least, most = min(least, b.low), max(most, b.high)
	}
	return least > 0 && most > 50*least
}

func (p *panel) height() vg.Length { return panelHeight + barHeight*vg.Length(len(p.bars)) }

// plot makes the panel a plot with the names of its bars on the left.
func (p *panel) plot() *plot.Plot {
	f := plot.New()
	f.Title.Text = p.title
	f.Title.TextStyle.Font.Size, f.Title.Padding = 11, 4
	f.Add(p)
	names := make([]string, len(p.bars))
	for i, b := range p.bars {
		names[len(names)-1-i] = b.name
	}
	f.NominalY(names...)
	f.Y.Tick.Label.Font.Size, f.X.Tick.Label.Font.Size = 9, 9
	if p.log {
		f.X.Scale, f.X.Tick.Marker = plot.LogScale{}, plot.TickerFunc(decades)
	}
	return f
}

// DataRange implements plot.DataRanger. On the right there is room for the figures.
func (p *panel) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, xmax = math.Inf(1), p.line
	for _, b := range p.bars {
		xmin, xmax = min(xmin, b.low), max(xmax, b.high)
	}
	if p.log {
		xmin /= 1.5
		xmax *= math.Pow(xmax/xmin, 0.2)
	} else {
		xmin, xmax = 0, max(xmax*1.2, 1e-9)
	}
	return xmin, xmax, -0.6, float64(len(p.bars)) - 0.4
}

// Plot implements plot.Plotter.
func (p *panel) Plot(c draw.Canvas, f *plot.Plot) {
	x, y := f.Transforms(&c)
	label := draw.TextStyle{
		Color: dark, Font: font.From(plot.DefaultFont, 9), YAlign: draw.YCenter, Handler: f.TextHandler,
	}
	whisker := draw.LineStyle{Color: dark, Width: 1}
	for i, b := range p.bars {
		at, half := y(float64(len(p.bars)-1-i)), barHeight*0.36
		left, right := x(max(f.X.Min, 0)), x(max(b.value, f.X.Min))
		c.FillPolygon(b.fill, []vg.Point{
			{X: left, Y: at - half}, {X: right, Y: at - half}, {X: right, Y: at + half}, {X: left, Y: at + half},
		})
		end := x(max(b.high, f.X.Min))
		if b.low < b.high {
			c.StrokeLine2(whisker, x(max(b.low, f.X.Min)), at, end, at)
		}
		c.FillText(label, vg.Point{X: end + 4, Y: at}, b.text)
	}
	if p.line > 0 {
		at := x(p.line)
		c.StrokeLine2(draw.LineStyle{Color: dark, Width: 1, Dashes: []vg.Length{3, 3}}, at, c.Min.Y, at, c.Max.Y)
	}
}

// decades marks powers of ten and, without a figure, what lies between.
func decades(low, high float64) (ticks []plot.Tick) {
	for power := math.Pow(10, math.Floor(math.Log10(low))); power <= high; power *= 10 {
		for i := 1.0; i < 10; i++ {
			t := plot.Tick{Value: i * power}
			if i == 1 {
				t.Label = short(Number(power))
			}
			if t.Value >= low && t.Value <= high {
				ticks = append(ticks, t)
			}
		}
	}
	return ticks
}
