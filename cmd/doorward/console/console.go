package console

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"golang.org/x/term"
)

// Console is what a command reads and writes.
type Console struct {
	Name string   // how the program was called
	Args []string // without the program's name
	In   io.Reader
	Out  io.Writer
	Err  io.Writer
	Logs Logs
}

// UsageError is a wrong use of the command line.
type UsageError struct{ error }

// Usage marks an error as a wrong use of the command line.
func Usage(err error) UsageError { return UsageError{err} }

// Unwrap returns the error that was marked.
func (e UsageError) Unwrap() error { return e.error }

// The ends of a command that are no error of their own.
var (
	ErrSaid    = errors.New("failed, as said") // the command has printed what there is to say
	ErrStopped = errors.New("stopped")         // a signal ended the command
)

// Stopped returns ErrStopped for an error that came because ctx ended, and any other error as it is.
func Stopped(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return ErrStopped
	}
	return err
}

// JSON prints one JSON object.
func (c *Console) JSON(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // the program makes each value that it prints
	}
	_, err = fmt.Fprintf(c.Out, "%s\n", b)
	return err
}

// Printf prints to standard output.
func (c *Console) Printf(format string, args ...any) error {
	_, err := fmt.Fprintf(c.Out, format, args...)
	return err
}

// Warn prints one line to standard error, under the program's name.
func (c *Console) Warn(format string, args ...any) {
	fmt.Fprintf(c.Err, "doorward: "+format+"\n", args...)
}

// Logger writes to standard error what is at least of a level. --log-level sets another level.
func (c *Console) Logger(level slog.Level) *slog.Logger {
	if c.Logs.Level != "" {
		if err := level.UnmarshalText([]byte(c.Logs.Level)); err != nil {
			panic(err) // the flag takes only names of levels
		}
	}
	o := &slog.HandlerOptions{Level: level}
	if c.Logs.Format == "json" {
		return slog.New(slog.NewJSONHandler(c.Err, o))
	}
	return slog.New(slog.NewTextHandler(c.Err, o))
}

// Logs is how the program logs, as its flags say. Its zero value is text at the level that the command chooses.
type Logs struct{ Format, Level string }

// Ask prints a question on standard error and returns the line that answers it, without blanks around it. It returns ErrStopped
// when ctx ends.
func (c *Console) Ask(ctx context.Context, question string) (string, error) {
	fmt.Fprint(c.Err, question)
	answered := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(c.In).ReadString('\n') // an input that cannot be read is no yes
		answered <- strings.TrimSpace(line)
	}()
	select {
	case <-ctx.Done():
		return "", ErrStopped
	case line := <-answered:
		return line, nil
	}
}

// IsTerminal reports whether a stream of the console is a terminal.
func IsTerminal(stream any) bool {
	if o, ok := stream.(*Output); ok {
		stream = o.w
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
