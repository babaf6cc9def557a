package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// FuzzOutpoint: what is accepted is the one spelling of it, digits' case and leading zeros apart; what is not is wrong
// usage.
func FuzzOutpoint(f *testing.F) {
	for _, s := range []string{"", ":", payment, ":0"} {
		f.Add(s)
	}
	for _, vout := range []string{"0", "00", "4294967295", "4294967296", "+1", "-1", "0x1", "1_0", " 1"} {
		f.Add(payment + ":" + vout)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parseOutpoint("spender", s)
		if err != nil {
			wrongUsage(t, err)
			return
		}
		id, index, _ := strings.Cut(s, ":")
		if strings.ToLower(id) != p.txid.String() || !sameNumber(index, p.vout) {
			t.Fatalf("%q is read as %v:%d", s, p.txid, p.vout)
		}
	})
}

// FuzzBlockName: a name is a hash, a height, or wrong usage.
func FuzzBlockName(f *testing.F) {
	for _, s := range []string{"", "0", "170", "4294967295", "4294967296", "-1", "1e3", hash170, strings.Repeat("0", 64)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := parseBlock("block", s)
		switch {
		case err != nil:
			wrongUsage(t, err)
		case n.byHash && n.hash.String() != strings.ToLower(s):
			t.Fatalf("%q is read as %v", s, n)
		case !n.byHash && !sameNumber(s, n.height):
			t.Fatalf("%q is read as %v", s, n)
		}
	})
}

// sameNumber compares digits with what they were read as, leading zeros apart.
func sameNumber(digits string, n uint32) bool {
	return digits != "" && strings.TrimLeft(digits, "0") == strings.TrimLeft(fmt.Sprint(n), "0")
}

func wrongUsage(t *testing.T, err error) {
	t.Helper()
	var f *failure
	if !errors.As(err, &f) || f.code != codeUsage || strings.ContainsAny(f.Error(), "\r\n") {
		t.Fatalf("%v is not told as wrong usage in one line", err)
	}
}
