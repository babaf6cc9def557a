package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"stele/tables"
)

// versionDocument is what version answers with --json.
type versionDocument struct {
	Version string `json:"version"` // of the module, "(devel)" when built from a checkout
	Commit  string `json:"commit,omitempty"`
	Format  uint32 `json:"format"` // of the stores that this program reads and writes
	Go      string `json:"go"`
	System  string `json:"system"`

	Verifiers []string `json:"verifiers"` // of signatures, the default one first
}

// versionVerb needs no configuration: it must answer whatever that is.
func (a *app) versionVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "the program's version and the format of its stores",
		Args:  exactly("version"),
		RunE: func(*cobra.Command, []string) error {
			doc := versionOf()
			return a.answer(doc, func(w io.Writer) {
				fmt.Fprintf(w, "stele %s, store format %d, %s, %s; signatures by %s\n",
					doc.Version, doc.Format, doc.Go, doc.System, strings.Join(doc.Verifiers, ", "))
			})
		},
	}
}

// versionOf describes this program.
func versionOf() versionDocument {
	doc := versionDocument{Version: "(devel)", Format: tables.Format, Go: runtime.Version(), Verifiers: verifierNames()}
	doc.System = runtime.GOOS + "/" + runtime.GOARCH
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			doc.Version = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				doc.Commit = s.Value
			}
		}
	}
	return doc
}

// programVersion is what two processes compare before one answers the other.
func programVersion() string {
	doc := versionOf()
	return strings.TrimSpace(fmt.Sprintf("%s format %d %s", doc.Version, doc.Format, doc.Commit))
}
