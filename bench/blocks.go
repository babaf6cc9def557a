package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"stele/chain"
	"stele/internal/realdata/files"
)

// realBlock names a block of a public network. It lies in the folder of real data (STELE_DATA), or in a module.
type realBlock struct {
	net, height string
	module      [2]string // module and file in it; empty: in the folder
	record      bool      // the file is a record of a block file: magic 4, length 4, block
}

func (r realBlock) String() string { return r.net + " " + r.height }

func mainBlock(height string) realBlock { return realBlock{net: "mainnet", height: height} }

// read returns the block, and its bytes in Raw. What is not on this machine is fs.ErrNotExist.
func (r realBlock) read() (*chain.Block, error) {
	raw, err := r.bytes()
	if err != nil {
		return nil, err
	}
	if r.record && len(raw) > 8 {
		raw = raw[8:]
	}
	b := new(chain.Block)
	if err := b.Decode(raw); err != nil {
		return nil, fmt.Errorf("block %v: %w", r, err)
	}
	return b, nil
}

func (r realBlock) bytes() ([]byte, error) {
	if r.module[0] == "" {
		return files.Read(r.net, "blocks", r.height+".blk.gz")
	}
	path, err := files.Module(r.module[0], filepath.ToSlash(r.module[1]))
	if err != nil {
		return nil, err
	}
	return files.ReadPath(path)
}

// readAll returns all blocks of a list, or fs.ErrNotExist where one of them is not on this machine.
func readAll(list []realBlock) ([]*chain.Block, error) {
	blocks := make([]*chain.Block, len(list))
	for i, r := range list {
		var err error
		if blocks[i], err = r.read(); err != nil {
			return nil, err
		}
	}
	return blocks, nil
}

// absent is the row of a figure for which real blocks are wanting. Any other error stays one.
func (r *Result) absent(name, unit string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.single(name, unit, None, "no real blocks on this machine: name their folder in "+files.Env)
	return nil
}
