// Package hashmap finds rows in append-only files: a truncating hash map whose keys stay in the rows, and its relatives,
// arrays behind a watermark and a multimap. It knows nothing of Bitcoin and imports store alone.
package hashmap
