package utxo

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc64"
	"slices"
	"strconv"
	"strings"

	"stele/chain"
)

// Disk is where images are kept: a flat set of files, the caller's.
type Disk interface {
	// Create makes an empty file, or empties one.
	Create(name string) (File, error)
	// Read returns a file's bytes, which stay as they are until done is called.
	Read(name string) (b []byte, done func() error, err error)
	Remove(name string) error
	// List names the files, others' as well.
	List() ([]string, error)
	// Sync makes what was created and removed durable, though not the files' bytes.
	Sync() error
}

// File is one that is being written.
type File interface {
	// Allocate makes room for size bytes, or fails and changes nothing.
	Allocate(size int64) error
	WriteAt(p []byte, off int64) error
	// Sync makes the bytes durable.
	Sync() error
	Close() error
}

// imageName is the start of an image's file name; its generation, a decimal number, follows. The highest generation whose
// head is whole is the image.
const imageName = "utxo.image-"

// generationOf returns the generation in a file's name; false for other files.
func generationOf(name string) (uint64, bool) {
	digits, ok := strings.CutPrefix(name, imageName)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil && nameOf(n) == name
}

func nameOf(generation uint64) string { return imageName + strconv.FormatUint(generation, 10) }

// generations returns those that are on the disk, ascending.
func generations(d Disk) (all []uint64, err error) {
	names, err := d.List()
	for _, name := range names {
		if n, ok := generationOf(name); ok {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all, err
}

// SaveImage writes a set as the disk's image. The order of its steps is what makes it atomic:
//
//  1. a new file, of the next generation: the shards, in order; sync
//  2. the head, without which the file is nothing; sync
//  3. the file's name: sync of the disk
//  4. older generations are removed; sync of the disk
//
// After a crash in 1 and 2 the older image counts, in 4 the new one, in 3 either. The head's counts are filled in here. The
// set must not change meanwhile. Progress, if it is not nil, is told how many shards are done.
func SaveImage(d Disk, head ImageHead, set Source, threads int, progress func(shards int)) error {
	old, err := generations(d)
	if err != nil {
		return err
	}
	next := uint64(1)
	if len(old) > 0 {
		next = old[len(old)-1] + 1
	}
	name := nameOf(next)
	f, err := d.Create(name)
	if err != nil {
		return err
	}
	err = writeImage(f, head, set, threads, progress)
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.Sync()
	}
	if err != nil {
		_ = d.Remove(name) // what stays is passed over by its head, and goes with the next image
		return err
	}
	for _, n := range old {
		err = errors.Join(err, d.Remove(nameOf(n)))
	}
	return errors.Join(err, d.Sync())
}

// writeImage does the steps 1 and 2.
func writeImage(f File, head ImageHead, set Source, threads int, progress func(shards int)) error {
	var shards [Shards]shardHead
	head.Records, head.Outputs = 0, 0
	off := int64(imageHead)
	var out []byte // not written yet
	flush := func() error {
		if err := f.Allocate(off + int64(len(out))); err != nil {
			return err
		}
		err := f.WriteAt(out, off)
		off += int64(len(out))
		out = out[:0]
		return err
	}
	err := eachSorted(set, threads, spelling{file: appendImageTx}, func(shard int, b *sorted) error {
		start := len(out)
		for i := range b.pieces {
			out = append(out, b.pieces[i].file.of(b.file)...)
		}
		shards[shard] = shardHead{
			bytes: uint64(len(out) - start), records: uint32(len(b.pieces)), outputs: uint32(b.stats.Outputs),
			checksum: crc64.Checksum(out[start:], crcTable),
		}
		head.Records += uint64(len(b.pieces))
		head.Outputs += b.stats.Outputs
		tell(progress, shard+1)
		if len(out) < writeChunk {
			return nil
		}
		return flush()
	})
	for _, step := range []func() error{
		flush, f.Sync,
		func() error { return f.WriteAt(head.encode(&shards), 0) }, f.Sync,
	} {
		if err == nil {
			err = step()
		}
	}
	return err
}

// An Image is an image that was opened for reading.
type Image struct {
	Head   ImageHead
	shards [Shards]shardHead
	b      []byte
	done   func() error
}

// ErrNoImage says that a disk has no image that is whole.
var ErrNoImage = errors.New("no image of the unspent outputs")

// Images names the files of a disk that are images by their names, the newest first.
func Images(d Disk) (names []string, err error) {
	all, err := generations(d)
	for _, n := range slices.Backward(all) {
		names = append(names, nameOf(n))
	}
	return names, err
}

// OpenFile opens the image in a file. It is an *ImageError where its head is not whole: what a crash left of a save.
func OpenFile(d Disk, name string) (*Image, error) {
	b, done, err := d.Read(name)
	if err != nil {
		return nil, err
	}
	i := &Image{b: b, done: done}
	whole := false
	defer func() {
		if !whole { // or the bytes could not be read, which is a panic where they are mapped
			_ = done()
		}
	}()
	i.Head, i.shards, err = decodeImageHead(b, uint64(len(b)))
	if whole = err == nil; !whole {
		return nil, err
	}
	return i, nil
}

// OpenImage opens a disk's newest image: the one that a SaveImage finished or had all but finished. Where there is none it
// is ErrNoImage.
func OpenImage(d Disk) (*Image, error) {
	names, err := Images(d)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		i, err := OpenFile(d, name)
		var bad *ImageError
		if err == nil || !errors.As(err, &bad) {
			return i, err
		}
	}
	return nil, ErrNoImage
}

// Close ends the reading.
func (i *Image) Close() error { return i.done() }

// Shard implements Source. It reads a shard twice, for its checksum first; what does not match is an *ImageError. What it
// gives to f has been checked to be what a set would have written.
func (i *Image) Shard(shard int, f func(*Record) error) error {
	off := uint64(imageHead)
	for k := range shard {
		off += i.shards[k].bytes
	}
	want := &i.shards[shard]
	r := imageReader{b: i.b[off : off+want.bytes]}
	bad := func(what string) error { return &ImageError{fmt.Sprintf("shard %d %s", shard, what)} }
	if crc64.Checksum(r.b, crcTable) != want.checksum {
		return bad("is damaged")
	}
	records, outputs := uint32(0), uint64(0)
	var before chain.Hash
	for ; len(r.b) > 0; records++ {
		if err := r.next(shard); err != nil {
			return bad(err.Error())
		}
		if records > 0 && bytes.Compare(before[:], r.tx.Txid[:]) >= 0 {
			return bad("has transactions out of order")
		}
		before = r.tx.Txid
		outputs += uint64(len(r.tx.Outs))
		if err := f(&r.tx); err != nil {
			return err
		}
	}
	if records != want.records || outputs != uint64(want.outputs) {
		return bad("has other counts than its head says")
	}
	return nil
}
