package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"doorward/kv"

	"github.com/spf13/cobra"
)

// settings are the flags that every command with a store has.
type settings struct {
	data     string
	timezone string
	zone     *time.Location
	imports  size // what must be free on the disk for imports and the search index
	creates  size // for what else people and programs write
}

// disk are the limits that the store keeps.
func (s *settings) disk() *kv.DiskLimits {
	return &kv.DiskLimits{Imports: int64(s.imports), Creates: int64(s.creates)}
}

// root builds the command tree. began tells, after it ran, whether a command got as far as its own work: before, an error is
// one of usage.
func (m *Main) root() (root *cobra.Command, began *bool) {
	began = new(bool)
	set := &settings{imports: size(kv.DefaultDiskLimits.Imports), creates: size(kv.DefaultDiskLimits.Creates)}
	root = &cobra.Command{
		Use:           "doorward",
		Short:         "An offline-first congregation server",
		Long:          "Doorward keeps a congregation's people, groups, finances and events, and checks tickets in at the door.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	flags := root.PersistentFlags()
	flags.StringVar(&set.data, "data", "", "the folder that holds the congregation")
	flags.StringVar(&set.timezone, "timezone", "America/Sao_Paulo", "the congregation's time zone")
	flags.Var(&set.imports, "disk-imports", "so much of the disk must be free, or imports and the search index wait")
	flags.Var(&set.creates, "disk-creates", "so much of the disk must be free, or nothing but check-ins is written")
	m.logs = newLogging()
	m.logs.addFlags(flags)
	flags.String("config", "", "a TOML file with further settings, named as the flags are")
	root.Version = versionText()
	root.SetVersionTemplate(versionLine() + "\n")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if !onlyTells(cmd) {
			if err := m.configure(root, cmd); err != nil {
				return err
			}
			if err := set.check(cmd); err != nil {
				return err
			}
		}
		*began = true
		return nil
	}
	root.SetHelpCommand(helpCommand(m.Name))
	root.SetUsageTemplate(root.UsageTemplate() + "{{if not .HasParent}}\n" + topicList() + "{{end}}")
	root.AddCommand(m.serveCommand(set), m.doorCommand(set), m.statusCommand(set), m.demoCommand(set), m.keysCommand(set), m.importCommand(set), m.exportCommand(set), m.pullCommand(set),
		m.verifyCommand(set), m.reindexCommand(set), m.backupCommand(set), m.restoreCommand(set), m.clockCommand(set), m.venueCommand(set), m.replicateCommand(set),
		m.eraseCommand(set), m.compactCommand(set), m.versionCommand())
	completeFlags(root)
	return root, began
}

// roomBeside refuses to write so many bytes to the store's disk where that would take from a server what it needs.
func (s *settings) roomBeside(what string, bytes int64) error {
	return kv.RoomBeside(kv.Config{Dir: s.data, Disk: s.disk()}, what, bytes)
}

// noStore marks the commands that need no folder.
const noStore = "no store"

// check reads the settings that any command with a store needs.
func (s *settings) check(cmd *cobra.Command) error {
	if cmd.Annotations[noStore] != "" {
		return nil
	}
	if s.data == "" {
		return fmt.Errorf("--data is missing: the folder that holds the congregation")
	}
	if err := s.findZone(); err != nil {
		return err
	}
	if s.imports < s.creates {
		return fmt.Errorf("--disk-imports %s: imports are refused first, so it cannot be less than --disk-creates %s", &s.imports, &s.creates)
	}
	return nil
}

// onlyTells tells the commands that say how others are used, and need no settings for that: those that have others below them, and
// those that the library adds.
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

// findZone finds the congregation's time zone. No name would be that of UTC, where days begin at another hour.
func (s *settings) findZone() (err error) {
	if s.timezone == "" {
		return errors.New("--timezone: a name is wanted, as America/Sao_Paulo; leave it out for that")
	}
	if s.zone, err = time.LoadLocation(s.timezone); err != nil {
		return fmt.Errorf("--timezone %s: no such time zone", s.timezone)
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

// printJSON prints one JSON object.
func (m *Main) printJSON(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // what is printed is made here
	}
	_, err = fmt.Fprintf(m.Stdout, "%s\n", b)
	return err
}

// rehearse runs do on a store elsewhere, where the folder has none: what is wrong with a command must not leave a store behind.
func (m *Main) rehearse(ctx context.Context, o opening, do func(*control) error) error {
	if hasStore(o.data) {
		return nil
	}
	if err := m.checkStore(o.settings); err != nil {
		return err
	}
	o, tidy, err := trial(o)
	if err != nil {
		return err
	}
	defer tidy()
	return m.on(ctx, o, do)
}

// trial is a store elsewhere, until tidy is called.
func trial(o opening) (_ opening, tidy func(), err error) {
	dir, err := os.MkdirTemp("", "doorward")
	set := *o.settings
	set.data = dir
	return opening{settings: &set, makes: true}, func() { _ = os.RemoveAll(dir) }, err // what stays there is of no use to anybody
}

// on runs do with a line to the store's control handler, which it closes. A store that was made for what failed goes again.
func (m *Main) on(ctx context.Context, o opening, do func(*control) error) error {
	c, err := m.dial(ctx, o)
	if err != nil {
		return err
	}
	c.warn = m.Stderr
	if err := do(c); err != nil {
		_ = c.giveUp() // the first error is the one to tell
		return err
	}
	return c.close()
}
