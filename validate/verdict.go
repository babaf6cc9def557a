package validate

// Reasons are Core's reject strings, letter for letter: peers, miners and Core's own tests read them.
const (
	ReasonDuplicateInvalid = "duplicate-invalid"
	ReasonHighHash         = "high-hash"
	ReasonPrevNotFound     = "prev-blk-not-found"
	ReasonBadPrev          = "bad-prevblk"
	ReasonBadDiffBits      = "bad-diffbits"
	ReasonTimeTooOld       = "time-too-old"
	ReasonTimewarp         = "time-timewarp-attack"
	ReasonTimeTooNew       = "time-too-new"
	ReasonBadVersion       = "bad-version" // followed by the version: bad-version(0x00000001)
	ReasonLittleWork       = "too-little-chainwork"

	ReasonMerkleRoot       = "bad-txnmrklroot"
	ReasonDuplicateTx      = "bad-txns-duplicate"
	ReasonBlockLength      = "bad-blk-length"
	ReasonCoinbaseMissing  = "bad-cb-missing"
	ReasonCoinbaseMultiple = "bad-cb-multiple"
	ReasonNoInputs         = "bad-txns-vin-empty"
	ReasonNoOutputs        = "bad-txns-vout-empty"
	ReasonTxOversize       = "bad-txns-oversize"
	ReasonValueNegative    = "bad-txns-vout-negative"
	ReasonValueTooLarge    = "bad-txns-vout-toolarge"
	ReasonTotalTooLarge    = "bad-txns-txouttotal-toolarge"
	ReasonDuplicateInputs  = "bad-txns-inputs-duplicate"
	ReasonCoinbaseLength   = "bad-cb-length"
	ReasonNullPrevout      = "bad-txns-prevout-null"
	ReasonSigOps           = "bad-blk-sigops"
	ReasonSignet           = "bad-signet-blksig"

	ReasonNonFinal          = "bad-txns-nonfinal" // absolute lock times; and relative ones, later
	ReasonCoinbaseHeight    = "bad-cb-height"
	ReasonNonceSize         = "bad-witness-nonce-size"
	ReasonWitnessMismatch   = "bad-witness-merkle-match"
	ReasonUnexpectedWitness = "unexpected-witness"
	ReasonWeight            = "bad-blk-weight"

	ReasonBIP30           = "bad-txns-BIP30"
	ReasonMissingOrSpent  = "bad-txns-inputs-missingorspent"
	ReasonPremature       = "bad-txns-premature-spend-of-coinbase"
	ReasonInputValues     = "bad-txns-inputvalues-outofrange"
	ReasonInBelowOut      = "bad-txns-in-belowout"
	ReasonFee             = "bad-txns-fee-outofrange"
	ReasonAccumulatedFees = "bad-txns-accumulated-fee-outofrange"
	ReasonCoinbaseAmount  = "bad-cb-amount"
	ReasonScript          = "block-script-verify-flag-failed" // followed by the script's error: (Script is too big)
)

// Verdict is what a rule says of a header, block or transaction. It is not an error: an error is a fault of ours
// and says nothing about the block.
type Verdict struct {
	Reason   string // one of the reasons above; empty: no rule was broken
	Detail   string // for people; Core's debug message where Core has one
	Tx       int    // position of the transaction in its block; -1: none
	Input    int    // index of the input in that transaction; -1: none
	Condemns bool   // the header's hash may be remembered as invalid
}

// none stands in Tx and Input where there is nothing to point at.
const none = -1

// valid is the verdict on what breaks no rule.
var valid = Verdict{Tx: none, Input: none}

// OK tells whether no rule was broken.
func (v Verdict) OK() bool { return v.Reason == "" }

// String is the form of Core's log: the reason, and the detail behind a comma; "valid" when no rule was broken.
func (v Verdict) String() string {
	switch {
	case v.OK():
		return "valid"
	case v.Detail == "":
		return v.Reason
	}
	return v.Reason + ", " + v.Detail
}

// condemn is the verdict on a header that broke a rule for good.
func condemn(reason, detail string) Verdict {
	return Verdict{Reason: reason, Detail: detail, Tx: none, Input: none, Condemns: true}
}

// condemnTx is condemn where a transaction, and maybe an input of it, is at fault.
func condemnTx(reason, detail string, tx, input int) Verdict {
	return Verdict{Reason: reason, Detail: detail, Tx: tx, Input: input, Condemns: true}
}

// refuse is the verdict on what may yet turn out to be someone else's fault, or pass at another time.
func refuse(reason, detail string) Verdict {
	return Verdict{Reason: reason, Detail: detail, Tx: none, Input: none}
}
