package codec

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stele/chain"
	"stele/internal/realdata"
)

func TestMain(m *testing.M) { realdata.Main(m) }

// realBlocks calls f for every real block of a network, or those named.
func realBlocks(t testing.TB, net string, f func(name string, b *chain.Block), names ...string) {
	t.Helper()
	if names == nil {
		paths, err := filepath.Glob(filepath.Join(realdata.Path(t, net, "blocks"), "*.blk.gz"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no blocks of %s: %v", net, err)
		}
		for _, path := range paths {
			names = append(names, strings.TrimSuffix(filepath.Base(path), ".blk.gz"))
		}
	}
	var b chain.Block
	for _, name := range names {
		if err := b.Decode(realdata.Read(t, net, "blocks", name+".blk.gz")); err != nil {
			t.Fatalf("%s/%s: %v", net, name, err)
		}
		f(net+"/"+name, &b)
	}
}

// surviving holds what the round trip of a whole block reuses.
type surviving struct {
	run, wire []byte
	in        Input
	buf       ScriptBuffer
	outs, ins int
}

// check sends everything of a decoded block or transaction through the codecs.
func (s *surviving) check(t testing.TB, name string, b *chain.Block) {
	t.Helper()
	for i := range b.Txs {
		h := Head{Version: b.Txs[i].Version, LockTime: b.Txs[i].LockTime, Witness: b.Txs[i].Witness}
		s.run = AppendHead(s.run[:0], h)
		if got, n, ok := DecodeHead(s.run); !ok || got != h || n != len(s.run) {
			t.Fatalf("%s: head %+v comes back as %+v", name, h, got)
		}
	}
	for i := range b.Outs {
		s.output(t, name, b.Outs[i].Value, b.Bytes(b.Outs[i].Script))
	}
	eachInput(b, func(tx *chain.Tx, in *chain.In, script, witness []byte) {
		s.input(t, name, in.Sequence, script, witness)
	})
}

// output sends one output through every reader of its slab form.
func (s *surviving) output(t rapid.TB, name string, value int64, script []byte) {
	t.Helper()
	s.outs++
	s.wire = chain.AppendCompactSize(s.wire[:0], uint64(len(script)))
	wire := 8 + len(s.wire) + len(script)
	s.run = AppendOutput(s.run[:0], value, script)
	o, n, ok := DecodeOutput(s.run, &s.buf)
	if !ok || n != len(s.run) || o.Value != value || !bytes.Equal(o.Script, script) {
		t.Fatalf("%s: output %d %x comes back as %v %d %d %x", name, value, script, ok, n, o.Value, o.Script)
	}
	if m, ok := SkipOutput(s.run); !ok || m != n || n > wire+1 {
		t.Fatalf("%s: output %x takes %d bytes, skips %d, wire %d", name, script, n, m, wire)
	}
	if size, m, ok := OutputSize(s.run); !ok || m != n || size != wire {
		t.Fatalf("%s: output %x has wire size %d, want %d", name, script, size, wire)
	}
	got, m, ok := AppendWireOutput(s.wire[:0], s.run)
	if !ok || m != n || len(got) != wire || int64(amount(got, 0)) != value || !bytes.HasSuffix(got, script) {
		t.Fatalf("%s: output %x has wire form %x", name, script, got)
	}
}

// input does the same for an input; witness is empty in a transaction without.
func (s *surviving) input(t rapid.TB, name string, sequence uint32, script, witness []byte) {
	t.Helper()
	s.ins++
	s.run = AppendInput(s.run[:0], sequence, script, witness)
	n, ok := s.in.Decode(s.run, len(witness) > 0)
	if !ok || n != len(s.run) || s.in.Sequence != sequence ||
		!bytes.Equal(s.in.Script, script) || !bytes.Equal(s.in.Witness, witness) {
		t.Fatalf("%s: input %x %x %x comes back as %v %d %x %x %x",
			name, sequence, script, witness, ok, n, s.in.Sequence, s.in.Script, s.in.Witness)
	}
	fields := 4 + chain.CompactSizeLen(uint64(len(script))) + len(script)
	if m, ok := SkipInput(s.run); !ok || m != n || n > fields+len(witness)+1 {
		t.Fatalf("%s: input %x %x takes %d bytes, skips %d, wire %d", name, script, witness, n, m, fields+len(witness))
	}
	a, w, m, ok := InputSize(s.run, len(witness) > 0)
	if !ok || m != n || a != len(script) || w != len(witness) {
		t.Fatalf("%s: input %x %x has sizes %d, %d", name, script, witness, a, w)
	}
	s.wire, m, ok = AppendWireInput(s.wire[:0], s.run, len(witness) > 0)
	if !ok || m != n || len(s.wire) != fields || !bytes.Equal(s.wire[fields-4-len(script):fields-4], script) {
		t.Fatalf("%s: input %x has wire form %x", name, script, s.wire)
	}
	s.wire, m, ok = AppendWireStack(s.wire[:0], s.run)
	if !ok || m != n || len(witness) > 0 && !bytes.Equal(s.wire, witness) {
		t.Fatalf("%s: input %x %x has stack %x", name, script, witness, s.wire)
	}
}

// TestRealBlocks sends every real block through the codecs.
func TestRealBlocks(t *testing.T) {
	var s surviving
	for _, net := range []string{"mainnet", "testnet3", "testnet4", "signet"} {
		t.Run(net, func(t *testing.T) {
			realBlocks(t, net, func(name string, b *chain.Block) { s.check(t, name, b) })
		})
	}
	t.Run("first blocks", func(t *testing.T) {
		var b chain.Block
		for i, raw := range realdata.Blocks(t, "chains", "mainnet_0_14131.blk.gz") {
			if err := b.Decode(raw); err != nil {
				t.Fatal(err)
			}
			s.check(t, strconv.Itoa(i), &b)
		}
	})
	t.Logf("%d outputs, %d inputs", s.outs, s.ins)
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	raw, err := hex.DecodeString(strings.TrimSpace(s))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// checkTx sends one serialised transaction through the codecs.
func (s *surviving) checkTx(t testing.TB, name string, raw []byte) {
	t.Helper()
	var b chain.Block
	if err := b.DecodeTx(raw); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	s.check(t, name, &b)
}

// TestRealTransactions sends the real transactions that stand alone through the codecs.
func TestRealTransactions(t *testing.T) {
	var s surviving
	s.checkTx(t, "tapscript", realdata.Read(t, "txs", "7393096d_998of999_tapscript.raw.gz"))
	s.checkTx(t, "5569 inputs", realdata.Read(t, "txs", "bb41a757_megatx_5569_inputs.bin.bz2"))
	s.checkTx(t, "a536e7f6", unhex(t, string(realdata.Read(t, "txs", "a536e7f6.hex.gz"))))
	for i := 1; i <= 10; i++ {
		s.checkTx(t, "bcoin "+strconv.Itoa(i), realdata.Read(t, "txs", "bcoin", "tx"+strconv.Itoa(i)+".raw"))
	}
	for _, line := range strings.Fields(string(realdata.Read(t, "txs", "sob2024_mempool_sample.jsonl.gz"))) {
		var tx struct {
			Raw      string
			Prevouts [][2]any
		}
		if err := json.Unmarshal([]byte(line), &tx); err != nil {
			t.Fatal(err)
		}
		s.checkTx(t, tx.Raw[:8], unhex(t, tx.Raw))
		for _, o := range tx.Prevouts {
			s.output(t, "prevout", int64(o[0].(float64)), unhex(t, o[1].(string)))
		}
	}
	if s.ins < 3649+5569 || s.outs < 3649 {
		t.Errorf("%d outputs, %d inputs", s.outs, s.ins)
	}
}

// TestTaprootVectors sends Core's taproot dump through the codecs: the transactions, the outputs that they spend, and
// the scripts and stacks that satisfy or fail them.
func TestTaprootVectors(t *testing.T) {
	var s surviving
	lines := strings.Split(string(realdata.Read(t, "vectors", "taproot", "script_assets_2760_btcd.jsonl.gz")), "\n")
	entries := 0
	for _, line := range lines {
		if line == "" {
			continue
		}
		type spend struct {
			ScriptSig string
			Witness   []string
		}
		var v struct {
			Tx               string
			Prevouts         []string
			Success, Failure *spend
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		s.checkTx(t, "taproot", unhex(t, v.Tx))
		for _, raw := range v.Prevouts {
			o := unhex(t, raw)
			script, size, ok := bytesField(o[8:])
			if !ok || 8+size != len(o) {
				t.Fatalf("prevout %s", raw)
			}
			s.output(t, "prevout", int64(amount(o, 0)), script)
		}
		for _, sp := range []*spend{v.Success, v.Failure} {
			if sp != nil {
				s.spend(t, unhex(t, sp.ScriptSig), sp.Witness)
			}
		}
		entries++
	}
	if entries != 2760 {
		t.Errorf("%d entries", entries)
	}
}

// spend sends a script and a stack of hex items through the input codec, with and without witness.
func (s *surviving) spend(t testing.TB, script []byte, items []string) {
	t.Helper()
	stack := chain.AppendCompactSize(nil, uint64(len(items)))
	for _, item := range items {
		stack = chain.AppendCompactSize(stack, uint64(len(item)/2))
		stack = append(stack, unhex(t, item)...)
	}
	for _, sequence := range []uint32{^uint32(0), 7} {
		s.input(t, "spend", sequence, script, stack)
		s.input(t, "spend", sequence, script, nil)
	}
}
