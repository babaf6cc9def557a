package validate

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/txscript/v2"

	"stele/chain"
)

// FuzzCommitment: of any outputs, told apart by zero bytes in scripts, the last that looks like a commitment is taken,
// and the verdict is what the rule says of it, whatever the coinbase's witness is.
func FuzzCommitment(f *testing.F) {
	head := []byte{0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed}
	hash := bytes.Repeat([]byte{7}, 32)
	for _, scripts := range [][]byte{
		nil, append(head, hash...), append(head, hash[1:]...), append(append(head, hash...), 0x51),
		bytes.Join([][]byte{append(head, hash...), {0x51}, append(head, hash...)}, []byte{0}),
		bytes.Join([][]byte{append(head, hash...), append(head[:5:5], hash...)}, []byte{0}),
	} {
		f.Add(scripts, 1, 32)
		f.Add(scripts, 2, 32)
		f.Add(scripts, 1, 31)
		f.Add(scripts, 0, 0)
	}
	var scratch Scratch
	f.Fuzz(func(t *testing.T, scripts []byte, items, size int) {
		x := validSpec()
		for _, script := range bytes.Split(scripts, []byte{0}) {
			x.txs[0].outs = append(x.txs[0].outs, outSpec{0, script})
		}
		items, size = items&3, size&127
		for range items {
			x.txs[0].ins[0].witness = append(x.txs[0].ins[0].witness, make([]byte, size))
		}
		b, txids := x.decode(t)
		want, reason := none, ReasonUnexpectedWitness
		for i, out := range x.txs[0].outs {
			text := hex.EncodeToString(out.script)
			if strings.HasPrefix(text, "6a24aa21a9ed") && len(text) >= 76 {
				want = i
			}
		}
		if got := commitment(b); got != want {
			t.Fatalf("output %d, want %d", got, want)
		}
		if want != none {
			reason = ReasonNonceSize
			if items == 1 && size == 32 {
				reason = ReasonWitnessMismatch
				if right := x.commitment(make([]byte, 32)); bytes.HasPrefix(x.txs[0].outs[want].script, right) {
					reason = ""
				}
			}
		}
		pl := placeAt(500)
		pl.Deployments = Segwit
		wantReason(t, "witness", Accept(&pl, b, txids, &scratch), reason)
	})
}

// FuzzCoinbaseHeight: a script names a height where it begins with what another implementation's builder writes.
func FuzzCoinbaseHeight(f *testing.F) {
	for _, height := range []uint32{0, 1, 16, 17, 127, 128, 32_767, 32_768, 227_931, 8_388_608, 1<<31 - 1} {
		f.Add(height, appendHeight(nil, height))
		f.Add(height, append(appendHeight(nil, height), 1, 2))
		f.Add(height, appendHeight(nil, height+1))
		f.Add(height, []byte{4, byte(height), byte(height >> 8), byte(height >> 16), byte(height >> 24)})
	}
	f.Fuzz(func(t *testing.T, height uint32, script []byte) {
		height &= 1<<31 - 1
		x := validSpec()
		x.txs[0].ins[0].script = script
		b, txids := x.decode(t)
		push, err := txscript.NewScriptBuilder().AddInt64(int64(height)).Script()
		if err != nil {
			t.Fatal(err)
		}
		pl := placeAt(height)
		pl.Deployments = everything &^ Segwit
		for i := range b.Txs {
			b.Txs[i].Witness = false
		}
		want := ReasonCoinbaseHeight
		if bytes.HasPrefix(script, push) {
			want = ""
		}
		v := Accept(&pl, b, txids, new(Scratch))
		wantReason(t, "height", v, want)
		if v.Condemns == v.OK() || v.Tx != 0 && !v.OK() {
			t.Errorf("%+v", v)
		}
	})
}

// FuzzAccept: whatever decodes has a verdict, at any height and under any rules, and never a panic.
func FuzzAccept(f *testing.F) {
	for _, x := range []*blockSpec{validSpec(), newAcceptSpec().commit(), new(blockSpec)} {
		b, _ := x.decode(f)
		f.Add(b.Raw, uint32(500), uint32(everything))
		f.Add(b.Raw, uint32(0), uint32(BIP34))
	}
	f.Add(chain.Signet().GenesisBlock, uint32(0), uint32(0))
	var scratch Scratch
	f.Fuzz(func(t *testing.T, raw []byte, height, rules uint32) {
		var b chain.Block
		if b.Decode(raw) != nil {
			return
		}
		pl := placeAt(height)
		pl.Deployments = Deployments(rules)
		txids := b.Txids(nil)
		v := Accept(&pl, &b, txids, &scratch)
		mutated := v.Reason == ReasonNonceSize || v.Reason == ReasonWitnessMismatch || v.Reason == ReasonUnexpectedWitness
		if v.Condemns == (v.OK() || mutated) || v.OK() && v != valid || v.Tx >= max(len(b.Txs), 1) {
			t.Fatalf("%+v", v)
		}
		coins := make([]chain.Coin, len(b.Ins))
		fees, connect := Connect(&pl, &b, txids, coins, func(uint32) uint32 { return 0 })
		if fees < 0 || connect.OK() && connect != valid || !connect.OK() && !connect.Condemns {
			t.Fatalf("%d %+v", fees, connect)
		}
	})
}
