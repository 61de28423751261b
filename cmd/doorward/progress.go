package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/term"
)

// progress shows on a terminal how far a long command is, once it takes longer than a second.
type progress struct {
	w     io.Writer // nil = no terminal
	from  time.Time
	shown bool
}

func (m *Main) newProgress() *progress {
	p := &progress{from: time.Now()}
	if f, ok := m.Stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.w = f
	}
	return p
}

// sharesTerminal tells whether the output would stand between the numbers.
func (p *progress) sharesTerminal(w io.Writer) bool {
	if s, ok := w.(*stdout); ok {
		w = s.w
	}
	f, ok := w.(*os.File)
	return p.w != nil && ok && term.IsTerminal(int(f.Fd()))
}

func (p *progress) show(done, total int64) {
	if p.w == nil || time.Since(p.from) < time.Second {
		return
	}
	p.shown = true
	text := number(done)
	if total > 0 {
		text += " of " + number(total)
	}
	fmt.Fprintf(p.w, "\r%s \x1b[K", text)
}

func (p *progress) end() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// number writes a number for people: 12,345.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
