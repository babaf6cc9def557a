package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"stele/bench"
)

// TestBenchList: every experiment is listed, with a bound for each of its keys.
func TestBenchList(t *testing.T) {
	var doc []benchInfo
	if err := json.Unmarshal([]byte(stele("bench", "list", "--json").want(t, codeOK).out), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc) != len(bench.All()) {
		t.Errorf("%d experiments of %d", len(doc), len(bench.All()))
	}
	text := stele("bench", "list").want(t, codeOK).out
	for _, e := range doc {
		tells(t, text, e.Name, e.About)
		for _, k := range e.Keys {
			if (k.AtLeast == nil) == (k.AtMost == nil) {
				t.Errorf("%s has %v and %v", k.Key, k.AtLeast, k.AtMost)
			}
		}
	}
}

func TestBenchUsage(t *testing.T) {
	stele("bench").want(t, codeUsage, "missing argument")
	stele("bench", "nothing").want(t, codeUsage, "unknown experiment", "nothing")
	stele("bench", "recover", "nothing").want(t, codeUsage, "unknown experiment")
	stele("bench", "all", "--scale", "0").want(t, codeUsage, "--scale")
	stele("bench", "all", "--scale", "NaN").want(t, codeUsage, "--scale")
	stele("bench", "all", "--runs", "0").want(t, codeUsage, "--runs")
}

// TestBenchChildAlone: the hidden verb does nothing without a job.
func TestBenchChildAlone(t *testing.T) {
	stele(benchChild).want(t, codeFailed, "started by its experiment")
}

// TestBench runs an experiment in a process, whose children are the program, too.
func TestBench(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := exec.Command(exe, "bench", "written", "--json", "--scale", "0.002", "--runs", "1", "--dir", dir)
	c.Env = append(os.Environ(), asProgram+"=1")
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var doc bench.Result
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Experiment != "written" || len(doc.Ratios) == 0 || !slices.ContainsFunc(doc.Rows, func(r bench.Row) bool {
		return r.Name == "mainnet.plenty.seconds" && r.Value > 0
	}) {
		t.Errorf("%s", out)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 0 {
		t.Errorf("it leaves %v", left)
	}
}
