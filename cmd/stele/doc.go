// Command stele is the node's one executable: verbs that fill a store, look things up in it, and prove it.
//
// # A run
//
//	main ─▶ run (args, streams) ─▶ cobra ─▶ verb ─▶ store opened ─▶ view ─▶ answer in the buffer ─▶ store closed
//	         │                                                                                          │
//	         └── a failure: one line on standard error, its exit code, and with --json a document ◀─────┘
//
// Everything that a verb answers is collected in a buffer and written when the verb has succeeded, so with --json there
// is exactly one document on standard output: the answer or the error. Progress and logs go to standard error. run is
// the whole program without the process: tests call it.
//
// # Files
//
//   - run.go, failure.go: one run, and how errors become lines and exit codes
//   - settings.go, config.go: default < file < environment < flag
//   - open.go: which folder is the store, and how it is opened
//   - ask.go: a verb on a store that another process has; desk.go: that process answers it
//   - logs.go, progress.go: standard error
//   - one file a verb, named as the verb; parse.go and text.go help them
//
// # The data folder
//
//	DATADIR[/NETWORK]/archive    the store: see docs/format.md
//
// DATADIR is --datadir or the platform's folder; a network other than main has a subfolder, under an explicit
// --datadir as well. import creates the store, nothing else does.
//
// # Opening
//
// A lookup opens the store for reading, under a shared lock: many may run at a time. A store that was not closed
// cleanly needs recovery, so there the lookup opens it as its owner, which recovers, answers, and closes it cleanly; on
// a medium that cannot be written that is a failure.
//
// A store with an owner is asked for through the owner's socket (package owner). The request is the verb with its flags
// and arguments; the owner's desk runs it as a program of its own, whose lookups find the owner's readers' view instead
// of opening a store, and whose streams are the asking process's. What only the writer may do is handed to it as an
// errand, between two blocks. The answer is buffered here as any other, so an owner that ends in the middle of it costs
// a second try and nothing else.
//
// # Signals
//
// import and demo take SIGINT and SIGTERM: the block in hand is finished, a checkpoint written, the exit code is 0.
// backup and restore remove what they made and exit 1. A second signal ends the process at once. Every other verb has
// nothing to finish and is ended by the first one, with its request at the owner. In each case the next start recovers.
package main
