package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"time"
	_ "time/tzdata" // a venue's machine may have no time zones of its own

	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"

	"github.com/spf13/cobra"
)

func main() {
	takeTurns()
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signals = append(signals, syscall.SIGHUP) // the terminal was closed
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, func() {
		signal.Ignore(syscall.SIGHUP) // a terminal that is closed sends it twice, by its shell and by itself
		stop()                        // a second signal of another kind ends the program at once
	})
	m := &Main{Name: os.Args[0], Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.LookupEnv, Environ: os.Environ}
	os.Exit(m.Run(ctx))
}

// takeTurns has the runtime run more threads than there are processors. What computes for long, as an import and the search index do, gives
// way to other goroutines of its thread after 10 ms only, and several such come before a check-in. The system lets a thread that waited for
// the network or the disk go first.
func takeTurns() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(3 * runtime.GOMAXPROCS(0))
	}
}

// Main is the program: all that it takes from its surroundings.
type Main struct {
	Name   string   // how the program was called; "" = doorward
	Args   []string // without the program's name
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Env    func(name string) (string, bool)
	// Environ lists all variables, as NAME=value. Those that look like settings must be settings; nil = they are not checked
	Environ func() []string
	Ready   func(address string) // is called once, when serve answers, with its real address; nil = not called
	Clock   func() time.Time     // of the machine; nil = its own
	Zone    *time.Location       // of the machine; nil = its own
	Drain   time.Duration        // how long serve waits in the end for requests that were begun; 0 = 30 s
}

// The exit codes.
const (
	exitDone = iota
	exitFailed
	exitUsage
)

// Run carries out the command that Args name and returns the exit code.
func (m *Main) Run(ctx context.Context) int {
	out, errs := console.NewOutput(m.Stdout), console.NewOutput(m.Stderr)
	c := &console.Console{Name: m.Name, Args: m.Args, In: m.Stdin, Out: out, Err: errs}
	if c.Name == "" {
		c.Name = "doorward"
	}
	root, began := m.root(c)
	root.SetArgs(m.Args)
	root.SetIn(c.In)
	root.SetOut(c.Out)
	root.SetErr(c.Err)
	strictly(root)
	cmd, err := root.ExecuteContextC(ctx)
	if lost := out.Err(); lost != nil && (err == nil || errors.Is(err, console.ErrSaid)) {
		err = lost
	}
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, console.ErrSaid):
		return exitFailed
	}
	if wantsJSON(cmd) {
		_ = c.JSON(control.Failure{Error: control.Problem{Message: err.Error()}}) // the error follows on standard error too
	}
	c.Warn("%v", err)
	if usage := new(console.UsageError); errors.As(err, usage) || !*began {
		fmt.Fprint(c.Err, taken(cmd, err))
		fmt.Fprintf(c.Err, "See: %s --help\n", cmd.CommandPath())
		return exitUsage
	}
	return exitFailed
}

// taken says what the flags take that the server has refused, by the annotations of a command: field → text.
func taken(cmd *cobra.Command, err error) (text string) {
	faults := control.Faults{}
	errors.As(err, &faults)
	for _, field := range slices.Sorted(maps.Keys(faults)) {
		if takes := cmd.Annotations[field]; takes != "" {
			text += takes + "\n"
		}
	}
	return text
}

// What the linker sets (see the Makefile); empty in a plain go build.
var version, built string

// versionText is the program's version.
func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// versionLine tells which program this is.
func versionLine() string {
	return fmt.Sprintf("doorward %s (%s, %s/%s)", versionText(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// buildTime is when the program was built; zero = unknown. A clock before it cannot be right.
func buildTime() time.Time {
	text := built
	if info, ok := debug.ReadBuildInfo(); ok && text == "" {
		for _, s := range info.Settings {
			if s.Key == "vcs.time" {
				text = s.Value
			}
		}
	}
	t, _ := time.Parse(time.RFC3339, text) // zero where it is none
	return t
}

func versionCommand(t *tool) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: words(0), Annotations: map[string]string{noStore: "true"},
		Run: func(*cobra.Command, []string) {
			fmt.Fprintln(t.Out, versionLine())
		},
	}
}
