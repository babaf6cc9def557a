//go:build unix

package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"stele/chain"
	"stele/internal/chaintest"
	"stele/store"
	"stele/tables"
)

// signature is everything that a store says, whatever its files look like: headers of every branch with their states, the
// best chain, and for each archived output its spenders on every branch.
func signature(t *testing.T, folder string, p *chain.Params) string {
	t.Helper()
	d, err := store.OpenDir(folder, store.DirOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	tb, err := tables.Open(d, p, tables.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tb.Close()
	v := tb.View()
	sum := sha256.New()
	tip, height := v.Tip()
	fmt.Fprintln(sum, v.Header(tip).Hash(), height, tb.WireBytes())
	for l := range tables.HeaderLink(v.Cut().Headers) {
		b, archived := v.Block(l)
		fmt.Fprintln(sum, v.Header(l).Hash(), tb.State(l), v.Confirmed(l), archived)
		for i := range b.Txs {
			tx := v.Tx(b.FirstTx + tables.TxLink(i))
			fmt.Fprintln(sum, tx.Txid, tx.Strong)
			for n := range tx.Outs {
				o := tx.FirstOut + tables.OutputLink(n)
				_, spent := v.Spender(o)
				fmt.Fprintln(sum, spent, v.Spent(o))
				for _, s := range v.Spenders(nil, o) {
					fmt.Fprintln(sum, v.Txid(s.Tx), s.Index)
				}
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// branches writes a file of blocks in random order: a trunk, and a random tree on it, whose blocks may spend the trunk's
// coinbases. One spender on each of several branches is usual.
func branches(t *testing.T, rnd *rand.Rand) string {
	t.Helper()
	tip := chaintest.Genesis()
	var trunk, all []*chaintest.Block
	for i := range uint32(105) {
		tip = tip.Next(i)
		trunk, all = append(trunk, tip), append(all, tip)
	}
	tree := []*chaintest.Block{tip}
	spends := map[*chaintest.Block]int{} // the trunk's coinbase that a block spends, plus one
	for salt := range uint32(25) {
		parent := tree[max(0, len(tree)-1-rnd.IntN(3))]
		spend := rnd.IntN(5)
		for b := parent; b != nil; b = b.Parent {
			if spends[b] == spend+1 {
				spend = 5 // spent on this branch already
			}
		}
		var txs []*chaintest.Tx
		if spend < 5 {
			txs = append(txs, &chaintest.Tx{
				Version: 2, Ins: []chaintest.Outpoint{{Txid: trunk[spend].Txids[0]}},
				Outs: []chaintest.Output{{Value: 20e8, Script: []byte{0x51}}, {Value: int64(salt) * 1e8, Script: []byte{0x52}}},
			})
		}
		next := parent.Next(1000+salt, txs...)
		if spend < 5 {
			spends[next] = spend + 1
		}
		tree, all = append(tree, next), append(all, next)
	}
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var file []byte
	for _, b := range all {
		file = append(file, chain.Regtest().Magic[:]...)
		file = binary.LittleEndian.AppendUint32(file, uint32(len(b.Raw)))
		file = append(file, b.Raw...)
	}
	return writeFile(t, "branches.dat", file)
}

// TestBackupIsEqual copies free stores of random trees, taken in a few pieces: the copy, and what is restored from it, say
// what the store says.
func TestBackupIsEqual(t *testing.T) {
	for seed := range uint64(5) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		dir, backup, other := t.TempDir(), filepath.Join(t.TempDir(), "a", "b"), t.TempDir()
		regtest := func(dir string, args ...string) result {
			t.Helper()
			return stele(append([]string{"--json", "--network", "regtest", "--datadir", dir}, args...)...).want(t, codeOK)
		}
		file := branches(t, rnd)
		for range rnd.IntN(2) {
			regtest(dir, "import", file, "--stop-height", strconv.Itoa(100+rnd.IntN(12)))
		}
		regtest(dir, "import", file)
		want := signature(t, filepath.Join(dir, "regtest", "archive"), chain.Regtest())
		doc := document[copyDocument](t, regtest(dir, "backup", backup))
		if got := signature(t, backup, chain.Regtest()); got != want || doc.Folder != backup || doc.Bytes == 0 {
			t.Errorf("seed %d: the backup differs: %+v", seed, doc)
		}
		tip := document[infoDocument](t, regtest(dir, "info")).Tip
		doc = document[copyDocument](t, regtest(other, "restore", backup))
		if doc.Tip != tip || doc.Folder != filepath.Join(other, "regtest", "archive") {
			t.Errorf("%+v, the tip is %+v", doc, tip)
		}
		if got := signature(t, doc.Folder, chain.Regtest()); got != want {
			t.Errorf("seed %d: the restored store differs", seed)
		}
		regtest(other, "check", "--deep")
		regtest(other, "import", file)
	}
}

// TestBackupsDuringAnImport takes a backup every 50 ms while another process imports; each restores to a store that checks
// and goes on to the same end.
func TestBackupsDuringAnImport(t *testing.T) {
	dir := temp(t)
	p := startImport(t, dir)
	p.feed(0, 500)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for from := 500; from < mainHigh+1; from += 500 {
			_, _ = p.stdin.Write(slices.Concat(records(t)[from:min(from+500, mainHigh+1)]...))
			time.Sleep(20 * time.Millisecond)
		}
	}()
	most := 30
	if testing.Short() {
		most = 6
	}
	var backups []string
	var tips []uint32
	for more := true; more && len(backups) < most; time.Sleep(50 * time.Millisecond) {
		select {
		case <-done:
			more = false
		default:
		}
		if len(backups)%2 == 1 { // else none of the few is of anything but the beginning
			stele("--datadir", dir, "checkpoint").want(t, codeOK)
		}
		backup := filepath.Join(t.TempDir(), "b")
		doc := answer[copyDocument](t, dir, "backup", backup)
		backups, tips = append(backups, backup), append(tips, doc.Tip.Height)
	}
	<-done
	p.reach(mainHigh)
	p.end()
	if !slices.IsSorted(tips) || tips[len(tips)-1] < 500 {
		t.Errorf("the tips are %v", tips)
	}
	for i, backup := range backups {
		other := t.TempDir()
		doc := answer[copyDocument](t, other, "restore", backup)
		if doc.Tip.Height != tips[i] || doc.Tip.Hash.String() != blockHash(t, int(tips[i])) {
			t.Errorf("%+v, backed up at %d", doc, tips[i])
		}
		if r := answer[checkDocument](t, other, "check", "--deep"); !r.OK || r.Checked["blocks"] != uint64(tips[i])+1 {
			t.Errorf("%+v", r)
		}
	}
	last := filepath.Dir(backups[0])
	stele("--datadir", last, "restore", backups[0]).want(t, codeOK)
	stele("--datadir", last, "import", blockFile(t, 0, mainHigh+1)).want(t, codeOK)
	one, two := filepath.Join(last, "archive"), filepath.Join(dir, "archive")
	if signature(t, one, chain.Main()) != signature(t, two, chain.Main()) {
		t.Error("a restored store ends elsewhere")
	}
}

// TestBackupOwnerKilled kills the owner while it copies: the client makes the backup itself.
func TestBackupOwnerKilled(t *testing.T) {
	dir := temp(t)
	p := startImport(t, dir)
	p.feed(0, height+1)
	p.halt()
	backup := filepath.Join(t.TempDir(), "b")
	done := make(chan result)
	go func() { done <- stele("--json", "--datadir", dir, "backup", backup) }()
	time.Sleep(100 * time.Millisecond)
	p.kill()
	doc := document[copyDocument](t, (<-done).want(t, codeOK))
	if doc.Tip.Height != height {
		t.Errorf("%+v", doc)
	}
}

// TestBackupInterrupted leaves a whole backup, or nothing.
func TestBackupInterrupted(t *testing.T) {
	dir := makeStore(t)
	want := signature(t, filepath.Join(dir, "archive"), chain.Main())
	rnd := rand.New(rand.NewPCG(2, 1))
	for range 8 {
		backup := filepath.Join(t.TempDir(), "b")
		cmd := program("--datadir", dir, "backup", backup)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rnd.IntN(40)) * time.Millisecond)
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait()
		if _, err := os.Lstat(backup); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if cmd.ProcessState.ExitCode() != codeOK || signature(t, backup, chain.Main()) != want {
			t.Errorf("exit %d leaves %v", cmd.ProcessState.ExitCode(), entries(t, backup))
		}
	}
}

func TestBackupRefuses(t *testing.T) {
	dir := makeStore(t)
	archive := filepath.Join(dir, "archive")
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refuse(t, codeFailed, dir, []string{"backup", full}, full, "not empty", "mine")
	refuse(t, codeFailed, dir, []string{"backup", archive}, "the store's own folder")
	refuse(t, codeFailed, dir, []string{"backup", filepath.Join(archive, "b")}, "the store's own folder")
	refuse(t, codeFailed, dir, []string{"backup", filepath.Join(full, "mine")}, "not a directory")
	refuse(t, codeFailed, t.TempDir(), []string{"backup", filepath.Join(full, "b")}, "no store")
	if names := entries(t, full); !slices.Equal(names, []string{"mine"}) {
		t.Errorf("%v", names)
	}
	empty := t.TempDir()
	stele("--datadir", dir, "backup", empty).want(t, codeOK)
	// One that another process has open is told the same, but for what only it can see.
	other := temp(t)
	p := startImport(t, other)
	p.feed(0, 10)
	refuse(t, codeFailed, other, []string{"backup", full}, full, "not empty", "mine")
	p.end()
}

// TestBackupDiskFull finds no room: nothing is left.
func TestBackupDiskFull(t *testing.T) {
	m := tiny(t, "256k")
	if m == "" {
		t.Skip("absent: a small file system (not allowed to mount one here)")
	}
	dir := makeStore(t)
	target := filepath.Join(m, "b")
	refuse(t, codeDiskFull, dir, []string{"backup", target}, "disk full", target)
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is left", entries(t, target))
	}
	backup := filepath.Join(t.TempDir(), "b")
	stele("--datadir", dir, "backup", backup).want(t, codeOK)
	refuse(t, codeDiskFull, m, []string{"restore", backup}, "disk full", m)
	if left := entries(t, m); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}

func TestRestoreRefuses(t *testing.T) {
	dir, empty := makeStore(t), t.TempDir()
	backup := filepath.Join(t.TempDir(), "b")
	stele("--datadir", dir, "backup", backup).want(t, codeOK)
	refuse(t, codeFailed, dir, []string{"restore", backup}, "there already", filepath.Join(dir, "archive"))
	refuse(t, codeFailed, empty, []string{"restore", filepath.Join(empty, "nosuch")}, "no backup", "nosuch")
	refuse(t, codeFailed, empty, []string{"restore", t.TempDir()}, "no backup")
	refuse(t, codeForeign, empty, []string{"--network", "regtest", "restore", backup}, "network magic", backup)
	b, err := os.ReadFile(filepath.Join(backup, store.ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	damaged := t.TempDir()
	for i := range b[store.PageSize:] {
		b[store.PageSize+i] ^= 0x55
	}
	if err := os.WriteFile(filepath.Join(damaged, store.ManifestName), b, 0o600); err != nil {
		t.Fatal(err)
	}
	refuse(t, codeDamaged, empty, []string{"restore", damaged}, "no valid slot", damaged)
	if left := entries(t, empty); len(left) != 0 {
		t.Errorf("%v was made", left)
	}
	// A body that is too short shows when the copy is opened, before it has the store's name.
	if err := os.Truncate(filepath.Join(backup, "tx"), store.PageSize+2); err != nil {
		t.Fatal(err)
	}
	refuse(t, codeDamaged, empty, []string{"restore", backup}, "tx", "short")
	if left := entries(t, empty); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
	d, err := store.OpenDir(filepath.Join(dir, "archive"), store.DirOptions{Verb: "holding"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	refuse(t, codeInUse, empty, []string{"restore", filepath.Join(dir, "archive")}, "holding")
}

// TestRestoreInterrupted leaves what a restore leaves that is killed at each of its steps. None of it is a store, and the
// next restore succeeds.
func TestRestoreInterrupted(t *testing.T) {
	backup := filepath.Join(t.TempDir(), "b")
	stele("--datadir", makeStore(t), "backup", backup).want(t, codeOK)
	want := signature(t, backup, chain.Main())
	names := slices.DeleteFunc(entries(t, backup), func(name string) bool { return name == store.ManifestName })
	names = append(names, store.ManifestName)
	for n := range len(names) + 1 {
		dir := t.TempDir()
		folder := filepath.Join(dir, "archive"+restoring)
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		for i, name := range names[:n] {
			b, err := os.ReadFile(filepath.Join(backup, name))
			if err != nil {
				t.Fatal(err)
			}
			if i == n-1 {
				b = b[:len(b)/2]
			}
			if err := os.WriteFile(filepath.Join(folder, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		restoredAfter(t, dir, backup, want)
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, how := range []syscall.Signal{syscall.SIGKILL, syscall.SIGKILL, syscall.SIGKILL, syscall.SIGINT, syscall.SIGTERM} {
		dir := t.TempDir()
		cmd := program("--datadir", dir, "restore", backup)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rnd.IntN(40)) * time.Millisecond)
		_ = cmd.Process.Signal(how)
		_ = cmd.Wait()
		if _, err := os.Lstat(filepath.Join(dir, "archive")); err == nil { // it was faster
			if got := signature(t, filepath.Join(dir, "archive"), chain.Main()); got != want {
				t.Error("what was restored differs")
			}
			continue
		}
		restoredAfter(t, dir, backup, want)
	}
}

func restoredAfter(t *testing.T, dir, backup, want string) {
	t.Helper()
	stele("--datadir", dir, "info").want(t, codeFailed, "no store")
	stele("--datadir", dir, "restore", backup).want(t, codeOK)
	if names := entries(t, dir); !slices.Equal(names, []string{"archive"}) {
		t.Errorf("the data folder holds %v", names)
	}
	if got := signature(t, filepath.Join(dir, "archive"), chain.Main()); got != want {
		t.Error("what was restored differs")
	}
	stele("--datadir", dir, "tx", payment).want(t, codeOK)
}
