package codec

import "encoding/binary"

// A head's kind byte is (version code*3 + lock time code)*2 + 1 if the transaction has witness stacks.
const (
	lockExplicit = iota // 4 bytes
	lockZero
	lockShort // 3 bytes: a height, 1 to 16,777,215
	lockCodes

	versionExplicit = 0 // 4 bytes; the other codes are the version itself
	versionCodes    = 4
	headKinds       = versionCodes * lockCodes * 2
)

// MaxHead is the length of the longest input head: kind, version, lock time.
const MaxHead = 1 + 4 + 4

// Head is what a transaction's run of inputs starts with.
type Head struct {
	Version, LockTime uint32
	Witness           bool // inputs carry witness stacks, as BIP144 serialises them
}

func lockCode(lock uint32) byte {
	switch {
	case lock == 0:
		return lockZero
	case lock < 1<<24:
		return lockShort
	}
	return lockExplicit
}

// AppendHead appends the input head of a transaction, 1 to MaxHead bytes.
func AppendHead(dst []byte, h Head) []byte {
	lock := lockCode(h.LockTime)
	version := byte(versionExplicit)
	if h.Version < versionCodes {
		version = byte(h.Version)
	}
	kind := (version*lockCodes + lock) * 2
	if h.Witness {
		kind++
	}
	dst = append(dst, kind)
	if version == versionExplicit {
		dst = binary.LittleEndian.AppendUint32(dst, h.Version)
	}
	switch lock {
	case lockShort:
		dst = append(dst, byte(h.LockTime), byte(h.LockTime>>8), byte(h.LockTime>>16))
	case lockExplicit:
		dst = binary.LittleEndian.AppendUint32(dst, h.LockTime)
	}
	return dst
}

// DecodeHead reads the input head at the start of b and its length n. It reports false for bytes that AppendHead cannot
// have made.
func DecodeHead(b []byte) (h Head, n int, ok bool) {
	if len(b) == 0 || b[0] >= headKinds {
		return Head{}, 0, false
	}
	h.Witness = b[0]&1 != 0
	version, lock := b[0]/2/lockCodes, b[0]/2%lockCodes
	h.Version = uint32(version)
	n = 1
	if version == versionExplicit {
		if len(b) < n+4 {
			return Head{}, 0, false
		}
		h.Version = binary.LittleEndian.Uint32(b[n:])
		n += 4
		if h.Version-1 < versionCodes-1 {
			return Head{}, 0, false
		}
	}
	switch lock {
	case lockShort:
		if len(b) < n+3 {
			return Head{}, 0, false
		}
		h.LockTime = uint32(b[n]) | uint32(b[n+1])<<8 | uint32(b[n+2])<<16
		n += 3
	case lockExplicit:
		if len(b) < n+4 {
			return Head{}, 0, false
		}
		h.LockTime = binary.LittleEndian.Uint32(b[n:])
		n += 4
	}
	return h, n, lockCode(h.LockTime) == lock
}
