package utxo

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"

	"stele/chain"
	"stele/internal/realdata"
)

// What Core reported about its own regtest chain.
type coreAnswers struct {
	Final coreStats               `json:"utxo_final"`
	Marks []coreStats             `json:"utxo_marks_every_10"`
	Chain []struct{ Hash string } `json:"blocks"`
}

type coreStats struct {
	Height       int
	BestBlock    string
	TxOuts       uint64
	BogoSize     uint64
	Transactions uint64
	TotalAmount  string `json:"total_amount"`
	Serialized3  string `json:"hash_serialized_3"`
	MuHash       string
}

func answers(t *testing.T) coreAnswers {
	t.Helper()
	var a coreAnswers
	if err := json.Unmarshal(realdata.Read(t, "core_regtest", "expected.json.gz"), &a); err != nil {
		t.Fatal(err)
	}
	if len(a.Marks) != 42 || a.Final.Height != 415 || len(a.Chain) != 416 {
		t.Fatalf("%d marks, final height %d, %d blocks", len(a.Marks), a.Final.Height, len(a.Chain))
	}
	return a
}

// checkSet compares a set in order with what Core said of it.
func (want *coreStats) check(t *testing.T, set []Coin) {
	t.Helper()
	ordered, mu := NewSerialized3(), NewMuHash()
	var s Stats
	for i := range set {
		s.Count(&set[i])
		mu.Add(&set[i])
		if err := ordered.Add(&set[i]); err != nil {
			t.Fatal(err)
		}
	}
	if got := ordered.Sum().String(); want.Serialized3 != "" && got != want.Serialized3 {
		t.Errorf("height %d: hash_serialized_3 %s, want %s", want.Height, got, want.Serialized3)
	}
	if got := mu.Sum().String(); want.MuHash != "" && got != want.MuHash {
		t.Errorf("height %d: muhash %s, want %s", want.Height, got, want.MuHash)
	}
	amount := fmt.Sprintf("%d.%08d", s.Amount/1e8, s.Amount%1e8)
	if s.Outputs != want.TxOuts || s.BogoSize != want.BogoSize || amount != want.TotalAmount ||
		want.Transactions != 0 && s.Transactions != want.Transactions {
		t.Errorf("height %d: %+v and %s BTC, want %+v", want.Height, s, amount, *want)
	}
}

func TestCoreSnapshot(t *testing.T) {
	want := answers(t)
	set := snapshot(t, realdata.Read(t, "core_regtest", "utxo_snapshot_415.dat"), want.Final.BestBlock)
	want.Final.check(t, set)
}

// The same set and those at every tenth height, made of the blocks; the MuHash
// is carried along from block to block and must agree with one that is made
// afresh. Five blocks that are undone at last lead from Core's snapshot back to its last
// mark.
func TestCoreChain(t *testing.T) {
	want := answers(t)
	blocks := bestChain(t, want)
	set := coinSet{}
	rolling := NewMuHash()
	var undo []func(*MuHash)
	for height, b := range blocks {
		undo = append(undo, set.connect(b, uint32(height), rolling))
		if height%10 == 0 {
			mark := want.Marks[height/10]
			mark.check(t, set.sorted())
			if got := rolling.Sum().String(); mark.Height != height || got != mark.MuHash {
				t.Fatalf("height %d: rolling muhash %s, want %s at %d", height, got, mark.MuHash, mark.Height)
			}
		}
	}
	want.Final.check(t, set.sorted())

	snap := snapshot(t, realdata.Read(t, "core_regtest", "utxo_snapshot_415.dat"), want.Final.BestBlock)
	back := NewMuHash()
	for i := range snap {
		back.Add(&snap[i])
	}
	for height := 415; height > 410; height-- {
		undo[height](back)
	}
	if got := back.Sum().String(); got != want.Marks[41].MuHash {
		t.Fatalf("undone to height 410: %s, want %s", got, want.Marks[41].MuHash)
	}
}

func bestChain(t *testing.T, want coreAnswers) []*chain.Block {
	t.Helper()
	byHash := make(map[string]*chain.Block)
	genesis := new(chain.Block)
	if err := genesis.Decode(chain.Regtest().GenesisBlock); err != nil {
		t.Fatal(err)
	}
	byHash[want.Chain[0].Hash] = genesis
	for _, raw := range realdata.Blocks(t, "core_regtest", "chain.blk.gz") {
		b := new(chain.Block)
		if err := b.Decode(raw); err != nil {
			t.Fatal(err)
		}
		hash := b.Header.Hash()
		byHash[hash.String()] = b
	}
	var blocks []*chain.Block
	for height, c := range want.Chain {
		b := byHash[c.Hash]
		if b == nil {
			t.Fatalf("block %d %s is not in the file", height, c.Hash)
		}
		blocks = append(blocks, b)
	}
	return blocks
}

type outpoint struct {
	txid chain.Hash
	vout uint32
}

type coinSet map[outpoint]Coin

// connect applies a block to the set and to mu, and returns what undoes it in
// a MuHash.
func (s coinSet) connect(b *chain.Block, height uint32, mu *MuHash) func(*MuHash) {
	var made, spent []Coin
	if height > 0 {
		txids := b.Txids(nil)
		for i, tx := range b.Txs {
			for in := tx.FirstIn; in < tx.FirstIn+tx.Ins && i > 0; in++ {
				txid, vout := b.Outpoint(int(in))
				at := outpoint{*txid, vout}
				spent = append(spent, s[at])
				delete(s, at)
			}
			for n, out := range b.Outs[tx.FirstOut : tx.FirstOut+tx.Outs] {
				c := Coin{&txids[i], uint32(n), height, i == 0, out.Value, b.Bytes(out.Script)}
				if !chain.Unspendable(c.Script) {
					made = append(made, c)
					s[outpoint{txids[i], uint32(n)}] = c
				}
			}
		}
	}
	for i := range spent {
		mu.Remove(&spent[i])
	}
	for i := range made {
		mu.Add(&made[i])
	}
	return func(mu *MuHash) {
		for i := range made {
			mu.Remove(&made[i])
		}
		for i := range spent {
			mu.Add(&spent[i])
		}
	}
}

func (s coinSet) sorted() []Coin {
	var set []Coin
	for _, c := range s {
		set = append(set, c)
	}
	slices.SortFunc(set, order)
	return set
}

// snapshot reads Core's dumptxoutset file, version 2, and sorts its coins:
//
//	"utxo" ff | version 2 | magic 4 | base block 32 | coins 8
//	| txid 32 | CompactSize coins | (CompactSize vout | VARINT height<<1|coinbase
//	  | VARINT compressed amount | compressed script) ... | ...
func snapshot(t *testing.T, file []byte, base string) []Coin {
	t.Helper()
	r := snapReader{t: t, b: file}
	if got := string(r.take(5)); got != "utxo\xff" {
		t.Fatalf("snapshot begins with %q", got)
	}
	version, magic := binary.LittleEndian.Uint16(r.take(2)), [4]byte(r.take(4))
	if block := chain.Hash(r.take(32)); version != 2 || magic != chain.Regtest().Magic || block.String() != base {
		t.Fatalf("version %d, magic %x, base %s", version, magic, block)
	}
	n := binary.LittleEndian.Uint64(r.take(8))
	var set []Coin
	for len(r.b) > 0 {
		txid := chain.Hash(r.take(32))
		for range r.compactSize() {
			c := Coin{Txid: &txid, Vout: uint32(r.compactSize())}
			code := r.varint()
			c.Height, c.Coinbase = uint32(code>>1), code&1 == 1
			c.Value = amount(r.varint())
			c.Script = r.script()
			set = append(set, c)
		}
	}
	if uint64(len(set)) != n {
		t.Fatalf("%d coins, the head says %d", len(set), n)
	}
	slices.SortFunc(set, order)
	return set
}

type snapReader struct {
	t *testing.T
	b []byte
}

func (r *snapReader) take(n int) []byte {
	r.t.Helper()
	if len(r.b) < n {
		r.t.Fatalf("snapshot is cut: %d bytes are left, %d wanted", len(r.b), n)
	}
	p := r.b[:n:n]
	r.b = r.b[n:]
	return p
}

func (r *snapReader) compactSize() uint64 {
	r.t.Helper()
	n, size, ok := chain.CompactSize(r.b)
	if !ok {
		r.t.Fatalf("no CompactSize at % x", r.b[:min(9, len(r.b))])
	}
	r.take(size)
	return n
}

// varint reads seven bits a byte, highest first; each continuation adds one to
// what was read, so every number has one form.
func (r *snapReader) varint() uint64 {
	var n uint64
	for {
		b := r.take(1)[0]
		n = n<<7 | uint64(b&0x7f)
		if b < 0x80 {
			return n
		}
		n++
	}
}

// amount undoes Core's compression of values with trailing decimal zeros.
func amount(x uint64) int64 {
	if x == 0 {
		return 0
	}
	x--
	e := x % 10
	x /= 10
	n := x + 1
	if e < 9 {
		n = x/9*10 + x%9 + 1
	}
	for range e {
		n *= 10
	}
	return int64(n)
}

// script undoes Core's special cases for scripts: P2PKH, P2SH, P2PK.
func (r *snapReader) script() []byte {
	kind := r.varint()
	switch kind {
	case 0:
		return slices.Concat([]byte{0x76, 0xa9, 20}, r.take(20), []byte{0x88, 0xac})
	case 1:
		return slices.Concat([]byte{0xa9, 20}, r.take(20), []byte{0x87})
	case 2, 3:
		return slices.Concat([]byte{33, byte(kind)}, r.take(32), []byte{0xac})
	case 4, 5:
		key, err := btcec.ParsePubKey(append([]byte{byte(kind) - 2}, r.take(32)...))
		if err != nil {
			r.t.Fatal(err)
		}
		return slices.Concat([]byte{65}, key.SerializeUncompressed(), []byte{0xac})
	}
	return r.take(int(kind - 6))
}
