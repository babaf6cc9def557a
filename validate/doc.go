// Package validate holds Bitcoin's consensus rules outside scripts as pure functions: values in, a Verdict out. It has
// no store, no clock, no goroutine and no network; what a rule needs to know of the chain is passed in, the time of day
// too. It imports chain alone.
//
// # Rules
//
// In the order in which Core asks, which decides the reason that is given where several rules are broken. The last
// column tells whether the header is condemned.
//
//	phase     reason                          rule                                                  source
//	organise  duplicate-invalid           (1) hash is not remembered as invalid                     Core     already
//	          high-hash                       bits are a target in range, which the hash meets      Core     yes
//	          prev-blk-not-found          (1) parent is known                                       Core     no
//	          bad-prevblk                 (1) parent is not invalid                                 Core     yes
//	          bad-diffbits                    bits are those that NextBits gives                    BIP94    yes
//	          time-too-old                    time > median of the 11 headers before                Core     yes
//	          time-timewarp-attack            BIP94, first of a period: time >= parent's - 600      BIP94    yes
//	          time-too-new                    time <= now + 7200                                    Core     no
//	          bad-version(0x%08x)             signed version >= 2, 3, 4 from BIP34, 66, 65 on       BIPs     yes
//	          too-little-chainwork        (1) an unasked header is on a chain worth following       Core     no
//	check     bad-signet-blksig           (2) signet: solution of the challenge                     BIP325   no
//	          bad-txnmrklroot                 merkle root of the txids                              Core     no
//	          bad-txns-duplicate              no equal neighbours in the tree (CVE-2012-2459)       Core     no
//	          bad-blk-length                  1 tx or more; 4 * (txs, stripped size) <= 4,000,000   BIP141   no
//	          bad-cb-missing                  the first tx is a coinbase                            Core     no
//	          bad-cb-multiple                 no other tx is                                        Core     no
//	      tx  bad-txns-vin-empty              has inputs                                            Core     no
//	          bad-txns-vout-empty             has outputs                                           Core     no
//	          bad-txns-oversize               4 * stripped size <= 4,000,000                        BIP141   no
//	          bad-txns-vout-negative          each value >= 0                                       Core     no
//	          bad-txns-vout-toolarge          each value <= 21,000,000 BTC (CVE-2010-5139)          Core     no
//	          bad-txns-txouttotal-toolarge    so is each running sum                                Core     no
//	          bad-txns-inputs-duplicate       no outpoint twice (CVE-2018-17144)                    Core     no
//	          bad-cb-length                   coinbase script of 2 to 100 bytes                     Core     no
//	          bad-txns-prevout-null           null outpoint in the coinbase only                    Core     no
//	          bad-blk-sigops                  4 * legacy signature operations <= 80,000             BIP141   no
//	accept    bad-txns-nonfinal               each tx: lock time over, or no input minds            BIP113   yes
//	          bad-cb-height                   coinbase script begins with the push of the height    BIP34    yes
//	          bad-witness-nonce-size          commitment: coinbase witness is one item of 32 bytes  BIP141   no
//	          bad-witness-merkle-match        commitment: of that item and the root of the wtxids   BIP141   no
//	          unexpected-witness              no commitment, or before segwit: no witness at all    BIP141   no
//	          bad-blk-weight              (3) weight <= 4,000,000                                   BIP141   yes
//	confirm   bad-txns-BIP30              (4) no unspent output of an equal txid, where BIP30 asks  BIP30    yes
//	      tx  bad-txns-inputs-missingorspent (4) prevouts exist, unspent                            Core     yes
//	connect   bad-txns-premature-spend-of-coinbase  input: coinbase 100 blocks deep                 Core     yes
//	          bad-txns-inputvalues-outofrange input: value and running sum in range                 Core     yes
//	          bad-txns-in-belowout            pays out no more than it takes                        Core     yes
//	          bad-txns-fee-outofrange     (5) fee in range                                          Core     yes
//	          bad-txns-accumulated-fee-outofrange  so is the sum of fees up to here                 Core     yes
//	          bad-txns-nonfinal               relative locks are over                               BIP68    yes
//	          bad-blk-sigops                  cost of signature operations up to here <= 80,000     BIP141   yes
//	  block   bad-cb-amount                   coinbase claims subsidy and fees at most              Core     yes
//	  input   block-script-verify-flag-failed (4) scripts succeed                                   Core     yes
//
// (1) is asked by the caller, as it needs the header tree. (2): see Signet, which is called before Check and is given
// what runs a script. (3): see Weight for blocks whose witnesses nothing vouches for. (4) needs the coins, or runs a
// script: the caller decides, and Judge is told. (5) cannot be broken where the rules before it hold; Core has it, too.
// Before all of these stand the rules of the encoding, which are chain's: what breaks one is no block.
//
// # Phases
//
// Header, Signet, Check, Accept and Connect are pure functions of a block and of what is below it, so each may run for
// many blocks at a time, in any order. All of Core's rules are asked by those, by confirmation, and by the run of the
// scripts. Only the order in which a block breaks two of them is lost, when phases run ahead of each other: then Judge
// repeats confirm, connect and scripts one by one and names the reason that Core does. It stands for Core with script
// threads, where all of a block's scripts come after its last other rule.
//
// # Invariants
//
// Condemns tells whether the header's hash may be remembered as invalid. Check never does so: mutated copies of a true
// block have its header, and whoever sends one must not be able to talk a node out of the block. Nor does a witness
// that does not fit its commitment, for the same reason; nor time-too-new: it stops being true. Connect relies on
// Accept: witnesses count there, and only those that the block commits to may condemn it.
//
// Nothing panics on bad input, and no rule allocates unless it refuses: what large transactions need is kept in a
// Scratch, which serves one goroutine at a time. All else may be called from any number of goroutines.
package validate
