package chain

import (
	"encoding/hex"
	"sync"
)

const (
	day         = 24 * 60 * 60
	spacing     = 10 * 60
	mainLimit   = "ffffffffffffffffffffffffffffffffffffffffffffffffffffffff" // 2^224 - 1
	mainBits    = 0x1d00ffff
	signetLimit = "377ae000000000000000000000000000000000000000000000000000000"
	signetBits  = 0x1e0377ae
	regLimit    = "7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
	regBits     = 0x207fffff
)

// The networks, each built at its first use.
var (
	mainParams     = sync.OnceValue(newMain)
	testnet3Params = sync.OnceValue(newTestnet3)
	testnet4Params = sync.OnceValue(newTestnet4)
	signetParams   = sync.OnceValue(newSignet)
	regtestParams  = sync.OnceValue(newRegtest)
)

// Main is the Bitcoin network.
func Main() *Params { return mainParams() }

// Testnet3 is the third test network, with the 20-minute rule.
func Testnet3() *Params { return testnet3Params() }

// Testnet4 is the fourth test network (BIP94).
func Testnet4() *Params { return testnet4Params() }

// Signet is the default signet (BIP325).
func Signet() *Params { return signetParams() }

// Regtest is the private test network: no retarget, the easiest target, rules from height 1.
func Regtest() *Params { return regtestParams() }

func newMain() *Params {
	p := &Params{
		Name: "main", Magic: [4]byte{0xf9, 0xbe, 0xb4, 0xd9},
		PowLimit: mustWork(mainLimit), PowLimitBits: mainBits,
		TargetTimespan: 14 * day, TargetSpacing: spacing, HalvingInterval: 210_000,
		MinimumChainWork: mustWork("1128750f82f4c366153a3a030"),
		BIP34:            227_931, BIP65: 388_381, BIP66: 363_725, CSV: 419_328, Segwit: 481_824,
		BIP34Hash: mustHash("000000000000024b89b42a942fe0d9fea3bb44ab7bd1b19115dd6a759c0808b8"),
		ScriptExceptions: []ScriptException{
			{Hash: mustHash("00000000000002dc756eebf4f49723ed8d30cc28a5f108eb94b1ba88ac4f9c22")},
			{
				Hash: mustHash("0000000000000000000f14c35b2d841e986ab5441de8c585d5ffe55ea1e395ad"),
				P2SH: true, Witness: true,
			},
		},
		BIP30Exceptions: []HeightHash{
			{91842, mustHash("00000000000a4d0a398161ffc163c503763b1f4360639393e0e4c8e300e0caec")},
			{91880, mustHash("00000000000743f190a18c5577a3c2d2a1f610ae9601ac046a38084ccb7cd721")},
		},
		BIP30Overwritten: []HeightHash{
			{91722, mustHash("00000000000271a2dc26e7667f8419f2e15416dc6955e5a6c6cdf3f2574dd08e")},
			{91812, mustHash("00000000000af0aed4792b1acee3d966af36cf5def14935db8de83d6f9306f2f")},
		},
		AssumeValid:       mustHash("00000000000000000000ccebd6d74d9194d8dcdc1d177c478e094bfad51ba5ac"),
		AssumeValidHeight: 938_343,
		Snapshots: []Snapshot{
			snapshot(840_000, "0000000000000000000320283a032748cef8227873ff4872689bf23f1cda83a5",
				"a2a5521b1b5ab65f67818e5e8eccabb7171a517f9e2382208f77687310768f96", 991_032_194),
			snapshot(880_000, "000000000000000000010b17283c3c400507969a9c2afd1dcf2082ec5cca2880",
				"dbd190983eaf433ef7c15f78a278ae42c00ef52e0fd2a54953782175fbadcea9", 1_145_604_538),
			snapshot(910_000, "0000000000000000000108970acb9522ffd516eae17acddcb1bd16469194a821",
				"4daf8a17b4902498c5787966a2b51c613acdab5df5db73f196fa59a4da2f1568", 1_226_586_151),
			snapshot(935_000, "0000000000000000000147034958af1652b2b91bba607beacc5e72a56f0fb5ee",
				"e4b90ef9eae834f56c4b64d2d50143cee10ad87994c614d7d04125e2a6025050", 1_305_397_408),
		},
		PubKeyHashPrefix: 0, ScriptHashPrefix: 5, SecretKeyPrefix: 128, HRP: "bc",
		ExtendedPublic: [4]byte{0x04, 0x88, 0xb2, 0x1e}, ExtendedSecret: [4]byte{0x04, 0x88, 0xad, 0xe4},
		Port: 8333, RPCPort: 8332,
		Seeds: []string{"dnsseed.bluematt.me", "seed.bitcoin.jonasschnelli.ch", "seed.btc.petertodd.net",
			"seed.bitcoin.sprovoost.nl", "dnsseed.emzy.de", "seed.bitcoin.wiz.biz", "seed.mainnet.achownodes.xyz"},
	}
	return p.withGenesis("000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f",
		genesisParts{genesisText, genesisKey, 1_231_006_505, mainBits, 2_083_236_893})
}

func newTestnet3() *Params {
	p := &Params{
		Name: "testnet3", Folder: "testnet3", Magic: [4]byte{0x0b, 0x11, 0x09, 0x07},
		PowLimit: mustWork(mainLimit), PowLimitBits: mainBits, MinDifficulty: true,
		TargetTimespan: 14 * day, TargetSpacing: spacing, HalvingInterval: 210_000,
		MinimumChainWork: mustWork("17dde1c649f3708d14b6"),
		BIP34:            21_111, BIP65: 581_885, BIP66: 330_776, CSV: 770_112, Segwit: 834_624,
		BIP34Hash: mustHash("0000000023b3a96d3484e5abb3755c413e7d41500f8e2a5c3f0dd01299cd8ef8"),
		ScriptExceptions: []ScriptException{
			{Hash: mustHash("00000000dd30457c001f4095d208cc1296b0eed002427aa599874af7a432b105")},
		},
		AssumeValid:       mustHash("000000007a61e4230b28ac5cb6b5e5a0130de37ac1faf2f8987d2fa6505b67f4"),
		AssumeValidHeight: 4_842_348,
		Snapshots: []Snapshot{
			snapshot(2_500_000, "0000000000000093bcb68c03a9a168ae252572d348a2eaeba2cdf9231d73206f",
				"f841584909f68e47897952345234e37fcd9128cd818f41ee6c3ca68db8071be7", 66_484_552),
			snapshot(4_840_000, "00000000000000f4971a7fb37fbdff89315b69a2e1920c467654a382f0d64786",
				"ce6bb677bb2ee9789c4a1c9d73e6683c53fc20e8fdbedbdaaf468982a0c8db2a", 536_078_574),
		},
		Port: 18333, RPCPort: 18332,
		Seeds: []string{"testnet-seed.bitcoin.jonasschnelli.ch", "seed.tbtc.petertodd.net",
			"seed.testnet.bitcoin.sprovoost.nl", "testnet-seed.bluematt.me", "seed.testnet.achownodes.xyz"},
	}
	return p.testAddresses("tb").withGenesis("000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943",
		genesisParts{genesisText, genesisKey, 1_296_688_602, mainBits, 414_098_458})
}

func newTestnet4() *Params {
	p := &Params{
		Name: "testnet4", Folder: "testnet4", Magic: [4]byte{0x1c, 0x16, 0x3f, 0x28},
		PowLimit: mustWork(mainLimit), PowLimitBits: mainBits, MinDifficulty: true, BIP94: true,
		TargetTimespan: 14 * day, TargetSpacing: spacing, HalvingInterval: 210_000,
		MinimumChainWork: mustWork("9a0fe15d0177d086304"),
		BIP34:            1, BIP65: 1, BIP66: 1, CSV: 1, Segwit: 1,
		AssumeValid:       mustHash("0000000002368b1e4ee27e2e85676ae6f9f9e69579b29093e9a82c170bf7cf8a"),
		AssumeValidHeight: 123_613,
		Snapshots: []Snapshot{
			snapshot(90_000, "0000000002ebe8bcda020e0dd6ccfbdfac531d2f6a81457191b99fc2df2dbe3b",
				"784fb5e98241de66fdd429f4392155c9e7db5c017148e66e8fdbc95746f8b9b5", 11_347_043),
			snapshot(120_000, "000000000bd2317e51b3c5794981c35ba894ce27d3e772d5c39ecd9cbce01dc8",
				"10b05d05ad468d0971162e1b222a4aa66caca89da2bb2a93f8f37fb29c4794b0", 14_141_057),
		},
		Port: 48333, RPCPort: 48332,
		Seeds: []string{"seed.testnet4.bitcoin.sprovoost.nl", "seed.testnet4.wiz.biz"},
	}
	return p.testAddresses("tb").withGenesis("00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043",
		genesisParts{
			"03/May/2024 000000000000000000001ebd58c244970b3aa9d783bb001011fbe8ea8e98e00e",
			"000000000000000000000000000000000000000000000000000000000000000000",
			1_714_777_860, mainBits, 393_743_547,
		})
}

func newSignet() *Params {
	challenge, err := hex.DecodeString("512103ad5e0edad18cb1f0fc0d28a3d4f1f3e445640337489abb10404f2d1e086be430" +
		"210359ef5021964fe22d6f8e05b2463c9540ce96883fe3b278760f048f5189f2e6c452ae")
	if err != nil {
		panic(err)
	}
	p := &Params{
		Name: "signet", Folder: "signet", Magic: [4]byte{0x0a, 0x03, 0xcf, 0x40},
		PowLimit: mustWork(signetLimit), PowLimitBits: signetBits,
		TargetTimespan: 14 * day, TargetSpacing: spacing, HalvingInterval: 210_000,
		MinimumChainWork: mustWork("b463ea0a4b8"),
		BIP34:            1, BIP65: 1, BIP66: 1, CSV: 1, Segwit: 1,
		AssumeValid:       mustHash("00000008414aab61092ef93f1aacc54cf9e9f16af29ddad493b908a01ff5c329"),
		AssumeValidHeight: 293_175,
		Snapshots: []Snapshot{
			snapshot(160_000, "0000003ca3c99aff040f2563c2ad8f8ec88bd0fd6b8f0895cfaf1ef90353a62c",
				"fe0a44309b74d6b5883d246cb419c6221bcccf0b308c9b59b7d70783dbdf928a", 2_289_496),
			snapshot(290_000, "0000000577f2741bb30cd9d39d6d71b023afbeb9764f6260786a97969d5c9ac0",
				"97267e000b4b876800167e71b9123f1529d13b14308abec2888bbd2160d14545", 28_547_497),
		},
		SignetChallenge: challenge,
		Port:            38333, RPCPort: 38332,
		Seeds: []string{"seed.signet.bitcoin.sprovoost.nl", "seed.signet.achownodes.xyz"},
	}
	return p.testAddresses("tb").withGenesis("00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6",
		genesisParts{genesisText, genesisKey, 1_598_918_400, signetBits, 52_613_770})
}

func newRegtest() *Params {
	p := &Params{
		Name: "regtest", Folder: "regtest", Magic: [4]byte{0xfa, 0xbf, 0xb5, 0xda},
		PowLimit: mustWork(regLimit), PowLimitBits: regBits, MinDifficulty: true, NoRetarget: true,
		TargetTimespan: day, TargetSpacing: spacing, HalvingInterval: 150,
		BIP34: 1, BIP65: 1, BIP66: 1, CSV: 1, Segwit: 0,
		Snapshots: []Snapshot{
			snapshot(110, "135eec25a6fb277884e5824e7aa7d052c4868161c99a5122170b5266f86c273d",
				"86e9a1205b418b16dde3a18a78c730e30137e28466bda5dbf6b33ab8fc05447c", 111),
			snapshot(200, "385901ccbd69dff6bbd00065d01fb8a9e464dede7cfe0372443884f9b1dcf6b9",
				"17dcc016d188d16068907cdeb38b75691a118d43053b8cd6a25969419381d13a", 201),
			snapshot(299, "0c552ced4721c249a389eb9b08cb8da261cd46f0e7b5f9d064d48f3113406853",
				"106b2c56233e378a824cf0d5ff2be42ed32c72f1605c9be288d00942908a40ac", 334),
		},
		Port: 18444, RPCPort: 18443,
	}
	return p.testAddresses("bcrt").withGenesis("0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206",
		genesisParts{genesisText, genesisKey, 1_296_688_602, regBits, 2})
}

// testAddresses sets the prefixes that all test networks share.
func (p *Params) testAddresses(hrp string) *Params {
	p.PubKeyHashPrefix, p.ScriptHashPrefix, p.SecretKeyPrefix, p.HRP = 111, 196, 239, hrp
	p.ExtendedPublic, p.ExtendedSecret = [4]byte{0x04, 0x35, 0x87, 0xcf}, [4]byte{0x04, 0x35, 0x83, 0x94}
	return p
}

// withGenesis builds the genesis block; that it has the hash named here is a matter of tests. BIP30Resumes is the same
// on every network, as in Core.
func (p *Params) withGenesis(hash string, parts genesisParts) *Params {
	p.GenesisHash, p.GenesisBlock, p.BIP30Resumes = mustHash(hash), parts.block(), bip30Resumes
	return p
}

func snapshot(height uint32, block, set string, transactions uint64) Snapshot {
	return Snapshot{Height: height, Block: mustHash(block), SetHash: mustHash(set), Transactions: transactions}
}
