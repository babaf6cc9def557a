package chain

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// poisoned turns poisoning on for the length of a test.
func poisoned(t *testing.T) {
	was := PoisonArenas(true)
	t.Cleanup(func() { PoisonArenas(was) })
}

// TestArenaModel fills slices of drawn sizes with a byte each, so that any overlap shows, and wants exact lengths and
// capacities.
func TestArenaModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := NewArena()
		size := rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(0, 40<<10), rapid.SampledFrom(
			[]int{0, 16<<10 - 1, 16 << 10, 16<<10 + 1, 128 << 10, 128<<10 + 1, 1 << 20, 1<<20 + 1, 4 << 20, 4<<20 + 1}))
		var slices [][]byte
		for i := range rapid.IntRange(0, 12).Draw(t, "allocations") {
			n := size.Draw(t, "size")
			s := a.Alloc(n)
			if len(s) != n || cap(s) != n {
				t.Fatalf("Alloc(%d) has length %d, capacity %d", n, len(s), cap(s))
			}
			for j := range s {
				s[j] = byte(i)
			}
			slices = append(slices, s)
		}
		for i, s := range slices {
			if bytes.Count(s, []byte{byte(i)}) != len(s) {
				t.Fatalf("allocation %d of %d bytes was overwritten", i, len(s))
			}
		}
		a.Release()
	})
}

// TestArenaClasses looks at the chunks behind requests: the smallest class that holds them, and beyond the last their
// size.
func TestArenaClasses(t *testing.T) {
	for n, want := range map[int]int{
		1: 16 << 10, 16 << 10: 16 << 10, 16<<10 + 1: 128 << 10, 128 << 10: 128 << 10, 128<<10 + 1: 1 << 20,
		1 << 20: 1 << 20, 1<<20 + 1: 4 << 20, 4 << 20: 4 << 20, 4<<20 + 1: 4<<20 + 1, 9_000_000: 9_000_000,
	} {
		var a Arena
		a.Alloc(n)
		if got := len(a.chunks.buf); got != want || a.chunks.next != nil {
			t.Errorf("%d bytes came from a chunk of %d, want %d", n, got, want)
		}
		if exact := a.chunks.class == unpooled; exact != (want > 4<<20) {
			t.Errorf("%d bytes: unpooled %v", n, exact)
		}
		a.Release()
	}
}

// TestArenaGrowth asks for small pieces only, and wants the number of chunks to stay logarithmic until the largest
// class.
func TestArenaGrowth(t *testing.T) {
	var a Arena
	for range 1 << 15 {
		a.Alloc(256) // 8 MiB in all
	}
	chunks := 0
	for c := a.chunks; c != nil; c = c.next {
		chunks++
	}
	if chunks > 8 {
		t.Errorf("8 MiB took %d chunks", chunks)
	}
	a.Release()
}

// TestArenaKeepsLargerRoom: a large request must not cost the room that small ones still have.
func TestArenaKeepsLargerRoom(t *testing.T) {
	var a Arena
	a.Alloc(1)
	a.Alloc(16 << 10) // fills a chunk of its own
	chunk := a.chunks
	a.Alloc(100)
	if a.chunks != chunk {
		t.Error("100 bytes took a new chunk although the first has 16 KiB left")
	}
	a.Release()
}

// TestStaleViewIsPoisoned: what a released arena held is overwritten at once, and the next owner of the chunk sees
// no byte of it either.
func TestStaleViewIsPoisoned(t *testing.T) {
	poisoned(t)
	for _, n := range []int{1, 20_000, 200_000, 2_000_000, 5_000_000} {
		a := NewArena()
		stale := a.Copy(bytes.Repeat([]byte{0x11}, n))
		if bytes.Count(stale, []byte{0x11}) != n {
			t.Fatalf("a copy of %d bytes differs", n)
		}
		a.Release()
		if bytes.Count(stale, []byte{ArenaPoison}) != n {
			t.Errorf("a stale view of %d bytes still reads %x ...", n, stale[:1])
		}
	}
}

// TestOwnedBlockIsPoisoned is the same through a Block: moved into an arena it reads right, and after Release it
// reads poison.
func TestOwnedBlockIsPoisoned(t *testing.T) {
	poisoned(t)
	raw := bytes.Clone(Main().GenesisBlock)
	var b Block
	if err := b.Decode(raw); err != nil {
		t.Fatal(err)
	}
	a := NewArena()
	b.Own(a)
	clear(raw) // the buffer that it came in goes to others
	if got := b.Append(nil); !bytes.Equal(got, Main().GenesisBlock) {
		t.Error("an owned block depends on its first buffer")
	}
	script := b.Bytes(b.Ins[0].Script)
	a.Release()
	if bytes.Count(script, []byte{ArenaPoison}) != len(script) {
		t.Errorf("the script of a released block reads %x", script)
	}
}

func TestArenaIsDeadAfterRelease(t *testing.T) {
	for name, use := range map[string]func(*Arena){
		"Alloc":   func(a *Arena) { a.Alloc(0) },
		"Copy":    func(a *Arena) { a.Copy([]byte{1}) },
		"Release": func(a *Arena) { a.Release() },
	} {
		func() {
			defer func() {
				text, _ := recover().(string)
				if !strings.Contains(text, "after Release") || !strings.Contains(text, "arena is dead") {
					t.Errorf("%s after Release panics with %q", name, text)
				}
			}()
			a := NewArena()
			a.Alloc(10)
			a.Release()
			use(a)
		}()
	}
}

// TestFreeListsAreBounded releases more large chunks than the lists hold.
func TestFreeListsAreBounded(t *testing.T) {
	for class, limit := range map[int]int{2: freeMiB, 3: freeLast} {
		var arenas [2 * freeMiB]Arena
		for i := range arenas {
			arenas[i].Alloc(arenaClasses[class])
		}
		for i := range arenas {
			arenas[i].Release()
		}
		if held := len(chunkPools.free[class]); held != limit || cap(chunkPools.free[class]) != limit {
			t.Errorf("class %d holds %d free chunks, want %d", class, held, limit)
		}
	}
}

// TestArenaReuse: an arena that takes a chunk from a free list and gives it back allocates nothing.
func TestArenaReuse(t *testing.T) {
	var filler Arena
	filler.Alloc(1 << 20)
	filler.Release()
	block := make([]byte, 1_000_000)
	allocs := testing.AllocsPerRun(20, func() {
		var a Arena
		a.Copy(block)
		a.Release()
	})
	if allocs != 0 {
		t.Errorf("%v allocations, want 0", allocs)
	}
}

// TestArenasShareNothing runs many arenas at once; two that got the same chunk would see each other's bytes.
func TestArenasShareNothing(t *testing.T) {
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for round := range 30 {
				var a Arena
				mine := a.Alloc(300_000 << (worker % 3))
				for i := range mine {
					mine[i] = byte(worker)
				}
				if bytes.Count(mine, []byte{byte(worker)}) != len(mine) {
					t.Errorf("worker %d round %d shares its chunk", worker, round)
				}
				a.Release()
			}
		})
	}
	group.Wait()
}

// TestRowSizes holds the widths that the comments state; the rows must stay free of pointers.
func TestRowSizes(t *testing.T) {
	tx, in, out := unsafe.Sizeof(Tx{}), unsafe.Sizeof(In{}), unsafe.Sizeof(Out{})
	if tx != 44 || in != 24 || out != 16 {
		t.Errorf("rows of %d, %d, %d bytes; want 44, 24, 16", tx, in, out)
	}
}
