// Command gen makes the file that package mainnet embeds out of the block file
// in the btcd module's test data, which go.mod pins by its checksum:
//
//	go generate ./internal/mainnet
//
// It fails rather than write anything but the chain that the package
// promises. (Where the file does not exist yet, an empty one lets the package
// compile.)
package main

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"stele/internal/mainnet"
)

const (
	module = "github.com/btcsuite/btcd"
	source = "blockchain/testdata/blk_0_to_14131.dat"
)

func main() {
	out := flag.String("o", "columns.bin", "file to write")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return fmt.Errorf("find module %s: %w", module, err)
	}
	file, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), filepath.FromSlash(source)))
	if err != nil {
		return err
	}
	packed, err := pack(file)
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	return os.WriteFile(out, packed, 0o644)
}

// pack packs a block file and proves that the result unpacks to it.
func pack(file []byte) ([]byte, error) {
	blocks, canonical, err := split(file)
	if err != nil {
		return nil, err
	}
	if len(blocks) != mainnet.Count || len(canonical) != mainnet.Size {
		return nil, fmt.Errorf("%d blocks in %d bytes, not %d in %d",
			len(blocks), len(canonical), mainnet.Count, mainnet.Size)
	}
	packed, err := mainnet.Pack(blocks)
	if err != nil {
		return nil, err
	}
	again, tip, err := mainnet.Unpack(packed)
	if err != nil {
		return nil, err
	}
	if mainnet.Display(tip) != mainnet.TipHash || string(again) != string(canonical) {
		return nil, fmt.Errorf("unpacks to another chain, tip %s", mainnet.Display(tip))
	}
	return packed, nil
}

// split cuts a block file into its blocks. The source is one preallocated file
// of 16 MiB: records side by side, then zero bytes, which are left out.
func split(file []byte) (blocks [][]byte, canonical []byte, err error) {
	rest := file
	for len(rest) >= 8 && [4]byte(rest) == mainnet.Magic {
		n := int64(binary.LittleEndian.Uint32(rest[4:]))
		if n > int64(len(rest)-8) {
			return nil, nil, errors.New("last record is cut")
		}
		blocks = append(blocks, rest[8:8+n])
		rest = rest[8+n:]
	}
	for i, b := range rest {
		if b != 0 {
			return nil, nil, fmt.Errorf("byte %d is neither a record nor padding", len(file)-len(rest)+i)
		}
	}
	return blocks, file[:len(file)-len(rest)], nil
}
