// Package crashdisk is a store.Disk that can lose power. Every file has two images: the live one, which the process
// reads and writes (the page cache), and the stable one, which the medium holds. What a call changes is live at once and
// stable after a Sync, of the file for its bytes and its size, of the disk for names:
//
//	WriteAt, Rewrite, Allocate, Truncate ──▶ live ──File.Sync──▶ stable        (also by itself, at any time)
//	a file created or removed            ──▶ live ──Disk.Sync──▶ stable        (likewise)
//
// # After a power cut
//
// Crash makes the disk that the next start may find: of every file any subset of the sectors (512 bytes) that changed
// since they last reached the medium, each whole, as it was or as it became; the size as it was or as it became, and zeros
// where room was allocated and nothing arrived; a name that was not synced there or not, whatever became of the bytes. A
// sector is never torn. Kill makes what a killed process leaves: all that is live, the live record included.
//
// # Failing syncs
//
// A sync that fails returns its error once. What it could not write is not on the medium, and the system calls it clean:
// a later sync succeeds without writing it, and reads show it until the power goes. So whoever goes on after a failed
// sync loses what it held. A sync that returns nil has written everything; a medium that lies about that is not
// survivable, and is not made here.
//
// # Use
//
// The disk counts its operations and can stop at any of them, as a process that dies inside a call does: the operation is
// done, half done or not, and all that follow fail with ErrStopped. A hook may act as the writer at each operation, to
// run beside a checkpoint and yet be repeatable. Everything random comes from the generator that the disk was made with.
//
// One goroutine at a time may call a Disk and its files; readers may read the mappings at the same time.
package crashdisk
