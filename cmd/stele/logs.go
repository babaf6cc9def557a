package main

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/rs/zerolog"
)

// sink is where logs, and everything else for standard error, go: the stream itself, or the progress bars above which a
// line must be put while they are shown. Safe for any number of goroutines.
type sink struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// swap makes w take the place of the current writer, which is returned.
func (s *sink) swap(w io.Writer) io.Writer {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.w
	s.w = w
	return old
}

// newLog makes the log that the configuration asks for: JSON lines, or text in UTC, coloured on a terminal.
func newLog(s *sink, c *config) zerolog.Logger {
	var w io.Writer = s
	if c.logFormat == logConsole {
		w = zerolog.ConsoleWriter{
			Out: s, NoColor: !terminal(s.w) || os.Getenv("NO_COLOR") != "", TimeLocation: time.UTC, TimeFormat: time.DateTime,
		}
	}
	return zerolog.New(w).Level(c.logLevel).With().Timestamp().Logger()
}

// terminal reports whether a stream is one that a person watches.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
