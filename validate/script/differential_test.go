package script_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os/exec"
	"path"
	"strings"
	"testing"

	"stele/internal/realdata"
	"stele/validate/script"
)

// Some thousand generated spends, the same in every run, so that the generator is known to reach what it should: spends
// of every shape that pass, and most of the errors.
func TestGeneratedScripts(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 4))
	j, known := newJudge(), newDivergences()
	passed, errs := map[int]int{}, map[string]int{}
	for range 6000 {
		data := make([]byte, 20+r.IntN(200))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		m := generate(t, data)
		e := compare(t, j, known, m.spend, m.in, m.flags)
		if errs[e.Name()]++; e == script.OK {
			passed[m.shape]++
		}
	}
	t.Logf("%d spends, in both modes; by shape pass %v; verdicts %v", j.inputs, passed, errs)
	for shape := range shapes {
		if passed[shape] == 0 {
			t.Errorf("no spend of shape %d passes", shape)
		}
	}
	want(t, "spends", j.inputs, 6000)
	logDivergences(t, known)
}

// What is listed as wrong in btcd is so still: of the loose forms of a signature that Core reads before BIP66 it refuses
// some. The list may not outlive its reasons.
func TestKnownDivergences(t *testing.T) {
	code := payToKeyHash(compressed(0))
	s := bare(code)
	sig := signBare(t, s, 0, code, 1, 0)
	j, known := newJudge(), newDivergences()
	for _, der := range laxForms(sig) {
		x := s.clone()
		x.ins[0].script = pushAll([][]byte{append(der, 1), compressed(0)})
		if e := compare(t, j, known, x, 0, script.Consensus&^script.DerSig); e != script.OK {
			t.Errorf("%x: %s", der, e)
		}
	}
	logDivergences(t, known)
	want(t, "kinds of divergence", len(known), 1)
	want(t, "loose forms that btcd refuses", known[0].count, 5)
}

func logDivergences(t *testing.T, known []*divergence) {
	t.Helper()
	for _, d := range known {
		t.Logf("btcd differs %d times in %s: %s", d.count, d.name, d.reason)
	}
}

// The inputs of bitcoinfuzz for scripts, through btcd and through us: each as an output's script, as the script of a
// P2WSH output and of a taproot leaf, as a script and what unlocks it, and as an input of our own generator.
func TestFuzzCorpora(t *testing.T) {
	counts := map[string]int{}
	j, known := newJudge(), newDivergences()
	passed := 0
	readCorpora(t, func(target string, data []byte) {
		counts[target]++
		if counts[target]%some(8) != 0 {
			return
		}
		half := len(data) / 2
		output, control := taprootLeaf(t, unhex(t, numsKey), 0xc0, data)
		m := generate(t, data)
		for _, s := range []*spend{
			credit(nil, data, nil, 1),
			credit(data[:half], data[half:], nil, 1),
			credit(nil, append([]byte{op0, 32}, sum(data)...), [][]byte{{1}, {}, data}, 1),
			credit(nil, append([]byte{op1, 32}, output...), [][]byte{{1}, {}, data, control}, 1),
			m.spend,
		} {
			in, flags := 0, script.Consensus
			if s == m.spend {
				in, flags = m.in, m.flags
			}
			if compare(t, j, known, s, in, flags) == script.OK {
				passed++
			}
		}
	})
	t.Logf("%v; %d runs in both modes, %d pass", counts, j.inputs, passed)
	logDivergences(t, known)
	want(t, "script_eval", counts["script_eval"], 2377)
	want(t, "verify_script", counts["verify_script"], 2767)
	step := some(8)
	want(t, "runs", j.inputs, 5*(2377/step+2767/step))
}

// readCorpora gives the inputs for scripts. The archive is packed with xz, for which the standard library has no
// reader: the test is skipped where the program is not there.
func readCorpora(t *testing.T, f func(target string, data []byte)) {
	t.Helper()
	file := realdata.Path(t, "fuzz", "bitcoinfuzz_corpora.tar.xz")
	raw, err := exec.Command("xz", "-dc", file).Output()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("no program xz to unpack the corpora with")
	}
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(bytes.NewReader(raw)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		target := strings.TrimPrefix(path.Dir(h.Name), "./")
		if h.Typeflag != tar.TypeReg || target != "script_eval" && target != "verify_script" {
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		f(target, data)
	}
}
