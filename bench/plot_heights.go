//go:build bench

package bench

import (
	"errors"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// lineHeight is the height of a pair of panels with lines.
const lineHeight = 3 * vg.Inch

var lineColors = []color.Color{
	color.NRGBA{0x4c, 0x72, 0xb0, 0xff}, color.NRGBA{0xdd, 0x84, 0x52, 0xff}, color.NRGBA{0x55, 0xa8, 0x68, 0xff},
	color.NRGBA{0xc4, 0x4e, 0x52, 0xff}, color.NRGBA{0x81, 0x72, 0xb3, 0xff}, color.NRGBA{0x93, 0x78, 0x60, 0xff},
	color.NRGBA{0xda, 0x8b, 0xc3, 0xff}, color.NRGBA{0x8c, 0x8c, 0x8c, 0xff}, color.NRGBA{0x20, 0x20, 0x20, 0xff},
}

// heightLine is one row by height: a plotter of itself.
type heightLine struct {
	name  string
	color color.Color
	at    [][2]float64 // height, seconds
}

// heightGroup is rows that belong together: those of one name but for its last word.
type heightGroup struct {
	name string
	rows []*Row
}

func heightGroups(r *Result) (all []*heightGroup) {
	for i := range r.Rows {
		row := &r.Rows[i]
		dot := strings.LastIndexByte(row.Name, '.')
		if len(row.Points) == 0 || dot < 0 {
			continue
		}
		if name := row.Name[:dot]; len(all) == 0 || all[len(all)-1].name != name {
			all = append(all, &heightGroup{name: name})
		}
		g := all[len(all)-1]
		g.rows = append(g.rows, row)
	}
	return all
}

// drawHeights draws the rows that have points, if any: each span of heights by itself on the left, sums on the right.
func drawHeights(r *Result, path string) error {
	all := heightGroups(r)
	if len(all) == 0 {
		return nil
	}
	height := 2*margin + lineHeight*vg.Length(len(all))
	svg := vgsvg.New(pageWidth, height)
	img := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(pageWidth, height), vgimg.UseDPI(120))}
	for _, page := range []draw.Canvas{draw.NewCanvas(svg, pageWidth, height), draw.NewCanvas(img, pageWidth, height)} {
		for i, g := range all {
			top := page.Max.Y - margin - lineHeight*vg.Length(i)
			for side, title := range []string{"by height", "sum up to a height"} {
				c := page
				c.Max.Y, c.Min.Y = top, top-lineHeight
				half := (page.Max.X - page.Min.X - 2*margin) / 2
				c.Min.X = page.Min.X + margin + half*vg.Length(side)
				c.Max.X = c.Min.X + half
				g.plot(title, side == 1).Draw(c)
			}
		}
	}
	return errors.Join(writePlot(path+".svg", svg), writePlot(path+".png", img))
}

// plot makes a panel of one half of a group.
func (g *heightGroup) plot(title string, sums bool) *plot.Plot {
	f := plot.New()
	f.Title.Text = g.name + ", " + g.rows[0].Unit + " " + title
	f.Title.TextStyle.Font.Size, f.Title.Padding = 11, 4
	f.X.Tick.Label.Font.Size, f.Y.Tick.Label.Font.Size = 9, 9
	f.X.Tick.Marker = plot.TickerFunc(g.heights)
	f.Legend.Top, f.Legend.Left, f.Legend.TextStyle.Font.Size = true, true, 8
	for i, row := range g.rows {
		l := &heightLine{name: row.Name[len(g.name)+1:], color: lineColors[i%len(lineColors)]}
		for _, p := range row.Points {
			n := p.Step
			if sums {
				n = p.Sum
			}
			if n.Known() {
				l.at = append(l.at, [2]float64{float64(p.Height), float64(n)})
			}
		}
		f.Add(l)
		if !sums {
			f.Legend.Add(l.name, l)
		}
	}
	return f
}

// heights marks the ends of spans, every other one with its height.
func (g *heightGroup) heights(_, _ float64) (ticks []plot.Tick) {
	for i, p := range g.rows[0].Points {
		t := plot.Tick{Value: float64(p.Height)}
		if i%2 == 1 {
			t.Label = short(Number(p.Height))
		}
		ticks = append(ticks, t)
	}
	return ticks
}

func (l *heightLine) style() draw.LineStyle { return draw.LineStyle{Color: l.color, Width: 1.5} }

// DataRange implements plot.DataRanger. Above there is room for the legend.
func (l *heightLine) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin = math.Inf(1)
	for _, p := range l.at {
		xmin, xmax, ymax = min(xmin, p[0]), max(xmax, p[0]), max(ymax, p[1])
	}
	return min(xmin, xmax), xmax, 0, max(ymax*1.5, 1e-9)
}

// Plot implements plot.Plotter.
func (l *heightLine) Plot(c draw.Canvas, f *plot.Plot) {
	x, y := f.Transforms(&c)
	line := make([]vg.Point, len(l.at))
	for i, p := range l.at {
		line[i] = vg.Point{X: x(p[0]), Y: y(p[1])}
	}
	c.StrokeLines(l.style(), line)
}

// Thumbnail implements plot.Thumbnailer.
func (l *heightLine) Thumbnail(c *draw.Canvas) {
	middle := (c.Min.Y + c.Max.Y) / 2
	c.StrokeLine2(l.style(), c.Min.X, middle, c.Max.X, middle)
}
