package bench

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/ecdsa"

	"stele/chain"
	"stele/internal/realdata/files"
	"stele/validate/script"
)

// scriptWork is a transaction, decoded alone, what it spends, and which of its inputs are run.
type scriptWork struct {
	block *chain.Block
	coins []chain.Coin
	ins   []int
}

// spendingFlags are the rules of block 364292, before and after which nothing changes for these scripts.
const spendingFlags = script.P2SH | script.DerSig | script.Witness | script.Taproot

// run makes the transaction ready and runs its inputs. All of them must pass.
func (s *scriptWork) run(e *script.Engine, tx *script.Tx) error {
	tx.Reset(s.block, 0, s.coins)
	for _, in := range s.ins {
		if err := e.Verify(tx, in, spendingFlags); err != script.OK {
			return fmt.Errorf("input %d: %v", in, err)
		}
	}
	return nil
}

// each calls f for the inputs.
func (s *scriptWork) each(f func(in int) error) error {
	for _, in := range s.ins {
		if err := f(in); err != nil {
			return fmt.Errorf("input %d, to btcd: %w", in, err)
		}
	}
	return nil
}

// choose takes every so many inputs, the first one half of that many in: the mean of what they hash is that of all.
func (s *scriptWork) choose(every int) *scriptWork {
	for in := min(every/2, len(s.block.Ins)-1); in < len(s.block.Ins); in += every {
		s.ins = append(s.ins, in)
	}
	return s
}

// agreeing is a verifier that says yes, at once.
type agreeing struct{}

func (agreeing) Name() string                                       { return "none" }
func (agreeing) ECDSA([]byte, *[64]byte, *[32]byte) bool            { return true }
func (agreeing) Schnorr(_ *[32]byte, _ *[64]byte, _ *[32]byte) bool { return true }
func (agreeing) Tweak(_, _, _ *[32]byte, _ bool) bool               { return true }

// listening is agreeing, and remembers the hash.
type listening struct {
	agreeing
	hash [32]byte
}

func (l *listening) ECDSA(_ []byte, _ *[64]byte, hash *[32]byte) bool {
	l.hash = *hash
	return true
}

// benchKey signs what has no signature of its own.
var benchKey, benchPub = btcec.PrivKeyFromBytes([]byte("a key to measure with; it is 32."[:32]))

// payToKey is the P2PKH script of a key.
func payToKey(key []byte) []byte {
	h := chain.Hash160(key)
	return append(append([]byte{0x76, 0xa9, 20}, h[:]...), 0x88, 0xac)
}

// unlockKey is a signature and a key, as a P2PKH output wants them.
func unlockKey(sig, key []byte) []byte {
	s := append([]byte{byte(len(sig))}, sig...)
	return append(append(s, byte(len(key))), key...)
}

// placeholder has the form of a signature with SIGHASH_ALL.
func placeholder() []byte { return append(ecdsa.Sign(benchKey, make([]byte, 32)).Serialize(), 1) }

// smallTx is a transaction of n inputs with that script and stack, and of two outputs.
func smallTx(n int, scriptSig []byte, stack [][]byte) []byte {
	raw := []byte{2, 0, 0, 0}
	if stack != nil {
		raw = append(raw, 0, 1)
	}
	raw = append(raw, byte(n))
	for i := range n {
		raw = append(raw, make([]byte, 32)...)
		raw = append(raw, byte(i), 0, 0, 0)
		raw = append(append(raw, byte(len(scriptSig))), scriptSig...)
		raw = append(raw, 0xfd, 0xff, 0xff, 0xff)
	}
	raw = append(raw, 2)
	for range 2 {
		out := payToKey(benchPub.SerializeCompressed())
		raw = append(binary.LittleEndian.AppendUint64(raw, 50_000), byte(len(out)))
		raw = append(raw, out...)
	}
	for range n {
		if stack == nil {
			break
		}
		raw = append(raw, byte(len(stack)))
		for _, item := range stack {
			raw = append(append(raw, byte(len(item))), item...)
		}
	}
	return append(raw, 0, 0, 0, 0)
}

func newScriptWork(raw []byte, coin func(b *chain.Block, in int) ([]byte, error)) (*scriptWork, error) {
	s := &scriptWork{block: new(chain.Block)}
	if err := s.block.DecodeTx(raw); err != nil {
		return nil, err
	}
	for in := range s.block.Ins {
		code, err := coin(s.block, in)
		if err != nil {
			return nil, err
		}
		s.coins = append(s.coins, chain.Coin{Value: 100_000, Script: code})
	}
	return s, nil
}

// keyHashSpending is one input that spends P2WPKH: all that it shares with other inputs is computed for it alone.
func keyHashSpending() (*scriptWork, error) {
	key := benchPub.SerializeCompressed()
	s, err := newScriptWork(smallTx(1, nil, [][]byte{placeholder(), key}), func(*chain.Block, int) ([]byte, error) {
		return append([]byte{0, 20}, payToKey(key)[3:23]...), nil
	})
	if err != nil {
		return nil, err
	}
	return s.choose(1), nil
}

// legacySpending is two inputs that spend P2PKH.
func legacySpending() (*scriptWork, error) {
	key := benchPub.SerializeCompressed()
	s, err := newScriptWork(smallTx(2, unlockKey(placeholder(), key), nil), func(*chain.Block, int) ([]byte, error) {
		return payToKey(key), nil
	})
	if err != nil {
		return nil, err
	}
	return s.choose(1), nil
}

// manySpending is the transaction of 5,569 inputs. Its prevouts are not in the data, but each input shows a signature
// and its key, and a legacy signature commits to no value: they are P2PKH outputs of those keys, or no signature would
// hold.
func manySpending(every int) (*scriptWork, error) {
	raw, err := files.Read("txs", "bb41a757_megatx_5569_inputs.bin.bz2")
	if err != nil {
		return nil, err
	}
	s, err := newScriptWork(raw, func(b *chain.Block, in int) ([]byte, error) {
		sig := b.Bytes(b.Ins[in].Script)
		if len(sig) < 1 || len(sig) < int(sig[0])+2 {
			return nil, errors.New("an input without a signature and a key")
		}
		return payToKey(sig[int(sig[0])+2:]), nil
	})
	if err != nil {
		return nil, err
	}
	return s.choose(every), nil
}

// quadraticSpending is the transaction of 20,000 inputs in block 367891. They spend empty scripts with an OP_1, and
// hash nothing. Here they spend a key's output, and those that are run are signed: what a miner of that time could have
// made of it. Signatures are over the hashes that we compute, so btcd takes them only if it computes the same.
func quadraticSpending(every int) (*scriptWork, error) {
	b, err := mainBlock("367891").read()
	if err != nil {
		return nil, err
	}
	large := 0
	for i := range b.Txs {
		if b.Txs[i].Ins > b.Txs[large].Ins {
			large = i
		}
	}
	key := benchPub.SerializeCompressed()
	coin := func(*chain.Block, int) ([]byte, error) { return payToKey(key), nil }
	unlock := unlockKey(placeholder(), key)
	s, err := newScriptWork(withScripts(b, large, func(int) []byte { return unlock }), coin)
	if err != nil {
		return nil, err
	}
	s.choose(every)
	ear, tx, scripts := new(listening), new(script.Tx), map[int][]byte{}
	e := script.NewEngine(ear)
	tx.Reset(s.block, 0, s.coins)
	for _, in := range s.ins {
		if err := e.Verify(tx, in, spendingFlags); err != script.OK {
			return nil, fmt.Errorf("input %d: %v", in, err)
		}
		scripts[in] = unlockKey(append(ecdsa.Sign(benchKey, ear.hash[:]).Serialize(), 1), key)
	}
	signed, err := newScriptWork(withScripts(b, large, func(in int) []byte { return scripts[in] }), coin)
	if err != nil {
		return nil, err
	}
	return signed.choose(every), nil
}

// withScripts writes transaction tx of b, which has no witness, with other input scripts of less than 253 bytes.
func withScripts(b *chain.Block, tx int, scriptSig func(in int) []byte) []byte {
	t := &b.Txs[tx]
	raw := binary.LittleEndian.AppendUint32(nil, t.Version)
	raw = chain.AppendCompactSize(raw, uint64(t.Ins))
	outs := t.Body
	for i := range int(t.Ins) {
		in := &b.Ins[int(t.FirstIn)+i]
		raw = append(raw, b.Raw[in.Prevout:][:chain.HashSize+4]...)
		other := scriptSig(i)
		raw = append(append(raw, byte(len(other))), other...)
		raw = binary.LittleEndian.AppendUint32(raw, in.Sequence)
		outs = in.Script.Off + in.Script.Len + 4
	}
	return append(raw, b.Raw[outs:t.End]...)
}
