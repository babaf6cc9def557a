package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	envPrefix   = "STELE_"
	envReserved = "STELE_DATA" // names test data; no setting
)

// origin says where a value is from.
type origin string

const (
	fromDefault origin = "default"
	fromFile    origin = "file"
	fromEnv     origin = "environment"
	fromFlag    origin = "flag"
)

// sourced is the text of a setting and where it is from.
type sourced struct {
	value string
	from  origin
}

// loaded is a configuration, the texts that it was made of, and warnings for the log.
type loaded struct {
	conf     *config
	values   map[string]sourced
	warnings []string
}

// loadConfig gathers every setting from the defaults, the file, the environment (pairs as os.Environ gives them) and
// the flags that were given, later ones winning, and checks what has won.
func loadConfig(file string, environ []string, flags *pflag.FlagSet) (*loaded, error) {
	values := make(map[string]sourced, len(settings))
	for _, s := range settings {
		values[s.name()] = sourced{s.fallback, fromDefault}
	}
	if file != "" {
		if err := readFile(file, values); err != nil {
			return nil, err
		}
	}
	warnings := readEnv(environ, values)
	for _, s := range settings {
		if f := flags.Lookup(s.flag); f != nil && f.Changed {
			values[s.name()] = sourced{f.Value.String(), fromFlag}
		}
	}
	c := new(config)
	for _, s := range settings {
		v := values[s.name()]
		if err := s.check(c, v.value); err != nil {
			return nil, badSetting(s, v.from, file, err)
		}
	}
	return &loaded{c, values, warnings}, nil
}

func badSetting(s *setting, from origin, file string, err error) *failure {
	f := &failure{code: codeConfig, what: "wrong configuration", todo: "see stele config print"}
	switch from {
	case fromFlag:
		f.code, f.what, f.todo = codeUsage, "wrong flag", "see stele help"
		f.where = fmt.Sprintf("--%s: %v", s.flag, err)
	case fromEnv:
		f.where = fmt.Sprintf("%s: %v", s.env(), err)
	case fromFile:
		f.where = fmt.Sprintf("%s: %s: %v", file, s.name(), err)
	default:
		f.where, f.todo = fmt.Sprintf("%s: %v", s.name(), err), "name it with --"+s.flag
	}
	return f
}

// readFile reads a TOML file into values. A key that no setting has is an error.
func readFile(file string, values map[string]sourced) error {
	wrong := func(format string, a ...any) error {
		return &failure{code: codeConfig, what: "wrong configuration", where: file + ": " + fmt.Sprintf(format, a...),
			todo: "mend the file or name another with --config"}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		var path *os.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return wrong("%v", err)
	}
	var doc map[string]any
	meta, err := toml.Decode(string(text), &doc)
	if err != nil {
		var parse toml.ParseError
		if errors.As(err, &parse) {
			return wrong("line %d: %s", parse.Position.Line, parse.Message)
		}
		return wrong("%v", err)
	}
	for _, key := range meta.Keys() {
		name := strings.Join(key, ".")
		if len(key) == 1 && meta.Type(key...) == "Hash" && isSection(name) {
			continue
		}
		s := findSetting(name)
		if s == nil {
			return wrong("unknown key %s", name)
		}
		section, _ := doc[key[0]].(map[string]any)
		value, ok := fileValue(s, section[key[len(key)-1]])
		if !ok {
			return wrong("%s must be %s", name, map[bool]string{true: "an integer", false: "a string"}[s.number])
		}
		values[name] = sourced{value, fromFile}
	}
	return nil
}

func isSection(name string) bool {
	return slices.ContainsFunc(settings, func(s *setting) bool { return s.section == name })
}

func findSetting(name string) *setting {
	for _, s := range settings {
		if s.name() == name {
			return s
		}
	}
	return nil
}

func fileValue(s *setting, v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, !s.number
	case int64:
		return strconv.FormatInt(v, 10), s.number
	}
	return "", false
}

// readEnv reads STELE_SECTION_KEY variables into values; an empty one counts as not set. It warns of every other
// variable of that prefix.
func readEnv(environ []string, values map[string]sourced) (warnings []string) {
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, envPrefix) || name == envReserved {
			continue
		}
		i := slices.IndexFunc(settings, func(s *setting) bool { return s.env() == name })
		switch {
		case i < 0:
			warnings = append(warnings, "unknown environment variable "+name)
		case value != "":
			values[settings[i].name()] = sourced{value, fromEnv}
		}
	}
	slices.Sort(warnings)
	return warnings
}

// addFlags gives a command the flags of the settings in some sections.
func addFlags(flags *pflag.FlagSet, sections ...string) {
	for _, s := range settings {
		if slices.Contains(sections, s.section) {
			flags.String(s.flag, s.fallback, s.help)
		}
	}
}

// configVerb prints the configuration that a run with the same flags would have, and where each value is from.
func (a *app) configVerb() *cobra.Command {
	group := a.group("config", "the configuration")
	show := &cobra.Command{
		Use:   "print",
		Short: "print the effective configuration and where each value is from",
		Args:  exactly("config print"),
		RunE:  a.verb(func(*cobra.Command, []string) error { return a.printConfig() }),
	}
	addFlags(show.Flags(), "import")
	group.AddCommand(show)
	return group
}

// configValue is one setting as config print shows it with --json.
type configValue struct {
	Value  any    `json:"value"`
	Source origin `json:"source"`
}

func (a *app) printConfig() error {
	doc := map[string]map[string]configValue{}
	text := table{gap: 2}
	section := ""
	for _, s := range settings {
		v := a.values[s.name()]
		value, quoted := any(v.value), strconv.Quote(v.value)
		if s.name() == "node.datadir" {
			value, quoted = a.conf.datadir, strconv.Quote(a.conf.datadir)
		}
		if s.number {
			n, _ := strconv.ParseInt(v.value, 10, 64)
			value, quoted = n, v.value
		}
		if s.section != section {
			section = s.section
			doc[section] = map[string]configValue{}
			text.row("[" + section + "]")
		}
		doc[section][s.key] = configValue{value, v.from}
		text.row(s.key+" = "+quoted, "# "+string(v.from))
	}
	return a.answer(doc, text.write)
}
