// Package codec turns outputs and inputs into the bytes of their slabs and back.
//
// The schema above it (package tables) knows only this: an output is a run of bytes that says its own length, a
// transaction's inputs are a head followed by one self-delimiting run for each input, and no run is longer than the
// wire bytes it came from plus one. That bound is what lets a tx row keep its slab offsets in 21 and 22 bits for every
// block that consensus allows, so it is an invariant of every kind that is ever added here.
//
// A run stores what its kind byte does not imply. Kind 0 is the wire fields as they are, the escape for what no shorter
// kind can spell. Every value has one spelling: the decoder takes exactly what the encoder writes.
//
// # Outputs
//
//	output       +0 kind 1 | amount 0-8 | data                          kind = 24 × template + class
//	carrier      +0 kind 1 | n 1 | data n                               amount 0; for one push behind OP_RETURN
//
//	template     data                    script                         kind
//	0 raw        CompactSize n, script n the script                     00-17
//	1 P2PKH      hash 20                 76 a9 14 | data | 88 ac        18-2f
//	2 P2SH       hash 20                 a9 14 | data | 87              30-47
//	3 P2WPKH     program 20              00 14 | data                   48-5f
//	4 P2WSH      program 32              00 20 | data                   60-77
//	5 P2TR       program 32              51 20 | data                   78-8f
//	6 P2A                                51 02 4e 73                    90-a7
//	7 P2PK       x 32                    21 02 | data | ac              a8-bf
//	8 P2PK       x 32                    21 03 | data | ac              c0-d7
//	9 P2PK       x 32, y 32              41 04 | data | ac              d8-ef
//	carriers     n 1-75                  6a | n | data                  f0
//	             n 76-80                 6a 4c | n | data               f1
//	             n 1-75                  6a 5d | n | data (runes)       f2
//
//	class        amount                  bytes   class   amount, in     bytes
//	0            satoshis                8       14-16   tens           1, 2, 3
//	1, 2, 3, 4   0, 294, 330, 546        0       17      hundreds       2
//	5            10,000                  0       18      thousands      1
//	6            100,000                 0       19, 20  ten thousands  1, 2
//	7            1,000,000               0       21, 22  10^5, 10^6     1
//	8-13         satoshis                1-6     23      coins          1
//
// The class of fewest bytes holds an amount, of several the first. Mean bytes of an amount that is not a carrier's,
// over the real blocks 702861, 709632, 757739, 800000 and 951658, and over all other real blocks of mainnet: on the
// wire 8, as plain widths 2.55 and 3.17, in these classes 2.17 and 2.59. Ten classes more, the best of all widths of
// powers of ten, would save another 0.01 and 0.03. Constants that one sender made frequent in one of the blocks were
// not considered.
//
// # Inputs
//
//	head         +0 kind 1 [| version 4] [| lock time 3 or 4]           kind = (version × 3 + lock code) × 2 + witness
//	input        +0 kind 1 [| sequence 4] | body                        kind = 5 × shape + sequence code
//
// Versions 1 to 3 and lock time 0 take no bytes, a lock time below 2^24 three; version 0 in a kind means that one
// follows; lock codes are 0 for four bytes, 1 for none, 2 for three. Sequence codes are 1 ffffffff, 2 fffffffe,
// 3 fffffffd, 4 zero, and 0 for one that follows. rs is a strict DER signature as r and s of 32 bytes each, big-endian,
// which imply its lengths (see signature.go); one that is shorter than 65 bytes is not packed. A hash type t is there
// when it is not SIGHASH_ALL.
//
//	shape        body                                                   stands for
//	0            CompactSize n, script n, stack                         a script, and items
//	1            CompactSize n, script n                                a script, and no items; coinbases before BIP141
//	2            CompactSize k, k × (CompactSize n, item n, or          no script, and items
//	             ff rs 64 t 1)
//	3            the same                                               ... and the script pushes 00 20 SHA256(last item)
//	4            mn 1, m × rs 64, odd ⌈n/8⌉, n × x 32                   P2SH m of n: 00, signatures, script
//	5            the same                                               P2WSH m of n
//	6            the same                                               P2SH-P2WSH m of n, program implied
//	7            item 64                                                P2TR by key
//	8            item 65                                                P2TR by key with hash type
//	9            flags 1, sig 64-65, CompactSize n, script n            P2TR by script of leaf version c0:
//	             [, internal key 32], hashes × 32                       signature, script, control block
//	10, 11       rs 64 [, t 1]                                          P2PK
//	12-17        rs 64 [, t 1], x 32 or x, y 64                         P2PKH: even, odd, full key; the same with t
//	18-23        the same                                               P2WPKH
//	24-29        the same                                               P2SH-P2WPKH, program implied
//
// mn is (m-1) << 4 + n-1, and bit i of odd says that key i starts with 03. Flags: bit 0 control block c1; bit 1 the
// internal key is not stored because the script starts by pushing it, as those of inscriptions do (3,010 of the 3,011
// in the five blocks); bit 2 a signature of 65 bytes; from bit 3 the number of hashes. All signatures of m of n are of
// type ALL and all keys compressed; others are items (shapes 2 and 3) or a script.
//
// Nothing refers to another output or input: runs are skipped by their own lengths, most by the kind alone, and outputs
// are read without looking at inputs. A nested program is not stored though it costs a hash to rebuild: 0.43 µs for
// HASH160 of a key, 0.9 ms for the 2,028 of block 709632, against 20 bytes of about 97 kept.
//
// # Measured
//
// The five blocks above, 4,549,671 bytes, together; a share is of all wire bytes. With rows of 42 bytes a transaction
// and 5 an input, 4 1/16 for spend cell and sample an output, 8.9 for the txid map a transaction (its mean load; 6.7
// where it is full) and 200 a block they take 0.816 of the wire (0.812).
//
//	outputs        number     wire    slab  share    inputs           number     wire    slab  share
//	P2TR             8493   365199  293213  6.4 %    tapscript          3011   792071  570618 12.5 %
//	P2WPKH           7445   230795  173202  3.8 %    P2WPKH             5626   834909  546174 12.0 %
//	P2SH             5554   177728  130978  2.9 %    P2SH-P2WPKH        3854   659686  373898  8.2 %
//	P2PKH            3995   135830   94588  2.1 %    P2PKH              3378   502013  331340  7.3 %
//	carrier           426    22301   18130  0.4 %    m of n P2SH        1130   296862  224958  4.9 %
//	P2WSH             488    20984   17581  0.4 %    m of n nested       838   230772  149490  3.3 %
//	raw                 5      185     151  0.0 %    m of n P2WSH        434   121534   92918  2.0 %
//	heads            8701    69608   11688  0.3 %    items               113    35791   27245  0.6 %
//	                                                 P2TR by key         174    18650   11410  0.3 %
//	                                                 scripts               8     1308     996  0.0 %
//
// # Contracts
//
//   - Encoding appends and never fails: every amount, script and witness that a block can carry has a form. A witness
//     that is passed is a well-formed stack.
//   - Decoding never panics and reports damage by ok == false: slabs are read in place from a file that a disk may
//     have altered.
//   - Decoded scripts and stacks are views of the slab, or of the buffer in which they were rebuilt, the caller's own.
//   - Nothing here allocates beyond the growth of what the caller passed.
//   - Skipping costs the reads of the length fields, never of a script.
package codec
