package main

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"stele/chain"
)

// printed runs config print and returns value and source of a key.
func printed(t *testing.T, section, key string, args ...string) (any, origin) {
	t.Helper()
	r := stele(append([]string{"--json", "config", "print"}, args...)...).want(t, codeOK)
	doc := document[map[string]map[string]configValue](t, r)
	v := doc[section][key]
	return v.Value, v.Source
}

func TestPrecedence(t *testing.T) {
	const toml = "[node]\nnetwork = \"signet\"\n[log]\nlevel = \"error\"\n[import]\nthreads = 3\n"
	file := writeFile(t, "stele.toml", []byte(toml))
	check := func(value any, from origin, section, key string, args ...string) {
		t.Helper()
		if v, f := printed(t, section, key, args...); v != value || f != from {
			t.Errorf("%s.%s is %v from %s, want %v from %s", section, key, v, f, value, from)
		}
	}
	check("main", fromDefault, "node", "network")
	check(0.0, fromDefault, "import", "threads")
	check("signet", fromFile, "node", "network", "--config", file)
	check(3.0, fromFile, "import", "threads", "--config", file)
	t.Setenv("STELE_NODE_NETWORK", "testnet4")
	t.Setenv("STELE_IMPORT_THREADS", "5")
	t.Setenv("STELE_LOG_LEVEL", "") // counts as not set
	check("testnet4", fromEnv, "node", "network")
	check("testnet4", fromEnv, "node", "network", "--config", file)
	check(5.0, fromEnv, "import", "threads", "--config", file)
	check("error", fromFile, "log", "level", "--config", file)
	check("regtest", fromFlag, "node", "network", "--config", file, "--network", "regtest")
	check(7.0, fromFlag, "import", "threads", "--config", file, "--threads", "7")
	dir := t.TempDir()
	check(dir, fromFlag, "node", "datadir", "--datadir", dir)
	t.Setenv("STELE_NODE_DATADIR", dir)
	check(dir, fromEnv, "node", "datadir")
	text := stele("config", "print", "--memory", "2G").want(t, codeOK).out
	tells(t, text, "[node]\n", "network = \"testnet4\"", "# environment\n", "memory = \"2G\"", "# flag\n", "# default\n")
}

// TestPrecedenceActs follows a setting to what it does: the network picks the folder.
func TestPrecedenceActs(t *testing.T) {
	dir := makeStore(t)
	file := writeFile(t, "stele.toml", []byte("[node]\nnetwork = \"regtest\"\ndatadir = '"+dir+"'\n"))
	stele("--config", file, "info").want(t, codeFailed, filepath.Join(dir, "regtest", "archive"))
	stele("--config", file, "--network", "main", "info").want(t, codeOK)
	t.Setenv("STELE_NODE_NETWORK", "main")
	stele("--config", file, "info").want(t, codeOK)
}

func TestWrongConfiguration(t *testing.T) {
	for text, tell := range map[string]string{
		"[node]\nnetwrok = \"main\"\n":     "unknown key node.netwrok",
		"[nodes]\n":                        "unknown key nodes",
		"network = \"main\"\n":             "unknown key network",
		"node = 1\n":                       "unknown key node",
		"[node.network]\nx = 1\n":          "node.network",
		"[node]\nnetwork = 1\n":            "must be a string",
		"[import]\nthreads = \"2\"\n":      "must be an integer",
		"[import]\nthreads = -2\n":         "import.threads",
		"[import]\nutxo = \"perhaps\"\n":   "import.utxo",
		"[node]\nnetwork = \"foo\"\n":      "node.network",
		"[node\n":                          "line",
		"[node]\nnetwork = \"main\"\n\xff": "",
	} {
		file := writeFile(t, "stele.toml", []byte(text))
		stele("--config", file, "info").want(t, codeConfig, file, tell)
		doc := document[errorDocument](t, stele("--json", "--config", file, "info").want(t, codeConfig))
		if doc.Error.Code != codeConfig {
			t.Errorf("%+v", doc)
		}
	}
	stele("--config", "/nonexistent.toml", "info").want(t, codeConfig, "/nonexistent.toml")
	stele("--config", t.TempDir(), "info").want(t, codeConfig)
	t.Setenv("STELE_LOG_LEVEL", "loud")
	stele("info").want(t, codeConfig, "STELE_LOG_LEVEL")
	stele("--log-level", "info", "config", "print").want(t, codeOK)
}

func TestUnknownVariable(t *testing.T) {
	t.Setenv("STELE_NODE_NETWROK", "main")
	t.Setenv("STELE_DATA", "/reserved")
	r := stele("config", "print").want(t, codeOK, "unknown environment variable STELE_NODE_NETWROK")
	if strings.Count(r.errOut, "\n") != 1 {
		t.Errorf("%q", r.errOut)
	}
	r = stele("--log-format", "json", "config", "print").want(t, codeOK)
	tells(t, r.errOut, `{"level":"warn",`)
	if r := stele("--log-level", "error", "config", "print").want(t, codeOK); r.errOut != "" {
		t.Errorf("%q", r.errOut)
	}
}

func TestPlatformFolder(t *testing.T) {
	home := func() (string, error) { return filepath.FromSlash("/users/x"), nil }
	env := func(name string) string { return map[string]string{"LOCALAPPDATA": "local"}[name] }
	for system, want := range map[string]string{
		"linux":   "/users/x/.stele",
		"darwin":  "/users/x/Library/Application Support/Stele",
		"windows": "local/Stele",
	} {
		if got, err := platformFolder(system, env, home); err != nil || got != filepath.FromSlash(want) {
			t.Errorf("%s: %s, %v", system, got, err)
		}
	}
	homeless := func() (string, error) { return "", errors.New("homeless") }
	if _, err := platformFolder(runtime.GOOS, func(string) string { return "" }, homeless); err == nil {
		t.Error("no home folder, and no error")
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]uint64{
		"0": 0, "123": 123, "1K": 1 << 10, "512m": 512 << 20, "8G": 8 << 30, "8GiB": 8 << 30, "8GB": 8 << 30, "2T": 2 << 40,
		"17B": 17, "1k": 1 << 10, "64Mi": 64 << 20, "8gib": 8 << 30, "007K": 7 << 10, "8388607T": 8388607 << 40,
	} {
		if n, ok := parseSize(text); !ok || n != want {
			t.Errorf("%s is %d, %v", text, n, ok)
		}
	}
	for _, text := range []string{"", "G", "-1", "1.5G", "1X", "1GG", "99999999999T", "18446744073709551616", "i", "iB",
		"5I", "5iB", "5BB", "5MK", "5IM", "5MIIB", "+1M", "1 G", " 1G", "1G ", "0x10", "1e9", "1_0", "8388608T"} {
		if n, ok := parseSize(text); ok {
			t.Errorf("%q is %d", text, n)
		}
	}
}

// TestAssumeValid takes the network's own block, another, or none.
func TestAssumeValid(t *testing.T) {
	for value, want := range map[string]chain.Hash{"": chain.Main().AssumeValid, none: {}, hash170: mustHash(t, hash170)} {
		c := &config{params: chain.Main()}
		if err := checkAssumeValid(c, value); err != nil || c.assumeValid != want {
			t.Errorf("%q: %v, %v", value, c.assumeValid, err)
		}
	}
}

// TestActivation moves rules of regtest, and of no other network.
func TestActivation(t *testing.T) {
	c := &config{params: chain.Regtest()}
	if err := checkActivation(c, "csv@432,bip34@2"); err != nil || c.params.CSV != 432 || c.params.BIP34 != 2 {
		t.Errorf("%v, %+v", err, c.params)
	}
	if p := chain.Regtest(); p.CSV == 432 {
		t.Error("the network's own heights moved")
	}
	for _, bad := range []string{"csv", "csv@", "csv@-1", "taproot@1", ","} {
		if checkActivation(&config{params: chain.Regtest()}, bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if checkActivation(&config{params: chain.Main()}, "csv@1") == nil {
		t.Error("mainnet's rules can be moved")
	}
}
