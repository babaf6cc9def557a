package coinset

import (
	"stele/store"
	"stele/utxo"
)

// onStore keeps images among the files of a store.
type onStore struct{ store.Disk }

// imageReserve is the address space that is mapped for an image while it is written, in bytes: five times the largest that
// mainnet's set of 175 million outputs would make.
const imageReserve = 1 << 36

// Create implements utxo.Disk. A file of that name is one that a crash left.
func (d onStore) Create(name string) (utxo.File, error) {
	f, err := d.Open(name, store.FileOptions{Reserve: imageReserve})
	if err != nil {
		return nil, err
	}
	return f, f.Truncate(0)
}

// Read implements utxo.Disk. The bytes are mapped: whoever looks at them does so under store.Guard.
func (d onStore) Read(name string) ([]byte, func() error, error) {
	f, err := d.Open(name, store.FileOptions{Reserve: store.PageSize, MustExist: true})
	if err != nil {
		return nil, nil, err
	}
	return f.Mapping().Bytes()[:f.Size()], f.Close, nil
}
