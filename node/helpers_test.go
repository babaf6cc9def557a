package node

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"stele/chain"
	"stele/internal/realdata"
	"stele/store"
	"stele/tables"
	"stele/validate/script"
)

// fataler is what *testing.T, *testing.B and *rapid.T share.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// rig is a store under test and the disk that it lies on.
type rig struct {
	disk store.Disk
	p    *chain.Params
	t    *tables.Tables
}

// memRig is a new store in memory.
func memRig(t fataler, p *chain.Params) *rig {
	t.Helper()
	d := store.NewMemDisk()
	d.SetReserveCap(512 << 10)
	return newRig(t, d, p)
}

func dirRig(t *testing.T, p *chain.Params) *rig {
	t.Helper()
	d, err := store.OpenDir(t.TempDir(), store.DirOptions{Create: true, Verb: "test"})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, d, p)
	t.Cleanup(func() {
		if err := r.t.Close(); err != nil {
			t.Error(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func newRig(t fataler, d store.Disk, p *chain.Params) *rig {
	t.Helper()
	tb, err := tables.Create(d, p, tables.Options{PendingBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return &rig{disk: d, p: p, t: tb}
}

// discard gives the memory of a store in memory back, which must not be used any more.
func (r *rig) discard() {
	if d, ok := r.disk.(interface{ Discard() }); ok {
		d.Discard()
	}
}

// reopen closes the store and opens it again.
func (r *rig) reopen(t fataler) {
	t.Helper()
	if err := r.t.Close(); err != nil {
		t.Fatal(err)
	}
	r.open(t)
}

// open opens the store that is on the disk.
func (r *rig) open(t fataler) {
	t.Helper()
	tb, err := tables.Open(r.disk, r.p, tables.Options{PendingBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	r.t = tb
}

// file makes a block file of blocks.
func file(p *chain.Params, blocks ...[]byte) []byte {
	var all []byte
	for _, b := range blocks {
		all = append(all, p.Magic[:]...)
		all = binary.LittleEndian.AppendUint32(all, uint32(len(b)))
		all = append(all, b...)
	}
	return all
}

// fileOptions are those of an import of one block file.
func fileOptions(t *testing.T, content []byte) ImportOptions {
	t.Helper()
	path := filepath.Join(t.TempDir(), "input.blk")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return ImportOptions{Paths: []string{path}, StopHeight: -1, Verifier: verifier}
}

func streamOptions(content []byte) ImportOptions {
	return ImportOptions{Paths: []string{"-"}, Stdin: bytes.NewReader(content), StopHeight: -1, Verifier: verifier}
}

func (r *rig) run(t fataler, o ImportOptions) *ImportReport {
	t.Helper()
	if o.Verifier == nil {
		o.Verifier = verifier
	}
	report, err := Import(context.Background(), r.t, o)
	if err != nil {
		t.Fatalf("import: %v", err)
	}
	r.accounted(t, report)
	return report
}

// load imports blocks as a file.
func (r *rig) load(t *testing.T, blocks ...[]byte) *ImportReport {
	t.Helper()
	return r.run(t, fileOptions(t, file(r.p, blocks...)))
}

// accounted asserts that every record of the input ended somewhere. Blocks can come from pending ones too.
func (r *rig) accounted(t fataler, rep *ImportReport) {
	t.Helper()
	others := rep.Skipped + uint64(len(rep.Rejected)) + rep.RejectedMore + rep.Descendants + rep.Parked + rep.Dropped
	if rep.Records > others+rep.Blocks {
		t.Fatalf("%d records, of which %d are accounted for: %+v", rep.Records, others+rep.Blocks, rep)
	}
}

func headerLink(n uint32) tables.HeaderLink { return tables.HeaderLink(n) }

func asJSON(t fataler, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func hashOf(block []byte) chain.Hash {
	h, err := chain.ParseHeader(block)
	if err != nil {
		panic(err)
	}
	return h.Hash()
}

// wantTip asserts which block is the tip, for the writer and for readers.
func (r *rig) wantTip(t fataler, block []byte) {
	t.Helper()
	l, height := r.t.Tip()
	if got, want := r.t.Header(l).Hash(), hashOf(block); got != want {
		t.Fatalf("tip is %v at height %d, want %v", got, height, want)
	}
	if shown, _ := r.t.View().Tip(); shown != l {
		t.Fatalf("readers see header %d as the tip, the writer %d", shown, l)
	}
}

func reasons(rep *ImportReport) []string {
	var list []string
	for _, r := range rep.Rejected {
		list = append(list, r.Reason)
	}
	return list
}

func wantReasons(t fataler, rep *ImportReport, want ...string) {
	t.Helper()
	if got := reasons(rep); !slices.Equal(got, want) {
		t.Fatalf("rejected for %q, want %q: %+v", got, want, rep.Rejected)
	}
}

// spenders lists what the chain says of each of its outputs: "txid:vout" to spending txid, input index and height.
func (r *rig) spenders(t fataler) (all map[string]string, outputs int) {
	t.Helper()
	v := r.t.View()
	_, height := v.Tip()
	all = map[string]string{}
	for h := range height + 1 {
		l, _ := v.HeaderAt(h)
		b, ok := v.Block(l)
		if !ok {
			t.Fatalf("block %d of the chain is not archived", h)
		}
		for i := range b.Txs {
			tx := v.Tx(b.FirstTx + tables.TxLink(i))
			found, ok := v.FindTx(&tx.Txid)
			if !ok || !v.Tx(found).Strong {
				t.Fatalf("transaction %v of block %d is not found", tx.Txid, h)
			}
			for n := range tx.Outs {
				outputs++
				s, ok := v.Spender(tx.FirstOut + tables.OutputLink(n))
				if !ok {
					continue
				}
				by := v.Tx(s.Tx)
				all[fmt.Sprintf("%v:%d", tx.Txid, n)] = fmt.Sprintf("%v:%d@%d", by.Txid, s.Index, v.Header(by.Header).Height())
			}
		}
	}
	return all, outputs
}

// coreChain is the regtest chain of the data folder, and what Bitcoin Core says of it.
type coreChain struct {
	blocks   [][]byte // parents first, stale branches among them
	best     [][]byte // the best chain from height 1
	tip      []byte
	height   uint32
	spenders map[string]string
	unspent  int // outputs at the tip
	setHash  string
}

var loadCore = sync.OnceValue(func() *coreChain { return new(coreChain) })

// core reads it; the test is skipped where it is absent.
func core(t *testing.T) *coreChain {
	t.Helper()
	c := loadCore()
	blocks := realdata.Blocks(t, "core_regtest", "chain.blk.gz")
	raw := realdata.Read(t, "core_regtest", "expected.json.gz")
	if c.tip != nil {
		return c
	}
	var e struct {
		Tip      uint32
		Best     string
		Blocks   []struct{ Hash string }
		Spenders map[string][3]any
		Final    struct {
			Txouts int
			Hash   string `json:"hash_serialized_3"`
		} `json:"utxo_final"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	byHash := map[string][]byte{}
	for _, b := range blocks {
		byHash[hashOf(b).String()] = b
	}
	c.blocks, c.height, c.tip = blocks, e.Tip, byHash[e.Best]
	for _, b := range e.Blocks[1:] {
		c.best = append(c.best, byHash[b.Hash])
	}
	c.unspent, c.setHash, c.spenders = e.Final.Txouts, e.Final.Hash, map[string]string{}
	for k, v := range e.Spenders {
		c.spenders[k] = fmt.Sprintf("%v:%v@%v", v[0], v[1], v[2])
	}
	return c
}

// wantCore asserts that the store says of the chain what Bitcoin Core does.
func (r *rig) wantCore(t fataler, c *coreChain) {
	t.Helper()
	r.wantTip(t, c.tip)
	got, _ := r.spenders(t)
	if !maps.Equal(got, c.spenders) {
		t.Fatalf("%d spenders, of which not all are the %d of Bitcoin Core", len(got), len(c.spenders))
	}
}

// A maker makes regtest blocks with a coinbase each, on any parent.
type maker struct{ unique uint32 }

// at is where a made block stands.
type at struct {
	hash   chain.Hash
	height uint32
	time   uint32
}

func genesisAt(p *chain.Params) at {
	h, err := chain.ParseHeader(p.GenesisBlock)
	if err != nil {
		panic(err)
	}
	return at{hash: h.Hash(), time: h.Time}
}

// block makes one with the given further transactions (without witness), ten minutes after its parent.
func (m *maker) block(parent at, txs ...[]byte) ([]byte, at) {
	return m.blockTime(parent, parent.time+600, txs...)
}

func (m *maker) blockTime(parent at, time uint32, txs ...[]byte) ([]byte, at) {
	m.unique++
	cb := m.coinbase(parent.height + 1)
	ids := []chain.Hash{chain.DoubleSHA256(cb)}
	body := append(chain.AppendCompactSize(nil, uint64(1+len(txs))), cb...)
	for _, tx := range txs {
		ids = append(ids, chain.DoubleSHA256(tx))
		body = append(body, tx...)
	}
	root, _ := chain.MerkleRoot(ids)
	h := chain.Header{Version: 0x20000000, Prev: parent.hash, Merkle: root, Time: time, Bits: chain.Regtest().PowLimitBits}
	mine(&h)
	return append(h.Append(nil), body...), at{hash: h.Hash(), height: parent.height + 1, time: time}
}

// mine finds a nonce: every second one is right.
func mine(h *chain.Header) {
	for hash := h.Hash(); !chain.HashMeetsTarget(&hash, chain.Regtest().PowLimit); hash = h.Hash() {
		h.Nonce++
	}
}

// reward is no more than the subsidy of any regtest chain of the tests, which ends below height 2,400.
const reward = 100_000

// coinbase pays the reward to anyone; its height as BIP34 wants
// it.
func (m *maker) coinbase(height uint32) []byte {
	var script []byte
	switch {
	case height <= 16:
		script = append(script, byte(0x50+height))
	case height < 128:
		script = append(script, 1, byte(height))
	default:
		script = append(script, 2, byte(height), byte(height>>8)) // below 32,768
	}
	script = binary.LittleEndian.AppendUint32(append(script, 4), m.unique)
	return rawTx(chain.Hash{}, ^uint32(0), script, reward)
}

// rawTx is a transaction with one input and one output that anyone can spend.
func rawTx(prev chain.Hash, vout uint32, script []byte, value uint64) []byte {
	tx := append([]byte{1, 0, 0, 0, 1}, prev[:]...)
	tx = binary.LittleEndian.AppendUint32(tx, vout)
	tx = append(append(tx, byte(len(script))), script...)
	tx = append(tx, 0xff, 0xff, 0xff, 0xff, 1)
	tx = binary.LittleEndian.AppendUint64(tx, value)
	return append(tx, 1, 0x51, 0, 0, 0, 0)
}

// branch makes n blocks on a parent.
func (m *maker) branch(parent at, n int) (blocks [][]byte, tip at) {
	for range n {
		b, next := m.block(parent)
		blocks, parent = append(blocks, b), next
	}
	return blocks, parent
}

// missing is a transaction that spends what was never there.
func missing(n byte) []byte { return rawTx(chain.Hash{1, 2, 3, n}, 0, nil, 1) }

// damagedBody returns a block with another body under the same header.
func damagedBody(block []byte) []byte {
	b := bytes.Clone(block)
	b[len(b)-5] ^= 1 // the last byte of the last output's script or witness: it still decodes
	return b
}

// remembered is the default verifier, and remembers its answers: most tests import the same chains over and over.
type remembered struct {
	script.Verifier
	answers *sync.Map
}

var verifier = remembered{script.Default(), new(sync.Map)}

func (r remembered) recall(ask func() bool, parts ...[]byte) bool {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprint(h, len(p), " ")
		h.Write(p)
	}
	key := [32]byte(h.Sum(nil))
	if answer, ok := r.answers.Load(key); ok {
		return answer.(bool)
	}
	answer := ask()
	r.answers.Store(key, answer)
	return answer
}

func (r remembered) ECDSA(key []byte, rs *[64]byte, hash *[32]byte) bool {
	return r.recall(func() bool { return r.Verifier.ECDSA(key, rs, hash) }, []byte("ecdsa"), key, rs[:], hash[:])
}

func (r remembered) Schnorr(key *[32]byte, sig *[64]byte, hash *[32]byte) bool {
	return r.recall(func() bool { return r.Verifier.Schnorr(key, sig, hash) }, []byte("schnorr"), key[:], sig[:], hash[:])
}

func (r remembered) Tweak(output, internal, tweak *[32]byte, odd bool) bool {
	return r.recall(func() bool { return r.Verifier.Tweak(output, internal, tweak, odd) },
		fmt.Appendf(nil, "tweak %v", odd), output[:], internal[:], tweak[:])
}
