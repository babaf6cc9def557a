package p2p

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
)

var testMagic = [4]byte{0xfa, 0xbf, 0xb5, 0xda}

// frame writes a message by btcd's code.
func frame(t testing.TB, msg wire.Message) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := wire.WriteMessage(&b, msg, ourVersion, wire.TestNet); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// rawFrame is a message of any command and payload.
func rawFrame(command string, payload []byte) []byte {
	buf := append(make([]byte, headroom), payload...)
	sealFrame(buf, command, testMagic)
	return buf
}

func TestReadFrameOfBtcd(t *testing.T) {
	inv := wire.NewMsgInv()
	for range 3 {
		if err := inv.AddInvVect(wire.NewInvVect(wire.InvTypeBlock, &chainhash.Hash{1, 2, 3})); err != nil {
			t.Fatal(err)
		}
	}
	stream := bytes.Join([][]byte{
		frame(t, wire.NewMsgPing(7)), frame(t, wire.NewMsgVerAck()), frame(t, wire.NewMsgMemPool()), frame(t, inv),
	}, nil)
	r := bufio.NewReader(bytes.NewReader(stream))
	for _, want := range []struct {
		command string
		length  int
	}{{"ping", 8}, {"verack", 0}, {"mempool", 0}, {"inv", 1 + 3*36}} {
		m, err := readFrame(r, testMagic)
		if err != nil || m.command != want.command || len(m.payload) != want.length {
			t.Errorf("%s: %q with %d bytes, %v", want.command, m.command, len(m.payload), err)
		}
	}
	if _, err := readFrame(r, testMagic); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestSealFrameForBtcd(t *testing.T) {
	msg, _, err := wire.ReadMessage(bytes.NewReader(rawFrame("ping", []byte{1, 0, 0, 0, 0, 0, 0, 0})), ourVersion, wire.TestNet)
	if err != nil {
		t.Fatal(err)
	}
	if ping, ok := msg.(*wire.MsgPing); !ok || ping.Nonce != 1 {
		t.Errorf("read back as %#v", msg)
	}
}

func TestReadFrameRefuses(t *testing.T) {
	ping := frame(t, wire.NewMsgPing(7))
	change := func(at int, b ...byte) []byte {
		f := bytes.Clone(ping)
		copy(f[at:], b)
		return f
	}
	length := func(command string, n uint32) []byte {
		f := rawFrame(command, nil)
		binary.LittleEndian.PutUint32(f[16:], n)
		return f
	}
	for name, c := range map[string]struct {
		frame []byte
		want  string
	}{
		"magic of mainnet":      {change(0, 0xf9, 0xbe, 0xb4, 0xd9), "of another network"},
		"command not text":      {change(4, 1), "not text"},
		"command after its end": {change(4+11, 'x'), "not text"},
		"checksum":              {change(20, 0, 0, 0, 0), "checksum"},
		"payload":               {change(24, 0xff), "checksum"},
		"ping too long":         {length("ping", 65), "ping of 65 bytes, at most 64"},
		"headers too long":      {length("headers", 162_004), "at most 162003"},
		"locator too long":      {length("getheaders", 4+3+102*32+1), "getheaders of"},
		"block too long":        {length("block", 4_000_001), "at most 4000000"},
		"unknown too long":      {length("whatever", 4_000_001), "at most 4000000"},
		"huge":                  {length("inv", 0xffff_ffff), "at most 1800003"},
		"header cut":            {ping[:23], "unexpected EOF"},
		"payload cut":           {ping[:30], "unexpected EOF"},
		"payload absent":        {ping[:24], "unexpected EOF"},
		"unknown cut":           {rawFrame("whatever", make([]byte, 9))[:30], "unexpected EOF"},
		"large cut":             {rawFrame("block", make([]byte, firstPart+9))[:firstPart+30], "unexpected EOF"},
	} {
		_, err := readFrame(bufio.NewReader(bytes.NewReader(c.frame)), testMagic)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A message that announces 4 MB and ends after a few bytes must not take 4 MB.
func TestMemoryFollowsBytes(t *testing.T) {
	f := rawFrame("block", make([]byte, maxPayload))[:headroom+1000]
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := readFrame(bufio.NewReader(bytes.NewReader(f)), testMagic)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 2*firstPart {
		t.Errorf("%d bytes for a message of 1000", took)
	}
}

// FuzzReadFrame: whatever comes, the reader neither panics nor takes more than was sent, and what it takes is what
// btcd reads there.
func FuzzReadFrame(f *testing.F) {
	f.Add(frame(f, wire.NewMsgPing(7)))
	f.Add(frame(f, wire.NewMsgVerAck())[:20])
	f.Add(rawFrame("whatever", make([]byte, 100)))
	f.Add(append(rawFrame("block", make([]byte, 200)), frame(f, wire.NewMsgGetAddr())...))
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := bufio.NewReader(bytes.NewReader(stream))
		left := stream
		for {
			m, err := readFrame(r, testMagic)
			if err != nil && !errors.Is(err, errChecksum) {
				return
			}
			if len(left) < frameHeader {
				t.Fatal("a message out of nothing")
			}
			n := int(binary.LittleEndian.Uint32(left[16:]))
			if _, kept := limits[m.command]; err == nil && kept && !bytes.Equal(m.payload, left[frameHeader:frameHeader+n]) {
				t.Fatalf("%s: another payload", m.command)
			}
			left = left[frameHeader+n:]
		}
	})
}
