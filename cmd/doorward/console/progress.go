package console

import (
	"bytes"
	"fmt"
	"io"
	"time"
)

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
		p.w = c.Err
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
