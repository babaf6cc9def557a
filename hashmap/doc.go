// Package hashmap finds rows in append-only files. It holds the truncating map, whose keys stay in the rows, and its
// relatives behind the same kind of watermark: cells by number (cells*.go) and a multimap (multimap*.go). It knows
// nothing of Bitcoin and imports store alone.
//
// # The map
//
// Keys of 32 bytes are uniform already, so nothing is hashed: a window of 64 key bits, at an offset that is a secret of
// the store, is scaled to the number of buckets. A bucket's home is a line, one cache line of twelve entries (line.go):
// a tag of ten other key bits, and a link, which is a row's number. A full line sends entries on to the next one and
// keeps marks of them; spare lines end the file (map_file.go). A lookup reads the line, and a row only where tag and
// limit agree; the row's whole key decides (map_find.go). Many lookups go in groups, so that their misses overlap
// (group.go).
//
// Rows that are not in lines yet are in a delta in memory (delta.go). A merge puts them into the lines in one
// sequential pass, or builds a new generation of lines out of all rows (merge*.go):
//
//	Insert -> active delta --Seal--> sealed delta --MergeSealed--> lines, State, next manifest --> Retire
//
// # Invariants
//
//  1. The rows are the truth. Lines and deltas may name a row that does not have the key; no answer rests on a tag.
//  2. Every row below the watermark has an entry that lookups reach from its home line: each line between is full and
//     has the mark of the entry's tag. Rows from the watermark on are in a delta.
//  3. An entry fills the lowest empty slot, and never moves or changes; marks are only added. So a line that is read
//     while it is written, or torn by a crash, is an older line with some more bytes, and each of them is harmless
//     (merge_lines.go says why).
//  4. Rows with equal keys pass lines in the order of their links, and a line that a twin of one of its tags passed is
//     marked so. So the first hit in a line without that mark is the newest row.
//  5. Lines hold no link beyond the file's stamp, which is synced before the lines are written; and no merge is of rows
//     that no durable manifest covers.
//  6. A link is stored plus one in 32 bits. The row that would wrap is refused before it is inserted.
//
// # Goroutines and locks
//
// One goroutine, the writer, calls Insert, Seal, Merge and Verify. MergeSealed, and around it State and Retire, may run
// in another one meanwhile. Any number of goroutines may take and read views, without locks: a view is a value of
// pointers to a generation, which is mapped until Close, and to two deltas. Locks are taken in the order Map.merging
// (one merge at a time, held over I/O), Map.mu (the state and replacements of the view, for moments).
//
// Write order of a merge in place: stamp, sync, lines in ascending order, sync, then State and views change. Of a new
// generation: lines, header, sync, sync of the folder, then State and views; the old file stays until Retire, which
// waits for a durable manifest. Reading order of a lookup: active delta, sealed delta, lines: what a merge moves is
// found in its old place until it is whole in its new one.
//
// # Loads
//
// Measured with 14,000 buckets of hashes (BenchmarkLoads); a probe is a line from an entry's home to where it lies:
//
//	load   entries  lines    probes     lines    lines    rows     rows     bytes
//	 %     a line   passed   mean  max  a hit    a miss   a hit    a miss   a row
//	 60      7.2      3.4 %  1.01    2  1.01     1.01     1.006    0.007    8.9
//	 70      8.4     10.4 %  1.03    3  1.03     1.04     1.008    0.009    7.6
//	 75      9.0     16.5 %  1.05    3  1.06     1.07     1.009    0.010    7.1
//	 80      9.6     25.2 %  1.08    4  1.10     1.14     1.010    0.012    6.7
//	 85     10.2     36.9 %  1.15    5  1.18     1.29     1.011    0.014    6.3
//	 90     10.8     52.6 %  1.28    7  1.39     1.77     1.014    0.021    5.9
//
// A merge that would pass 80 % builds a new generation at 40 %. On the way there a lookup costs less than those 1.1
// lines; beyond, the next five per cent save 0.4 bytes a row and cost a tenth of a line, and it gets steeper.
package hashmap
