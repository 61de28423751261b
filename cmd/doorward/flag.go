package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// size is a flag that takes a number of bytes as people write it: 256MiB, 1GB, 4096.
type size int64

// units are what a size may end with.
var units = []struct {
	name  string
	bytes int64
}{
	{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"tib", 1 << 40},
	{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12}, {"b", 1}, {"", 1},
}

// maxSize is more than any disk has.
const maxSize = 1 << 60

// Set reads a size.
func (s *size) Set(text string) error {
	text = strings.ToLower(strings.TrimSpace(text))
	for _, u := range units {
		number, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || n < 0 || n > maxSize/u.bytes {
			break
		}
		*s = size(n * u.bytes)
		return nil
	}
	return errors.New("a size is wanted, as 512MiB")
}

// String is the size as it can be set.
func (s *size) String() string {
	for _, u := range []int{2, 1, 0} {
		if b := size(units[u].bytes); *s >= b && *s%b == 0 {
			return strconv.FormatInt(int64(*s/b), 10) + []string{"KiB", "MiB", "GiB"}[u]
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

// Type names the flag's type in --help.
func (s *size) Type() string { return "size" }

// The values of --log-format and --log-level.
var (
	logFormats = []string{"text", "json"}
	logLevels  = []string{"debug", "info", "warn", "error"}
)

// choice is a flag that takes one of some words.
type choice struct {
	value *string
	of    []string
}

// Set takes a word.
func (c *choice) Set(text string) error {
	if !slices.Contains(c.of, text) {
		return fmt.Errorf("one of these is wanted: %s", strings.Join(c.of, ", "))
	}
	*c.value = text
	return nil
}

// String is the word that was chosen.
func (c *choice) String() string {
	if c.value == nil { // pflag asks a zero value
		return ""
	}
	return *c.value
}

// Type is how the file of --config writes it.
func (c *choice) Type() string { return "string" }
