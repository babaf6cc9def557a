package utxo

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"stele/chain"
)

// TestFormatDocument holds the drawings of docs/format.md against what is written.
func TestFormatDocument(t *testing.T) {
	b, err := os.ReadFile("../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	_, doc, ok := strings.Cut(string(b), "\n### Snapshot\n")
	if !ok {
		t.Fatal("no section on snapshots")
	}
	const shardsEnd = imageShards + Shards*imageShard
	h := ImageHead{Height: 0x01010101, Records: 0x0202020202020202, Outputs: 0x0303030303030303}
	h.Archive = Archive{
		Store: [16]byte{15: 4}, Order: chain.Hash{31: 5}, Blocks: 6 << 56, Outputs: 7 << 56, Log: 8 << 56,
	}
	head := h.encode(new([Shards]shardHead))
	for what, at := range map[string]int{"height": 20, "records": 56, "outputs": 64} {
		if c := head[at]; c == 0 || head[at-1] == c {
			t.Errorf("%s is not at byte %d", what, at)
		}
	}
	for end, c := range map[int]byte{6672: 4, 6704: 5, 6712: 6, 6720: 7, 6728: 8} {
		if head[end-1] != c {
			t.Errorf("what ends at byte %d is %d, want %d", end, head[end-1], c)
		}
	}
	const archive = 16 + 32 + 3*8
	for _, want := range []string{
		fmt.Sprintf("version %d;", snapshotVersion), "### " + imageName + "N\n",
		fmt.Sprintf("%q, format %d", imageMagic, imageFormat),
		fmt.Sprintf(" %d       %d    %d\n", imageMuHash, imageMuHash+numBytes, imageShards),
		fmt.Sprintf("%d + %dk, for each shard k of %d", imageShards, imageShard, Shards),
		fmt.Sprintf(" %d    6672    6704     6712     6720   6728   %d       %d\n", shardsEnd, imageChecksum, imageHead),
		fmt.Sprintf("| %d    | %d   |\n", numBytes, imageShards-imageMuHash-numBytes),
		fmt.Sprintf("| %d | 8        |", imageChecksum-shardsEnd-archive),
	} {
		if !strings.Contains(doc, want) {
			t.Errorf("docs/format.md does not say %q", want)
		}
	}
}
