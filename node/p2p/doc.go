// Package p2p is everything between sockets and the node: connections, what is said on them, whom to call, what to ask
// of whom, and what to answer. It stores nothing of the chain and judges nothing but proof of work; the node is behind
// the interface [Chain], which this package declares for itself.
//
// # The way of a message
//
//	socket ─▶ meter ─▶ v1 (frame.go) or v2 (v2.go) ─▶ peer.readLoop ─▶ handle (handle.go) ─┬▶ syncer ──▶ Chain.PutHeaders
//	         counts    limits before memory, one     one goroutine, in order               │  (sync.go,    PutBlock
//	         bytes     message, its bytes its own                                          │   headers.go)
//	                                                                                       ├▶ gossip (addr.go) ──▶ addrbook
//	socket ◀─ meter ◀─ v1 or v2 ◀─ peer.writeLoop ◀── queue, bounded by bytes ◀────────────┤
//	         a deadline            one goroutine  ◀── blocks asked of us (serve.go) ◀──────┘
//	         a chunk                                  one in memory: Chain.AppendBlock
//
// A block is read from the socket into memory of its own, and that memory is handed to Chain.PutBlock. Headers are
// parsed in place. Inv and getdata are walked over in place, so that 50,000 entries allocate nothing. Version, ping and
// getheaders are btcd's wire; addr and addrv2 are package addrbook's.
//
// # Who owns what
//
//   - peer.run leads a connection, on one goroutine, from the first byte to the last: transport, handshake, reading and
//     the handlers. peer.in and syncPeer.pre are its alone. A second goroutine writes. Whoever calls peer.close ends
//     both; the first reason is kept.
//   - syncer.loop plans downloads, reads Chain.Events and looks after time-outs. Manager.outboundLoop calls,
//     acceptLoop listens, gossipLoop passes addresses on, nodeLoop calls one node that the user named, seedLoop asks
//     DNS seeds.
//   - All of them end with Manager.Close, which waits for them.
//
// Locks, outer ones first: syncer.mu, then Manager.mu, then peer.mu, peer.tips.mu, peer.gossip.mu, banList.mu, which are
// never held together. Chain.Status and Room may be called under syncer.mu; the others only without any lock, as the
// node may take its time. Only a reader waits for room in its own queue (peer.send), and it holds no lock then; all
// others post, and a queue that is full ends its peer.
//
// # Bounds
//
//	message              its command's limit (frame.go), 4,000,000 bytes at most; memory for more than 256 KiB is taken
//	                     once 256 KiB have come; commands that mean nothing to us take none
//	before verack        64 messages, one minute
//	queue of a peer      1 MiB stops its reader, 8 MiB ends it; 50,000 blocks asked for (33 bytes each), one in memory
//	writing              64 KiB within 30 s; what is small is gathered up to 32 KiB
//	addresses            0.1 a second of a peer, 1000 at once after getaddr
//	headers              2000 a message; of chains without enough work nothing is kept (package presync: 2.8 MB a peer,
//	                     8 inbound peers)
//	blocks in flight     package download: a window of bytes, and Chain.Room
//	inbound              114, then the one that has least to show goes (evict.go)
//
// # Blame
//
// A *ProtocolError ends a connection and adds to its score; 100 bans the address for a day. Lesser faults add up. Peers
// that the user named and those of this machine are disconnected and not banned. A fault of ours (Chain's errors) is
// logged and blames nobody; neither does a refusal that tells of the node's own state (block whose header was dropped).
//
// # Time
//
// Time-outs come from package time alone and do not depend on the wall clock, so that testing/synctest can prove them,
// and a clock that is set does no harm.
package p2p
