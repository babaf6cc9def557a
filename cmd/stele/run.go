package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"stele/store"
)

// app is one run of the program.
type app struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	out    bytes.Buffer // the answer, until the verb has succeeded

	json   bool
	ran    bool   // a verb was reached: errors are about what it did, no longer about how it was called
	file   string // --config
	kept   string // the data folder of a demo that is kept
	conf   *config
	values map[string]sourced
	sink   *sink
	log    zerolog.Logger
	exit   func(code int) // ends the process at once

	ctx   context.Context              // of the request that this run answers, or of the process
	call  call                         // the verb that was reached
	desk  *desk                        // this run answers another process, from the desk's store; nil: it does not
	relay func(unit string, r reading) // shows progress to that process
}

// run is the program: it does what the arguments say and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, log: zerolog.Nop(), exit: os.Exit, ctx: context.Background()}
	a.sink = &sink{w: stderr}
	a.json = asksJSON(args)
	defer func() {
		if r := recover(); r != nil {
			code = a.end(bug(r))
		}
	}()
	root := a.root()
	root.SetArgs(args)
	return a.end(root.Execute())
}

// asksJSON looks for --json before flags are parsed, so that a wrong command line is answered in kind, too.
func asksJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	asked := false
	for _, arg := range args {
		value, ok := strings.CutPrefix(arg, "--json")
		switch {
		case ok && value == "":
			asked = true
		case ok && value[0] == '=':
			asked, _ = strconv.ParseBool(value[1:])
		}
	}
	return asked
}

// end writes the answer, or the failure that took its place, and returns the exit code.
func (a *app) end(err error) int {
	if err == nil {
		if err = a.flush(); err == nil {
			return codeOK
		}
	}
	var f *failure
	if !a.ran && !errors.As(err, &f) {
		err = misused("", "wrong arguments", err.Error()) // cobra's own
	}
	f = explain(err, a.archive())
	if f.told {
		_ = a.flush()
		return f.code
	}
	if f.shown {
		_ = a.flush()
	} else if a.json {
		a.out.Reset()
		_ = a.encode(errorDocument{errorBody{f.code, f.Error()}})
		_ = a.flush()
	}
	fmt.Fprintln(a.sink, "stele: "+f.Error())
	return f.code
}

// errorDocument is what --json prints of a failure; code is the exit code.
type errorDocument struct {
	Error errorBody `json:"error"`
}

type errorBody struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// bug makes a failure of a panic that was recovered. Its place is told in the line.
func bug(r any) error {
	where := fmt.Sprintf("%v at %s", r, panicPlace(debug.Stack()))
	return failed("bug", where, "please report this line; the store recovers at the next start")
}

// guarded runs work of a goroutine of its own: neither a memory fault nor a bug in it may end the process.
func guarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = bug(r)
		}
	}()
	return store.Guard(f)
}

// panicPlace finds the line that panicked in a stack: the first one of this module below the last panic listed, which
// is the one that happened first.
func panicPlace(stack []byte) string {
	lines := strings.Split(string(stack), "\n")
	place, below := "an unknown place", false
	for i := 0; i+1 < len(lines); i++ {
		switch {
		case strings.HasPrefix(lines[i], "panic("):
			below = true
		case below && (strings.HasPrefix(lines[i], "stele/") || strings.HasPrefix(lines[i], "main.")):
			at, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
			place, below = filepath.Base(at), false
		}
	}
	return place
}

// flush writes the buffered answer to standard output.
func (a *app) flush() error {
	_, err := a.out.WriteTo(a.stdout)
	if err != nil {
		return failed("cannot write the answer", "standard output", err.Error())
	}
	return nil
}

// encode puts a JSON document into the answer.
func (a *app) encode(doc any) error {
	e := json.NewEncoder(&a.out)
	e.SetEscapeHTML(false)
	return e.Encode(doc)
}

// answer is a verb's answer: doc with --json, else what text writes.
func (a *app) answer(doc any, text func(w io.Writer)) error {
	if a.json {
		return a.encode(doc)
	}
	w := bufio.NewWriter(&a.out)
	text(w)
	return w.Flush()
}

// verb wraps what a verb does: the configuration is loaded before, and faults of mapped memory are errors.
func (a *app) verb(f func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.ran = true
		a.call = call{cmd, args}
		if a.desk != nil { // the configuration is the owner's
			return store.Guard(func() error { return f(cmd, args) })
		}
		l, err := loadConfig(a.file, os.Environ(), cmd.Flags())
		if err != nil {
			return err
		}
		a.conf, a.values = l.conf, l.values
		a.log = newLog(a.sink, a.conf)
		for _, w := range l.warnings {
			a.log.Warn().Msg(w)
		}
		return store.Guard(func() error { return f(cmd, args) })
	}
}

func init() { cobra.EnableCommandSorting = false } // verbs are listed in the order in which they were added

// root makes the command tree.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:               "stele",
		Short:             "an archival Bitcoin node whose lookups take microseconds",
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              cobra.ArbitraryArgs,
		RunE:              unknownVerb,
		CompletionOptions: cobra.CompletionOptions{DisableDescriptions: false},
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return misused(verbOf(cmd), "wrong flag", err.Error())
	})
	flags := root.PersistentFlags()
	addFlags(flags, "node", "log")
	flags.StringVar(&a.file, "config", "", "TOML `file`; unknown keys are errors")
	flags.BoolVar(&a.json, "json", false, "print one JSON document on standard output")
	root.AddCommand(
		a.demoVerb(), a.importVerb(), a.runVerb(), a.txVerb(), a.spenderVerb(), a.blockVerb(), a.headerVerb(), a.utxoVerb(),
		a.infoVerb(), a.checkVerb(), a.checkpointVerb(), a.backupVerb(), a.restoreVerb(), a.rebuildVerb(),
		a.invalidateVerb(), a.reconsiderVerb(),
		a.benchVerb(), a.benchChildVerb(), a.configVerb(), a.versionVerb(),
	)
	root.SetHelpCommand(a.helpVerb())
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Short, c.Args, c.RunE = "completion script for a shell", cobra.ArbitraryArgs, unknownVerb
		}
	}
	return root
}

// group is a command that only holds others.
func (a *app) group(name, short string) *cobra.Command {
	return &cobra.Command{Use: name, Short: short, Args: cobra.ArbitraryArgs, RunE: unknownVerb}
}

// unknownVerb answers for a command that has none of its own: an argument is a verb that nobody knows.
func unknownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return misused(verbOf(cmd), "missing verb", "after "+cmd.CommandPath())
	}
	f := misused(verbOf(cmd), "unknown verb", strconv.Quote(args[0]))
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		f.todo = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return f
}

// verbOf is what a command is called by, "" for the program itself.
func verbOf(cmd *cobra.Command) string {
	return strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "stele"), " ")
}

// helpVerb prints the help of a verb; an unknown one is wrong usage.
func (a *app) helpVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "help [VERB]",
		Short: "help about a verb",
		RunE: func(cmd *cobra.Command, args []string) error {
			target, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return misused("", "unknown verb", strconv.Quote(strings.Join(args, " ")))
			}
			target.InitDefaultHelpFlag()
			return target.Help()
		},
	}
}

// exactly demands the named arguments of a verb, in this number.
func exactly(verb string, names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return misused(verb, "missing argument", names[len(args)])
		case len(args) > len(names):
			return misused(verb, "too many arguments", strconv.Quote(args[len(names)]))
		}
		return nil
	}
}

// atLeastOne demands one argument or more of a kind.
func atLeastOne(verb, name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return misused(verb, "missing argument", name)
		}
		return nil
	}
}
