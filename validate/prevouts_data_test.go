package validate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/txscript/v2"

	"stele/chain"
	"stele/internal/realdata"
)

// realBlock is a block of the real chain with all that its inputs take, and what is published of it.
type realBlock struct {
	name       string
	p          *chain.Params
	height     uint32
	block      chain.Block
	txids      []chain.Hash
	coins      []chain.Coin
	medians    []int64 // of the block that made the coin; -1: unknown
	heights    bool    // the coins' heights are known
	fees, cost int64
}

// readReal reads every block that has its prevouts, in the order of the networks and of the folder.
func readReal(t testing.TB) (all []*realBlock) {
	t.Helper()
	published := readPublished(t)
	for _, net := range []struct {
		folder string
		p      *chain.Params
	}{{"mainnet", chain.Main()}, {"testnet3", chain.Testnet3()}} {
		entries, err := os.ReadDir(realdata.Path(t, net.folder, "prevouts"))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			name, _, _ := strings.Cut(entry.Name(), ".")
			height, err := strconv.ParseUint(name, 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			x := &realBlock{name: net.folder + " " + name, p: net.p, height: uint32(height)}
			if err := x.block.Decode(realdata.Read(t, net.folder, "blocks", name+".blk.gz")); err != nil {
				t.Fatal(err)
			}
			x.txids = x.block.Txids(nil)
			x.readCoins(t, realdata.Read(t, net.folder, "prevouts", entry.Name()))
			numbers, ok := published[x.name]
			if !ok {
				continue // nothing is published of it
			}
			x.fees, x.cost = numbers[0], numbers[1]
			all = append(all, x)
		}
	}
	return all
}

// readPublished gives fees and cost by network and height, from the table of the manifest.
func readPublished(t testing.TB) map[string][2]int64 {
	t.Helper()
	all := make(map[string][2]int64)
	for line := range strings.Lines(string(realdata.Read(t, "README.md"))) {
		cells := strings.Split(line, "|")
		if len(cells) < 14 {
			continue
		}
		var fees, cost int64
		if n, _ := fmt.Sscanf(strings.TrimSpace(cells[11]), "%d / %d", &fees, &cost); n == 2 {
			all[strings.TrimSpace(cells[1])+" "+strings.TrimSpace(cells[2])] = [2]int64{fees, cost}
		}
	}
	return all
}

// readCoins reads one line an input, the coinbase's left out: txid, index, value, script, height, coinbase, median.
func (x *realBlock) readCoins(t testing.TB, text []byte) {
	t.Helper()
	x.coins, x.medians, x.heights = make([]chain.Coin, 1), []int64{-1}, true
	for line := range bytes.Lines(text) {
		field := strings.Split(strings.TrimSuffix(string(line), "\n"), "\t")
		if strings.HasPrefix(field[0], "#") {
			continue
		}
		in := len(x.coins)
		txid, vout := x.block.Outpoint(in)
		if field[0] != txid.String() || field[1] != fmt.Sprint(vout) {
			t.Fatalf("%s: input %d takes %v:%d, not %v", x.name, in, txid, vout, field[:2])
		}
		coin := chain.Coin{Script: unhex(t, field[3]), Coinbase: field[5] == "1"}
		var err error
		if coin.Value, err = strconv.ParseInt(field[2], 10, 64); err != nil {
			t.Fatal(err)
		}
		if _, err = fmt.Sscan(field[4], &coin.Height); err != nil {
			x.heights = false
		}
		median, err := strconv.ParseInt(field[6], 10, 64)
		if err != nil {
			median = -1
		}
		x.coins, x.medians = append(x.coins, coin), append(x.medians, median)
	}
	if len(x.coins) != len(x.block.Ins) {
		t.Fatalf("%s: %d coins for %d inputs", x.name, len(x.coins), len(x.block.Ins))
	}
}

// place is where the block stands. Its parent's median is not in the data: the block's own time serves, which is an
// upper bound.
func (x *realBlock) place() *Place {
	hash := x.block.Header.Hash()
	pl := NewPlace(x.p, &x.block.Header, &hash, Parent{Height: x.height - 1, MTP: x.block.Header.Time - 1})
	return &pl
}

// TestRealBlocksConnect: of each real block with prevouts the fees and the cost are the published ones, the coinbase
// claims exactly what is due, and one satoshi more is one too many (traps 32, 53).
func TestRealBlocksConnect(t *testing.T) {
	var scratch Scratch
	seen, inputs, matured := 0, 0, 0
	for _, x := range readReal(t) {
		seen++
		inputs += len(x.coins) - 1
		pl, b := x.place(), &x.block
		wantReason(t, x.name, Check(x.p, b, x.txids, &scratch), "")
		wantReason(t, x.name, Accept(pl, b, x.txids, &scratch), "")
		fees, v := Connect(pl, b, x.txids, x.coins, x.genesisMedian)
		wantReason(t, x.name, v, "")
		if fees != x.fees {
			t.Errorf("%s: fees %d, want %d", x.name, fees, x.fees)
		}
		cost := 0
		for tx := range b.Txs {
			of := &b.Txs[tx]
			cost += SigOpsCost(b, tx, x.coins[of.FirstIn:][:of.Ins], true, true)
		}
		if int64(cost) != x.cost {
			t.Errorf("%s: cost %d, want %d", x.name, cost, x.cost)
		}
		if claim := valueOut(b, 0); claim != x.fees+Subsidy(x.p, x.height) {
			t.Errorf("%s: the coinbase claims %d, not all of %d", x.name, claim, x.fees+Subsidy(x.p, x.height))
		}
		b.Outs[0].Value--
		_, v = Connect(pl, b, x.txids, x.coins, x.genesisMedian)
		wantReason(t, x.name+", a satoshi less", v, "")
		b.Outs[0].Value += 2
		_, v = Connect(pl, b, x.txids, x.coins, x.genesisMedian)
		wantReason(t, x.name+", a satoshi more", v, ReasonCoinbaseAmount)
		b.Outs[0].Value--
		for in, coin := range x.coins {
			if coin.Coinbase && x.heights {
				matured++
				x.coins[in].Height = x.height - 99
				_, v = Connect(pl, b, x.txids, x.coins, x.genesisMedian)
				wantReason(t, x.name+", a coinbase too young", v, ReasonPremature)
				x.coins[in] = coin
			}
		}
	}
	if seen != 21 || inputs != 54_981 {
		t.Errorf("%d blocks, %d inputs", seen, inputs)
	}
	if matured != 81 {
		t.Errorf("%d coinbases spent", matured)
	}
}

// genesisMedian is a median no later than any.
func (x *realBlock) genesisMedian(uint32) uint32 {
	h, _ := chain.ParseHeader(x.p.GenesisBlock)
	return h.Time
}

// TestRealCoinsUnderLocks: none of these blocks has a relative lock, so locks are laid upon them: on coins whose height
// and median are known, the longest lock that is over and the shortest that is not, in blocks and in time (trap 49).
func TestRealCoinsUnderLocks(t *testing.T) {
	var states []raitoState
	if err := json.Unmarshal(realdata.Read(t, "mainnet", "raito_chainstate.json"), &states); err != nil {
		t.Fatal(err)
	}
	medians := make(map[uint32]uint32) // of parents
	for _, s := range states {
		medians[s.After.Height] = MTP(s.Before.Times)
	}
	blocks, times := 0, 0
	for _, x := range readReal(t) {
		pl := x.place()
		if pl.ParentMTP = medians[x.height]; !x.heights || pl.ParentMTP == 0 {
			continue
		}
		pl.Deployments |= CSV // as if it had come before
		for tx := 1; tx < len(x.block.Txs); tx++ {
			of := &x.block.Txs[tx]
			ins, coins := x.block.Ins[of.FirstIn:][:of.Ins], x.coins[of.FirstIn:][:of.Ins]
			of.Version = 2
			for i := range ins {
				ins[i].Sequence = 1 << 31
			}
			for i := range ins {
				median := uint32(x.medians[int(of.FirstIn)+i])
				at := func(height uint32) uint32 {
					if height != coins[i].Height-1 {
						t.Errorf("asked for %d, not for the block before the coin's, %d", height, coins[i].Height-1)
					}
					return median
				}
				holds := func(lock uint32, want bool) {
					t.Helper()
					ins[i].Sequence = lock
					if SequenceLocks(pl, &x.block, tx, coins, at) != want {
						t.Errorf("%s: transaction %d, input %d under %08x: %v", x.name, tx, i, lock, !want)
					}
					ins[i].Sequence = 1 << 31
				}
				if age := pl.Height - coins[i].Height; age < 0xffff {
					blocks++
					holds(age, true)
					holds(age+1, false)
				}
				if age := (pl.ParentMTP - median) / 512; age < 0xffff && median < pl.ParentMTP {
					times++
					holds(1<<22|age, true)
					holds(1<<22|age+1, false)
				}
			}
		}
	}
	if blocks != 3280 || times != 2936 {
		t.Errorf("%d locks of blocks, %d of time", blocks, times)
	}
}

// blockFlags are the script rules of another implementation for a block at pl.
func blockFlags(pl *Place) (flags txscript.ScriptFlags) {
	p2sh, witness := pl.programs()
	for _, x := range []struct {
		holds bool
		flags txscript.ScriptFlags
	}{
		{p2sh, txscript.ScriptBip16},
		{witness, txscript.ScriptVerifyWitness | txscript.ScriptVerifyTaproot},
		{pl.Deployments.Has(DERSIG), txscript.ScriptVerifyDERSignatures},
		{pl.Deployments.Has(CLTV), txscript.ScriptVerifyCheckLockTimeVerify},
		{pl.Deployments.Has(CSV), txscript.ScriptVerifyCheckSequenceVerify},
		{pl.Deployments.Has(Segwit), txscript.ScriptStrictMultiSig},
	} {
		if x.holds {
			flags |= x.flags
		}
	}
	return flags
}

// TestRealBlocksAtTheirPlace: single blocks of four networks are accepted at the height that they are from, those with
// a commitment and no reserved value before segwit among them (trap 40); one bit of one witness is seen; and where
// segwit has not begun no witness passes.
func TestRealBlocksAtTheirPlace(t *testing.T) {
	var scratch Scratch
	seen, witnesses, commitments := 0, 0, 0
	for _, net := range []*chain.Params{chain.Main(), chain.Testnet3(), chain.Testnet4(), chain.Signet()} {
		folder := net.Name
		if net == chain.Main() {
			folder = "mainnet"
		}
		entries, err := os.ReadDir(realdata.Path(t, folder, "blocks"))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			x := realBlock{name: folder + " " + entry.Name(), p: net}
			if _, err := fmt.Sscanf(entry.Name(), "%d.blk.gz", &x.height); err != nil {
				t.Fatal(err)
			}
			if err := x.block.Decode(realdata.Read(t, folder, "blocks", entry.Name())); err != nil {
				t.Fatal(err)
			}
			if x.height == 0 {
				continue
			}
			seen++
			b := &x.block
			txids, pl := b.Txids(nil), x.place()
			wantReason(t, x.name, Accept(pl, b, txids, &scratch), "")
			if commitment(b) != none && !pl.Deployments.Has(Segwit) {
				commitments++
			}
			if !b.Txs[0].Witness {
				continue
			}
			witnesses++
			last := b.Items[len(b.Items)-1]
			if len(b.Items) > 1 && last.Len > 0 {
				b.Raw[last.Off] ^= 1
				wantReason(t, x.name+", a bit flipped", Accept(pl, b, txids, &scratch), ReasonWitnessMismatch)
				b.Raw[last.Off] ^= 1
			}
			pl.Deployments &^= Segwit
			wantReason(t, x.name+", before segwit", Accept(pl, b, txids, &scratch), ReasonUnexpectedWitness)
		}
	}
	if seen != 61 || witnesses != 20 || commitments != 3 {
		t.Errorf("%d blocks, %d with witnesses, %d with commitments that mean nothing", seen, witnesses, commitments)
	}
}

// TestMutatedBlocks: copies of real blocks that somebody has tampered with are refused for Core's reason, the header is
// left alone, and the true block passes afterwards (traps 37 and 38).
func TestMutatedBlocks(t *testing.T) {
	var scratch Scratch
	judge := func(x *realBlock, raw []byte) Verdict {
		var b chain.Block
		if err := b.Decode(raw); err != nil {
			t.Fatal(err)
		}
		if b.Header != x.block.Header {
			t.Errorf("%s: another header", x.name)
		}
		txids := b.Txids(nil)
		if v := Check(x.p, &b, txids, &scratch); !v.OK() {
			return v
		}
		if v := Accept(x.place(), &b, txids, &scratch); !v.OK() {
			return v
		}
		_, v := Connect(x.place(), &b, txids, x.coins, x.genesisMedian)
		return v
	}
	of := make(map[string]*realBlock)
	for _, x := range readReal(t) {
		of[x.name] = x
	}
	for _, x := range []struct{ of, file, reason string }{
		{"mainnet 116928", "cve-2012-2459_mainnet_116928_dup_last_2.blk", ReasonDuplicateTx},
		{"mainnet 757739", "segwit_757739_all_witness_stripped.blk", ReasonWitnessMismatch},
		{"mainnet 757739", "segwit_757739_coinbase_nonce_missing.blk", ReasonNonceSize},
		{"mainnet 757739", "segwit_757739_one_witness_byte_flipped.blk", ReasonWitnessMismatch},
	} {
		v := judge(of[x.of], realdata.Read(t, "invalid", x.file))
		wantReason(t, x.file, v, x.reason)
		if v.Condemns {
			t.Errorf("%s condemns the header", x.file)
		}
		wantReason(t, x.of+" afterwards", judge(of[x.of], of[x.of].block.Raw), "")
	}
}
