//go:build libsecp256k1

package script

/*
#cgo LDFLAGS: -lsecp256k1
#cgo noescape stele_ecdsa
#cgo nocallback stele_ecdsa
#cgo noescape stele_schnorr
#cgo nocallback stele_schnorr
#cgo noescape stele_tweak
#cgo nocallback stele_tweak
#cgo noescape stele_group
#cgo nocallback stele_group
#include <stdint.h>
#include <secp256k1.h>
#include <secp256k1_extrakeys.h>
#include <secp256k1_schnorrsig.h>

static int stele_ecdsa(const unsigned char *key, size_t size, const unsigned char *rs, const unsigned char *hash) {
	const secp256k1_context *ctx = secp256k1_context_static;
	secp256k1_pubkey point;
	secp256k1_ecdsa_signature sig;
	return secp256k1_ecdsa_signature_parse_compact(ctx, &sig, rs) &&
		secp256k1_ec_pubkey_parse(ctx, &point, key, size) &&
		secp256k1_ecdsa_verify(ctx, &sig, hash, &point);
}

static int stele_schnorr(const unsigned char *key, const unsigned char *sig, const unsigned char *hash) {
	const secp256k1_context *ctx = secp256k1_context_static;
	secp256k1_xonly_pubkey point;
	return secp256k1_xonly_pubkey_parse(ctx, &point, key) &&
		secp256k1_schnorrsig_verify(ctx, sig, hash, 32, &point);
}

static int stele_tweak(const unsigned char *output, const unsigned char *internal, const unsigned char *tweak, int odd) {
	const secp256k1_context *ctx = secp256k1_context_static;
	secp256k1_xonly_pubkey point;
	return secp256k1_xonly_pubkey_parse(ctx, &point, internal) &&
		secp256k1_xonly_pubkey_tweak_add_check(ctx, output, odd, &point, tweak);
}

// A Check of Go, field by field; there is no padding in it.
typedef struct {
	uint32_t input;
	uint8_t kind, odd, size, key[65], hash[32], sig[64];
} stele_check;

_Static_assert(sizeof(stele_check) == 168, "a Check has 168 bytes");

static void stele_group(const stele_check *checks, size_t n, uint8_t *good) {
	for (size_t i = 0; i < n; i++) {
		const stele_check *c = &checks[i];
		switch (c->kind) {
		case 0: good[i] = stele_ecdsa(c->key, c->size, c->sig, c->hash); break;
		case 1: good[i] = stele_schnorr(c->key, c->sig, c->hash); break;
		default: good[i] = stele_tweak(c->key, c->sig, c->hash, c->odd); break;
		}
	}
}
*/
import "C"

import "unsafe"

// Libsecp verifies with the system's libsecp256k1, which must have its modules extrakeys and schnorrsig. Nothing is
// allocated. It is in builds with the tag libsecp256k1 only.
type Libsecp struct{}

// A Check is handed over as it lies in memory. The kinds are numbers in C.
var (
	_ [168]byte = [unsafe.Sizeof(Check{})]byte{}
	_ [4]byte   = [unsafe.Offsetof(Check{}.Kind)]byte{}
	_ [5]byte   = [unsafe.Offsetof(Check{}.Odd)]byte{}
	_ [6]byte   = [unsafe.Offsetof(Check{}.Size)]byte{}
	_ [7]byte   = [unsafe.Offsetof(Check{}.Key)]byte{}
	_ [72]byte  = [unsafe.Offsetof(Check{}.Hash)]byte{}
	_ [104]byte = [unsafe.Offsetof(Check{}.Sig)]byte{}
	_ [0]byte   = [KindECDSA]byte{}
	_ [1]byte   = [KindSchnorr]byte{}
	_ [2]byte   = [KindTweak]byte{}
)

// groupCalls is how many checks go through one call into C. A call costs little, but one that lasts has the scheduler
// find other work; a few dozen at a time make that rare.
const groupCalls = 64

func (Libsecp) Name() string { return "libsecp256k1" }

func (Libsecp) ECDSA(key []byte, rs *[64]byte, hash *[32]byte) bool {
	if len(key) == 0 {
		return false
	}
	size := C.size_t(len(key))
	return C.stele_ecdsa(bytePointer(&key[0]), size, bytePointer(&rs[0]), bytePointer(&hash[0])) != 0
}

func (Libsecp) Schnorr(key *[32]byte, sig *[64]byte, hash *[32]byte) bool {
	return C.stele_schnorr(bytePointer(&key[0]), bytePointer(&sig[0]), bytePointer(&hash[0])) != 0
}

func (Libsecp) Tweak(output, internal, tweak *[32]byte, odd bool) bool {
	parity := C.int(0)
	if odd {
		parity = 1
	}
	return C.stele_tweak(bytePointer(&output[0]), bytePointer(&internal[0]), bytePointer(&tweak[0]), parity) != 0
}

// Group answers checks in few calls.
func (Libsecp) Group(checks []Check, bad []int) []int {
	var good [groupCalls]byte
	for done := 0; done < len(checks); done += groupCalls {
		part := checks[done:min(done+groupCalls, len(checks))]
		C.stele_group((*C.stele_check)(unsafe.Pointer(&part[0])), C.size_t(len(part)), (*C.uint8_t)(&good[0]))
		for i := range part {
			if good[i] == 0 {
				bad = append(bad, done+i)
			}
		}
	}
	return bad
}

func bytePointer(b *byte) *C.uchar { return (*C.uchar)(b) }
