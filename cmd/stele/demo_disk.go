package main

import "stele/store"

// brief is the disk of a store that does not outlive its process: nothing waits for the medium, and what a power cut
// would leave behind is nobody's concern. All else is the disk's.
type brief struct{ store.Disk }

func (d brief) Sync() error { return nil }

func (d brief) Open(name string, o store.FileOptions) (store.File, error) {
	f, err := d.Disk.Open(name, o)
	if err != nil {
		return nil, err
	}
	return briefFile{f}, nil
}

type briefFile struct{ store.File }

func (briefFile) Sync() error { return nil }
