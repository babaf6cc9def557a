package chain_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stele/chain"
)

// TestWithActivation: each name moves its own height and nothing else, and the network itself keeps its heights.
func TestWithActivation(t *testing.T) {
	for name, set := range map[string]func(p *chain.Params, height uint32){
		"bip34":  func(p *chain.Params, height uint32) { p.BIP34 = height },
		"dersig": func(p *chain.Params, height uint32) { p.BIP66 = height },
		"cltv":   func(p *chain.Params, height uint32) { p.BIP65 = height },
		"csv":    func(p *chain.Params, height uint32) { p.CSV = height },
		"segwit": func(p *chain.Params, height uint32) { p.Segwit = height },
	} {
		for text, height := range map[string]uint32{"0": 0, "2": 2, "0432": 432, "2147483646": 1<<31 - 2, "-0": 0} {
			for _, network := range networks {
				want := *network()
				before := want
				set(&want, height)
				got, err := network().WithActivation(name + "@" + text)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(&want, got); diff != "" {
					t.Errorf("%s@%s: %s", name, text, diff)
				}
				if diff := cmp.Diff(&before, network()); diff != "" {
					t.Errorf("%s@%s changes the network: %s", name, text, diff)
				}
			}
		}
	}
}

// TestWithActivationTwice: one after the other, as options come.
func TestWithActivationTwice(t *testing.T) {
	p, err := chain.Regtest().WithActivation("csv@432")
	if err != nil {
		t.Fatal(err)
	}
	if p, err = p.WithActivation("segwit@10"); err != nil {
		t.Fatal(err)
	}
	if p.CSV != 432 || p.Segwit != 10 || p.BIP34 != 1 {
		t.Errorf("csv %d, segwit %d, bip34 %d", p.CSV, p.Segwit, p.BIP34)
	}
}

// TestActivationErrors: what Core says of these, in its order: format, height, name.
func TestActivationErrors(t *testing.T) {
	for spec, what := range map[string]string{
		"":                 "format",
		"segwit":           "format",
		"segwit:3":         "format",
		"@":                "height value",
		"segwit@":          "height value",
		"segwit@-1":        "height value",
		"segwit@+1":        "height value",
		"segwit@ 1":        "height value",
		"segwit@1 ":        "height value",
		"segwit@0x10":      "height value",
		"segwit@1_000":     "height value",
		"segwit@1@2":       "height value",
		"segwit@sample":    "height value",
		"name@-2":          "height value",
		"bip34@2147483647": "height value",
		"bip34@2147483648": "height value",
		"bip34@4294967298": "height value",
		"name@2":           "name",
		"@2":               "name",
		"taproot@2":        "name",
		"SEGWIT@2":         "name",
		"bip65@2":          "name",
	} {
		p, err := chain.Regtest().WithActivation(spec)
		var wrong *chain.ActivationError
		if !errors.As(err, &wrong) || p != nil || wrong.What != what || wrong.Spec != spec {
			t.Errorf("%q: %v, want %s", spec, err, what)
		}
	}
	err := (&chain.ActivationError{Spec: "name@2", What: "name"}).Error()
	if err != "invalid name (name@2) for an activation height, name@height" {
		t.Error(err)
	}
}
