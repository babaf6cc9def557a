package scripts_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"stele/chain"
	"stele/internal/realdata"
	"stele/node/scripts"
	"stele/validate/script"
)

func TestMain(m *testing.M) { realdata.Main(m) }

// sample is a real block with the coins of its inputs, one an entry of Ins.
type sample struct {
	block chain.Block
	coins []chain.Coin
	flags script.Flags
}

// load reads a block and its prevouts: lines of txid, output index, value, script, height, coinbase.
func load(t testing.TB, p *chain.Params, net string, height int) *sample {
	t.Helper()
	s := new(sample)
	name := strconv.Itoa(height)
	if err := s.block.Decode(realdata.Read(t, net, "blocks", name+".blk.gz")); err != nil {
		t.Fatal(err)
	}
	s.coins = make([]chain.Coin, 1, len(s.block.Ins))
	for line := range bytes.Lines(realdata.Read(t, net, "prevouts", name+".tsv.gz")) {
		if line[0] == '#' {
			continue
		}
		f := strings.Split(strings.TrimSpace(string(line)), "\t")
		value, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		code, err := hex.DecodeString(f[3])
		if err != nil {
			t.Fatal(err)
		}
		s.coins = append(s.coins, chain.Coin{Value: value, Script: code})
	}
	if len(s.coins) != len(s.block.Ins) {
		t.Fatalf("%d prevouts of %d inputs", len(s.coins), len(s.block.Ins))
	}
	hash := s.block.Header.Hash()
	s.flags = script.FlagsAt(p, uint32(height), &hash)
	return s
}

func (s *sample) job() scripts.Job {
	return scripts.Job{Block: &s.block, Coins: s.coins, Flags: s.flags}
}

// oracle answers by a hash of the signature: one of so many is false. It also counts.
type oracle struct {
	seed  byte
	oneIn uint32 // 0: none is false
	asked *atomic.Int64
}

func (o oracle) Name() string { return "oracle" }

func (o oracle) answer(b []byte) bool {
	o.asked.Add(1)
	if o.oneIn == 0 {
		return true
	}
	sum := sha256.Sum256(append([]byte{o.seed}, b...))
	return binary.LittleEndian.Uint32(sum[:])%o.oneIn != 0
}

func (o oracle) ECDSA(_ []byte, rs *[64]byte, _ *[32]byte) bool       { return o.answer(rs[:]) }
func (o oracle) Schnorr(_ *[32]byte, sig *[64]byte, _ *[32]byte) bool { return o.answer(sig[:]) }
func (o oracle) Tweak(output, _, _ *[32]byte, _ bool) bool            { return o.answer(output[:]) }

// sequential is the verdict found by running one input after the other.
func (s *sample) sequential(v script.Verifier) scripts.Failure {
	e, tx := script.NewEngine(v), new(script.Tx)
	for i := 1; i < len(s.block.Txs); i++ {
		t := &s.block.Txs[i]
		tx.Reset(&s.block, i, s.coins[t.FirstIn:][:t.Ins])
		for in := range int(t.Ins) {
			if err := e.Verify(tx, in, s.flags); err != script.OK {
				return scripts.Failure{Tx: i, Input: in, Err: err}
			}
		}
	}
	return scripts.Failure{Tx: -1, Input: -1}
}

func samples(t testing.TB) []*sample {
	return []*sample{
		load(t, chain.Main(), "mainnet", 170), load(t, chain.Main(), "mainnet", 2016), load(t, chain.Main(), "mainnet", 57043),
		load(t, chain.Main(), "mainnet", 757739), load(t, chain.Testnet3(), "testnet3", 928828),
		load(t, chain.Testnet3(), "testnet3", 1087400),
	}
}

// Whatever the number of workers, the mode and the size of groups, and with all blocks on their way at once, the verdict
// on each block is the one that running its inputs one after the other comes to.
func TestSameAsSequential(t *testing.T) {
	defer goleak.VerifyNone(t)
	all := samples(t)
	failed, passed := 0, 0
	seeds, least := byte(3), 100
	if testing.Short() {
		seeds, least = 1, 30
	}
	for _, oneIn := range []uint32{0, 3, 40, 700} {
		for seed := range seeds {
			v := oracle{seed, oneIn, new(atomic.Int64)}
			var want []scripts.Failure
			for _, s := range all {
				want = append(want, s.sequential(v))
			}
			for _, o := range []scripts.Options{
				{Threads: 1}, {Threads: 4}, {Threads: 1, Deferred: true, Group: 1}, {Threads: 1, Deferred: true},
				{Threads: 3, Deferred: true, Group: 7}, {Threads: 4, Deferred: true, Group: 10_000},
			} {
				o.Verifier = v
				for i, got := range verdicts(t, o, all) {
					if got != want[i] {
						t.Errorf("one in %d false, seed %d, %+v, block %d: %+v, want %+v", oneIn, seed, o, i, got, want[i])
					}
					if got.OK() {
						passed++
					} else {
						failed++
					}
				}
			}
		}
	}
	t.Logf("%d verdicts, %d of them failures", passed+failed, failed)
	if passed < least || failed < least {
		t.Errorf("%d blocks passed and %d failed: not both often enough", passed, failed)
	}
}

// verdicts runs all blocks at once, twice with the same Blocks.
func verdicts(t *testing.T, o scripts.Options, all []*sample) []scripts.Failure {
	c := scripts.New(o)
	defer c.Close()
	blocks := make([]scripts.Block, len(all))
	var got [2][]scripts.Failure
	for round := range got {
		for i, s := range all {
			c.Start(&blocks[i], s.job())
		}
		for i := range all {
			f, err := c.Wait(t.Context(), &blocks[i])
			if err != nil {
				t.Fatal(err)
			}
			got[round] = append(got[round], f)
		}
	}
	for i := range all {
		if got[0][i] != got[1][i] {
			t.Errorf("block %d: %+v, then %+v", i, got[0][i], got[1][i])
		}
	}
	return got[0]
}

// Real signatures, by the default verifier.
func TestRealSignatures(t *testing.T) {
	all := samples(t)[:4]
	for _, deferred := range []bool{false, true} {
		for i, f := range verdicts(t, scripts.Options{Threads: 2, Deferred: deferred}, all) {
			if !f.OK() {
				t.Errorf("deferred %v, block %d: %+v", deferred, i, f)
			}
		}
	}
	// One bit of an amount that a segwit signature commits to, of an input in the middle.
	s := all[3]
	for in := len(s.coins) / 2; in < len(s.coins); in++ {
		if s.block.Ins[in].Items == 0 {
			continue
		}
		s.coins[in].Value ^= 1
		want := s.sequential(script.Default())
		if want.OK() {
			t.Fatal("the altered block passes")
		}
		for _, deferred := range []bool{false, true} {
			if f := verdicts(t, scripts.Options{Threads: 2, Deferred: deferred}, all[3:4])[0]; f != want {
				t.Errorf("deferred %v: %+v, want %+v", deferred, f, want)
			}
		}
		return
	}
	t.Fatal("no input with a witness")
}

// slow lets a test cancel while it is being asked.
type slow struct {
	oracle
	started chan struct{}
	release chan struct{}
}

func (s slow) ECDSA(key []byte, rs *[64]byte, hash *[32]byte) bool {
	select {
	case s.started <- struct{}{}:
	default:
	}
	<-s.release
	return s.oracle.ECDSA(key, rs, hash)
}

// A cancelled block is no failed block; what is left of it is dropped, and the checker goes on with others.
func TestCancel(t *testing.T) {
	defer goleak.VerifyNone(t)
	big := load(t, chain.Testnet3(), "testnet3", 928828)
	for _, deferred := range []bool{false, true} {
		v := slow{oracle{asked: new(atomic.Int64)}, make(chan struct{}, 1), make(chan struct{})}
		c := scripts.New(scripts.Options{Verifier: v, Threads: 2, Deferred: deferred, Group: 8})
		ctx, cancel := context.WithCancel(t.Context())
		var b scripts.Block
		c.Start(&b, big.job())
		<-v.started
		cancel()
		done := make(chan error)
		go func() {
			_, err := c.Wait(ctx, &b)
			done <- err
		}()
		close(v.release)
		// The block may have been done before the cancellation was seen; it cannot have failed.
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("deferred %v: %v", deferred, err)
		}
		c.Start(&b, big.job())
		if f, err := c.Wait(t.Context(), &b); err != nil || !f.OK() {
			t.Errorf("deferred %v: after a cancelled block %+v, %v", deferred, f, err)
		}
		c.Close()
	}
}

// Nothing is allocated for a block once everything has grown.
func TestNoAllocation(t *testing.T) {
	s := load(t, chain.Main(), "mainnet", 757739)
	for _, deferred := range []bool{false, true} {
		c := scripts.New(scripts.Options{Verifier: oracle{asked: new(atomic.Int64)}, Threads: 1, Deferred: deferred})
		var b scripts.Block
		n := testing.AllocsPerRun(20, func() {
			c.Start(&b, s.job())
			if _, err := c.Wait(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
		})
		if n > 0 {
			t.Errorf("deferred %v: %v allocations a block", deferred, n)
		}
		c.Close()
	}
}

// Aside runs once a block, whether scripts are run or not, and what it did is seen once the block is done.
func TestAside(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := load(t, chain.Main(), "mainnet", 57043)
	for _, deferred := range []bool{false, true} {
		v := oracle{asked: new(atomic.Int64)}
		c := scripts.New(scripts.Options{Verifier: v, Threads: 3, Deferred: deferred})
		for _, skip := range []bool{false, true} {
			before, ran := v.asked.Load(), 0
			j := s.job()
			j.Skip, j.Aside = skip, func() { ran++ }
			var b scripts.Block
			c.Start(&b, j)
			<-b.Done()
			if f := b.Result(); !f.OK() || ran != 1 || (v.asked.Load() == before) != skip {
				t.Errorf("deferred %v, skip %v: %+v, aside ran %d times, %d checks", deferred, skip, f, ran, v.asked.Load()-before)
			}
		}
		c.Close()
	}
}

// A worker that finds the queue empty verifies what its group holds, however closely another worker took the last token:
// small blocks one after the other, each in two tokens, none of which fills a group.
func TestNothingIsHeldBack(t *testing.T) {
	s := load(t, chain.Main(), "mainnet", 170)
	c := scripts.New(scripts.Options{Verifier: oracle{asked: new(atomic.Int64)}, Threads: 4, Deferred: true})
	defer c.Close()
	var b scripts.Block
	j := s.job()
	j.Aside = func() {}
	for range 20_000 {
		c.Start(&b, j)
		select {
		case <-b.Done():
		case <-time.After(10 * time.Second):
			t.Fatal("a block is not done though nothing else is to do")
		}
		b.Result()
	}
}
