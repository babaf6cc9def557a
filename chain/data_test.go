package chain_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/wire/v2"

	"stele/chain"
	"stele/internal/mainnet"
	"stele/internal/realdata"
)

// listed is a row of the table of blocks in the data folder's README. Its figures come from other software than ours.
type listed struct {
	net, height, hash, version           string
	txs, inputs, size, weight, segwitTxs int
}

// readListed parses the markdown table whose header line begins with `| net | height |`.
func readListed(t *testing.T) map[string]listed {
	t.Helper()
	rows := map[string]listed{}
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("README: %v", err)
		}
		return n
	}
	_, table, found := strings.Cut(string(realdata.Read(t, "README.md")), "\n| net | height |")
	if !found {
		t.Fatal("README: no table of blocks")
	}
	for _, line := range strings.Split(table, "\n")[2:] {
		cells := strings.Split(line, "|")
		if len(cells) < 12 {
			break
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		r := listed{
			net: cells[1], height: cells[2], hash: cells[3], txs: number(cells[4]), inputs: number(cells[5]),
			size: number(cells[6]), weight: number(cells[7]), segwitTxs: number(cells[8]), version: cells[9],
		}
		rows[r.net+"/"+r.height] = r
	}
	return rows
}

// TestBlockFiles decodes every block file of the data folder and wants the figures of its README, the ids that btcd's
// wire computes, the header's merkle root, and its bytes back.
func TestBlockFiles(t *testing.T) {
	rows := readListed(t)
	var b chain.Block
	met := 0
	for _, net := range []string{"mainnet", "testnet3", "testnet4", "signet"} {
		files, err := filepath.Glob(filepath.Join(realdata.Path(t, net, "blocks"), "*.blk.gz"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", net, len(files), err)
		}
		for _, file := range files {
			height := strings.TrimSuffix(filepath.Base(file), ".blk.gz")
			want, ok := rows[net+"/"+height]
			if !ok {
				t.Errorf("%s %s is not in the README", net, height)
				continue
			}
			met++
			raw := realdata.Read(t, net, "blocks", height+".blk.gz")
			if err := b.Decode(raw); err != nil {
				t.Errorf("%s %s: %v", net, height, err)
				continue
			}
			matchListed(t, &b, want)
			matchWire(t, net+" "+height, &b)
		}
	}
	if met != len(rows) {
		t.Errorf("%d block files for %d rows of the README", met, len(rows))
	}
}

func matchListed(t *testing.T, b *chain.Block, want listed) {
	t.Helper()
	have := listed{
		net: want.net, height: want.height, hash: b.Header.Hash().String(), txs: len(b.Txs), size: len(b.Raw),
		weight: b.Weight(), version: hex.EncodeToString(bigEndian(uint32(b.Header.Version))),
	}
	for i := range b.Txs {
		if b.Txs[i].Witness {
			have.segwitTxs++
		}
		if !b.Coinbase(i) {
			have.inputs += int(b.Txs[i].Ins)
		}
	}
	if have != want {
		t.Errorf("decoded %+v, want %+v", have, want)
	}
}

func bigEndian(v uint32) []byte { return []byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)} }

// matchWire compares b with what btcd's wire makes of the same bytes.
func matchWire(t *testing.T, name string, b *chain.Block) {
	t.Helper()
	if got := b.Append(nil); !bytes.Equal(got, b.Raw) {
		t.Errorf("%s: does not encode to its own bytes", name)
	}
	var w wire.MsgBlock
	if err := w.Deserialize(bytes.NewReader(b.Raw)); err != nil {
		t.Errorf("%s: wire: %v", name, err)
		return
	}
	if b.StrippedSize() != w.SerializeSizeStripped() || len(b.Raw) != w.SerializeSize() {
		t.Errorf("%s: sizes %d, %d; wire's %d, %d",
			name, b.StrippedSize(), len(b.Raw), w.SerializeSizeStripped(), w.SerializeSize())
	}
	txids, wtxids := b.Txids(nil), b.Wtxids(nil)
	for i, tx := range w.Transactions {
		stripped, total := b.TxSize(i)
		if txids[i] != chain.Hash(tx.TxHash()) || wtxids[i] != chain.Hash(tx.WitnessHash()) ||
			stripped != tx.SerializeSizeStripped() || total != tx.SerializeSize() {
			t.Errorf("%s: tx %d is %v %v of %d, %d bytes; wire's %v %v of %d, %d", name, i, txids[i], wtxids[i],
				stripped, total, tx.TxHash(), tx.WitnessHash(), tx.SerializeSizeStripped(), tx.SerializeSize())
		}
	}
	if root, mutated := chain.MerkleRoot(txids); root != b.Header.Merkle || mutated {
		t.Errorf("%s: merkle root %v (mutated %v), want %v", name, root, mutated, b.Header.Merkle)
	}
}

// TestMainnetStart walks the first 14,132 blocks: each links to the one before and meets its target, and comes back
// as the same bytes. Their work is known: one 1d00ffff target each, 2^32 + 2^16 + 1 hashes.
func TestMainnetStart(t *testing.T) {
	file, err := mainnet.Blocks()
	if err != nil {
		t.Fatal(err)
	}
	var b chain.Block
	var prev chain.Hash
	var work chain.Work
	var txids []chain.Hash
	txs, spends := 0, 0
	blocks := realdata.Split(t, file)
	for height, raw := range blocks {
		if err := b.Decode(raw); err != nil {
			t.Fatalf("block %d: %v", height, err)
		}
		hash := b.Header.Hash()
		target, negative, overflow := chain.CompactToTarget(b.Header.Bits)
		if b.Header.Prev != prev || negative || overflow || !chain.HashMeetsTarget(&hash, target) {
			t.Fatalf("block %d %v does not follow %v, or misses its target", height, hash, prev)
		}
		txids = b.Txids(txids)
		if root, mutated := chain.MerkleRoot(txids); root != b.Header.Merkle || mutated {
			t.Fatalf("block %d: merkle root %v, mutated %v", height, root, mutated)
		}
		if got := b.Append(nil); !bytes.Equal(got, raw) {
			t.Fatalf("block %d does not encode to its own bytes", height)
		}
		if !b.Coinbase(0) {
			t.Fatalf("block %d has no coinbase", height)
		}
		txs, spends = txs+len(b.Txs), spends+len(b.Ins)-1
		work, prev = work.Add(chain.BlockWork(b.Header.Bits)), hash
	}
	if prev.String() != mainnet.TipHash || txs != 14_247 || spends != 865 {
		t.Errorf("tip %v, %d transactions, %d spends; want %s, 14247, 865", prev, txs, spends, mainnet.TipHash)
	}
	if want := chain.WorkFromUint64(14_132 * 0x1_0001_0001); work != want {
		t.Errorf("work %v, want %v", work, want)
	}
}

// TestRealTransactions decodes transactions that other implementations stumbled over.
func TestRealTransactions(t *testing.T) {
	unhex := func(b []byte) []byte {
		raw, err := hex.DecodeString(strings.TrimSpace(string(b)))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	t.Run("33,970-byte tapscript", func(t *testing.T) {
		b := decodeAlone(t, realdata.Read(t, "txs", "7393096d_998of999_tapscript.raw.gz"))
		txid := b.Txids(nil)[0].String()
		if script := b.Items[len(b.Items)-2]; !strings.HasPrefix(txid, "7393096d97bfee86") || script.Len != 33_970 {
			t.Errorf("tx %s with a script of %d bytes", txid, script.Len)
		}
	})
	t.Run("5,569 inputs", func(t *testing.T) {
		b := decodeAlone(t, realdata.Read(t, "txs", "bb41a757_megatx_5569_inputs.bin.bz2"))
		txid := b.Txids(nil)[0].String()
		if !strings.HasPrefix(txid, "bb41a757") || len(b.Ins) != 5569 || len(b.Raw) != 999_657 {
			t.Errorf("tx %s with %d inputs, %d bytes", txid, len(b.Ins), len(b.Raw))
		}
	})
	t.Run("many inputs", func(t *testing.T) {
		// A transaction of another coin: its first part reads as one of ours, and all that follows is left over.
		raw := unhex(realdata.Read(t, "txs", "btcd_many_inputs_tx.hex.gz"))
		var b chain.Block
		refused(t, "whole", &b, b.DecodeTx(raw), len(raw), "bytes after the transaction")
		if b := decodeAlone(t, raw[:3682]); len(b.Ins) != 89 {
			t.Errorf("%d inputs, want 89", len(b.Ins))
		}
	})
	t.Run("a536e7f6", func(t *testing.T) {
		b := decodeAlone(t, unhex(realdata.Read(t, "txs", "a536e7f6.hex.gz")))
		if txid := b.Txids(nil)[0].String(); !strings.HasPrefix(txid, "a536e7f6") {
			t.Errorf("txid %s", txid)
		}
	})
	t.Run("bcoin", func(t *testing.T) {
		for i := 1; i <= 10; i++ {
			decodeAlone(t, realdata.Read(t, "txs", "bcoin", "tx"+strconv.Itoa(i)+".raw"))
		}
	})
	t.Run("mempool sample", func(t *testing.T) {
		lines := strings.Fields(string(realdata.Read(t, "txs", "sob2024_mempool_sample.jsonl.gz")))
		inputs := 0
		for _, line := range lines {
			var tx struct{ Txid, Raw string }
			if err := json.Unmarshal([]byte(line), &tx); err != nil {
				t.Fatal(err)
			}
			b := decodeAlone(t, unhex([]byte(tx.Raw)))
			if txid := b.Txids(nil)[0].String(); txid != tx.Txid {
				t.Errorf("txid %s, want %s", txid, tx.Txid)
			}
			inputs += len(b.Ins)
		}
		if len(lines) != 1779 || inputs != 3649 {
			t.Errorf("%d transactions with %d inputs, want 1779 with 3649", len(lines), inputs)
		}
	})
}

// decodeAlone decodes one transaction and wants wire's ids and its own bytes back.
func decodeAlone(t *testing.T, raw []byte) *chain.Block {
	t.Helper()
	b := new(chain.Block)
	if err := b.DecodeTx(raw); err != nil {
		t.Fatal(err)
	}
	var w wire.MsgTx
	if err := w.Deserialize(bytes.NewReader(raw)); err != nil {
		t.Fatalf("wire: %v", err)
	}
	if txid := b.Txids(nil)[0]; txid != chain.Hash(w.TxHash()) {
		t.Errorf("txid %v, wire's %v", txid, w.TxHash())
	}
	if wtxid := b.Wtxids(nil)[0]; wtxid != chain.Hash(w.WitnessHash()) {
		t.Errorf("wtxid %v, wire's %v", wtxid, w.WitnessHash())
	}
	if got := b.AppendTx(nil, 0, true); !bytes.Equal(got, raw) {
		t.Error("does not encode to its own bytes")
	}
	return b
}

// TestRealTruncation cuts the smallest real segwit block at every byte.
func TestRealTruncation(t *testing.T) {
	raw := realdata.Read(t, "signet", "blocks", "31500.blk.gz")
	var b chain.Block
	for n := range raw {
		if err := b.Decode(raw[:n:n]); err == nil {
			t.Fatalf("cut to %d bytes: decoded", n)
		}
	}
	if err := b.Decode(raw); err != nil || len(b.Items) == 0 {
		t.Errorf("whole: %v, %d witness items", err, len(b.Items))
	}
}

// TestMutatedBlock: the header, hash and merkle root are those of block 116928; only the repeated end tells.
func TestMutatedBlock(t *testing.T) {
	file := realdata.Read(t, "invalid", "cve-2012-2459_mainnet_116928_dup_last_2.blk")
	raw := file
	if bytes.HasPrefix(file, mainnet.Magic[:]) {
		raw = realdata.Split(t, file)[0]
	}
	var b chain.Block
	if err := b.Decode(raw); err != nil {
		t.Fatal(err)
	}
	root, mutated := chain.MerkleRoot(b.Txids(nil))
	if root != b.Header.Merkle || !mutated {
		t.Errorf("root %v (mutated %v), header's %v; want them equal and mutated", root, mutated, b.Header.Merkle)
	}
	const want = "000000000000494457221111a6a99da34a993c69c2761582bec31f90ba5d560d"
	if hash := b.Header.Hash().String(); hash != want || len(b.Txs) != 12 {
		t.Errorf("block %s with %d transactions, want %s with 12", hash, len(b.Txs), want)
	}
}

// TestNonCanonicalBlock is the block of btcd's full block tests that spells its transaction count in nine bytes.
func TestNonCanonicalBlock(t *testing.T) {
	for _, line := range bytes.Split(realdata.Read(t, "chains", "btcd_fullblocktests.jsonl.gz"), []byte("\n")) {
		var row struct{ Name, Type, Raw string }
		if len(line) == 0 {
			continue
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		raw, err := hex.DecodeString(row.Raw)
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) == 0 {
			continue
		}
		var b chain.Block
		err = b.Decode(raw)
		if row.Type == "noncanonical" {
			refused(t, row.Name, &b, err, len(raw), "non-canonical")
		} else if err != nil {
			t.Errorf("%s (%s): %v", row.Name, row.Type, err)
		} else if got := b.Append(nil); !bytes.Equal(got, raw) {
			t.Errorf("%s: does not encode to its own bytes", row.Name)
		}
	}
}

// TestModuleBlocks decodes the two large blocks that come with btcd's wire.
func TestModuleBlocks(t *testing.T) {
	for _, hash := range []string{
		"0000000000000000001602407ac49862a7bca9d00f7f402db20b7be2f5de59d2",
		"00000000000000000021868c2cefc52a480d173c849412fe81c4e5ab806f94ab",
	} {
		raw, err := os.ReadFile(realdata.Module(t, "github.com/btcsuite/btcd/wire/v2", "testdata/block-"+hash+".blk"))
		if err != nil {
			t.Fatal(err)
		}
		var b chain.Block
		if err := b.Decode(raw); err != nil {
			t.Fatal(err)
		}
		if got := b.Header.Hash().String(); got != hash {
			t.Errorf("block %s, want %s", got, hash)
		}
		matchWire(t, hash, &b)
	}
}
