package store

import "os"

// backByWriting backs [from, to) of a file that ends at size where the system has no call for it: what the file holds
// is written over with itself, which fills holes and changes nothing for readers, and what lies behind it with zeros.
func backByWriting(f *os.File, from, size, to int64) error {
	buf := make([]byte, min(to-from, 1<<20))
	for from < to {
		p := buf[:min(int64(len(buf)), to-from)]
		clear(p)
		if from < size {
			p = p[:min(int64(len(p)), size-from)]
			if _, err := f.ReadAt(p, from); err != nil {
				return err
			}
		}
		if _, err := f.WriteAt(p, from); err != nil {
			return err
		}
		from += int64(len(p))
	}
	return nil
}
