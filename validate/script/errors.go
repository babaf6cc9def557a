package script

// Error is why a script failed; OK is that it did not. It is a verdict, not a fault: nothing here can go wrong but the
// script.
type Error uint8

// In the order of Core's script_error.h, with its names and texts in errorTexts.
const (
	OK Error = iota
	EvalFalse
	OpReturn
	ScriptSize
	PushSize
	OpCount
	StackSize
	SigCount
	PubkeyCount
	VerifyFailed
	EqualVerify
	CheckMultisigVerify
	CheckSigVerify
	NumEqualVerify
	BadOpcode
	DisabledOpcode
	InvalidStack
	InvalidAltStack
	UnbalancedConditional
	NegativeLockTime
	UnsatisfiedLockTime
	ScriptNum
	SigHashType
	SigDER
	NotMinimalData
	NotPushOnly
	SigHighS
	SigNullDummy
	PubkeyType
	NotCleanStack
	NotMinimalIf
	SigNullFail
	DiscouragedNops
	DiscouragedWitnessProgram
	DiscouragedTaprootVersion
	DiscouragedOpSuccess
	DiscouragedKeyType
	WitnessWrongLength
	WitnessEmpty
	WitnessMismatch
	WitnessMalleated
	WitnessMalleatedP2SH
	WitnessUnexpected
	WitnessPubkeyType
	SchnorrSigSize
	SchnorrSigHashType
	SchnorrSig
	TaprootControlSize
	TapscriptWeight
	TapscriptCheckMultisig
	TapscriptMinimalIf
	TapscriptEmptyPubkey
	OpCodeSeparator
	SigFindAndDelete
)

// errorTexts are Core's name of an error, as script_tests.json has it, and its text, as reject reasons have it.
var errorTexts = [...]struct{ name, text string }{
	OK:                        {"OK", "No error"},
	EvalFalse:                 {"EVAL_FALSE", evalFalse},
	OpReturn:                  {"OP_RETURN", "OP_RETURN was encountered"},
	ScriptSize:                {"SCRIPT_SIZE", "Script is too big"},
	PushSize:                  {"PUSH_SIZE", "Push value size limit exceeded"},
	OpCount:                   {"OP_COUNT", "Operation limit exceeded"},
	StackSize:                 {"STACK_SIZE", "Stack size limit exceeded"},
	SigCount:                  {"SIG_COUNT", "Signature count negative or greater than pubkey count"},
	PubkeyCount:               {"PUBKEY_COUNT", "Pubkey count negative or limit exceeded"},
	VerifyFailed:              {"VERIFY", "Script failed an OP_VERIFY operation"},
	EqualVerify:               {"EQUALVERIFY", "Script failed an OP_EQUALVERIFY operation"},
	CheckMultisigVerify:       {"CHECKMULTISIGVERIFY", "Script failed an OP_CHECKMULTISIGVERIFY operation"},
	CheckSigVerify:            {"CHECKSIGVERIFY", "Script failed an OP_CHECKSIGVERIFY operation"},
	NumEqualVerify:            {"NUMEQUALVERIFY", "Script failed an OP_NUMEQUALVERIFY operation"},
	BadOpcode:                 {"BAD_OPCODE", "Opcode missing or not understood"},
	DisabledOpcode:            {"DISABLED_OPCODE", "Attempted to use a disabled opcode"},
	InvalidStack:              {"INVALID_STACK_OPERATION", "Operation not valid with the current stack size"},
	InvalidAltStack:           {"INVALID_ALTSTACK_OPERATION", "Operation not valid with the current altstack size"},
	UnbalancedConditional:     {"UNBALANCED_CONDITIONAL", "Invalid OP_IF construction"},
	NegativeLockTime:          {"NEGATIVE_LOCKTIME", "Negative locktime"},
	UnsatisfiedLockTime:       {"UNSATISFIED_LOCKTIME", "Locktime requirement not satisfied"},
	ScriptNum:                 {"SCRIPTNUM", "Script number overflowed or is non-minimally encoded"},
	SigHashType:               {"SIG_HASHTYPE", "Signature hash type missing or not understood"},
	SigDER:                    {"SIG_DER", "Non-canonical DER signature"},
	NotMinimalData:            {"MINIMALDATA", "Data push larger than necessary"},
	NotPushOnly:               {"SIG_PUSHONLY", "Only push operators allowed in signatures"},
	SigHighS:                  {"SIG_HIGH_S", "Non-canonical signature: S value is unnecessarily high"},
	SigNullDummy:              {"SIG_NULLDUMMY", "Dummy CHECKMULTISIG argument must be zero"},
	PubkeyType:                {"PUBKEYTYPE", "Public key is neither compressed or uncompressed"},
	NotCleanStack:             {"CLEANSTACK", "Stack size must be exactly one after execution"},
	NotMinimalIf:              {"MINIMALIF", "OP_IF/NOTIF argument must be minimal"},
	SigNullFail:               {"NULLFAIL", "Signature must be zero for failed CHECK(MULTI)SIG operation"},
	DiscouragedNops:           {"DISCOURAGE_UPGRADABLE_NOPS", "NOPx reserved for soft-fork upgrades"},
	DiscouragedWitnessProgram: {"DISCOURAGE_UPGRADABLE_WITNESS_PROGRAM", "Witness version reserved for soft-fork upgrades"},
	DiscouragedTaprootVersion: {"DISCOURAGE_UPGRADABLE_TAPROOT_VERSION", "Taproot version reserved for soft-fork upgrades"},
	DiscouragedOpSuccess:      {"DISCOURAGE_OP_SUCCESS", "OP_SUCCESSx reserved for soft-fork upgrades"},
	DiscouragedKeyType:        {"DISCOURAGE_UPGRADABLE_PUBKEYTYPE", "Public key version reserved for soft-fork upgrades"},
	WitnessWrongLength:        {"WITNESS_PROGRAM_WRONG_LENGTH", "Witness program has incorrect length"},
	WitnessEmpty:              {"WITNESS_PROGRAM_WITNESS_EMPTY", "Witness program was passed an empty witness"},
	WitnessMismatch:           {"WITNESS_PROGRAM_MISMATCH", "Witness program hash mismatch"},
	WitnessMalleated:          {"WITNESS_MALLEATED", "Witness requires empty scriptSig"},
	WitnessMalleatedP2SH:      {"WITNESS_MALLEATED_P2SH", "Witness requires only-redeemscript scriptSig"},
	WitnessUnexpected:         {"WITNESS_UNEXPECTED", "Witness provided for non-witness script"},
	WitnessPubkeyType:         {"WITNESS_PUBKEYTYPE", "Using non-compressed keys in segwit"},
	SchnorrSigSize:            {"SCHNORR_SIG_SIZE", "Invalid Schnorr signature size"},
	SchnorrSigHashType:        {"SCHNORR_SIG_HASHTYPE", "Invalid Schnorr signature hash type"},
	SchnorrSig:                {"SCHNORR_SIG", "Invalid Schnorr signature"},
	TaprootControlSize:        {"TAPROOT_WRONG_CONTROL_SIZE", "Invalid Taproot control block size"},
	TapscriptWeight:           {"TAPSCRIPT_VALIDATION_WEIGHT", "Too much signature validation relative to witness weight"},
	TapscriptCheckMultisig:    {"TAPSCRIPT_CHECKMULTISIG", "OP_CHECKMULTISIG(VERIFY) is not available in tapscript"},
	TapscriptMinimalIf:        {"TAPSCRIPT_MINIMALIF", "OP_IF/NOTIF argument must be minimal in tapscript"},
	TapscriptEmptyPubkey:      {"TAPSCRIPT_EMPTY_PUBKEY", "Empty public key in tapscript"},
	OpCodeSeparator:           {"OP_CODESEPARATOR", "Using OP_CODESEPARATOR in non-witness script"},
	SigFindAndDelete:          {"SIG_FINDANDDELETE", "Signature is found in scriptCode"},
}

const evalFalse = "Script evaluated without error but finished with a false/empty top stack element"

// Name is Core's name without its prefix, such as EVAL_FALSE.
func (e Error) Name() string { return errorTexts[e].name }

// String is Core's text.
func (e Error) String() string { return errorTexts[e].text }
