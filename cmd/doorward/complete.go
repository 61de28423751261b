package main

import (
	"doorward/api/load/columns"
	"doorward/api/load/kinds"

	"github.com/spf13/cobra"
)

// completeFlags tells a shell the values that flags can have. Other words are names of files.
func completeFlags(root *cobra.Command) {
	choices := map[string][]string{
		"kind":  kinds.Names(),
		"from":  columns.Origins(),
		"dates": {"dmy", "mdy", "ymd"},
		"size":  {"s", "m", "l", "xl"},
		"level": {"denomination", "regional:", "church:", "event:"},
	}
	var complete func(cmd *cobra.Command)
	complete = func(cmd *cobra.Command) {
		for name, values := range choices {
			if cmd.LocalNonPersistentFlags().Lookup(name) != nil {
				must(cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
			}
		}
		for _, below := range cmd.Commands() {
			complete(below)
		}
	}
	complete(root)
	for name, values := range map[string][]string{"log-format": logFormats, "log-level": logLevels} {
		must(root.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
	}
	must(root.MarkPersistentFlagDirname("data"))
	must(root.MarkPersistentFlagFilename("config", "toml"))
}

// must panics on an error that only a mistake in this program can cause.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
