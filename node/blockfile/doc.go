// Package blockfile reads blocks out of files: the blk*.dat of Bitcoin Core
// and everything that is a sequence of the same records (bootstrap files,
// files cut or joined by hand, standard input).
//
//	0        4         8                8+length
//	+--------+---------+----------------+
//	| magic  | length  | block          |   length is little-endian
//	+--------+---------+----------------+
//
// It knows records and the 80 bytes of a header, not blocks: whether a
// record's bytes are a block is for the caller to find out.
//
// # What is accepted
//
// Records may come in any order. Between and behind them may lie:
//
//   - zero bytes (preallocated space): passed over;
//   - other bytes: skipped up to the next magic, counted and noted;
//   - a record whose length is not in 80..4,000,000: yielded as damaged;
//     reading goes on at the next magic;
//   - a record that the end of the file cuts: ends the file, counted and
//     noted.
//
// None of this is an error. Errors are ErrNoBlocks, *ForeignNetwork (a file
// that begins with another network's magic) and *ReadError (the medium).
//
// A folder stands for its blk*.dat in the order of their numbers. Since Core
// 28 the folder may hold xor.dat, 8 bytes: the byte at offset p of every block
// file is XORed with byte p mod 8 of it. Space that was preallocated but never
// written is zero on disk, so in such a file bytes that are zero before the
// key is applied are padding as well.
//
// # How it is read
//
// A Set is opened once. Index goes over the seekable files and yields each
// record's Place and header; bodies are not read, a file of large blocks costs
// one small read a record, one of small blocks one read each 64 KiB. ReadBlock
// fetches a block by its Place. What cannot be sought (standard input, pipes)
// is a Stream, which yields whole blocks through the same scanner out of a
// buffer that never exceeds one record and 256 KiB.
//
// A record's damaged length may have swallowed the records behind it. The
// caller notices when the block does not decode, and then asks Resync (files)
// or Stream.Reject for what begins inside it.
//
// # Ownership
//
// The Set owns the file handles; at most 128 are open at a time, older ones are
// reopened on demand. Index, Resync and the Streams belong to one goroutine; ReadBlock,
// Path, Size and Done may be called from any. Views that are yielded hold
// until the next step. Files are only read.
package blockfile
