package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"stele/node"
	"stele/node/blockfile"
	"stele/store"
	"stele/tables"
)

// Exit codes.
const (
	codeOK        = 0
	codeFailed    = 1
	codeUsage     = 2
	codeConfig    = 3
	codeInUse     = 4
	codeDamaged   = 5
	codeDiskFull  = 6
	codeConsensus = 7
	codeForeign   = 8
	codeNotFound  = 9
)

// failure is what ends a run: its exit code and the parts of its line.
type failure struct {
	code              int
	what, where, todo string
	shown             bool // the verb's own document tells it already
	told              bool // the owner of the store has said everything: nothing is to be added
}

func (f *failure) Error() string {
	parts := make([]string, 0, 3)
	for _, p := range []string{f.what, f.where, f.todo} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return oneLine(strings.Join(parts, ": "))
}

// oneLine keeps a message from breaking the line that it is promised to be.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

func failed(what, where, todo string) *failure {
	return &failure{code: codeFailed, what: what, where: where, todo: todo}
}

// misused is a command line that cannot be meant; verb is "" where it did not get that far.
func misused(verb, what, where string) *failure {
	return &failure{code: codeUsage, what: what, where: where, todo: strings.TrimSpace("see stele help " + verb)}
}

func notFound(what, why string) *failure {
	return &failure{code: codeNotFound, what: "not found", where: what, todo: why}
}

func damagedStore(where string) *failure {
	todo := "move the folder away, and restore a backup or import again"
	return &failure{code: codeDamaged, what: "store damaged", where: where, todo: todo}
}

func fullDisk(where string) *failure {
	todo := "make room and run the same command again; nothing is lost"
	return &failure{code: codeDiskFull, what: "disk full", where: where, todo: todo}
}

// explain turns any error into a failure. folder is the store's, for errors that only name a file in it.
func explain(err error, folder string) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	if f := explainStore(err, folder); f != nil {
		return f
	}
	var network *blockfile.ForeignNetwork
	var unread *blockfile.ReadError
	var invalid *node.ConsensusFailure
	switch {
	case errors.As(err, &invalid):
		return &failure{
			code: codeConsensus, what: "a block at or below the one assumed to be valid breaks " + invalid.Reason,
			where: fmt.Sprintf("block %v at height %d", invalid.Hash, invalid.Height),
			todo:  "check --assume-valid; with none the block is judged as any other",
		}
	case errors.As(err, &unread):
		where := fmt.Sprintf("%s at byte %d: %v", unread.Path, unread.Off, unread.Err)
		return failed("cannot read", where, "check the file and its disk")
	case errors.As(err, &network):
		where := network.Path + " holds blocks of " + network.Have
		return &failure{code: codeForeign, what: "blocks of another network", where: where, todo: "name it with --network"}
	case errors.Is(err, blockfile.ErrNoBlocks):
		return failed("no block record found", "in all of the input", "check the path and --network")
	}
	var path *fs.PathError
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fullDisk(err.Error())
	case errors.As(err, &path):
		return failed("cannot "+path.Op, path.Path+": "+path.Err.Error(), "check the path")
	}
	return failed("failed", "", err.Error())
}

// explainStore explains the errors of package store and of opening tables; nil for others.
func explainStore(err error, folder string) *failure {
	var (
		used    *store.ErrInUse
		damaged *store.Damaged
		full    *store.DiskFull
		foreign *store.Foreign
		fault   *store.Fault
	)
	switch {
	case errors.As(err, &used):
		return &failure{code: codeInUse, what: "data folder in use", where: fmt.Sprintf("%s by %v", used.Dir, used.Owner),
			todo: "wait until it ends or name another --datadir"}
	case errors.As(err, &damaged):
		f := damagedStore(inFolder(folder, damaged.Name) + " " + damaged.What)
		if index := indexOf(damaged.Name); index != "" {
			f.todo = "make it again from the rows with: stele rebuild " + index
		}
		return f
	case errors.As(err, &full):
		return fullDisk(fmt.Sprintf("%s needs %d more bytes", inFolder(folder, full.Name), full.Need))
	case errors.As(err, &foreign):
		return &failure{code: codeForeign, what: "store of another network or format",
			where: fmt.Sprintf("%s: its %s is %s, this needs %s", folder, foreign.What, foreign.Have, foreign.Want),
			todo:  "choose the right --network or another --datadir"}
	case errors.Is(err, tables.ErrUnclean):
		todo := "it must recover, and its folder cannot be written: ask once where it can"
		return failed("store was not closed cleanly", folder, todo)
	case errors.As(err, &fault):
		where := fmt.Sprintf("cannot %s %s: %v", fault.Op, inFolder(folder, fault.Name), rootCause(fault))
		return failed("store fault", where, faultAdvice(err))
	}
	return nil
}

// indexOf returns the index that a file belongs to and that can be made again, or nothing.
func indexOf(file string) string {
	name, kind, _ := strings.Cut(file, ".")
	if slices.Contains(indexes, name) && kind != "" {
		return name
	}
	return ""
}

// inFolder completes the name of a store's file; errors about folders name them in full.
func inFolder(folder, name string) string {
	if filepath.IsAbs(name) || folder == "" {
		return name
	}
	return filepath.Join(folder, name)
}

// rootCause drops the operation and path that a fault tells already.
func rootCause(fault *store.Fault) error {
	var path *fs.PathError
	if errors.As(fault.Err, &path) {
		return path.Err
	}
	return fault.Err
}

func faultAdvice(err error) string {
	if unwritable(err) {
		return "give yourself access, or choose another --datadir"
	}
	return "check the disk, then run the same command again"
}

// unwritable reports whether an operation failed because the medium or its permissions forbid writing.
func unwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}
