package style

import (
	"go/build"
	"path"
	"slices"
	"strings"
	"testing"
)

// layer names what a package of ours may import: packages of ours, by path below the module, and whether the standard
// library's os, net and time are closed to it. A package that is not listed may not exist.
type layer struct {
	imports []string
	pure    bool // no files, no network, no clock
}

var (
	under = func(lists ...[]string) []string { return slices.Concat(lists...) }

	durableFiles  = []string{"internal/durable"}
	faults        = []string{"internal/fault"} // bugs to order, compiled away but under their tag
	chainLayer    = []string{"chain"}
	storeLayer    = []string{"store"}
	mapLayer      = under(storeLayer, []string{"hashmap"})
	validateLayer = under(chainLayer, []string{"validate"})
	tablesLayer   = under(mapLayer, chainLayer, []string{"tables/codec", "tables"})
	confirmLayer  = under(tablesLayer, validateLayer, []string{"utxo", "tables/confirm"})
	curveLayer    = []string{"validate/script/lanes", "validate/script/secp256k1"}
	scriptLayer   = under(chainLayer, []string{"validate/script", "validate/script/lanes", "validate/script/secp256k1"})
	peerLayer     = []string{"node/p2p/addrbook", "node/p2p/download", "node/p2p/presync"}
	edges         = under(peerLayer, []string{
		"node/blockfile", "node/coinset", "node/esplora", "node/owner", "node/p2p", "node/scripts",
	})
	edgeLayer  = under(confirmLayer, scriptLayer, edges)
	benchLayer = []string{"bench/chain", "internal/mainnet", "internal/realdata/files"}
	nodeLayer  = under(edgeLayer, []string{"node"})
)

// layers is the order of the tree, from the bottom. Imports point down; see docs/architecture.md.
var layers = map[string]layer{
	"chain":                             {pure: true},
	"store":                             {imports: faults},
	"hashmap":                           {imports: under(storeLayer, faults)},
	"validate":                          {imports: chainLayer, pure: true},
	"validate/script":                   {imports: under(chainLayer, curveLayer), pure: true},
	"validate/script/lanes":             {imports: []string{"validate/script/secp256k1"}, pure: true},
	"validate/script/lanes/gen":         {},
	"validate/script/secp256k1":         {pure: true},
	"validate/script/secp256k1/libsecp": {pure: true}, // of tests only
	"utxo":                              {imports: under(chainLayer, []string{"internal/offheap"}), pure: true},
	"tables/codec":                      {imports: chainLayer, pure: true},
	"tables":                            {imports: under(tablesLayer, faults)},
	"tables/confirm":                    {imports: under(tablesLayer, validateLayer, []string{"utxo"}), pure: true},
	"node/blockfile":                    {imports: chainLayer},
	"node/owner":                        {imports: storeLayer},
	"node/scripts":                      {imports: scriptLayer, pure: true},
	"node/esplora":                      {imports: under(tablesLayer, []string{"utxo"}), pure: true},
	"node/coinset":                      {imports: under(tablesLayer, []string{"utxo"})},
	"node/p2p":                          {imports: under(validateLayer, peerLayer, durableFiles)},
	"node/p2p/addrbook":                 {imports: durableFiles},
	"node/p2p/download":                 {imports: chainLayer},
	"node/p2p/presync":                  {imports: validateLayer, pure: true},
	"node":                              {imports: edgeLayer},
	"bench/chain":                       {imports: validateLayer},
	"bench":                             {imports: under(nodeLayer, benchLayer)},
	"cmd/stele":                         {imports: under(nodeLayer, durableFiles, []string{"bench", "internal/mainnet"})},

	"chain/gen":               {},
	"internal/offheap":        {},
	"internal/mainnet":        {},
	"internal/mainnet/gen":    {imports: []string{"internal/mainnet"}},
	"internal/realdata":       {imports: []string{"internal/realdata/files"}},
	"internal/realdata/files": {},
	"internal/fault":          {pure: true},
	"internal/chaintest":      {imports: chainLayer, pure: true},
	"internal/btcdpeer":       {},
	"internal/durable":        {},
	"internal/archivetest":    {imports: under(tablesLayer, nil), pure: true},
	"internal/crashdisk":      {imports: under(storeLayer, faults)},
	"internal/style":          {},
}

// open lists what pure packages must not see.
var open = []string{"os", "net", "net/http", "time", "syscall", "golang.org/x/sys/unix", "github.com/edsrzf/mmap-go"}

// foreign lists the modules that only some packages may link, with the reason.
var foreign = map[string][]string{
	"github.com/edsrzf/mmap-go": {"store", "node/blockfile"}, // mapped memory is the store's business
	"golang.org/x/sys":          {"store", "cmd/stele", "node", "node/owner", "internal/offheap", "validate/script/lanes"},
	"github.com/rs/zerolog":     {"node", "cmd/stele"}, // libraries return errors, they do not log
	"github.com/spf13/cobra":    {"cmd/stele"},
	// addresses, a verifier, a peer, a signer; consensus is ours
	"github.com/btcsuite/btcd":   {"node/p2p", "node/p2p/addrbook", "node/esplora", "validate/script", "bench", "bench/chain"},
	"github.com/BurntSushi/toml": {"cmd/stele"},
}

func TestLayers(t *testing.T) {
	seen := 0
	for _, dir := range packageDirs(t) {
		p, err := build.ImportDir(path.Join(root(t), dir), 0)
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		l, ok := layers[dir]
		if !ok {
			t.Errorf("%s: package is in no layer: give it a place in layers_test.go and docs/architecture.md", dir)
			continue
		}
		seen++
		for _, imp := range p.Imports {
			checkImport(t, dir, imp, l)
		}
	}
	if seen < len(layers)-2 { // bench and the generator may hold test or ignored files only
		t.Errorf("%d packages of %d in the table exist", seen, len(layers))
	}
}

func checkImport(t *testing.T, dir, imp string, l layer) {
	t.Helper()
	if ours, ok := strings.CutPrefix(imp, "stele/"); ok {
		if !slices.Contains(l.imports, ours) || ours == dir {
			t.Errorf("%s imports %s, which is not below it", dir, ours)
		}
		return
	}
	if l.pure && slices.Contains(open, imp) {
		t.Errorf("%s imports %s: it must stay a pure function of its arguments", dir, imp)
	}
	for module, users := range foreign {
		if (imp == module || strings.HasPrefix(imp, module+"/")) && !slices.Contains(users, dir) {
			t.Errorf("%s imports %s, which only %v may", dir, imp, users)
		}
	}
}
