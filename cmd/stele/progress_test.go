package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// TestProgressLines feeds an import of 20,000 bytes at 100 a second: one line every 10 s, with what it must tell.
func TestProgressLines(t *testing.T) {
	var log bytes.Buffer
	s := &sink{w: &log}
	a := &app{stderr: &log, sink: s, conf: &config{logFormat: logJSON}}
	a.log = newLog(s, &config{logFormat: logJSON, logLevel: zerolog.InfoLevel})
	clock := time.Unix(1_700_000_000, 0)
	m := a.meter("index", "bytes")
	m.now = func() time.Time { return clock }
	m.start, m.logged = clock, clock
	m.update(reading{stage: "import", total: 20_000_000})
	for second := range uint64(35) {
		clock = clock.Add(time.Second)
		n := second + 1
		m.update(reading{
			stage: "import", height: uint32(n), done: n * 100_000, total: 20_000_000, txs: n * 50, inputs: n * 70,
		})
	}
	m.close()
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines in 35 s:\n%s", len(lines), log.String())
	}
	var line map[string]any
	if err := json.Unmarshal([]byte(lines[1]), &line); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"message": "import", "height": 20.0, "percent": "10.0", "tx/s": 50.0, "inputs/s": 70.0, "MB/s": "0.1", "eta": "3m0s",
	} {
		if line[key] != want {
			t.Errorf("%s is %v, want %v in %s", key, line[key], want, lines[1])
		}
	}
}

// TestStream tells what is known of input whose length is not.
func TestStream(t *testing.T) {
	a := &app{sink: &sink{}, conf: &config{logFormat: logJSON}}
	m := a.meter("import", "bytes")
	m.update(reading{height: 5, done: 10})
	if _, r := m.rates(m.start.Add(time.Second)); r.percent >= 0 || r.left >= 0 || r.perSecond != 10 {
		t.Errorf("%+v", r)
	}
	if left := m.left(); left != "import 5" {
		t.Errorf("%q", left)
	}
}
