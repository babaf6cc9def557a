package script

// Flags choose the rules under which a script runs (Core: script/interpreter.h). The first group are consensus rules
// that began at some time; FlagsAt says which hold for a block. The second group are Core's policy for transactions
// outside blocks: no block is ever judged by them. They are here because Core's vectors use them.
type Flags uint32

const (
	P2SH      Flags = 1 << iota // BIP16
	DerSig                      // BIP66: strict DER
	CLTV                        // BIP65
	CSV                         // BIP112
	Witness                     // BIP141
	NullDummy                   // BIP147
	Taproot                     // BIP341, BIP342

	StrictEnc
	LowS
	SigPushOnly
	MinimalData
	DiscourageNops
	CleanStack
	MinimalIf
	NullFail
	WitnessKeyType
	DiscourageWitnessProgram
	ConstScriptCode
	DiscourageTaprootVersion
	DiscourageOpSuccess
	DiscourageKeyType

	flagEnd
)

const (
	NoFlags Flags = 0

	// Consensus is every rule that a block can be judged by; Policy all others.
	Consensus = P2SH | DerSig | CLTV | CSV | Witness | NullDummy | Taproot
	Policy    = (flagEnd - 1) &^ Consensus
)

// Has tells whether all of x are set.
func (f Flags) Has(x Flags) bool { return f&x == x }

// flagNames are Core's, as its vectors and getdeploymentinfo write them, in the order of the bits.
var flagNames = [...]string{
	"P2SH", "DERSIG", "CHECKLOCKTIMEVERIFY", "CHECKSEQUENCEVERIFY", "WITNESS", "NULLDUMMY", "TAPROOT",
	"STRICTENC", "LOW_S", "SIGPUSHONLY", "MINIMALDATA", "DISCOURAGE_UPGRADABLE_NOPS", "CLEANSTACK", "MINIMALIF", "NULLFAIL",
	"WITNESS_PUBKEYTYPE", "DISCOURAGE_UPGRADABLE_WITNESS_PROGRAM", "CONST_SCRIPTCODE",
	"DISCOURAGE_UPGRADABLE_TAPROOT_VERSION", "DISCOURAGE_OP_SUCCESS", "DISCOURAGE_UPGRADABLE_PUBKEYTYPE",
}

// Names lists the flags by Core's names.
func (f Flags) Names() (names []string) {
	for i, name := range flagNames {
		if f>>i&1 == 1 {
			names = append(names, name)
		}
	}
	return names
}

// FlagByName finds a flag by Core's name.
func FlagByName(name string) (Flags, bool) {
	for i, n := range flagNames {
		if n == name {
			return 1 << i, true
		}
	}
	return 0, false
}
