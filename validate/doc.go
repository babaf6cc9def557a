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
//	check     bad-txnmrklroot                 merkle root of the txids                              Core     no
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
//	accept    bad-blk-weight                  weight <= 4,000,000                                   BIP141   (2)
//	confirm   bad-txns-BIP30              (1) no unspent output of an equal txid, where BIP30 asks  BIP30    yes
//	          bad-txns-inputs-missingorspent (1) prevouts exist, unspent                            Core     yes
//
// (1) is asked by the caller, as it needs the header tree or the coins. (2): see Weight. Before the check rules Core
// asks a signet block for its signature, which needs the script interpreter and therefore is not here.
//
// # Invariants
//
// Condemns tells whether the header's hash may be remembered as invalid. Check never does so: mutated copies of a true
// block have its header, and whoever sends one must not be able to talk a node out of the block. Nor does time-too-new:
// it stops being true.
//
// Nothing panics on bad input, and no rule allocates unless it refuses: what large transactions need is kept in a
// Scratch, which serves one goroutine at a time. All else may be called from any number of goroutines.
package validate
