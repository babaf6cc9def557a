package store_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"testing"

	"stele/internal/crashdisk"
	"stele/store"
)

var seeds = flag.Int("seeds", 300, "seeds of the crash tests; see docs/testing.md")

// crashManifest creates a manifest and a body beside it, appends and writes manifests of any size until the disk stops,
// loses power and looks at what is there, over and over: the manifest's payload is that of the last Write that returned,
// or of the one that was under way, and the body holds what the payload says.
type crashManifest struct {
	r       *rand.Rand
	disk    *crashdisk.Disk
	m       *store.Manifest
	b       *store.Body
	text    []byte // what the body holds, as far as the latest payload says
	durable []byte // payload of the last Write that returned; nil: none
	trying  []byte // of the one under way
}

var crashPreamble = store.Preamble{Format: 7, Network: [4]byte{1, 2, 3, 4}, ID: [16]byte{9}, Secret: [16]byte{8}}

// payload of a manifest: the body's length and checksum-like sum, then random bytes up to a full slot.
func (c *crashManifest) payload() []byte {
	sum := byte(0)
	for _, x := range c.text {
		sum += x
	}
	p := []byte{byte(len(c.text)), byte(len(c.text) >> 8), sum}
	for range c.r.IntN(store.MaxPayload - len(p)) {
		p = append(p, byte(c.r.Uint32()))
	}
	return p
}

// open finds what is there, or makes it, and checks it.
func (c *crashManifest) open() error {
	var err error
	c.m, err = store.OpenManifest(c.disk, crashPreamble.Format, crashPreamble.Network)
	if errors.Is(err, fs.ErrNotExist) && c.durable == nil {
		if c.m, err = store.CreateManifest(c.disk, crashPreamble); err != nil {
			return err
		}
		c.text, c.trying = nil, nil
		return c.openBody()
	}
	if err != nil {
		return err
	}
	_, p, _ := c.m.Latest()
	if !bytes.Equal(p, c.durable) && !bytes.Equal(p, c.trying) {
		return fmt.Errorf("a payload of %d bytes is found that is neither the last nor the one under way", len(p))
	}
	p = bytes.Clone(p)
	if c.text = c.text[:0]; int(p[0])|int(p[1])<<8 > 0 {
		c.text = make([]byte, int(p[0])|int(p[1])<<8)
	}
	if err := c.openBody(); err != nil {
		return err
	}
	sum := byte(0)
	for _, x := range c.b.At(0, len(c.text)) {
		sum += x
	}
	if copy(c.text, c.b.At(0, len(c.text))); sum != p[2] {
		return errors.New("the body does not hold what the manifest says")
	}
	c.trying = p
	if _, err := c.m.Write(p); err != nil {
		return err
	}
	c.durable = p
	return nil
}

func (c *crashManifest) openBody() (err error) {
	spec := store.BodySpec{Name: "body", Kind: "body", Width: 1, Reserve: 1 << 17}
	c.b, err = store.OpenBody(c.disk, spec, crashPreamble.ID, int64(len(c.text)))
	return err
}

// append appends to the body, and sometimes writes a manifest that covers it.
func (c *crashManifest) append() error {
	p := make([]byte, c.r.IntN(2000))
	for i := range p {
		p[i] = byte(c.r.Uint32())
	}
	if err := c.b.Reserve(int64(len(p))); err != nil {
		return err
	}
	c.b.Append(p)
	c.text = append(c.text, p...)
	if err := c.b.Flush(); err != nil || c.r.IntN(2) == 0 {
		return err
	}
	if err := c.b.Sync(); err != nil {
		return err
	}
	c.trying = c.payload()
	if _, err := c.m.Write(c.trying); err != nil {
		return err
	}
	c.durable = c.trying
	return nil
}

func (c *crashManifest) run() error {
	for range 2 + c.r.IntN(4) {
		c.disk.StopAt(c.r.IntN(60))
		c.disk.FailSync(c.r.IntN(30))
		c.disk.SetWriteback(c.r.IntN(8))
		if err := c.open(); err != nil && !c.due(err) {
			return err
		} else if err == nil {
			for range c.r.IntN(20) {
				if err := c.append(); err != nil && !c.due(err) {
					return err
				}
				if c.disk.Stopped() || len(c.text) > 40000 {
					break
				}
			}
		}
		old := c.disk
		if c.disk = old.Crash(c.r); c.r.IntN(4) == 0 {
			c.disk.Discard()
			c.disk = old.Kill(c.r)
		} else {
			old.Discard()
		}
	}
	c.disk.StopAt(0)
	return c.open()
}

// due reports whether an error was made on purpose.
func (c *crashManifest) due(err error) bool {
	return c.disk.Stopped() || errors.Is(err, crashdisk.ErrWriteback)
}

func crashSeed(seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 3))
	c := &crashManifest{r: r, disk: crashdisk.New(r, 1<<17)}
	defer func() { c.disk.Discard() }()
	if err := c.run(); err != nil {
		return fmt.Errorf("seed %d, operation %d: %w", seed, c.disk.Ops(), err)
	}
	return nil
}

func TestCrashManifest(t *testing.T) {
	for seed := range uint64(*seeds) {
		if err := crashSeed(seed); err != nil {
			t.Fatal(err)
		}
	}
}
