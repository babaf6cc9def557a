// Package addrbook remembers where nodes of the network may be reached, in a way that whoever floods it with addresses
// of his own wins little room in it. It follows the design of Bitcoin Core's addrman (Heilman and others, Eclipse
// Attacks on Bitcoin's Peer-to-Peer Network, 2015, and its countermeasures) with the same sizes.
//
// # Two tables
//
//	new    1,024 buckets × 64 slots   heard of, never reached. One address stands in up to 8 slots.
//	tried    256 buckets × 64 slots   reached at least once. One address, one slot.
//
// Where an address may stand follows from a secret key, and from groups: the /16 of an IPv4 address, the /32 of an IPv6
// one, and so on (Address.Group). H is SHA-256 over the key, a tag and the arguments.
//
//	new:    bucket = H(source group, H(address group, source group) mod 64) mod 1024
//	tried:  bucket = H(address group, H(address) mod 8) mod 256
//	slot in either = H(table, bucket, address) mod 64
//
// So what comes out of one source group reaches 64 of the new buckets (4,096 of 65,536 slots), of one address group 1 of
// them, and an address group reaches 8 tried buckets (512 of 16,384 slots), whatever the number of its addresses.
// A slot of new is taken over only from an entry that is terrible (entry.terrible) or stands elsewhere too. A slot of
// tried is never taken over before its owner was called: Good puts the newcomer on a list of at most 10,
// SelectTriedCollision says whom to call, Resolve moves the newcomer in where the call found nobody.
//
// # API
//
//	New(Options) *Book, Open(path, Options) (*Book, error)    in memory; from a file
//	Add([]Known, source, penalty) int                         gossip: what source told
//	Attempt, Good, Connected, SetServices                     what became of calls
//	Select(newOnly, nets...), SelectTriedCollision, Resolve   whom to call
//	Sample(max, pct, nets...)                                 what to answer to getaddr
//	Len, Count, Save, Close
//	DecodeV1, DecodeV2, AppendV1, AppendV2, FromWire, ToWire  the messages addr and addrv2 (BIP155)
//
// # Invariants
//
//  1. Every entry stands in new, in 1 to 8 slots of different buckets, or in tried, in one slot; never in both. Each
//     slot is the one that the key allows, and holds the number of an entry that holds the number of the slot.
//  2. There are at most 65,536 + 16,384 entries, each of constant size: some 16 MB with the index over them when all is
//     full, and never more.
//  3. Only routable addresses come in. An IPv4 address is an IPv4 address however it was written: mapped into IPv6 it is
//     unwrapped (FromAddrPort, DecodeV1), or refused where BIP155 says so (DecodeV2).
//  4. Times are seconds since 1970 of the clock passed in, in 32 bits; nothing breaks when that clock is set back.
//
// # File
//
// Save writes the whole book beside the file, syncs, renames and syncs the folder: a crash leaves the old or the new
// book. The file ends with a SHA-256 (layout in codec.go). A file that is damaged, of a newer version or of another
// network is renamed aside (one of each kind is kept) and Open returns an empty book together with a *FileError that
// says so; the caller warns and goes on. Where the medium fails, Open returns no book.
//
// # Ownership
//
// All methods may be called from any goroutine; one lock guards all state and nothing is called back but the clock,
// under it. Save copies under the lock and writes without it, one Save at a time. There are no goroutines.
package addrbook
