//go:build libsecp256k1

package libsecp

// #cgo LDFLAGS: -lsecp256k1
// #cgo noescape stele_ecdsa
// #cgo nocallback stele_ecdsa
// #cgo noescape stele_schnorr
// #cgo nocallback stele_schnorr
// #cgo noescape stele_tweak
// #cgo nocallback stele_tweak
// #include <stddef.h>
// #include <secp256k1.h>
// #include <secp256k1_extrakeys.h>
// #include <secp256k1_schnorrsig.h>
//
// static const secp256k1_context *ctx(void) { return secp256k1_context_static; }
//
// static int stele_ecdsa(const unsigned char *key, size_t size, const unsigned char *rs, const unsigned char *hash) {
//   secp256k1_pubkey pub;
//   secp256k1_ecdsa_signature sig;
//   if (!secp256k1_ec_pubkey_parse(ctx(), &pub, key, size)) return 0;
//   if (!secp256k1_ecdsa_signature_parse_compact(ctx(), &sig, rs)) return 0;
//   secp256k1_ecdsa_signature_normalize(ctx(), &sig, &sig);
//   return secp256k1_ecdsa_verify(ctx(), &sig, hash, &pub);
// }
//
// static int stele_schnorr(const unsigned char *key, const unsigned char *sig, const unsigned char *hash) {
//   secp256k1_xonly_pubkey pub;
//   return secp256k1_xonly_pubkey_parse(ctx(), &pub, key) && secp256k1_schnorrsig_verify(ctx(), sig, hash, 32, &pub);
// }
//
// static int stele_tweak(const unsigned char *output, const unsigned char *internal, const unsigned char *tweak, int odd) {
//   secp256k1_xonly_pubkey pub;
//   return secp256k1_xonly_pubkey_parse(ctx(), &pub, internal) &&
//     secp256k1_xonly_pubkey_tweak_add_check(ctx(), output, odd, &pub, tweak);
// }
import "C"

func bytes(b []byte) *C.uchar { return (*C.uchar)(&b[0]) }

// ECDSA is secp256k1.VerifyECDSA.
func ECDSA(key []byte, rs *[64]byte, hash *[32]byte) bool {
	return len(key) > 0 && C.stele_ecdsa(bytes(key), C.size_t(len(key)), bytes(rs[:]), bytes(hash[:])) == 1
}

// Schnorr is secp256k1.VerifySchnorr for a message of 32 bytes.
func Schnorr(key *[32]byte, sig *[64]byte, hash *[32]byte) bool {
	return C.stele_schnorr(bytes(key[:]), bytes(sig[:]), bytes(hash[:])) == 1
}

// Tweak is secp256k1.CheckTweak.
func Tweak(output, internal, tweak *[32]byte, odd bool) bool {
	parity := C.int(0)
	if odd {
		parity = 1
	}
	return C.stele_tweak(bytes(output[:]), bytes(internal[:]), bytes(tweak[:]), parity) == 1
}
