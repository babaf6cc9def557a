package validate

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// Traps that other nodes fell into have tests here by their numbers, TestTrapN. Those of transactions and blocks that
// need a store, a chain that is built or the run of scripts are tested where these are:
//
//	35  duplicate inputs at every entry: the rule is tested here, its entries (import, reorganisation) in node
//	36  spends of the same block in the wrong order, and twice: tables/confirm
//	37, 38  after a mutated block the true one connects, after a restart too: the verdicts are tested here
//	42, 43  what the repeated coinbases of 91,842 and 91,880 overwrite, and what undoing them restores: tables/confirm
//	44  a repeated txid is refused here in the block tester's chain; which ancestor is asked for is tables/confirm's
//	46  a header from the future is taken later, after a restart too: the verdict is tested here
//	51  the branch of most work wins, the first seen of equals: organise; the sums are tested here
//	54  the genesis coinbase is in no set of coins: confirm; the real chain's coins are counted here
//	57  versions of transactions keep all their bits in the store: tables
//	58  a child of an invalid block is invalid without its bytes: organise
//	60  quadratic hashing: validate/script

// TestRuleTable: every reason is in the table of rules, in Core's order, and nothing else is.
func TestRuleTable(t *testing.T) {
	file, err := os.Open("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var rows []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		row, ok := strings.CutPrefix(lines.Text(), "//\t")
		if !ok {
			continue
		}
		for _, word := range strings.Fields(row) {
			if reasonWord(word) {
				rows = append(rows, word)
				break
			}
		}
	}
	want := []string{ReasonDuplicateInvalid, ReasonHighHash, ReasonPrevNotFound, ReasonBadPrev, ReasonBadDiffBits,
		ReasonTimeTooOld, ReasonTimewarp, ReasonTimeTooNew, ReasonBadVersion + "(0x%08x)", ReasonLittleWork, ReasonSignet,
		ReasonMerkleRoot, ReasonDuplicateTx, ReasonBlockLength, ReasonCoinbaseMissing, ReasonCoinbaseMultiple,
		ReasonNoInputs, ReasonNoOutputs, ReasonTxOversize, ReasonValueNegative, ReasonValueTooLarge, ReasonTotalTooLarge,
		ReasonDuplicateInputs, ReasonCoinbaseLength, ReasonNullPrevout, ReasonSigOps, ReasonNonFinal, ReasonCoinbaseHeight,
		ReasonNonceSize, ReasonWitnessMismatch, ReasonUnexpectedWitness, ReasonWeight, ReasonBIP30, ReasonMissingOrSpent,
		ReasonPremature, ReasonInputValues, ReasonInBelowOut, ReasonFee, ReasonAccumulatedFees, ReasonNonFinal,
		ReasonSigOps, ReasonCoinbaseAmount, ReasonScript}
	if strings.Join(rows, "\n") != strings.Join(want, "\n") {
		t.Errorf("table:\n%s\nwant:\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
}

// reasonWord tells a reject reason from the names of phases and the words of a rule.
func reasonWord(word string) bool {
	return strings.Contains(word, "-") && word[0] >= 'a' && word[0] <= 'z'
}
