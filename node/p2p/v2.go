package p2p

import (
	"bytes"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"sync"

	"github.com/btcsuite/btcd/btcec/v2/ellswift"
	"github.com/btcsuite/btcd/v2transport"
)

// The encrypted transport (BIP324). Both sides send a key and garbage, then a terminator that only the two can know,
// then packets:
//
//	+---------+-----------------+------------+----------------------------- - -+
//	| key 64  | garbage 0..4095 | terminator | packet | packet | ...            |
//	+---------+-----------------+------------+----------------------------- - -+
//	packet: | length 3, encrypted | header 1, contents | tag 16 |
//
// The ciphers are v2transport's. The handshake and the packets are ours, as v2transport takes memory for what a
// length announces (16 MiB) before any of it has come, and copies what it sends twice.
const (
	keySize         = 64
	maxGarbage      = 4095
	terminatorSize  = 16
	packetLength    = 3
	packetOverhead  = 1 + 16 // header byte, tag
	decoyBit        = 0x80
	maxContents     = 1 + commandSize + maxPayload
	maxDecoys       = 1000 // one after the other; more of them are not cover but a flood
	scratchRetained = 64 << 10
)

// shortIDs are the one-byte commands of BIP324; index 0 begins a long one. The others are read over.
var shortIDs = [...]string{
	1: cmdAddr, 2: cmdBlock, 3: "blocktxn", 4: "cmpctblock", 5: "feefilter", 6: "filteradd", 7: "filterclear",
	8: "filterload", 9: cmdGetBlocks, 10: "getblocktxn", 11: cmdGetData, 12: cmdGetHeaders, 13: cmdHeaders, 14: cmdInv,
	15: "mempool", 16: "merkleblock", 17: cmdNotFound, 18: cmdPing, 19: cmdPong, 20: "sendcmpct", 21: "tx",
	22: "getcfilters", 23: "cfilter", 24: "getcfheaders", 25: "cfheaders", 26: "getcfcheckpt", 27: "cfcheckpt",
	28: cmdAddrV2,
}

var shortIDOf = sync.OnceValue(func() map[string]byte {
	m := make(map[string]byte, len(shortIDs))
	for id, command := range shortIDs {
		if command != "" {
			m[command] = byte(id)
		}
	}
	return m
})

// errNotV2 is a peer that hung up on our key before it sent a byte: one that knows the first transport alone.
var errNotV2 = errors.New("peer does not speak the encrypted transport")

// v2 is an encrypted connection after its handshake. Reading and writing have one goroutine each.
type v2 struct {
	in      io.Reader
	out     io.Writer
	recvLen *v2transport.FSChaCha20
	recv    *v2transport.FSChaCha20Poly1305
	sendLen *v2transport.FSChaCha20
	send    *v2transport.FSChaCha20Poly1305
	session [32]byte
	scratch []byte  // ciphertext of small packets
	large   *[]byte // of the large one that is being read, from largeScratch
}

// handshakeV2 makes an encrypted connection of in and out. The writes run beside the reads, so that two sides that
// both write first do not wait for each other.
func handshakeV2(in io.Reader, out io.Writer, initiator bool, magic [4]byte) (*v2, error) {
	private, ours, err := ellswift.EllswiftCreate()
	if err != nil {
		return nil, fmt.Errorf("key of the encrypted transport: %w", err)
	}
	garbage, err := randomGarbage()
	if err != nil {
		return nil, err
	}
	sent := writeBeside(out, append(bytes.Clone(ours[:]), garbage...))
	var theirs [keySize]byte
	if n, err := io.ReadFull(in, theirs[:]); err != nil {
		if n == 0 && initiator {
			err = errNotV2
		}
		return nil, errors.Join(unexpected(err), discard(sent, out))
	}
	if !initiator && bytes.Equal(theirs[4:16], versionCommand[:]) {
		return nil, errors.Join(breach(0, "magic %x of another network", theirs[:4]), discard(sent, out))
	}
	if err := <-sent; err != nil {
		return nil, err
	}
	secret, err := ellswift.V2Ecdh(private, theirs, ours, initiator)
	if err != nil {
		return nil, breach(banScore, "key of the encrypted transport: %v", err)
	}
	c := &v2{in: in, out: out}
	ourTerm, theirTerm, err := c.derive(secret[:], initiator, magic)
	if err != nil {
		return nil, err
	}
	length, sealed := c.seal(make([]byte, 1), garbage) // an empty version packet
	sent = writeBeside(out, slices.Concat(ourTerm, length, sealed))
	if err := c.readGarbage(theirTerm); err != nil {
		return nil, errors.Join(err, discard(sent, out))
	}
	return c, <-sent
}

// versionCommand is what stands at byte 4 of a version message of the first transport.
var versionCommand = [commandSize]byte{'v', 'e', 'r', 's', 'i', 'o', 'n'}

func randomGarbage() ([]byte, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(maxGarbage+1))
	if err != nil {
		return nil, err
	}
	garbage := make([]byte, n.Int64())
	_, err = rand.Read(garbage)
	return garbage, err
}

func writeBeside(out io.Writer, b []byte) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := out.Write(b)
		done <- err
	}()
	return done
}

// discard ends a write that nobody waits for any more, by closing what it writes to.
func discard(sent <-chan error, out io.Writer) error {
	if c, ok := out.(io.Closer); ok {
		_ = c.Close()
	}
	<-sent
	return nil
}

// derive makes the ciphers and the terminators of both sides from the shared secret.
func (c *v2) derive(secret []byte, initiator bool, magic [4]byte) (ours, theirs []byte, err error) {
	prk, err := hkdf.Extract(sha256.New, secret, append([]byte("bitcoin_v2_shared_secret"), magic[:]...))
	if err != nil {
		return nil, nil, err
	}
	expand := func(info string) []byte {
		key, e := hkdf.Expand(sha256.New, prk, info, 32)
		err = errors.Join(err, e)
		return key
	}
	sendSide, recvSide := "initiator", "responder"
	terms := expand("garbage_terminators")
	if err != nil {
		return nil, nil, err
	}
	ours, theirs = terms[:terminatorSize:terminatorSize], terms[terminatorSize:]
	if !initiator {
		sendSide, recvSide, ours, theirs = recvSide, sendSide, theirs, ours
	}
	copy(c.session[:], expand("session_id"))
	var errs [5]error
	c.sendLen, errs[0] = v2transport.NewFSChaCha20(expand(sendSide + "_L"))
	c.send, errs[1] = v2transport.NewFSChaCha20Poly1305(expand(sendSide + "_P"))
	c.recvLen, errs[2] = v2transport.NewFSChaCha20(expand(recvSide + "_L"))
	c.recv, errs[3] = v2transport.NewFSChaCha20Poly1305(expand(recvSide + "_P"))
	errs[4] = err
	return ours, theirs, errors.Join(errs[:]...)
}

// readGarbage reads up to and with the terminator, then the version packet, which vouches for the garbage. What that
// packet holds means nothing yet.
func (c *v2) readGarbage(terminator []byte) error {
	b := make([]byte, terminatorSize, 256)
	if _, err := io.ReadFull(c.in, b); err != nil {
		return unexpected(err)
	}
	for !bytes.Equal(b[len(b)-terminatorSize:], terminator) {
		if len(b) == maxGarbage+terminatorSize {
			return breach(banScore, "no end to the garbage of the encrypted transport")
		}
		b = append(b, 0)
		if _, err := io.ReadFull(c.in, b[len(b)-1:]); err != nil {
			return unexpected(err)
		}
	}
	_, err := c.readPacket(b[:len(b)-terminatorSize])
	return err
}

// readPacket reads the contents of the next packet that is not a decoy; the first of them all must vouch for aad.
func (c *v2) readPacket(aad []byte) ([]byte, error) {
	for range maxDecoys {
		var length [4]byte
		if _, err := io.ReadFull(c.in, length[:packetLength]); err != nil {
			return nil, err
		}
		plain, err := c.recvLen.Crypt(length[:packetLength])
		if err != nil {
			return nil, err
		}
		copy(length[:], plain)
		n := int(binary.LittleEndian.Uint32(length[:]))
		if n > maxContents {
			return nil, breach(banScore, "packet of %d bytes, at most %d", n, maxContents)
		}
		sealed, err := c.readSealed(n + packetOverhead)
		if err != nil {
			return nil, err
		}
		text, err := c.recv.Decrypt(aad, sealed)
		c.release()
		if err != nil {
			return nil, breach(banScore, "packet does not decrypt")
		}
		if aad = nil; text[0]&decoyBit == 0 {
			return text[1:], nil
		}
	}
	return nil, breach(banScore, "%d decoys in a row", maxDecoys)
}

// largeScratch holds ciphertexts of large packets, which live until they are decrypted.
var largeScratch = sync.Pool{New: func() any { return new([]byte) }}

// readSealed reads n bytes, which are good until release: into the scratch while they are few, else into memory that all
// connections share, which grows as bytes come.
func (c *v2) readSealed(n int) ([]byte, error) {
	if n <= scratchRetained {
		if cap(c.scratch) < n {
			c.scratch = make([]byte, n, min(scratchRetained, 2*n))
		}
		b := c.scratch[:n]
		_, err := io.ReadFull(c.in, b)
		return b, unexpected(err)
	}
	c.large = largeScratch.Get().(*[]byte)
	if cap(*c.large) >= n {
		b := (*c.large)[:n]
		_, err := io.ReadFull(c.in, b)
		return b, unexpected(err)
	}
	b, err := readPayload(c.in, n)
	*c.large = b
	return b, err
}

// release gives large memory back.
func (c *v2) release() {
	if c.large != nil {
		largeScratch.Put(c.large)
		c.large = nil
	}
}

// seal makes the two parts of a packet from a header byte and contents.
func (c *v2) seal(plain, aad []byte) (length, sealed []byte) {
	length = binary.LittleEndian.AppendUint32(nil, uint32(len(plain)-1))
	length, err := c.sendLen.Crypt(length[:packetLength])
	if err != nil {
		panic(err) // Crypt and Encrypt fail for keys of a wrong length alone
	}
	if sealed, err = c.send.Encrypt(aad, plain); err != nil {
		panic(err)
	}
	return length, sealed
}

func (c *v2) read() (message, error) {
	contents, err := c.readPacket(nil)
	if err != nil {
		return message{}, err
	}
	if len(contents) == 0 {
		return message{}, breach(banScore, "packet without a command")
	}
	m := message{payload: contents[1:]}
	switch id := int(contents[0]); {
	case id == 0:
		if len(contents) < 1+commandSize {
			return message{}, breach(banScore, "command cut short")
		}
		command, ok := parseCommand(contents[1 : 1+commandSize])
		if !ok {
			return message{}, breach(banScore, "command is not text: %q", contents[1:1+commandSize])
		}
		m = message{command, contents[1+commandSize:]}
	case id < len(shortIDs):
		m.command = shortIDs[id]
	}
	limit, kept := payloadLimit(m.command)
	if len(m.payload) > limit {
		return message{}, breach(banScore, "%s of %d bytes, at most %d", m.command, len(m.payload), limit)
	}
	if !kept {
		m.payload = nil
	}
	return m, nil
}

func (c *v2) write(command string, buf []byte) error {
	begin := headroom - 2
	if id, ok := shortIDOf()[command]; ok {
		buf[headroom-1] = id
	} else {
		begin = headroom - 1 - 1 - commandSize
		clear(buf[begin:headroom])
		copy(buf[begin+2:headroom], command)
	}
	buf[begin] = 0
	length, sealed := c.seal(buf[begin:], nil)
	if len(sealed) < scratchRetained {
		length, sealed = append(length, sealed...), nil
	}
	if _, err := c.out.Write(length); err != nil || sealed == nil {
		return err
	}
	_, err := c.out.Write(sealed)
	return err
}

// sessionText is the session id in hexadecimal: two users who read the same one know that nobody sits between them.
func (c *v2) sessionText() string { return hex.EncodeToString(c.session[:]) }
