// Package libsecp asks the system's libsecp256k1 what package secp256k1 is asked, for the tests and benchmarks of that
// package, which is compared with it case by case. Nothing else imports it.
//
// It is empty but under the build tag libsecp256k1, which needs cgo, a C compiler, and the library with its headers,
// built with the modules extrakeys and schnorrsig (Debian: libsecp256k1-dev):
//
//	go test -tags libsecp256k1 ./validate/script/secp256k1
//
// It is a package of its own because cgo goes neither into tests nor beside assembly.
//
// Functions take the bytes that the ones of secp256k1 take, parse them at every call, hold nothing, and may be called
// from any number of goroutines. An s that is high is normalised first, as libsecp256k1 itself would refuse it.
package libsecp
