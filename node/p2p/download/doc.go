// Package download decides which peer is asked for which blocks. It has no socket, no goroutine and no clock: the caller
// says what happened and when, and Plan says what to do. The same calls give the same plans. It imports chain alone.
//
// # The way of a block
//
//	           Refill, Announce          Plan                      Block                Refill without it
//	(unknown) ──────────────────▶ idle ─────────▶ asked (1-2 peers) ─────▶ arrived ─────────────────────────▶ (forgotten)
//	                               ▲  given back:   │                         │ Again: lost by the node
//	                               └─ Leave, NotFound, relief, drop ──────────┘ Refused: mutated body
//
// Wanted blocks stand in the order of the chain. The front is the first of them that has not arrived; the window goes
// from there as far as bytes allow:
//
//	front                                   bytes in flight + arrived beyond the front <= Options.Window
//	  ▼                                     bytes in flight <= room, what the node would take
//	| A ? A A ? ? A ? ? ? ? ? ? ? ? ? |. . . . . . . . .
//	  near: units of 1   middle: 4    far: 16        nothing asked yet
//
// It slides with every block that arrives; there are no barriers. Bytes in flight are expected ones: blocks times the mean
// size of those that came lately. The front may always be asked for, beyond the window, and beyond room if the node has
// nothing else to do: so a full node never waits for a block that nobody was asked for, and a busy one is not flooded.
// Beside the front, hedges and what blocks are larger than was expected of them go beyond the window. A window that is
// to keep N bytes a second busy must hold a second of them or more.
//
// # Who is asked
//
// A unit goes to the peer that is expected to deliver first: latency + what it owes + a block, over its rate. Rates are
// exponential means over the time in which a peer owed something. A slow peer starts further out, at the block which the
// others will reach about when it delivers, and is left alone where it would finish last. A peer owes at most what it
// sends in Options.Depth and its latency, and Options.Bulk blocks; near the tip Options.AtTip. Announced blocks are asked
// of who announced them.
//
//	late     a block near the front is due, or nothing else is to do, and another peer would need less than half of the
//	         time that the holder needs still: it is asked as well, Options.Hedges at a time. The first answer counts,
//	         the second is a Duplicate. A loser that was silent meanwhile is relieved.
//	slow     every Options.Sample, with 4 peers or more: its rate is below mean - Deviation * standard deviation of the
//	         others', and below half their mean. It is relieved; the third time in a row, if below an eighth, dropped.
//	relieved all that it owes is given back (Plan.Cancelled) and asked of others. It gets nothing new before it has sent
//	         what it owes; what comes is taken if nobody was faster.
//	stalled  it is asked for the front and sent nothing for the stall time: 2 s, doubled by each such drop up to 64 s,
//	         back by 0.85 with each block at the front (as in Core). Dropped if another peer can serve the block.
//	silent   it owes and sent nothing for 64 s: dropped.
//
// A peer is asked once for a block, and again only if it came and was lost by us (Again), or if the peer left and
// joined again. A body that was mutated (Refused) is never asked of its sender again.
//
// # Time
//
// now is read as differences. Between two calls at most Options.MaxStep goes by, however far the clock went, and a clock
// that goes back stands still: a machine that slept, or whose clock was set, does not find all its peers guilty. So
// Plan is to be called when something happened, and at least once a second.
//
// # Use
//
//	s := download.New(download.Options{})
//	s.Join(now, id, download.Peer{Height: h})     // Height: of the last block that our best chain and its best header
//	                                              // share; s.Has(id, h) or Join again when that changed
//	s.Refill(wants)                               // Chain.Missing, when the best header chain changed or s.Short()
//	s.Announce(now, id, wants)                    // blocks that it announced, also off the best chain
//	s.Received(now, id, n)                        // bytes of a block that is still coming; else slow links seem silent
//	switch s.Block(now, id, &hash, size) {        // a whole block came
//	case download.Take:                           // give it to the chain
//	case download.Duplicate:                      // asked, but somebody was faster: drop it
//	case download.Unasked:                        // nobody wanted it: the chain's rules for such blocks decide
//	}
//	s.Refused(now, &hash, from, download.Mutated) // outcomes from the chain's events; s.Again
//	p := s.Plan(now, room, tip)                   // p.Requests: getdata; p.Cancelled: for reports; p.Drops: disconnect
//
// A dropped peer is gone when Plan returns; Leave of it does nothing. One goroutine at a time uses a Scheduler. Its memory
// is about 300 bytes a wanted block; the caller bounds those through Refill. With 100 peers a Plan after a Block costs some
// 50 µs (BenchmarkBlock): a caller that is told of thousands of blocks a second plans once for many. A Refill costs about
// 25 ns a block where the list is a part of the last one (BenchmarkRefill).
package download
