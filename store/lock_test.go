package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestOwnerText reads back what was written, and of a text that is being written the lines that are whole.
func TestOwnerText(t *testing.T) {
	o := Owner{PID: 7, Host: "a host", Verb: "import", Since: time.Unix(1_800_000_000, 0).UTC(), Socket: "/run/a b/socket"}
	text := o.text()
	if got := parseOwner([]byte(text)); got != o {
		t.Errorf("%q reads as %+v", text, got)
	}
	for n := range text {
		got := parseOwner([]byte(text[:n]))
		if got.Socket != "" || got.PID != 0 && got.PID != 7 || got.Verb != "" && got.Verb != "import" {
			t.Errorf("%q reads as %+v", text[:n], got)
		}
	}
	o.Socket = ""
	if got := parseOwner([]byte(o.text())); got != o || strings.Contains(o.text(), "socket") {
		t.Errorf("without a socket: %q", o.text())
	}
	o.Socket = "/run/two\nlines"
	if got := parseOwner([]byte(o.text())); got.Socket != "" {
		t.Errorf("a path that fits no line reads as %q", got.Socket)
	}
}

// TestAnnounce tells others of the socket for as long as the folder is held, and the next owner of one that was left.
func TestAnnounce(t *testing.T) {
	path := t.TempDir()
	d := openTestDir(t, path)
	if d.Previous() != (Owner{}) {
		t.Errorf("before the first owner there was %+v", d.Previous())
	}
	_, err := OpenDir(path, DirOptions{ReadOnly: true})
	if in := fails[*ErrInUse](t, err); in.Owner.Socket != "" {
		t.Errorf("a socket before it was announced: %+v", in.Owner)
	}
	d.Announce("/run/socket")
	_, err = OpenDir(path, DirOptions{ReadOnly: true})
	if in := fails[*ErrInUse](t, err); in.Owner.Socket != "/run/socket" || in.Owner.Verb != "test" {
		t.Errorf("announced: %+v", in.Owner)
	}
	left, err := os.ReadFile(filepath.Join(path, LockName))
	must(t, err)
	must(t, d.Close())
	d = openTestDir(t, path)
	if d.Previous() != (Owner{}) {
		t.Errorf("after an owner that closed there was %+v", d.Previous())
	}
	must(t, d.Close())
	must(t, os.WriteFile(filepath.Join(path, LockName), left, 0o600)) // as one that was killed leaves it
	d = openTestDir(t, path)
	if d.Previous().Socket != "/run/socket" {
		t.Errorf("after an owner that was killed there was %+v", d.Previous())
	}
	must(t, d.Close())
	d, err = OpenDir(path, DirOptions{ReadOnly: true})
	must(t, err)
	d.Announce("/run/socket") // who only reads owns nothing to tell of
	must(t, d.Close())
	if b, _ := os.ReadFile(filepath.Join(path, LockName)); strings.Contains(string(b), "socket") {
		t.Errorf("a reader wrote %q", b)
	}
}
