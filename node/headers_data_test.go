package node

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"stele/chain"
	"stele/internal/realdata"
	"stele/tables"
)

// realHeaders are the first n headers of mainnet, genesis first.
func realHeaders(t *testing.T, n int) (hs []chain.Header) {
	t.Helper()
	raw := realdata.Read(t, "headers", "mainnet_0_99999.headers.gz")
	for i := range n {
		h, err := chain.ParseHeader(raw[i*chain.HeaderSize:])
		if err != nil {
			t.Fatal(err)
		}
		hs = append(hs, h)
	}
	return hs
}

// Mainnet's first headers through the gate, in messages: they stay in memory until the work is there, over two changes
// of period, and then come out as the tree takes them directly.
func TestRealHeadersHeld(t *testing.T) {
	hs := realHeaders(t, 6001)
	last := hs[5000]
	least := chain.WorkFromUint64(4295032833).MulUint32(5001) // of genesis and 5,000 more of difficulty 1
	g := gateOf(t, chain.Main(), least, 0)
	for at := 1; at < 5000; at += 1000 {
		end := min(at+1000, 5000)
		if r := g.send(t, hs[at:end]); r.Held != end-at || g.tr.t.Headers() != 1 {
			t.Fatalf("%+v, %d stored", r, g.tr.t.Headers())
		}
	}
	r := g.send(t, []chain.Header{last})
	if r.Added != 5000 || r.Height != 5000 || r.Work != least || r.Link == none || g.held() != 0 {
		t.Fatalf("%+v, %d held", r, g.held())
	}
	if r := g.send(t, hs[5001:]); r.Added != 1000 || r.Height != 6000 {
		t.Fatalf("%+v", r)
	}
	direct := growTree(roomy(t, chain.Main()).t, -1, time.Now)
	for i := range hs[1:] {
		hash := hs[i+1].Hash()
		l, f, v, err := direct.accept(&hs[i+1], &hash)
		row := g.tr.t.Header(l)
		if err != nil || f != added || row.Hash() != hash || row.MTP() != direct.t.Header(l).MTP() {
			t.Fatalf("header %d: %v %v %v", i+1, f, v, err)
		}
	}
}

// Testnet3's first 546 headers, and two that leave them at genesis. Held, as long as they are to have the work of the
// network; and listed as Core's test of its header tree lists them when no work is asked.
func TestTestnetForkHeaders(t *testing.T) {
	var main, fork []chain.Header
	for _, line := range strings.Fields(string(realdata.Read(t, "headers", "testnet3_0_545_plus_fork.headers.hex"))) {
		text, forked := strings.CutPrefix(line, "fork:")
		raw, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		h, err := chain.ParseHeader(raw)
		if err != nil {
			t.Fatal(err)
		}
		if forked {
			fork = append(fork, h)
		} else {
			main = append(main, h)
		}
	}
	p := chain.Testnet3()
	for _, first := range []bool{true, false} {
		g, open := gateOf(t, p, p.MinimumChainWork, 0), gateOf(t, p, chain.Work{}, 0)
		runs := [][]chain.Header{main, fork}
		if !first {
			slices.Reverse(runs)
		}
		for _, hs := range runs {
			if r := g.send(t, hs); r.Held != len(hs) || g.tr.t.Headers() != 1 {
				t.Fatalf("%+v", r)
			}
			if r := open.send(t, hs); r.Added != len(hs) {
				t.Fatalf("%+v", r)
			}
		}
		var tips []string
		for _, tip := range open.tr.tips() {
			tips = append(tips, fmt.Sprintf("%d %v %d %s", tip.Height, tip.Hash, tip.BranchLen, tip.Status))
		}
		want := []string{
			"546 000000002a936ca763904c3c35fce2f3556c559c0214345d31b1bcebf76acb70 546 headers-only",
			"2 00000000b0494bd6c3d5ff79c497cfce40831871cbf39b1bc28bd1dac817dc39 2 headers-only",
			"0 " + p.GenesisHash.String() + " 0 active",
		}
		if !slices.Equal(tips, want) {
			t.Fatalf("tips are %q", tips)
		}
	}
}

// A chain of difficulty 1 to height 2015 and one block of four times that has the work of mainnet's first 2,020 blocks
// (Core's mainnet_alt: 8,675,966,322,660). It beats the real chain up to height 2018, ties with it at 2019, where what
// was complete first stays, and loses at 2020.
func TestWorkNotHeight(t *testing.T) {
	hs := realHeaders(t, 2021)
	for cut := 2015; cut <= 2020; cut++ {
		for _, altFirst := range []bool{true, false} {
			tr := growTree(memRig(t, chain.Main()).t, -1, time.Now)
			var alt, real tables.HeaderLink
			putAlt := func() {
				on := tables.HeaderLink(0)
				for height := 1; height <= 2016; height++ {
					h := chain.Header{Prev: tr.t.Header(on).Hash(), Bits: 0x1d00ffff, Nonce: 1}
					if height == 2016 {
						h.Bits = 0x1c3fffc0
					}
					on = unruled(t, tr, &h, on)
				}
				if alt = on; tr.t.Header(alt).Work() != chain.WorkFromUint64(8_675_966_322_660) {
					t.Fatalf("work %v", tr.t.Header(alt).Work())
				}
			}
			putReal := func() {
				for i := 1; i <= cut; i++ {
					hash := hs[i].Hash()
					l, f, v, err := tr.accept(&hs[i], &hash)
					if err != nil || f != added {
						t.Fatal(i, f, v, err)
					}
					real = l
					arrive(tr, l)
				}
			}
			if altFirst {
				putAlt()
				putReal()
			} else {
				putReal()
				putAlt()
			}
			want := alt
			if cut == 2020 || cut == 2019 && !altFirst {
				want = real
			}
			if got := tr.best().l; got != want || tr.heaviest != want {
				t.Errorf("real chain to %d, alternative first %v: best %d, heaviest %d, want %d", cut, altFirst, got,
					tr.heaviest, want)
			}
		}
	}
}
