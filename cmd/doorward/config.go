package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"doorward/cmd/doorward/archive"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// configure sets every flag that the command line leaves out, from the environment, else from the file.
func (m *Main) configure(root, cmd *cobra.Command) error {
	if err := m.checkEnvironment(root); err != nil {
		return err
	}
	file, err := m.readConfig(root, cmd)
	if err != nil {
		return err
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "help" || f.Name == "config" || err != nil {
			return
		}
		if v := m.env(f.Name); v != "" {
			if e := cmd.Flags().Set(f.Name, v); e != nil {
				err = fmt.Errorf("%s: %w", variable(f.Name), e)
			}
			return
		}
		for _, v := range file[f.Name] {
			if e := cmd.Flags().Set(f.Name, v); e != nil {
				err = fmt.Errorf("--config: %s: %w", f.Name, e)
			}
		}
	})
	return err
}

// env returns a flag's value in the environment; "" if it is empty or missing.
func (m *Main) env(flag string) string {
	v, _ := m.Env(variable(flag))
	return v
}

// variable returns a flag's name in the environment: DOORWARD_METRICS_LISTEN.
func variable(flag string) string {
	return archive.SettingPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// readConfig reads the file of --config; a name in it that no command has is an error.
func (m *Main) readConfig(root, cmd *cobra.Command) (map[string][]string, error) {
	path := cmd.Flags().Lookup("config").Value.String()
	if path == "" {
		path = m.env("config")
	}
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	var file map[string]any
	if err := toml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("--config %s: %w", path, err)
	}
	known := map[string]*pflag.Flag{}
	collectFlags(root, known)
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known[f.Name] = f }) // another command may have a flag of this name and of another type
	values := map[string][]string{}
	for given, v := range file {
		name := settingName(given, known)
		if name == "" {
			return nil, fmt.Errorf("--config %s: there is no setting %q%s", path, given, nearest("", given, slices.Collect(maps.Keys(known))))
		}
		texts, ok := asTexts(v, known[name].Value.Type())
		if !ok {
			return nil, fmt.Errorf("--config %s: %s: %s is wanted", path, name, wanted(known[name].Value.Type()))
		}
		values[name] = texts
	}
	return values, nil
}

// settingName returns the flag that a setting of the file means; "" = none. The setting may have underscores, and a list may be in the plural.
func settingName(given string, known map[string]*pflag.Flag) string {
	name := strings.ReplaceAll(given, "_", "-")
	if f := known[name]; f != nil {
		return name
	}
	single := strings.TrimSuffix(name, "s")
	if f := known[single]; f != nil && isList(f.Value.Type()) {
		return single
	}
	return ""
}

func collectFlags(cmd *cobra.Command, into map[string]*pflag.Flag) {
	add := func(f *pflag.Flag) { into[f.Name] = f }
	cmd.Flags().VisitAll(add)
	cmd.PersistentFlags().VisitAll(add)
	for _, c := range cmd.Commands() {
		collectFlags(c, into)
	}
}

// asTexts returns a value of the file as texts that a flag of this type takes, one for each item of a list.
func asTexts(v any, flag string) (texts []string, ok bool) {
	list, many := v.([]any)
	if !many {
		list = []any{v}
	} else if !isList(flag) {
		return nil, false
	}
	for _, x := range list {
		switch x.(type) {
		case bool:
			ok = flag == "bool"
		case int64:
			ok = flag == "int" || flag == "int64" || flag == "int64Slice" || flag == "size"
		case string:
			ok = flag == "string" || flag == "duration" || flag == "size" || isList(flag)
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
		texts = append(texts, fmt.Sprint(x))
	}
	return texts, true
}

// isList reports whether a flag may be given more than once.
func isList(flag string) bool {
	return flag == "stringSlice" || flag == "stringArray" || flag == "int64Slice"
}

// wanted names the value that the file may have for a flag of this type.
func wanted(flag string) string {
	switch flag {
	case "bool":
		return "true or false"
	case "int", "int64":
		return "a number"
	case "int64Slice":
		return "a number or a list of numbers"
	case "duration":
		return "a time as \"48h\""
	case "size":
		return "a size as \"512MiB\""
	case "string":
		return "a text between quotes"
	}
	return "a list of texts"
}

// machineID is the only setting that is just a variable. It belongs to a machine, and no file or command line may carry it to another.
const machineID = "machine-id"

// machineFile holds an id that no two machines have in common, on systems that have one.
const machineFile = "/etc/machine-id"

// machine returns a hash of this machine's id; "" = unknown. DOORWARD_MACHINE_ID replaces the system's id if that changes although the machine
// does not, as in a container.
func (m *Main) machine() string {
	id := []byte(m.env(machineID))
	if len(id) == 0 {
		id, _ = os.ReadFile(machineFile) // without it the folder alone tells
	}
	if id = bytes.TrimSpace(id); len(id) == 0 {
		return ""
	}
	sum := sha256.Sum256(append([]byte("doorward machine "), id...))
	return hex.EncodeToString(sum[:16])
}

// notSettings matches variables with the prefix of settings that are none: those of this project's tests and benchmarks, and those that
// Kubernetes gives every container for a service with the name doorward.
var notSettings = []*regexp.Regexp{
	regexp.MustCompile(`^DOORWARD_(CHECK|CRASH|BENCH(_PROFILE)?|DISK|POWERCUT|PROOF|SEED|TORTURE_SECONDS|TEST_[A-Z_]+)=`),
	regexp.MustCompile(`^DOORWARD_(SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_[A-Z]+)?)=`),
	regexp.MustCompile(`^DOORWARD_PORT=(tcp|udp|sctp)://`),
}

// checkEnvironment refuses a variable without a flag in any command, because its setting would be ignored in silence. It ignores empty variables.
func (m *Main) checkEnvironment(root *cobra.Command) error {
	if m.Environ == nil {
		return nil
	}
	known := map[string]*pflag.Flag{}
	collectFlags(root, known)
	names := []string{variable(machineID)}
	for flag := range known {
		names = append(names, variable(flag))
	}
	for _, v := range m.Environ() {
		name, value, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(v, archive.SettingPrefix) || value == "" || slices.Contains(names, name) {
			continue
		}
		if !slices.ContainsFunc(notSettings, func(r *regexp.Regexp) bool { return r.MatchString(v) }) {
			return fmt.Errorf("%s: there is no such setting%s", name, nearest(archive.SettingPrefix, name, names))
		}
	}
	return nil
}

// nearest returns the settings that are most like a wrong name, as the end of a sentence; "" if none is like it. It compares the names without
// their prefix.
func nearest(prefix, name string, names []string) string {
	bare := make([]string, len(names))
	for i, n := range names {
		bare[i] = strings.TrimPrefix(n, prefix)
	}
	name = strings.TrimPrefix(name, prefix)
	near := mostLike(name, bare, (len(name)+1)/3) // few letters are alike by chance
	if len(near) == 0 {
		return ""
	}
	return "; the nearest is " + prefix + strings.Join(near, ", "+prefix)
}

// mostLike returns the names that are most like a wrong one, at most so many edits away. Four edits make another name of any.
func mostLike(name string, names []string, edits int) []string {
	const furthest = 4
	c := &cobra.Command{}
	for _, n := range names {
		c.AddCommand(&cobra.Command{Use: n, Run: func(*cobra.Command, []string) {}})
	}
	for c.SuggestionsMinimumDistance = 1; c.SuggestionsMinimumDistance <= min(furthest, max(1, edits)); c.SuggestionsMinimumDistance++ {
		if near := c.SuggestionsFor(name); len(near) > 0 {
			return near
		}
	}
	return nil
}
