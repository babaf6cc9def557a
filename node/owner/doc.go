// Package owner lets other processes ask the one that has a store open for writing. The store's lock keeps them out of
// its files; a local socket lets them in for an answer. The package carries requests and answers and knows nothing of
// what they say: cmd/stele asks with the arguments of a verb and answers with what the verb would have printed.
//
// # Where
//
// The socket is the file `socket` in the store's folder. Where that path is too long for an address (107 bytes on
// linux, 103 elsewhere) or the folder's file system has no sockets, it lies in a private folder (mode 0700, this
// user's) under $XDG_RUNTIME_DIR, else under the temporary one. The owner notes the path in the lock file, which is
// where clients read it. The socket of an owner that was killed stays behind and refuses; the next owner, who has the
// lock by then, removes it. Windows has none: there a store in use is not answered for.
//
// # The talk
//
//	client                                    owner
//	  ── request: length 4, JSON ───────────▶   same user? known version? a place free?
//	  ◀── refused: why, text ────────────────   else
//	  ◀── alive, once a second ──────────────   while it waits or works
//	  ◀── stdout, stderr, progress … ────────
//	  ◀── exit: code ────────────────────────   the last one
//
// A frame is drawn in frame.go. The request and the refusal keep their form in every version, so that two programs that
// differ can say so. A client that hangs up ends its request; an owner that says nothing for a while, not even that
// it is alive, counts as silent.
//
// # Invariants
//
//  1. Only the owner's user is answered: the socket's mode is 0600, and where the system tells who is at the other end
//     (linux, darwin) both ends look.
//  2. The number of connections and of requests being answered is bounded; who comes beyond is refused at once.
//  3. Every write to a client has a deadline, and is done by the goroutine of that client. The owner's writer never
//     waits for one.
//  4. A request's context ends when its client hangs up and when the server closes.
//  5. Close returns when every goroutine of the server has ended, and the socket's file is gone.
//
// # Who owns what
//
// One goroutine accepts. Each connection has one that answers, one that waits for the hang-up and one that says alive;
// writes are serialised by the connection's lock, which is held alone.
package owner
