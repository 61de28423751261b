package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // a venue's machine may have no time zones of its own
)

func main() {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup has it ignored
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

// Main is the program: all that it takes from its surroundings.
type Main struct {
	Name   string   // how the program was called; "" = doorward
	Args   []string // without the program's name
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Env    func(name string) (string, bool)
	// Environ lists all variables, as NAME=value, of which those that look like settings must be some; nil = they are not looked at
	Environ func() []string
	Ready   func(address string) // called once serve answers, with its real address; nil = nobody waits
	Clock   func() time.Time     // of the machine; nil = its own
	Drain   time.Duration        // how long serve waits in the end for what has begun; a third of it, restore for a silent server; 0 = 30 s

	logs *logging // what the flags say of the log; nil before they are read
}

// The exit codes.
const (
	exitDone = iota
	exitFailed
	exitUsage
)

// usageError is a wrong use of the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// errSaid ends a command with exitFailed after it has said what there is to say.
var errSaid = errors.New("failed, as said")

// Run carries out the command that Args name and answers the exit code.
func (m *Main) Run(ctx context.Context) int {
	out := &stdout{w: m.Stdout}
	checked := *m
	if checked.Name == "" {
		checked.Name = "doorward"
	}
	checked.Stdout = out
	return checked.run(ctx, out)
}

func (m *Main) run(ctx context.Context, out *stdout) int {
	root, began := m.root()
	root.SetArgs(m.Args)
	root.SetIn(m.Stdin)
	root.SetOut(m.Stdout)
	root.SetErr(m.Stderr)
	strictly(root)
	cmd, err := root.ExecuteContextC(ctx)
	if out.err != nil && (err == nil || errors.Is(err, errSaid)) {
		err = out.err
	}
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errSaid):
		return exitFailed
	}
	if wantsJSON(cmd) {
		_ = m.printJSON(failure{problem{Message: err.Error()}}) // the error follows on standard error too
	}
	fmt.Fprintln(m.Stderr, "doorward:", err)
	if usage := new(usageError); errors.As(err, usage) || !*began {
		fmt.Fprintf(m.Stderr, "See: %s --help\n", cmd.CommandPath())
		return exitUsage
	}
	return exitFailed
}
