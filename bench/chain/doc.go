// Package chain makes block chains to measure with: any number of blocks of regtest, of any size, the same bytes for
// the same options on every machine and any number of cores. `stele bench chain` writes one into a file.
//
// A Source hands out one block after the other. Nothing but the unspent outputs is kept, so a chain may be far larger
// than memory; it is read as a block file (magic, length, block: what Bitcoin Core's -loadblock takes) or written into
// one, which a File describes: where each block lies, and a transaction of it.
//
// # What all chains have
//
//   - Blocks have a coinbase with its height (BIP34), a witness commitment (BIP141), proof of work for regtest's
//     target, and the number of transactions that was asked for, or that the weight limit admits. Their times are a
//     fixed step apart.
//   - No input spends more than once, none before a coinbase has its hundred confirmations, values are conserved, a
//     coinbase takes the subsidy and the fees, and lock times are final.
//   - With Options.Signed every signature is true and every rule holds. Without, they are made up: strict DER with a
//     low S, but they sign nothing. Every other rule holds and every script runs to its end, so whoever takes all
//     signatures as true (Trusting) takes the chain. No flag of the executable does.
//   - With Options.Stale there are branches that the chain leaves again.
//
// # Mixes
//
// Plain is all P2WPKH. Mainnet is today's mix. Their parameters are in mix.go, and what Mainnet follows:
//
//	2.4 inputs, 2.7 outputs a transaction    3.4 G and 3.75 G of 1.4 G transactions up to height 980,000, which take 571
//	                                         bytes each; here some 605
//	tails: 26-100 inputs, 41-150 outputs     blocks 702861, 709632 and 800000: up to 3 % of transactions have more than
//	                                         ten of either, a tenth of these very many
//	kinds of outputs                         P2WPKH and P2TR between blocks 800000 (18 and 69 %) and 951658 (50 and 15),
//	                                         P2PKH and P2SH between those (6 and 2 %) and 709632 (22 and 41); see Kind
//	one transaction in seven with RETURN     a fifth in August 2025, 30 % of outputs in block 951658 (Galaxy Research)
//	a third of taproot spends by script,     in blocks 800000 and 951658 more, nearly all inscriptions of some 125 bytes;
//	half of these with an envelope           here 60 to 140, and a fifth up to 24,000 bytes
//	ages of what is spent: 80 % of a day     80 % (Scientific Data 9:129, 2022, by February 2021), 15 % up to a month
//	1.3 to 1.5 outputs of an unspent record  1.42 at height 830,000 (Core's pull request 29612)
//	two in five unspent below 1,000 satoshis 49 % of the set in 2025 (mempool.space research)
//	a fifth with a lock time                 19 % of block 702861, 18 of 709632, 4 of 951658
//
// Kinds, amounts and ages are drawn for each output and input alone, though wallets are more of a piece. Ages are what
// a chain can have: what is spent on average must have been there, and mainnet's stock of unspent outputs has grown
// for fifteen years. With 1,960 blocks of 2,000 transactions 12 % of inputs spend from the own block, 12 from the one
// before, 23 are up to six blocks old, 48 up to 144, and 6 % older; with 3,000 blocks 11 % are. What is small, and
// what is the last output of its transaction, is often passed over, which gives the set its shape; see pool.
//
// # How it begins
//
// The first hundred blocks have a coinbase only, for lack of anything to spend. Then each matured coinbase is split
// into hundreds of outputs (a fan-out) until there is a stock; until there are enough for full blocks, blocks are
// smaller. Stats count fan-outs apart.
//
// # Signing
//
// What is signed is computed here (sighash.go) and shares no code with the verifier. Keys, scripts and nonces are one
// keyring for the process; a signature is one or two products modulo the group's order, as the nonces and their points
// are made beforehand and used over and over. That gives every key away; they guard nothing. One core signs more than
// 200,000 inputs a second.
//
// Which coins are spent, and what is paid, is drawn by one goroutine. Input scripts are signed at once, since the txid
// depends on them. Witnesses are made when the block's transactions are all known, by as many goroutines as there are
// cores, a run of transactions each (witness.go).
//
// # Ownership
//
// A Source belongs to one goroutine, and its others live during Next only: each writes its own chunk and the wtxids of
// it, and reads what the block has. A Block's bytes are the Source's and hold until the next call. Nothing allocates
// once the buffers have grown to the largest block, but for goroutines and for the pool, which grows with the number of
// unspent outputs: 56 bytes each, a half more for holes, and 4 bytes a block.
package chain
