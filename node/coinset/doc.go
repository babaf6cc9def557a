// Package coinset brings the set of unspent outputs into being for a store that was opened, and keeps images of it.
//
//	Start ── vet images ──▶ newest good image ──▶ load ──▶ roll from its base ──▶ the set at the view's tip
//	                  └──▶ none, or damaged ─────▶ pass over the archive ─────────┘
//	Save ◀── the set at the tip of a durable view
//
// # When an image may be used
//
// A record of the set names its outputs by number, and numbers follow from the order of the archive. What lies below a
// durable cut stays; what lies beyond it a power cut may take, and the same blocks may be archived again in another order,
// with other numbers, until the lengths are those of before. An image over the first order would then be a set whose every
// coin is right and whose numbers lead to other outputs: spends that mark the wrong cell. Hence:
//
//  1. Save takes only a view that a manifest covers (tables.View.Durable).
//  2. An image says which archive it was made over: the store's id, lengths, and a digest of the blocks in their order.
//  3. Start removes what does not fit, and makes that durable, before its caller appends anything: an image beyond the cut
//     must not come to fit by lengths alone.
//
// Either of 2 and 3 would do. They fail in different ways.
//
// # Damage
//
// An image is a copy of what the archive says too. Where it is damaged (a checksum, a page that cannot be read, a record
// that no set would have written, a block that does not fit on it) Options.Damaged is told, the image goes, and the archive
// is passed over. Damage in the archive is an error, as is a set that is larger than it may be.
//
// # Goroutines
//
// Start does the vetting itself; the rest is done by a goroutine of the Loader and as many below it as Options.Threads,
// each of which guards its reads of mapped files (store.Guard). Close ends all of them and frees what was not taken. A view
// is immutable, so the writer may go on meanwhile; who takes the set then rolls it from the view's tip to the one of now.
//
// Locks: Loader.mu guards who owns the set, Loader.telling the caller's Progress, units.mu what is left of the archive to
// pass over. Each is held alone.
package coinset
