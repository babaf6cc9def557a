package btcdpeer

import (
	"bufio"
	"crypto/rand"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// MinerAddress is where the coins of mined blocks go unless Options say otherwise: the P2WPKH address of the private key
// 1 (BIP173's example, for regtest), so that a test can spend them.
const MinerAddress = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080"

// Options say how a Node runs.
type Options struct {
	Listen  string   // host:port for peers, such as that of a node that stopped; empty: one that is free
	Connect []string // it keeps to these peers alone, host:port, and calls nobody else
	V2      bool     // BIP324 transport, offered and taken
	TxIndex bool
	PayTo   string   // an address of regtest; empty: MinerAddress
	Args    []string // further flags of btcd
}

const (
	patience  = 60 * time.Second // for what a loaded machine does slowly; nothing is measured by it
	pollEvery = 10 * time.Millisecond
	keptLines = 200 // of the output, for Log
)

// Node is a running btcd.
type Node struct {
	tb     testing.TB
	user   string
	pass   string
	peers  string // host:port where it listens to peers
	rpc    string // and to orders
	http   *http.Client
	cmd    *exec.Cmd
	ended  chan struct{} // closed when the process has
	listen chan struct{} // closed when both addresses are known

	mu    sync.Mutex
	lines []string // the last of its output
}

// Start runs a node and returns when it takes orders. Its chain is empty: btcd keeps none of regtest. It is stopped when
// the test ends. The test is skipped where btcd cannot be built.
func Start(tb testing.TB, o Options) *Node {
	tb.Helper()
	program, dir := Build(tb), tb.TempDir()
	n := &Node{tb: tb, user: rand.Text(), pass: rand.Text(), ended: make(chan struct{}), listen: make(chan struct{})}
	// Without connections kept open the client leaves no goroutines behind.
	n.http = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	config := filepath.Join(dir, "btcd.conf") // or it would make one in the home folder
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		tb.Fatal(err)
	}
	n.cmd = exec.Command(program, n.flags(o, dir, config)...)
	n.cmd.Dir = dir
	n.cmd.Env = append(os.Environ(), "HOME="+dir, "LOCALAPPDATA="+dir, "APPDATA="+dir)
	n.cmd.SysProcAttr = tied()
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	n.cmd.Stderr = n.cmd.Stdout
	started := make(chan error, 1)
	go n.wait(out, started)
	if err := <-started; err != nil {
		tb.Fatalf("btcd does not start: %v", err)
	}
	tb.Cleanup(n.Stop)
	select {
	case <-n.listen:
	case <-n.ended:
		tb.Fatalf("btcd ended at once:\n%s", n.Log())
	case <-time.After(patience):
		tb.Fatalf("btcd does not listen:\n%s", n.Log())
	}
	return n
}

func (n *Node) flags(o Options, dir, config string) []string {
	listen := o.Listen
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	pay := o.PayTo
	if pay == "" {
		pay = MinerAddress
	}
	flags := []string{"--regtest", "--configfile=" + config, "--datadir=" + filepath.Join(dir, "data"),
		"--logdir=" + filepath.Join(dir, "logs"), "--debuglevel=info", "--nodnsseed", "--nocfilters", "--nobanning",
		"--listen=" + listen, "--rpclisten=127.0.0.1:0", "--notls", "--rpcuser=" + n.user, "--rpcpass=" + n.pass,
		"--miningaddr=" + pay, "--trickleinterval=10ms", "--utxocachemaxsize=8"}
	for _, peer := range o.Connect {
		flags = append(flags, "--connect="+peer)
	}
	if o.V2 {
		flags = append(flags, "--v2transport")
	}
	if o.TxIndex {
		flags = append(flags, "--txindex")
	}
	return append(flags, o.Args...)
}

// wait starts the process and reads its output until it ends. It keeps its thread all the while, to which the process is
// tied.
func (n *Node) wait(out io.Reader, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(n.ended)
	err := n.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		n.heard(lines.Text())
	}
	io.Copy(io.Discard, out) // a line without end
	n.cmd.Wait()             // how it ended is of no interest: who stops it knows, who does not finds it gone
}

// heard notes a line of output. The addresses are in it, since the system chose them.
func (n *Node) heard(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.lines) == keptLines {
		n.lines = append(n.lines[:0], n.lines[1:]...)
	}
	n.lines = append(n.lines, line)
	before := n.peers != "" && n.rpc != ""
	if _, at, ok := strings.Cut(line, "RPC server listening on "); ok {
		n.rpc = at
	} else if _, at, ok := strings.Cut(line, "Server listening on "); ok {
		n.peers = at
	}
	if !before && n.peers != "" && n.rpc != "" {
		close(n.listen)
	}
}

// Addr returns the host:port at which it takes peers.
func (n *Node) Addr() string { return n.peers }

// Log returns the last lines of its output.
func (n *Node) Log() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.lines, "\n")
}

// Stop ends it in order, and returns when it is gone. It may have ended already.
func (n *Node) Stop() {
	select {
	case <-n.ended:
		return
	default:
	}
	if err := n.Call("stop", nil); err != nil {
		n.Kill()
		return
	}
	select {
	case <-n.ended:
	case <-time.After(patience):
		n.Kill()
	}
}

// Kill ends it as a power cut would, and returns when it is gone.
func (n *Node) Kill() {
	n.cmd.Process.Kill() // an error says that it is gone
	<-n.ended
}
