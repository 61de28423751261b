package main

import (
	"doorward/api/load/columns"
	"doorward/api/load/kinds"

	"github.com/spf13/cobra"
)

// completeFlags tells a shell which values flags can have. What is no flag's is a file's name.
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

// must is for what only a mistake in the program itself makes fail.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
