package chain_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"github.com/btcsuite/btcd/chaincfg/v2"
	"github.com/btcsuite/btcd/wire/v2"

	"stele/chain"
	"stele/internal/realdata"
)

var networks = []func() *chain.Params{chain.Main, chain.Testnet3, chain.Testnet4, chain.Signet, chain.Regtest}

// TestGenesis wants the hash that Core asserts for each network, from a block that was built from its parts.
func TestGenesis(t *testing.T) {
	const merkle = "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b"
	const merkle4 = "7aa0a7ae1e223414cb807e40cd57e667b718e42aaf9306db9102fe28912b7b4e"
	hashes := map[string]string{
		"main":     genesisHash,
		"testnet3": "000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943",
		"testnet4": "00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043",
		"signet":   "00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6",
		"regtest":  "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206",
	}
	for _, network := range networks {
		p := network()
		var b chain.Block
		if err := b.Decode(p.GenesisBlock); err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		want := merkle
		if p.Name == "testnet4" {
			want = merkle4
		}
		root, _ := chain.MerkleRoot(b.Txids(nil))
		if root != b.Header.Merkle || root.String() != want {
			t.Errorf("%s: merkle root %v, header's %v", p.Name, root, b.Header.Merkle)
		}
		hash := b.Header.Hash()
		if hash.String() != hashes[p.Name] || hash != p.GenesisHash {
			t.Errorf("%s: hash %v, want %s", p.Name, hash, hashes[p.Name])
		}
		if target, _, _ := chain.CompactToTarget(b.Header.Bits); !chain.HashMeetsTarget(&hash, target) {
			t.Errorf("%s: hash %v misses its target", p.Name, hash)
		}
		if !b.Coinbase(0) || b.Outs[0].Value != 50e8 {
			t.Errorf("%s: coinbase %v of %d", p.Name, b.Coinbase(0), b.Outs[0].Value)
		}
	}
}

// TestAgainstBtcd compares what btcd's chaincfg also knows. Left out is where btcd differs from Core: regtest's
// timespan (a day in Core), and the activation heights of the test networks that have all rules from block 1.
func TestAgainstBtcd(t *testing.T) {
	for name, theirs := range map[string]*chaincfg.Params{
		"main": &chaincfg.MainNetParams, "testnet3": &chaincfg.TestNet3Params, "testnet4": &chaincfg.TestNet4Params,
		"signet": &chaincfg.SigNetParams, "regtest": &chaincfg.RegressionNetParams,
	} {
		ours, err := chain.ParamsByName(name)
		if err != nil {
			t.Fatal(err)
		}
		var block bytes.Buffer
		if err := theirs.GenesisBlock.Serialize(&block); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(block.Bytes(), ours.GenesisBlock) {
			t.Errorf("%s: genesis block is %x, btcd's %x", name, ours.GenesisBlock, block.Bytes())
		}
		if wire.BitcoinNet(binary.LittleEndian.Uint32(ours.Magic[:])) != theirs.Net {
			t.Errorf("%s: magic %x, btcd's %08x", name, ours.Magic, uint32(theirs.Net))
		}
		if fromBig(theirs.PowLimit) != ours.PowLimit || theirs.PowLimitBits != ours.PowLimitBits {
			t.Errorf("%s: limit %v %08x, btcd's %x %08x",
				name, ours.PowLimit, ours.PowLimitBits, theirs.PowLimit, theirs.PowLimitBits)
		}
		if uint32(theirs.TargetTimespan.Seconds()) != ours.TargetTimespan && name != "regtest" ||
			uint32(theirs.TargetTimePerBlock.Seconds()) != ours.TargetSpacing ||
			uint32(theirs.SubsidyReductionInterval) != ours.HalvingInterval ||
			theirs.ReduceMinDifficulty != ours.MinDifficulty || theirs.PoWNoRetargeting != ours.NoRetarget ||
			theirs.EnforceBIP94 != ours.BIP94 {
			t.Errorf("%s: retarget rules differ: %+v", name, ours)
		}
		if name == "main" || name == "testnet3" {
			if uint32(theirs.BIP0034Height) != ours.BIP34 || uint32(theirs.BIP0065Height) != ours.BIP65 ||
				uint32(theirs.BIP0066Height) != ours.BIP66 {
				t.Errorf("%s: BIP34, 65, 66 at %d, %d, %d", name, ours.BIP34, ours.BIP65, ours.BIP66)
			}
		}
		if theirs.PubKeyHashAddrID != ours.PubKeyHashPrefix || theirs.ScriptHashAddrID != ours.ScriptHashPrefix ||
			theirs.PrivateKeyID != ours.SecretKeyPrefix || theirs.Bech32HRPSegwit != ours.HRP ||
			theirs.HDPublicKeyID != ours.ExtendedPublic || theirs.HDPrivateKeyID != ours.ExtendedSecret {
			t.Errorf("%s: address prefixes differ: %+v", name, ours)
		}
	}
}

// TestParams holds what every network must satisfy by itself.
func TestParams(t *testing.T) {
	seen := map[string]bool{}
	for _, network := range networks {
		p := network()
		byName, err := chain.ParamsByName(p.Name)
		if err != nil || byName != p || seen[p.Name] || seen[hex.EncodeToString(p.Magic[:])] {
			t.Errorf("%s: found %v, %v", p.Name, byName, err)
		}
		seen[p.Name], seen[hex.EncodeToString(p.Magic[:])] = true, true
		if folder := p.Name; p.Folder != folder && (p.Name != "main" || p.Folder != "") {
			t.Errorf("%s: folder %q", p.Name, p.Folder)
		}
		limit, negative, overflow := chain.CompactToTarget(p.PowLimitBits)
		if negative || overflow || chain.TargetToCompact(p.PowLimit) != p.PowLimitBits || limit.Cmp(p.PowLimit) > 0 {
			t.Errorf("%s: limit %v and bits %08x disagree", p.Name, p.PowLimit, p.PowLimitBits)
		}
		if (len(p.SignetChallenge) > 0) != (p.Name == "signet") {
			t.Errorf("%s: challenge %x", p.Name, p.SignetChallenge)
		}
	}
	if main, regtest := chain.Main().Interval(), chain.Regtest().Interval(); main != 2016 || regtest != 144 {
		t.Errorf("intervals %d, %d; want 2016, 144", main, regtest)
	}
	for _, bad := range []string{"", "mainnet", "test", "Main"} {
		if _, err := chain.ParamsByName(bad); err == nil {
			t.Errorf("%q was found", bad)
		}
	}
}

// TestSignetMagic derives the magic from the challenge (BIP325).
func TestSignetMagic(t *testing.T) {
	p := chain.Signet()
	challenge := append(chain.AppendCompactSize(nil, uint64(len(p.SignetChallenge))), p.SignetChallenge...)
	if hash := chain.DoubleSHA256(challenge); !bytes.Equal(hash[:4], p.Magic[:]) {
		t.Errorf("magic %x, want %x", p.Magic, hash[:4])
	}
}

// TestKnownBlocks finds the blocks that the parameters name among real headers: the exceptions of BIP30 are where
// they are said to be, and minimum chain work lies below what the chain had at the assumed-valid height.
func TestKnownBlocks(t *testing.T) {
	raw := realdata.Read(t, "headers", "mainnet_0_99999.headers.gz")
	p := chain.Main()
	for _, named := range append(append([]chain.HeightHash{}, p.BIP30Exceptions...), p.BIP30Overwritten...) {
		h, err := chain.ParseHeader(raw[int(named.Height)*chain.HeaderSize:])
		if err != nil || h.Hash() != named.Hash {
			t.Errorf("height %d is %v, want %v (%v)", named.Height, h.Hash(), named.Hash, err)
		}
	}
	epochs := readEpochs(t)
	if work := workAt(t, epochs, p.AssumeValidHeight); work.Cmp(p.MinimumChainWork) < 0 ||
		workAt(t, epochs, p.AssumeValidHeight-2016).Cmp(p.MinimumChainWork) > 0 {
		t.Errorf("minimum work %v, the chain's at %d is %v", p.MinimumChainWork, p.AssumeValidHeight, work)
	}
}
