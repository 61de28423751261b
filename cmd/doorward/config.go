package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// configure gives every flag that the command line leaves out its value from the environment, else from the file.
func (m *Main) configure(root, cmd *cobra.Command) error {
	file, err := m.readConfig(root, cmd)
	if err != nil {
		return err
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "help" || f.Name == "config" || err != nil {
			return
		}
		if v, ok := m.Env(variable(f.Name)); ok {
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

// variable is a flag's name in the environment: DOORWARD_METRICS_LISTEN.
func variable(flag string) string {
	return "DOORWARD_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// readConfig reads the file of --config; a name in it that no command has is an error.
func (m *Main) readConfig(root, cmd *cobra.Command) (map[string][]string, error) {
	path := cmd.Flags().Lookup("config").Value.String()
	if v, ok := m.Env(variable("config")); ok && path == "" {
		path = v
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
	known := flagNames(root)
	values := map[string][]string{}
	for name, v := range file {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("--config %s: there is no setting %q", path, name)
		}
		values[name] = asTexts(v)
	}
	return values, nil
}

func flagNames(cmd *cobra.Command) (names []string) {
	add := func(f *pflag.Flag) { names = append(names, f.Name) }
	cmd.Flags().VisitAll(add)
	cmd.PersistentFlags().VisitAll(add)
	for _, c := range cmd.Commands() {
		names = append(names, flagNames(c)...)
	}
	return names
}

// asTexts is a value of the file as a flag takes it; a list is given once for each.
func asTexts(v any) []string {
	list, ok := v.([]any)
	if !ok {
		return []string{fmt.Sprint(v)}
	}
	texts := make([]string, len(list))
	for i, x := range list {
		texts[i] = fmt.Sprint(x)
	}
	return texts
}
