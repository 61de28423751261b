package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"doorward/api/load/columns"
	"doorward/api/load/kinds"
	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/cmd/doorward/folder"
	"doorward/cmd/doorward/help"
	"doorward/kv/disk"
	"doorward/kv/table"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// tool is what each command works with: the console, and the folder that the flags name.
type tool struct {
	*console.Console
	folder *folder.Folder
	asJSON bool // --json
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
func (t *tool) show(answer json.RawMessage, v any, print func() error) error {
	if t.asJSON {
		return t.JSON(answer)
	}
	if err := control.Read(answer, v); err != nil {
		return err
	}
	return print()
}

// tell prints a result: v for --json, else by print. The console remembers an error of print.
func (t *tool) tell(v any, print func()) error {
	if t.asJSON {
		return t.JSON(v)
	}
	print()
	return nil
}

// report is tell for a result that makes the command fail where it is not well.
func (t *tool) report(v any, print func(), well bool) error {
	if err := t.tell(v, print); err != nil || well {
		return err
	}
	return console.ErrSaid
}

// root builds the command tree. began tells, after it ran, whether a command got as far as its own work. An error before that is one of usage.
func (m *Main) root(c *console.Console) (root *cobra.Command, began *bool) {
	began = new(bool)
	t := &tool{Console: c, folder: &folder.Folder{
		Disk: disk.DefaultRoomLimits, Quota: table.DefaultFreeQuota, Machine: m.machine(), Built: buildTime(), Command: append([]string{c.Name}, c.Args...),
	}}
	root = &cobra.Command{
		Use:           "doorward",
		Short:         "An offline-first congregation server",
		Long:          "Doorward keeps a congregation's people, groups, finances and events, and checks tickets in at the door.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          named,
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
	root.AddCommand(serveCommand(t, m), doorCommand(t), statusCommand(t), demoCommand(t), importCommand(t), exportCommand(t), pullCommand(t),
		verifyCommand(t), reindexCommand(t), backupCommand(t), restoreCommand(t), replicateCommand(t), compactCommand(t), rehearseCommand(t, m),
		versionCommand(t),
		group("keys", "Make, list and revoke the keys of integrations and doors", keysAddCommand(t), keysListCommand(t), keysRevokeCommand(t)),
		group("clock", "Say that the machine's clock is right", clockTrustCommand(t)),
		group("venue", "Let laptops take an event or a church along, and join with one",
			venueEnrolCommand(t), venueJoinCommand(t), venueListCommand(t), venueRevokeCommand(t), venueWipeCommand(t)),
		group("erase", "Erase somebody for good", erasePersonCommand(t)),
		group("tls", "Give phones https without internet, and so their camera", tlsInitCommand(t), tlsShowCommand(t)))
	completeFlags(root)
	return root, began
}

// globalFlags are the flags of every command.
func (t *tool) globalFlags(f *pflag.FlagSet) {
	f.StringVar(&t.folder.Dir, "data", "", "the folder that holds the congregation")
	must(f.SetAnnotation("data", alsoCalled, []string{"dir", "folder"}))
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
	cmd := &cobra.Command{Use: use, Short: short, Args: named, RunE: showHelp}
	cmd.AddCommand(below...)
	return cmd
}

// named refuses a word that is no command below cmd. Its error names the commands that are most like it.
func named(cmd *cobra.Command, args []string) error {
	err := cobra.NoArgs(cmd, args)
	if err == nil {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	return fmt.Errorf("%w%s", err, didYouMean("", cmd.SuggestionsFor(args[0])))
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

// alsoCalled is the annotation of a flag with the names that people give it who know other servers.
const alsoCalled = "also called"

// didYouMean is the end of a sentence about a wrong name: those that are most like it, each after a prefix; "" if none is.
func didYouMean(prefix string, near []string) string {
	if len(near) == 0 {
		return ""
	}
	return " (did you mean " + prefix + strings.Join(near, " or "+prefix) + "?)"
}

// flagsLike returns the flags of a command that are most like a wrong name, by their own names and by those that people give them.
func flagsLike(cmd *cobra.Command, name string) (flags []string) {
	of := map[string]string{} // name → flag
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		for _, n := range append(f.Annotations[alsoCalled], f.Name) {
			if !f.Hidden {
				of[n] = f.Name
			}
		}
	})
	for _, near := range mostLike(name, slices.Sorted(maps.Keys(of)), (len(name)+2)/3) {
		if !slices.Contains(flags, of[near]) {
			flags = append(flags, of[near])
		}
	}
	return flags
}

// flagFault says what a flag takes, where it was given another value, and which flags a wrong one is like. A flag with a type of its own says
// it itself.
func flagFault(cmd *cobra.Command, err error) error {
	if unknown := new(pflag.NotExistError); errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		return fmt.Errorf("%w%s", err, didYouMean("--", flagsLike(cmd, unknown.GetSpecifiedName())))
	}
	bad := new(pflag.InvalidValueError)
	if !errors.As(err, &bad) || !slices.Contains([]string{"int", "int64", "int64Slice", "duration", "bool"}, bad.GetFlag().Value.Type()) {
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

// words requires one of these numbers of words after a command. Its error shows how the command is written, and names a word too many, which
// may be the folder.
func words(counts ...int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		most := slices.Max(counts)
		switch {
		case slices.Contains(counts, len(args)):
			return nil
		case len(args) < most:
			return fmt.Errorf("the command is written so: %s", cmd.UseLine())
		}
		hint := ""
		if info, err := os.Stat(args[most]); err == nil && info.IsDir() {
			hint = "; --data names a folder"
		}
		return fmt.Errorf("%q is a word too many; the command is written so: %s%s", args[most], cmd.UseLine(), hint)
	}
}

// jsonFlag gives a command the flag --json.
func (t *tool) jsonFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&t.asJSON, "json", false, "print the outcome as one JSON object")
}

func wantsJSON(cmd *cobra.Command) bool {
	f := cmd.Flags().Lookup("json")
	return f != nil && f.Value.String() == "true"
}

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
	found, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 {
		var names []string
		for _, word := range helpWords(found, nil) {
			name, _, _ := strings.Cut(word, "\t")
			names = append(names, name)
		}
		word := args[len(args)-1]
		near := mostLike(word, names, (len(word)+2)/3)
		return fmt.Errorf("there is no topic and no command %q%s\n\n%s", strings.Join(args, " "), didYouMean("", near), topicList())
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
