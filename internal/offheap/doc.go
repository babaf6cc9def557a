// Package offheap is memory that the garbage collector does not know: it maps zeroed pages, asks for huge ones, and
// tells how much memory the process has. A page costs memory only once it is touched, so far more can be mapped than
// is ever used.
//
// What is kept there must hold no Go pointers. Who maps memory gives it back with Free; nothing does it for him. The
// race detector does not see these pages: concurrent code over them runs over slices of the heap in its race tests.
//
// Systems without anonymous mappings get slices of the heap, which costs the collector nothing either, as it does not
// look into slices of bytes.
package offheap

// HugePage is the size of a huge page on the machines that this is made for.
const HugePage = 2 << 20
