// Package presync takes headers from one peer without keeping them until the peer has shown that they stand for enough
// work. It has no socket, no clock and no store: headers go in, and what to do next comes out. It imports chain and
// validate. The method is that of Bitcoin Core (headerssync.cpp, version 31).
//
// # Two phases
//
//	phase 1, Presync       start ──h──h──h──C──h──h──h──C──h── ... ──▶ claimed work >= minimum
//	                       continuity, proof of work, permitted change of bits; work is summed up; of every N-th
//	                       header one bit is kept: C = keyed hash of the block hash
//	phase 2, Redownload    start ──h──h──h──C──h──h──h──C──h── ... the same headers, asked for again
//	                       the same checks, and each C must be the bit kept; a header is released once B more have
//	                       come on top of it, all of them when their work is the minimum
//
// A header that is released has about B/N bits above it that were compared. A peer without hash power can show the
// true chain in phase 1 and lie in phase 2, but then it must guess every bit: what it gets accepted is one lot of
// headers in 2^(B/N) attempts, each of which costs it the download of a whole chain. The key and the height modulo N at
// which bits are kept come from a secret that the peer does not know.
//
// N and B are Core's for each network. Its contrib/devtools/headerssync-params.py minimises the larger of two sizes:
// the bits of the longest low-work chain that the rules allow (6 headers a second since genesis, by the rule of the
// median time), and the bits of the true chain with B headers of 48 bytes; on condition that attackers with 6 Gbit/s
// cannot add more than a fifth to the growth of the header chain itself.
//
// TestSizes repeats the second half of that. The values are of version 31:
//
//	network    N     B        B/N
//	main       641   15,218   23.7
//	testnet3   673   14,460   21.5
//	testnet4   606   16,092   26.6
//	signet     620   15,724   25.4
//	regtest    275    7,017   25.5
//
// # Memory
//
// A Sync holds, whatever the peer sends (Bytes tells what it holds now):
//
//	bits     1 bit for N headers, at most 6 * (now - start's MTP + 7200) / N, in pieces of 1 KiB; then ReasonTooLong
//	         mainnet from genesis, end of 2026: 5.3 million bits, 662 kB
//	buffer   (B + 1) * 48 bytes, taken when phase 2 begins: mainnet 731 kB
//	result   headers released by one Put, 80 bytes each: at most B + those put in; mainnet 1.38 MB for 2000 headers
//
// So 2.8 MB bound a peer on mainnet, and an honest one takes 0.1 MB in phase 1. A million headers of difficulty 1 hold
// 1561 bits. The caller bounds how many headers come at a time (the protocol allows 2000) and how many peers are
// listened to.
//
// # Use
//
//	s := presync.New(params, start, minimum, now, secret)      // start: where the first headers connect to our chain
//	switch r := s.Put(headers, len(headers) == 2000); r.Status {
//	case presync.More:   // hand r.Released to the chain; ask the peer for headers after r.Locator
//	case presync.Done:   // hand r.Released to the chain; go on with the peer as usual
//	case presync.Failed: // r.Released as above (ReasonCutShort alone has any); r.Reason.Lies(): disconnect the peer
//	}
//
// The caller asks for no more than one lot of headers at a time and puts every answer in, an empty one too. A peer that
// does not answer is the caller's affair. Headers that are released connect to start and to each other, in order; they
// have proof of work, but neither times nor exact bits were judged.
//
// A Sync serves one goroutine at a time, and is worth nothing after Done or Failed: Put then answers Failed.
package presync
