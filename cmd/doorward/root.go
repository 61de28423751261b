package main

import (
	"context"
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

// open says which store a command is about, and what it needs of the store.
func (t *tool) open(need control.Need) control.Opening {
	return control.Opening{Folder: t.folder, Console: t.Console, Version: versionText(), Need: need}
}

// with runs do with a line to the folder's store.
func (t *tool) with(ctx context.Context, need control.Need, do func(*control.Line) error) error {
	return control.With(ctx, t.open(need), do)
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

// showHelp is what a command with others below it does.
func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// onlyTells reports whether a command only says how others are used, and needs no settings for that: a command with others below it, or one
// that the library adds.
func onlyTells(cmd *cobra.Command) bool {
	if !cmd.HasParent() || cmd.HasSubCommands() {
		return true
	}
	for cmd.Parent() != cmd.Root() {
		cmd = cmd.Parent()
	}
	return slices.Contains([]string{"help", "completion", cobra.ShellCompRequestCmd}, cmd.Name())
}

// strictly has the command that the library adds refuse words which mean nothing, as the program's own do.
func strictly(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
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

// words wants so many words behind a command, and says how it is written where there are others.
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
