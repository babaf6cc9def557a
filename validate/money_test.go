package validate

import (
	"fmt"
	"testing"

	"stele/chain"
)

// TestTrap53Subsidy: both sides of halvings, the last satoshi, and the shift that in C would begin again.
func TestTrap53Subsidy(t *testing.T) {
	for _, x := range []struct {
		net    *chain.Params
		height uint32
		want   int64
	}{
		{chain.Main(), 0, 50_0000_0000},
		{chain.Main(), 209_999, 50_0000_0000},
		{chain.Main(), 210_000, 25_0000_0000},
		{chain.Main(), 419_999, 25_0000_0000},
		{chain.Main(), 420_000, 12_5000_0000},
		{chain.Main(), 630_000, 6_2500_0000},
		{chain.Main(), 840_000, 3_1250_0000},
		{chain.Main(), 210_000*10 - 1, 976_5625},
		{chain.Main(), 210_000 * 10, 488_2812}, // rounded down
		{chain.Main(), 210_000*33 - 1, 1},
		{chain.Main(), 210_000 * 33, 0},
		{chain.Main(), 210_000*64 - 1, 0},
		{chain.Main(), 210_000 * 64, 0},
		{chain.Main(), 1<<32 - 1, 0},
		{chain.Regtest(), 149, 50_0000_0000},
		{chain.Regtest(), 150, 25_0000_0000},
		{chain.Regtest(), 150 * 64, 0},
		{chain.Regtest(), 150 * 65, 0},
		{chain.Signet(), 210_000, 25_0000_0000},
	} {
		if got := Subsidy(x.net, x.height); got != x.want {
			t.Errorf("%s %d: %d, want %d", x.net.Name, x.height, got, x.want)
		}
	}
	// All of it, as Core's own test adds it up.
	var sum int64
	for height := uint32(0); height < 210_000*33; height += 210_000 {
		sum += 210_000 * Subsidy(chain.Main(), height)
	}
	if sum != 2_099_999_997_690_000 {
		t.Errorf("sum %d", sum)
	}
}

// TestTrap42BIP30Exceptions: two blocks by height and hash, and no twin of theirs.
func TestTrap42BIP30Exceptions(t *testing.T) {
	p := chain.Main()
	for height, text := range map[uint32]string{
		91_842: "00000000000a4d0a398161ffc163c503763b1f4360639393e0e4c8e300e0caec",
		91_880: "00000000000743f190a18c5577a3c2d2a1f610ae9601ac046a38084ccb7cd721",
	} {
		hash, err := chain.ParseHash(text)
		if err != nil {
			t.Fatal(err)
		}
		other := label(int(height))
		if BIP30(p, height, &hash, nil) {
			t.Errorf("%d: the known block is not excepted", height)
		}
		if !BIP30(p, height, &other, nil) || !BIP30(p, height-30, &hash, nil) || !BIP30(p, 91_812, &hash, nil) {
			t.Errorf("%d: excepted by height or hash alone", height)
		}
		for _, net := range []*chain.Params{chain.Testnet3(), chain.Testnet4(), chain.Signet(), chain.Regtest()} {
			if !BIP30(net, height, &hash, nil) {
				t.Errorf("%s %d: mainnet's exception", net.Name, height)
			}
		}
	}
}

// TestTrap44BIP30MayBeSkipped: only above the known block at the height of BIP34, and only for a while.
func TestTrap44BIP30MayBeSkipped(t *testing.T) {
	hash, other := label(1), label(2)
	known := func(p *chain.Params) *chain.Hash { return &p.BIP34Hash }
	main, test := chain.Main(), chain.Testnet3()
	zero := chain.Hash{}
	for _, x := range []struct {
		name   string
		p      *chain.Params
		height uint32
		bip34  *chain.Hash
		want   bool
	}{
		{"below", main, 100_000, nil, true},
		{"the block itself", main, 227_931, nil, true},
		{"its child", main, 227_932, known(main), false},
		{"its child on another branch", main, 227_932, &other, true},
		{"far above", main, 900_000, known(main), false},
		{"last", main, 1_983_701, known(main), false},
		{"again", main, 1_983_702, known(main), true},
		{"for ever", main, 4_000_000, known(main), true},
		{"testnet3 above", test, 21_112, known(test), false},
		{"testnet3 on another branch", test, 21_112, known(main), true},
		{"testnet3 again", test, 1_983_702, known(test), true},
		{"testnet4", chain.Testnet4(), 50_000, &other, true},
		{"signet", chain.Signet(), 50_000, &other, true},
		{"regtest", chain.Regtest(), 5, &other, true},
	} {
		if got := BIP30(x.p, x.height, &hash, x.bip34); got != x.want {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
	}
	for _, p := range []*chain.Params{chain.Testnet4(), chain.Signet(), chain.Regtest()} {
		if p.BIP34Hash != zero {
			t.Errorf("%s has a known block of BIP34", p.Name)
		}
	}
}

// TestDeployments: both sides of each height, on every network; on regtest segwit holds for genesis, too.
func TestDeployments(t *testing.T) {
	const all = BIP34 | DERSIG | CLTV | CSV | Segwit
	for _, x := range []struct {
		net    *chain.Params
		height uint32
		want   Deployments
	}{
		{chain.Main(), 0, 0},
		{chain.Main(), 227_930, 0},
		{chain.Main(), 227_931, BIP34},
		{chain.Main(), 363_724, BIP34},
		{chain.Main(), 363_725, BIP34 | DERSIG},
		{chain.Main(), 388_380, BIP34 | DERSIG},
		{chain.Main(), 388_381, BIP34 | DERSIG | CLTV},
		{chain.Main(), 419_327, BIP34 | DERSIG | CLTV},
		{chain.Main(), 419_328, BIP34 | DERSIG | CLTV | CSV},
		{chain.Main(), 481_823, BIP34 | DERSIG | CLTV | CSV},
		{chain.Main(), 481_824, all},
		{chain.Main(), 1<<32 - 1, all},
		{chain.Testnet3(), 21_110, 0},
		{chain.Testnet3(), 21_111, BIP34},
		{chain.Testnet3(), 330_776, BIP34 | DERSIG},
		{chain.Testnet3(), 581_885, BIP34 | DERSIG | CLTV},
		{chain.Testnet3(), 770_112, BIP34 | DERSIG | CLTV | CSV},
		{chain.Testnet3(), 834_624, all},
		{chain.Testnet4(), 0, 0},
		{chain.Testnet4(), 1, all},
		{chain.Signet(), 0, 0},
		{chain.Signet(), 1, all},
		{chain.Regtest(), 0, Segwit},
		{chain.Regtest(), 1, all},
	} {
		got := DeploymentsAt(x.net, x.height)
		if got != x.want {
			t.Errorf("%s %d: %05b, want %05b", x.net.Name, x.height, got, x.want)
		}
		if got.Has(CSV|Segwit) != (x.want&(CSV|Segwit) == CSV|Segwit) {
			t.Error(fmt.Sprint("Has: ", got))
		}
	}
}
