package main

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/rs/zerolog"

	"stele/chain"
	"stele/validate/script"
)

// setting is one key of the configuration: KEY of [SECTION] in the file, STELE_SECTION_KEY in the environment, and a
// flag. Its value is text until it is checked.
type setting struct {
	section, key string
	flag         string
	number       bool // an integer in the file, else a string
	fallback     string
	check        func(c *config, value string) error // also stores the value in c
	help         string
}

func (s *setting) name() string { return s.section + "." + s.key }

func (s *setting) env() string {
	return envPrefix + strings.ToUpper(s.section+"_"+s.key)
}

// config is the configuration that a run works with.
type config struct {
	datadir     string
	params      *chain.Params
	logFormat   string
	logLevel    zerolog.Level
	threads     int    // goroutines that decode; 0: one a core
	memory      uint64 // bytes; 0: half of the machine's
	utxo        bool
	assumeValid chain.Hash // zero: no block
	verifier    script.Verifier

	listen, connect, addNode []string // host:port
	proxy                    string   // host:port; empty: none
	maxInbound               int
	encrypt, seeds           bool
	minimumWork              chain.Work // zero: the network's
}

// Values of settings.
const (
	logConsole = "console"
	logJSON    = "json"
	none       = "none"
)

// settings lists every key, in the order in which they are checked and printed: network before assume_valid, whose
// default is the network's.
var settings = []*setting{
	{section: "node", key: "datadir", flag: "datadir", check: checkDatadir,
		help: "data `folder`; default: the platform's"},
	{section: "node", key: "network", flag: "network", fallback: "main", check: checkNetwork,
		help: "`network`: main, testnet3, testnet4, signet or regtest"},
	{section: "log", key: "format", flag: "log-format", fallback: logConsole, check: checkLogFormat,
		help: "`format`: console or json"},
	{section: "log", key: "level", flag: "log-level", fallback: "info", check: checkLogLevel,
		help: "`level`: trace, debug, info, warn, error or off"},
	{section: "import", key: "assume_valid", flag: "assume-valid", check: checkAssumeValid,
		help: "block `hash` up to which scripts are taken as valid, or none; default: the network's"},
	{section: "import", key: "test_activation_height", flag: "test-activation-height", check: checkActivation,
		help: "on regtest, `name@height,...`: begin bip34, dersig, cltv, csv or segwit elsewhere"},
	{section: "import", key: "verifier", flag: "verifier", fallback: script.Default().Name(), check: checkVerifier,
		help: "what verifies signatures: a `name` that stele version lists"},
	{section: "import", key: "utxo", flag: "utxo", fallback: "on", check: checkUTXO,
		help: "`on|off`: with off, confirm from the tables alone"},
	{section: "import", key: "threads", flag: "threads", number: true, fallback: "0", check: checkThreads,
		help: "`number` of goroutines that decode blocks; 0: one a core"},
	{section: "import", key: "memory", flag: "memory", check: checkMemory,
		help: "`size` of deltas, caches and the set (512M, 8G); default: half of the machine's"},
	{section: "p2p", key: "listen", flag: "listen", check: checkListen,
		help: "`host:port,...` to take connections at; default: nowhere"},
	{section: "p2p", key: "connect", flag: "connect", check: checkConnect,
		help: "`host:port,...` of nodes to call, and no others"},
	{section: "p2p", key: "addnode", flag: "addnode", check: checkAddNode,
		help: "`host:port,...` of nodes to call as well"},
	{section: "p2p", key: "proxy", flag: "proxy", check: checkProxy,
		help: "`host:port` of a SOCKS5 proxy through which everything is called"},
	{section: "p2p", key: "max_inbound", flag: "max-inbound", number: true, fallback: "114", check: checkInbound,
		help: "`number` of connections that are taken"},
	{section: "p2p", key: "encrypt", flag: "encrypt", fallback: "on", check: checkEncrypt,
		help: "`on|off`: speak the encrypted transport (BIP324) with who can"},
	{section: "p2p", key: "seeds", flag: "seeds", fallback: "on", check: checkSeeds,
		help: "`on|off`: ask DNS seeds for nodes where none is known"},
	{section: "p2p", key: "minimum_chain_work", flag: "minimum-chain-work", check: checkMinimumWork,
		help: "work in `hex` that a chain of headers has before it is stored; default: the network's"},
}

func checkDatadir(c *config, value string) (err error) {
	if value == "" {
		value, err = platformFolder(runtime.GOOS, os.Getenv, os.UserHomeDir)
	}
	if err == nil {
		c.datadir, err = filepath.Abs(value)
	}
	return err
}

// platformFolder is where a data folder belongs that nobody named.
func platformFolder(system string, env func(string) string, home func() (string, error)) (string, error) {
	if local := env("LOCALAPPDATA"); system == "windows" && local != "" {
		return filepath.Join(local, "Stele"), nil
	}
	dir, err := home()
	if err != nil {
		return "", fmt.Errorf("there is no home folder to put it in (%w)", err)
	}
	if system == "darwin" {
		return filepath.Join(dir, "Library", "Application Support", "Stele"), nil
	}
	return filepath.Join(dir, ".stele"), nil
}

func checkNetwork(c *config, value string) (err error) {
	if c.params, err = chain.ParamsByName(value); err != nil {
		return fmt.Errorf("%q is none of main, testnet3, testnet4, signet, regtest", value)
	}
	return nil
}

func checkLogFormat(c *config, value string) error {
	if value != logConsole && value != logJSON {
		return fmt.Errorf("%q is neither console nor json", value)
	}
	c.logFormat = value
	return nil
}

func checkLogLevel(c *config, value string) error {
	levels := map[string]zerolog.Level{
		"trace": zerolog.TraceLevel, "debug": zerolog.DebugLevel, "info": zerolog.InfoLevel,
		"warn": zerolog.WarnLevel, "error": zerolog.ErrorLevel, "off": zerolog.Disabled,
	}
	level, ok := levels[value]
	if !ok {
		return fmt.Errorf("%q is none of trace, debug, info, warn, error, off", value)
	}
	c.logLevel = level
	return nil
}

// checkActivation moves rules of regtest to other heights; the same must be said every time that a store is added to.
func checkActivation(c *config, value string) (err error) {
	if value == "" {
		return nil
	}
	if c.params.Name != chain.Regtest().Name {
		return errors.New("rules begin where they do, but on regtest")
	}
	for spec := range strings.SplitSeq(value, ",") {
		if c.params, err = c.params.WithActivation(spec); err != nil {
			return err
		}
	}
	return nil
}

func checkVerifier(c *config, value string) error {
	v, ok := script.ByName(value)
	if !ok {
		return fmt.Errorf("%q is none of %s", value, strings.Join(verifierNames(), ", "))
	}
	c.verifier = v
	return nil
}

// verifierNames lists the verifiers of this build, the default one first.
func verifierNames() (names []string) {
	for _, v := range script.Verifiers() {
		names = append(names, v.Name())
	}
	return names
}

func checkAssumeValid(c *config, value string) (err error) {
	switch value {
	case "":
		c.assumeValid = c.params.AssumeValid
	case none:
		c.assumeValid = chain.Hash{}
	default:
		if c.assumeValid, err = chain.ParseHash(value); err != nil {
			return fmt.Errorf("%q is neither a block hash (64 hex digits) nor none", value)
		}
	}
	return nil
}

func checkUTXO(c *config, value string) (err error) {
	c.utxo, err = onOff(value)
	return err
}

// maxThreads is more than any machine has cores.
const maxThreads = 4096

func checkThreads(c *config, value string) error {
	n, err := strconv.ParseUint(value, 10, 32)
	if err != nil || n > maxThreads {
		return fmt.Errorf("%q is not a number from 0 to %d", value, maxThreads)
	}
	c.threads = int(n)
	return nil
}

// minMemory is what a budget must hold at least: the deltas of some blocks.
const minMemory = 16 << 20

func checkMemory(c *config, value string) error {
	if value == "" {
		c.memory = 0
		return nil
	}
	n, ok := parseSize(value)
	if !ok {
		return fmt.Errorf("%q is not a size like 512M or 8G", value)
	}
	if n < minMemory {
		return fmt.Errorf("%q is less than %d MiB", value, minMemory>>20)
	}
	c.memory = n
	return nil
}

// parseSize reads a number of bytes with an optional K, M, G or T (powers of 1024; "B" or "iB" may follow), in either
// case.
func parseSize(s string) (uint64, bool) {
	s = strings.ToUpper(s)
	digits := strings.TrimRight(s, "KMGTIB")
	unit := strings.TrimSuffix(s[len(digits):], "B")
	if len(unit) == 2 {
		unit = strings.TrimSuffix(unit, "I")
	}
	shift, ok := map[string]int{"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[unit]
	n, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil || bits.Len64(n)+shift > 63 {
		return 0, false
	}
	return n << shift, true
}
