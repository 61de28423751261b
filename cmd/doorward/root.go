package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/cmd/doorward/folder"
	"doorward/kv/disk"
)

// tool is what each command works with: the console, and the folder that the flags name.
type tool struct {
	*console.Console
	folder *folder.Folder
}

// open returns how a command opens its store. need is what the command needs of it.
func (t *tool) open(need control.Need) control.Opening {
	return control.Opening{Folder: t.folder, Console: t.Console, Version: versionText(), Need: need}
}

// with runs do with a line to the folder's store.
func (t *tool) with(ctx context.Context, need control.Need, do func(*control.Line) error) error {
	return control.With(ctx, t.open(need), do)
}

// show prints the answer of the handler: as it is for --json, else by print, once the answer is read into v.
func (t *tool) show(answer json.RawMessage, asJSON bool, v any, print func() error) error {
	if asJSON {
		return t.JSON(answer)
	}
	if err := control.Read(answer, v); err != nil {
		return err
	}
	return print()
}

// root builds the command tree. began tells, after it ran, whether a command got as far as its own work. An error before that is one of usage.
func (m *Main) root(c *console.Console) (root *cobra.Command, began *bool) {
	began = new(bool)
	t := &tool{c, &folder.Folder{Disk: disk.DefaultRoomLimits, Machine: m.machine(), Built: buildTime(), Command: append([]string{c.Name}, c.Args...)}}
	root = &cobra.Command{
		Use:           "doorward",
		Short:         "An offline-first congregation server",
		Long:          "Doorward keeps a congregation's people, groups, finances and events, and checks tickets in at the door.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          showHelp,
		Version:       versionText(),
	}
	root.SetVersionTemplate(versionLine() + "\n")
	t.globalFlags(root.PersistentFlags())
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if !onlyTells(cmd) {
			if err := m.configure(root, cmd); err != nil {
				return err
			}
			if err := t.check(cmd); err != nil {
				return err
			}
		}
		*began = true
		return nil
	}
	root.SetHelpCommand(helpCommand(m.Name))
	root.SetUsageTemplate(root.UsageTemplate() + "{{if not .HasParent}}\n" + topicList() + "{{end}}")
	root.AddCommand(serveCommand(t, m), doorCommand(t), statusCommand(t), demoCommand(t), keysCommand(t), importCommand(t), exportCommand(t), pullCommand(t),
		verifyCommand(t), reindexCommand(t), backupCommand(t), restoreCommand(t), clockCommand(t), venueCommand(t), replicateCommand(t),
		eraseCommand(t), compactCommand(t), tlsCommand(t), rehearseCommand(t, m),
		versionCommand(t))
	completeFlags(root)
	return root, began
}

// globalFlags are the flags of every command.
func (t *tool) globalFlags(f *pflag.FlagSet) {
	f.StringVar(&t.folder.Dir, "data", "", "the folder that holds the congregation")
	f.StringVar(&t.folder.Timezone, "timezone", "America/Sao_Paulo", "the congregation's time zone")
	f.Var((*size)(&t.folder.Disk.Imports), "disk-imports", "so much of the disk must be free, or imports and the search index wait")
	f.Var((*size)(&t.folder.Disk.Creates), "disk-creates", "so much of the disk must be free, or nothing but check-ins is written")
	t.Logs.Format = logFormats[0]
	f.Var(&choice{&t.Logs.Format, logFormats}, "log-format", "how the log is written: text or json")
	f.Var(&choice{&t.Logs.Level, logLevels}, "log-level", "the least that is logged: debug, info, warn or error (serve: info unless this is given; other commands: error)")
	f.String("config", "", "a TOML file with further settings, named as the flags are")
}

// noStore marks the commands that need no folder.
const noStore = "no store"

// check reads the settings of a command with a store.
func (t *tool) check(cmd *cobra.Command) error {
	if cmd.Annotations[noStore] != "" {
		return nil
	}
	if t.folder.Dir == "" {
		return fmt.Errorf("--data is missing: the folder that holds the congregation")
	}
	if err := findZone(t.folder); err != nil {
		return err
	}
	if imports, creates := (*size)(&t.folder.Disk.Imports), (*size)(&t.folder.Disk.Creates); *imports < *creates {
		return fmt.Errorf("--disk-imports %s: imports are refused first, so it cannot be less than --disk-creates %s", imports, creates)
	}
	return nil
}

// showHelp prints the help of a command with others below it.
func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// group is a command that only has others below it.
func group(use, short string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: showHelp}
	cmd.AddCommand(below...)
	return cmd
}

// onlyTells reports whether a command only prints help, and needs no settings: a command with others below it, or one that the library adds.
func onlyTells(cmd *cobra.Command) bool {
	if !cmd.HasParent() || cmd.HasSubCommands() {
		return true
	}
	for cmd.Parent() != cmd.Root() {
		cmd = cmd.Parent()
	}
	return slices.Contains([]string{"help", "completion", cobra.ShellCompRequestCmd}, cmd.Name())
}

// strictly makes the library's command completion refuse unknown words, as the program's own commands do.
func strictly(root *cobra.Command) {
	root.SetFlagErrorFunc(flagFault)
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.RunE = showHelp
		}
	}
}

// flagFault says what a flag takes, where it was given another value. A flag with a type of its own says it itself.
func flagFault(_ *cobra.Command, err error) error {
	bad := new(pflag.InvalidValueError)
	if !errors.As(err, &bad) || !slices.Contains([]string{"int", "int64", "duration", "bool"}, bad.GetFlag().Value.Type()) {
		return err
	}
	return fmt.Errorf("--%s %s: %s is wanted", bad.GetFlag().Name, bad.GetValue(), wanted(bad.GetFlag().Value.Type()))
}

// findZone finds the congregation's time zone. An empty name is refused: it means UTC, where days begin at another hour.
func findZone(f *folder.Folder) (err error) {
	if f.Timezone == "" {
		return errors.New("--timezone: a name is wanted, as America/Sao_Paulo; leave it out for that")
	}
	if f.Zone, err = time.LoadLocation(f.Timezone); err != nil {
		return fmt.Errorf("--timezone %s: no such time zone", f.Timezone)
	}
	return nil
}

// words requires n words after a command. Its error shows how the command is written.
func words(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return fmt.Errorf("the command is written so: %s", cmd.UseLine())
	}
}

// jsonFlag gives a command the flag --json.
func jsonFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print the outcome as one JSON object")
}

func wantsJSON(cmd *cobra.Command) bool {
	f := cmd.Flags().Lookup("json")
	return f != nil && f.Value.String() == "true"
}
