package main

import (
	"fmt"
	"strings"

	"doorward/cmd/doorward/help"

	"github.com/spf13/cobra"
)

// helpCommand prints a page of the manual, or the usage of a command. A topic goes before a command of the same name; --help lists the flags
// of the command. program is the name by which the reader has called this program.
func helpCommand(program string) *cobra.Command {
	return &cobra.Command{
		Use: "help [TOPIC | COMMAND]", Short: "Print a page of the manual, or how a command is used",
		Long: "Print a page of the manual, or how a command is used.\n\n" + topicList(),
		Args: helpNamed,
		RunE: func(cmd *cobra.Command, args []string) error {
			if topic, found := topicNamed(args); found {
				_, err := fmt.Fprint(cmd.OutOrStdout(), topic.Printed(program))
				return err
			}
			found, _, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			return found.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return helpWords(cmd.Root(), args), cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// topicNamed returns the topic that the words name, if they name one.
func topicNamed(args []string) (help.Topic, bool) {
	if len(args) != 1 {
		return help.Topic{}, false
	}
	return help.Find(args[0])
}

// helpNamed refuses words that name neither a topic nor a command.
func helpNamed(cmd *cobra.Command, args []string) error {
	if _, found := topicNamed(args); found {
		return nil
	}
	if _, rest, err := cmd.Root().Find(args); err != nil || len(rest) > 0 {
		return fmt.Errorf("there is no topic and no command %q\n\n%s", strings.Join(args, " "), topicList())
	}
	return nil
}

// topicList lists the manual's topics, a line each.
func topicList() string {
	var b strings.Builder
	b.WriteString("Topics of the manual, each printed by help TOPIC:\n")
	for _, t := range help.Topics() {
		fmt.Fprintf(&b, "  %-11s %s\n", t.Name, t.About)
	}
	return b.String()
}

// helpWords lists the words that can follow help and these words.
func helpWords(root *cobra.Command, args []string) (words []string) {
	if len(args) == 0 {
		for _, t := range help.Topics() {
			words = append(words, t.Name+"\t"+t.About)
		}
	}
	found, rest, err := root.Find(args)
	if err != nil || len(rest) > 0 {
		return words
	}
	for _, c := range found.Commands() {
		if _, topic := help.Find(c.Name()); c.IsAvailableCommand() && !(topic && len(args) == 0) {
			words = append(words, c.Name()+"\t"+c.Short)
		}
	}
	return words
}
