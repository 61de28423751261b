package console

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Console is what a command reads and writes. Out and Err are each an Output, so nothing that a command prints does anything to a terminal.
// What is not for people to read goes to Exact.
type Console struct {
	Name string   // how the program was called
	Args []string // without the program's name
	In   io.Reader
	Out  io.Writer
	Err  io.Writer
	Logs Logs
}

// Exact returns the standard output for what is copied byte for byte: JSON, and an export. It has no other use.
func (c *Console) Exact() io.Writer { return exactly(c.Out) }

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
	if err != nil && ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
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
	_, err = fmt.Fprintf(c.Exact(), "%s\n", b)
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
	f := fileOf(stream)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// AreOne reports whether two streams of the console are shown in one place: a terminal, or one file.
func AreOne(a, b any) bool {
	f, g := fileOf(a), fileOf(b)
	if f == nil || g == nil {
		return false
	}
	one, err := f.Stat()
	other, err2 := g.Stat()
	return err == nil && err2 == nil && os.SameFile(one, other)
}

// fileOf returns the file of a stream; nil if it has none.
func fileOf(stream any) *os.File {
	switch o := stream.(type) {
	case *Output:
		stream = o.w
	case exact:
		stream = o.w
	}
	f, _ := stream.(*os.File)
	return f
}

// Output is a stream that people read, the standard output or the standard error. It writes a dot for each character that could do
// something to a terminal, because much of what a command prints was written by others: a list, a peer's message, a document. It remembers
// the first error of a write, so that a command that lost its output fails.
type Output struct {
	w   io.Writer
	mu  sync.Mutex // guards what follows, and the order of writes
	cut []byte     // the beginning of a character that the next write may complete
	err error
}

// NewOutput returns an Output that writes to w.
func NewOutput(w io.Writer) *Output { return &Output{w: w} }

// Write writes text. Only lines and tabs are controlled by it.
func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := append(o.cut, b...)
	o.cut = nil
	if n := unfinished(text); n > 0 {
		text, o.cut = text[:len(text)-n], bytes.Clone(text[len(text)-n:])
	}
	if err := o.write(harmless(text)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// write writes bytes as they are.
func (o *Output) write(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	_, err := o.w.Write(b)
	if err != nil {
		err = fmt.Errorf("the output could not be written: %w", err)
	}
	if o.err == nil {
		o.err = err
	}
	return err
}

// Err is the first error of a write; nil = there was none.
func (o *Output) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flush()
	return o.err
}

// flush writes the beginning of a character that does not go on.
func (o *Output) flush() {
	_ = o.write(harmless(o.cut)) // the error is kept
	o.cut = nil
}

// exact writes to an Output byte for byte.
type exact struct{ *Output }

// Write writes bytes as they are.
func (e exact) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.flush()
	if err := e.write(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// exactly returns a writer that writes to a stream byte for byte.
func exactly(w io.Writer) io.Writer {
	if o, ok := w.(*Output); ok {
		return exact{o}
	}
	return w
}

// unfinished returns the length of a character at the end of a text that may go on in the next write.
func unfinished(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if end := text[len(text)-n:]; utf8.RuneStart(end[0]) {
			if utf8.FullRune(end) {
				return 0
			}
			return n
		}
	}
	return 0
}

// harmless returns a text with a dot for each character that could do something to a terminal, and for each byte that is no text: some
// terminals take single bytes beyond ASCII for commands.
func harmless(text []byte) []byte {
	clean := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r != '\n' && r != '\t' && !isShown(r, size) {
			r = harmlessDot
		}
		clean, text = utf8.AppendRune(clean, r), text[size:]
	}
	return clean
}

// harmlessDot is printed instead of a character that is not shown.
const harmlessDot = '·'

// isShown reports whether a terminal shows a character and does nothing else. size is of its bytes.
func isShown(r rune, size int) bool {
	if r == utf8.RuneError && size <= 1 {
		return false
	}
	return unicode.IsPrint(r) || unicode.Is(unicode.Zs, r)
}

// Progress shows on a terminal how far a command is, once the command takes longer than a second. Its zero value shows nothing.
type Progress struct {
	w     io.Writer // nil = no terminal
	from  time.Time
	shown bool
}

// Progress begins to show progress on standard error, where that is a terminal.
func (c *Console) Progress() *Progress {
	p := &Progress{from: time.Now()}
	if IsTerminal(c.Err) {
		p.w = exactly(c.Err)
	}
	return p
}

// Shares reports whether w is a terminal too, so that what is written there would stand between the numbers.
func (p *Progress) Shares(w io.Writer) bool { return p.w != nil && IsTerminal(w) }

// Show shows that so many of a total are done; a total of 0 is unknown.
func (p *Progress) Show(done, total int64) {
	if p.w == nil || time.Since(p.from) < time.Second {
		return
	}
	p.shown = true
	text := Number(done)
	if total > 0 {
		text += " of " + Number(total)
	}
	fmt.Fprintf(p.w, "\r%s \x1b[K", text)
}

// End removes the numbers from the terminal.
func (p *Progress) End() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// LineCounter writes to another writer, keeps the first error, and shows how many lines went by.
type LineCounter struct {
	w        io.Writer
	err      error
	progress *Progress
	lines    int64
	shown    time.Time
}

// CountLines returns a LineCounter before w.
func CountLines(w io.Writer, p *Progress) *LineCounter { return &LineCounter{w: w, progress: p} }

// Err is the first error of a write; nil = there was none.
func (l *LineCounter) Err() error { return l.err }

// showPause is the shortest time between two numbers on the terminal.
const showPause = 100 * time.Millisecond

// Write writes b and counts its lines.
func (l *LineCounter) Write(b []byte) (n int, err error) {
	if n, err = l.w.Write(b); err != nil {
		l.err = err
	}
	l.lines += int64(bytes.Count(b[:n], []byte{'\n'}))
	if now := time.Now(); now.Sub(l.shown) >= showPause {
		l.shown = now
		l.progress.Show(l.lines, 0)
	}
	return n, err
}

// Number writes a number for people: 12,345.
func Number[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural is the word for one thing, or the word for many.
func Plural[N int | int64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Shell writes arguments as a shell of this system reads them.
func Shell(args ...string) string {
	if runtime.GOOS == "windows" {
		return windows.write(args)
	}
	return posix.write(args)
}

// shell says how arguments are quoted.
type shell struct {
	special     string // characters that need quotes
	quote, held string // quote is written as held within quotes
}

var (
	posix = shell{" \t\n'\"\\$&|;<>()*?[]#~!`{}", "'", `'\''`}
	// cmd.exe knows no other quotes, and PowerShell knows them too. Without blanks in it the path of a program stays bare: PowerShell runs no quoted one.
	windows = shell{" \t\n'\"$&|;<>()*?[]#~!`{}^%,@", `"`, `\"`}
)

func (s *shell) write(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = a
		if a == "" || strings.ContainsAny(a, s.special) {
			quoted[i] = s.quote + strings.ReplaceAll(a, s.quote, s.held) + s.quote
		}
	}
	return strings.Join(quoted, " ")
}

// Printable is a text without what would break its line: an Output shows lines and tabs as they are.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if isShown(r, utf8.RuneLen(r)) {
			return r
		}
		return harmlessDot
	}, text)
}

// OrDash is a text or a number, or - where there is none.
func OrDash[T string | int](v *T) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}
