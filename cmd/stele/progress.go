package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// logEvery is the time between two lines of progress where no bar is shown.
const logEvery = 10 * time.Second

// relayEvery is the time between two readings that are sent to another process.
const relayEvery = 100 * time.Millisecond

// reading is how far long work has come. A total of zero is not known; what work does not count is zero.
type reading struct {
	stage       string
	height      uint32
	done, total uint64
	txs, inputs uint64
}

// meter shows readings: a bar on a terminal, under which logs move up, else a log line now and then. One goroutine
// updates it; the bar is drawn by another.
type meter struct {
	app  *app
	unit string // of done and total: bytes, or what is counted
	now  func() time.Time

	mu    sync.Mutex // guards what follows against the drawing goroutine
	last  reading
	start time.Time // of the stage
	from  reading   // at the start of the stage

	logged time.Time
	bars   *mpb.Progress // nil: log lines
	bar    *mpb.Bar
	below  io.Writer // the sink's writer before the bars

	relay func(unit string, r reading) // shows the readings elsewhere; nil: here
}

// meter starts to show the progress of a verb.
func (a *app) meter(stage, unit string) *meter {
	m := &meter{app: a, unit: unit, now: time.Now, relay: a.relay}
	m.last.stage = stage
	m.start = m.now()
	m.logged = m.start
	if a.conf.logFormat == logConsole && terminal(a.stderr) {
		m.bars = mpb.New(mpb.WithOutput(a.stderr), mpb.WithWidth(30))
		m.bar = m.bars.New(0, mpb.BarStyle().Lbound("").Rbound("").Filler("━").Tip("━").Padding("─"),
			mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return m.left() })),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return m.right() })))
		m.below = a.sink.swap(m.bars)
	}
	return m
}

// update shows a new reading.
func (m *meter) update(r reading) {
	now := m.now()
	m.mu.Lock()
	if r.stage == "" {
		r.stage = m.last.stage
	}
	if r.stage != m.last.stage {
		m.start, m.from = now, r
	}
	m.last = r
	m.mu.Unlock()
	if m.relay != nil {
		if now.Sub(m.logged) >= relayEvery {
			m.logged = now
			m.relay(m.unit, r)
		}
		return
	}
	if m.bar != nil {
		m.bar.SetTotal(int64(r.total), false)
		m.bar.SetCurrent(int64(min(r.done, max(r.total, 1)-1))) // a bar that is full would end
		return
	}
	if now.Sub(m.logged) >= logEvery {
		m.logged = now
		m.log(now)
	}
}

// rates are what a line tells beside the height.
type rates struct {
	percent     float64       // of the stage, or below zero
	perSecond   float64       // of done
	txs, inputs float64       // a second
	left        time.Duration // below zero: not known
}

func (m *meter) rates(now time.Time) (reading, rates) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := rates{percent: -1, left: -1}
	if m.last.total > 0 {
		r.percent = 100 * float64(min(m.last.done, m.last.total)) / float64(m.last.total)
	}
	seconds := now.Sub(m.start).Seconds()
	if seconds <= 0 {
		return m.last, r
	}
	r.perSecond = float64(m.last.done-min(m.from.done, m.last.done)) / seconds
	r.txs = float64(m.last.txs-min(m.from.txs, m.last.txs)) / seconds
	r.inputs = float64(m.last.inputs-min(m.from.inputs, m.last.inputs)) / seconds
	if m.last.total > m.last.done && r.perSecond > 0 {
		r.left = time.Duration(float64(m.last.total-m.last.done) / r.perSecond * float64(time.Second))
	}
	return m.last, r
}

func (m *meter) log(now time.Time) {
	last, r := m.rates(now)
	e := m.app.log.Info()
	if last.height > 0 {
		e = e.Uint32("height", last.height)
	}
	if r.percent >= 0 {
		e = e.Str("percent", fmt.Sprintf("%.1f", r.percent))
	}
	if last.txs > 0 {
		e = e.Int64("tx/s", int64(r.txs)).Int64("inputs/s", int64(r.inputs))
	}
	m.speed(e, r.perSecond)
	if r.left >= 0 {
		e = e.Str("eta", r.left.Round(time.Second).String())
	}
	e.Msg(last.stage)
}

func (m *meter) speed(e *zerolog.Event, perSecond float64) {
	if m.unit == "bytes" {
		e.Str("MB/s", fmt.Sprintf("%.1f", perSecond/1e6))
	} else {
		e.Int64(m.unit+"/s", int64(perSecond))
	}
}

// left is the text before the bar.
func (m *meter) left() string {
	last, r := m.rates(m.now())
	s := last.stage
	if last.height > 0 {
		s += " " + count(last.height)
	}
	if r.percent >= 0 {
		s += fmt.Sprintf(" %5.1f%% ", r.percent)
	}
	return s
}

// right is the text behind the bar.
func (m *meter) right() string {
	last, r := m.rates(m.now())
	var parts []string
	if last.txs > 0 {
		parts = append(parts, count(uint64(r.txs))+" tx/s", count(uint64(r.inputs))+" inputs/s")
	}
	if m.unit == "bytes" {
		parts = append(parts, fmt.Sprintf("%.1f MB/s", r.perSecond/1e6))
	} else {
		parts = append(parts, count(uint64(r.perSecond))+" "+m.unit+"/s")
	}
	if r.left >= 0 {
		parts = append(parts, r.left.Round(time.Second).String()+" left")
	}
	return " " + strings.Join(parts, "  ")
}

// close takes the bar away.
func (m *meter) close() {
	if m.bars == nil {
		return
	}
	m.bar.Abort(true)
	m.app.sink.swap(m.below)
	m.bars.Wait()
	m.bars, m.bar = nil, nil
}
