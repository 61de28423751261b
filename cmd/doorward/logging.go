package main

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// The values of --log-format and --log-level.
var (
	logFormats = []string{"text", "json"}
	logLevels  = []string{"debug", "info", "warn", "error"}
)

// logging is how the program logs, as its flags say.
type logging struct{ format, level choice }

func newLogging() *logging {
	return &logging{format: choice{value: "text", of: logFormats}, level: choice{of: logLevels}}
}

func (l *logging) addFlags(f *pflag.FlagSet) {
	f.Var(&l.format, "log-format", "how the log is written: text or json")
	f.Var(&l.level, "log-level", "the least that is logged: debug, info, warn or error (serve: info unless this is given; other commands: error)")
}

// logger writes to standard error what is at least of a level, unless --log-level names another one.
func (m *Main) logger(level slog.Level) *slog.Logger {
	logs := m.logs
	if logs == nil { // no flags were read
		logs = newLogging()
	}
	if given := logs.level.value; given != "" {
		must(level.UnmarshalText([]byte(given))) // the flag takes only names of levels
	}
	o := &slog.HandlerOptions{Level: level}
	if logs.format.value == "json" {
		return slog.New(slog.NewJSONHandler(m.Stderr, o))
	}
	return slog.New(slog.NewTextHandler(m.Stderr, o))
}

// choice is a flag that takes one of some words.
type choice struct {
	value string
	of    []string
}

// Set takes a word.
func (c *choice) Set(text string) error {
	if !slices.Contains(c.of, text) {
		return fmt.Errorf("one of these is wanted: %s", strings.Join(c.of, ", "))
	}
	c.value = text
	return nil
}

// String is the word that was chosen.
func (c *choice) String() string { return c.value }

// Type is how the file of --config writes it.
func (c *choice) Type() string { return "string" }
