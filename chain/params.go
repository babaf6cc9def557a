package chain

import "fmt"

// Params is what a network lays down (Core: kernel/chainparams.cpp of version 31). The functions that give one share a
// single value, which must not be changed; copy it to change it (regtest's activation heights are settable in Core).
type Params struct {
	Name   string  // main, testnet3, testnet4, signet, regtest
	Folder string  // sub-folder of the data folder; "" for main
	Magic  [4]byte // first bytes of every message and of every record of a block file

	GenesisHash  Hash
	GenesisBlock []byte // wire bytes

	// Proof of work.
	PowLimit                      Work
	PowLimitBits                  uint32
	TargetTimespan, TargetSpacing uint32 // seconds
	MinDifficulty                 bool   // a block 20 minutes after its parent may have PowLimitBits
	NoRetarget                    bool
	BIP94                         bool // retarget from the period's first bits; timewarp limit of 600 s
	MinimumChainWork              Work // of a chain worth following
	HalvingInterval               uint32

	// Heights of the first block that a rule binds (buried deployments; Segwit also binds NULLDUMMY and the
	// commitment).
	BIP34, BIP65, BIP66, CSV, Segwit uint32
	BIP34Hash                        Hash // of the known chain's block at BIP34; zero: BIP30 is always checked

	// P2SH, witness and taproot rules hold for every block but these.
	ScriptExceptions []ScriptException

	// Blocks that may repeat a txid with unspent outputs, the blocks whose coinbases they so overwrote, and the
	// height from which BIP34 no longer makes BIP30 redundant.
	BIP30Exceptions  []HeightHash
	BIP30Overwritten []HeightHash
	BIP30Resumes     uint32

	AssumeValid       Hash // scripts of its ancestors need no check under Core's conditions; zero: none
	AssumeValidHeight uint32
	Snapshots         []Snapshot

	SignetChallenge []byte // the script that signs blocks; nil where blocks are not signed

	// Addresses and keys.
	PubKeyHashPrefix, ScriptHashPrefix, SecretKeyPrefix byte
	ExtendedPublic, ExtendedSecret                      [4]byte
	HRP                                                 string // of bech32 and bech32m

	Port, RPCPort uint16
	Seeds         []string // DNS names that answer with peers
}

// ScriptException is a block that breaks rules which were later laid over the chain from its beginning. The fields tell
// which of them it keeps; rules that are bound to heights hold on top of that.
type ScriptException struct {
	Hash                   Hash
	P2SH, Witness, Taproot bool
}

// HeightHash names a block and where it stands.
type HeightHash struct {
	Height uint32
	Hash   Hash
}

// Snapshot is a block of which Core knows the unspent outputs by their hash (assumeutxo).
type Snapshot struct {
	Height       uint32
	Block        Hash
	SetHash      Hash   // hash_serialized_3
	Transactions uint64 // of the chain up to and with the block
}

// bip30Resumes is the height from which the check of BIP30 cannot be left out any more (Core:
// BIP34_IMPLIES_BIP30_LIMIT). BIP34 makes coinbases differ by naming their height; but scripts of some coinbases
// older than BIP34 happen to name heights above it, and this is the lowest of those at which such a coinbase could
// really be repeated.
const bip30Resumes = 1_983_702

// Interval is the number of blocks of a retarget period: 2016, on regtest 144.
func (p *Params) Interval() uint32 { return p.TargetTimespan / p.TargetSpacing }

// ParamsByName finds a network by its Name.
func ParamsByName(name string) (*Params, error) {
	for _, p := range []func() *Params{Main, Testnet3, Testnet4, Signet, Regtest} {
		if p().Name == name {
			return p(), nil
		}
	}
	return nil, fmt.Errorf("network %q: not one of main, testnet3, testnet4, signet, regtest", name)
}
