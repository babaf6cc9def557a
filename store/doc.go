// Package store keeps the files of a store: it maps, grows, appends, syncs and locks them, and names what counts in a
// manifest. It knows no Bitcoin.
//
// A Disk is a flat set of files: a Dir (a folder that this process owns by its lock file) or a MemDisk (the heap twin,
// for the race detector and for faults made to order). A File is one of them, mapped for reading. A Body is a File with
// a header page that only grows at its end. The Manifest is the File that says which bytes of all others count.
//
// # Invariants
//
// The code cites them as "by (n)".
//
//  1. A file is mapped once, much longer than it is, and grows underneath: its base never moves while it is open, and
//     readers take no lock. (windows maps exactly and anew on growth; there the earlier mappings stay until Close.)
//  2. Nobody stores through a mapping. Mappings are read-only, every write is a pwrite: a store into a fresh mapped
//     page costs up to ten times as much and, on a copy-on-write file system, can fault although space was allocated.
//  3. Size counts bytes that are really backed. A hole is never written to: a file that is found sparse is filled
//     before it grows. So a full disk is an error of Allocate, never a signal.
//  4. Bytes come before the length that covers them. A body stores its flushed length atomically after the bytes, and
//     readers are told a length of at most that. They check against it, never against the length of the mapping.
//  5. Words that change under readers are aligned to 8 bytes and change by Rewrite alone. What a reader loads from
//     them is a claim that the row it points to must prove, so that an older or a torn word costs a miss and not an
//     answer.
//  6. Space is had in all bodies before a byte is appended to one (ReserveAll). A full disk leaves no half of a block.
//  7. A manifest names only what is durable: bodies are flushed, then each file synced, then the folder, then the older
//     slot is written, then synced. The slot that was the newest stays as it is until then.
//  8. The first failed sync of a disk is kept (Health): afterwards no sync can prove anything, so none is tried and no
//     manifest is written by this process. A full disk and a failed write are not kept; they may be tried again.
//  9. Whoever writes holds the folder's lock, from before the first file is opened until after the last is closed. A
//     disk that is open for reading only creates, grows, cuts and writes nothing.
//  10. A page that decides something (body header, preamble, slot) carries a checksum over all of itself, and nothing
//     it says is used before that has been compared.
//
// # Who does what
//
// mmap-go maps and unmaps (on windows it also minds the handles of the sections). x/sys allocates (fallocate,
// F_PREALLOCATE), syncs (fdatasync, F_FULLFSYNC), advises (MADV_RANDOM, MADV_DONTDUMP) and asks for limits. Package os
// opens, writes and truncates; gofrs/flock locks.
//
// A mapping owns no byte of the heap and outlives no Close: whoever closes a Disk has ended all readers before. A file
// has one writer; see File for what may run beside it. Guard turns a page that cannot be read into a *Fault, in the
// goroutine that calls it.
//
// # Locks
//
// Dir.mu guards the set of open files and the state of the folder, diskFile.mu the descriptor against Close, the list
// of regions is for Guard. The first two are never held together; either may be held while the list is locked.
// MemDisk.mu is held alone. Readers take none of them.
//
// # What stands on this
//
// A checkpoint beside the running writer uses Flushed and SyncFlushed of each body and then Manifest.Write. The live
// record (a small note of how far everything was appended, which outlives a mere kill) is the one exception to (2): a
// file of one page, allocated when it is created, stored into through a mapping of its own. A simulated disk that
// loses unsynced sectors is one more implementation of Disk; it needs no more than that interface, by (2).
package store
