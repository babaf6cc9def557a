package btcdpeer

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// OrderError is btcd's answer where it refuses an order.
type OrderError struct {
	Method  string `json:"-"`
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *OrderError) Error() string {
	return fmt.Sprintf("btcd: %s: %s (%d)", e.Method, e.Message, e.Code)
}

// Call gives an order over JSON-RPC and reads the answer into result, where that is not nil. A refusal is an
// *OrderError.
func (n *Node) Call(method string, result any, args ...any) error {
	if args == nil {
		args = []any{}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "1.0", "id": 1, "method": method, "params": args})
	if err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodPost, "http://"+n.rpc, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.SetBasicAuth(n.user, n.pass)
	req.Header.Set("Content-Type", "application/json")
	resp, err := n.http.Do(req)
	if err != nil {
		return fmt.Errorf("btcd: %s: %w", method, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("btcd: %s: %w", method, err)
	}
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  *OrderError     `json:"error"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return fmt.Errorf("btcd: %s: %s: %w", method, resp.Status, err)
	}
	if answer.Error != nil {
		answer.Error.Method = method
		return answer.Error
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer.Result, result)
}

// must ends the test where an order fails.
func (n *Node) must(err error) {
	n.tb.Helper()
	if err != nil {
		n.tb.Fatalf("%v\n%s", err, n.Log())
	}
}

// Generate mines blocks on its tip and returns their hashes, as hex in the usual (reversed) order, as all hashes here.
func (n *Node) Generate(count int) (hashes []string) {
	n.tb.Helper()
	n.must(n.Call("generate", &hashes, count))
	return hashes
}

// Best returns its tip.
func (n *Node) Best() (hash string, height int) {
	n.tb.Helper()
	var best struct {
		Hash   string `json:"hash"`
		Height int    `json:"height"`
	}
	n.must(n.Call("getbestblock", &best))
	return best.Hash, best.Height
}

// HashAt returns the hash of the block at a height of its best chain.
func (n *Node) HashAt(height int) (hash string) {
	n.tb.Helper()
	n.must(n.Call("getblockhash", &hash, height))
	return hash
}

// Block returns a block as it is on the wire, with witnesses.
func (n *Node) Block(hash string) []byte {
	n.tb.Helper()
	var digits string
	n.must(n.Call("getblock", &digits, hash, 0))
	raw, err := hex.DecodeString(digits)
	n.must(err)
	return raw
}

// Submit gives it a block of any branch whose parent it has; the error is its refusal, an *OrderError.
func (n *Node) Submit(raw []byte) error {
	var why string // btcd calls it a result
	err := n.Call("submitblock", &why, hex.EncodeToString(raw))
	if err == nil && why != "" {
		err = &OrderError{Method: "submitblock", Message: why}
	}
	return err
}

// Invalidate makes it turn its back on a block and all that follow. What it mines then is another branch, and it tells
// its peers once that has more work.
func (n *Node) Invalidate(hash string) {
	n.tb.Helper()
	n.must(n.Call("invalidateblock", nil, hash))
}

// Reconsider takes Invalidate back.
func (n *Node) Reconsider(hash string) {
	n.tb.Helper()
	n.must(n.Call("reconsiderblock", nil, hash))
}

// Reorganise replaces its last blocks by one more of its own, and returns the hashes of the new ones.
func (n *Node) Reorganise(depth int) []string {
	n.tb.Helper()
	_, height := n.Best()
	if depth < 1 || depth > height {
		n.tb.Fatalf("a reorganisation of %d blocks at height %d", depth, height)
	}
	n.Invalidate(n.HashAt(height - depth + 1))
	return n.Generate(depth + 1)
}

// AddNode makes it call a peer, host:port, and call again, after 5 seconds, whenever the connection ends.
func (n *Node) AddNode(addr string) {
	n.tb.Helper()
	n.must(n.Call("addnode", nil, addr, "add"))
}

// RemoveNode ends what AddNode began, and the connection, which there must be.
func (n *Node) RemoveNode(addr string) {
	n.tb.Helper()
	n.must(n.Call("addnode", nil, addr, "remove"))
}

// Peer is a connection of a node.
type Peer struct {
	ID       int    `json:"id"`
	Addr     string `json:"addr"`
	Agent    string `json:"subver"`
	Version  int    `json:"version"`
	Services string `json:"services"`
	Inbound  bool   `json:"inbound"`
	V2       bool   `json:"v2_connection"`
	Received int64  `json:"bytesrecv"`
	Sent     int64  `json:"bytessent"`
	Start    int    `json:"startingheight"`
	Height   int    `json:"currentheight"`
	Sync     bool   `json:"syncnode"` // it syncs from this one
}

// Peers returns its connections whose version messages are exchanged.
func (n *Node) Peers() (peers []Peer) {
	n.tb.Helper()
	n.must(n.Call("getpeerinfo", &peers))
	return peers
}

// Wait asks until f holds, or ends the test with what was waited for.
func (n *Node) Wait(what string, f func() bool) {
	n.tb.Helper()
	for late := time.Now().Add(patience); !f(); time.Sleep(pollEvery) {
		if time.Now().After(late) {
			n.tb.Fatalf("btcd: waited in vain for %s:\n%s", what, n.Log())
		}
	}
}

// WaitBest waits until hash is its tip.
func (n *Node) WaitBest(hash string) {
	n.tb.Helper()
	n.Wait("block "+hash, func() bool {
		best, _ := n.Best()
		return best == hash
	})
}

// WaitPeers waits until it has that many connections.
func (n *Node) WaitPeers(count int) {
	n.tb.Helper()
	n.Wait(fmt.Sprintf("%d peers", count), func() bool { return len(n.Peers()) == count })
}
