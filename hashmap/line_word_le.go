//go:build 386 || amd64 || arm || arm64 || loong64 || mips64le || mipsle || ppc64le || riscv64 || wasm

package hashmap

// fromDisk turns a word that was loaded from a little-endian file into its value.
func fromDisk(x uint64) uint64 { return x }
