package console

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestAnExportShowsHowFarItIs: the number on the terminal is that of the records written.
func TestAnExportShowsHowFarItIs(t *testing.T) {
	var terminal, file bytes.Buffer
	l := CountLines(&file, &Progress{w: &terminal, from: time.Now().Add(-time.Minute)})
	if _, err := l.Write([]byte(strings.Repeat("{}\n", 1234) + "{")); err != nil {
		t.Fatal(err)
	}
	if got, want := terminal.String(), "\r1,234 \x1b[K"; got != want {
		t.Errorf("the terminal shows %q, want %q", got, want)
	}
	if file.Len() != 3*1234+1 {
		t.Errorf("%d bytes written, want all", file.Len())
	}
}
