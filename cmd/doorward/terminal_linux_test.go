package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// screenOf runs the program in a terminal of its own, as its session's leader, until the test ends.
type screenOf struct {
	testing.TB
	keyboard *os.File
	shown    *output
	cmd      *exec.Cmd
}

func inTerminal(t *testing.T, path string, args ...string) *screenOf {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err = errors.Join(err, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)); err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := &screenOf{t, master, &output{}, exec.Command(path, args...)}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
	if err := errors.Join(s.cmd.Start(), slave.Close()); err != nil {
		t.Fatal(err)
	}
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			_, _ = s.shown.Write(b[:n]) // to memory
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("serve: %v\n%s", err, s.shown)
		}
		_ = master.Close() // nothing is read any more
	})
	return s
}

// sees waits until the terminal has shown a text so many times, and returns what it shows.
func (s *screenOf) sees(text string, times int) string {
	s.Helper()
	for ends := time.Now().Add(scriptPatience); time.Now().Before(ends); time.Sleep(20 * time.Millisecond) { // between two looks
		if shown := s.shown.String(); strings.Count(shown, text) >= times {
			return shown
		}
	}
	s.Fatalf("the terminal never shows %q (%d times):\n%s", text, times, s.shown)
	return ""
}

// types types a line.
func (s *screenOf) types(line string) {
	s.Helper()
	if _, err := s.keyboard.WriteString(line + "\n"); err != nil {
		s.Fatal(err)
	}
}

// TestServeShowsACodeForEachPhone: on a terminal serve shows the code for the event that is near, a new one for each Enter, and asks for the
// number of an event where several are near. Elsewhere it shows none, for a ticket must not be kept in a log.
func TestServeShowsACodeForEachPhone(t *testing.T) {
	t.Parallel()
	w := &program{t, compiled(t), filepath.Join(t.TempDir(), "data")}
	hostile := `{"kind":"event","id":%d,"name":"Festa \u001b[2J\u202e","start_datetime":"` + time.Now().Add(time.Hour).Format(time.RFC3339) + `"}`
	w.give(fmt.Sprintf(hostile, 1))
	s := inTerminal(t, w.path, "serve", "--data", w.dir, "--listen", "127.0.0.1:0")
	const more = "For a code for one more phone"
	links := regexp.MustCompile(`http://127\.0\.0\.1:\d+/door#\w+`)
	first := s.sees(more, 1)
	one := links.FindAllString(first, -1)
	if len(one) != 1 || readTerminal(t, first) != one[0] {
		t.Fatalf("the terminal shows %q:\n%s", one, first)
	}
	if port := regexp.MustCompile(`:\d+`).FindString(one[0]); !strings.Contains(first, "Start it with --listen 0.0.0.0"+port+",") {
		t.Errorf("to reach it from phones the terminal says\n%s", first)
	}
	s.types("")
	second := links.FindAllString(s.sees(more, 2), -1)
	if len(second) != 2 || second[1] == one[0] {
		t.Errorf("Enter shows %q", second)
	}
	w.give(fmt.Sprintf(hostile, 2))
	s.types("")
	if shown := s.sees(more, 3); !strings.Contains(shown, "an event is to be named (--event): 1") || len(links.FindAllString(shown, -1)) != 2 {
		t.Errorf("with two events that are near the terminal shows\n%s", shown)
	}
	s.types("2")
	shown := s.sees(more, 4)
	if all := links.FindAllString(shown, -1); len(all) != 3 {
		t.Errorf("a number shows %q", all)
	}
	if strings.ContainsAny(shown, "\x1b\u202e") {
		t.Errorf("the name of an event does something to the terminal: %q", shown)
	}
	s.types("99")
	s.sees("No code for a phone", 2)
}

// TestImportTellsANoteBeforeItAsks, and not once more when the rows are written.
func TestImportTellsANoteBeforeItAsks(t *testing.T) {
	t.Parallel()
	w := &program{t, compiled(t), filepath.Join(t.TempDir(), "data")}
	w.give(`{"kind":"event","id":1,"name":"Festa","start_datetime":"2026-12-05T19:30:00Z"}`)
	list := filepath.Join(t.TempDir(), "list.csv")
	if err := os.WriteFile(list, []byte("Code;Name\nKX7A;Ana\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := inTerminal(t, w.path, "import", "--data", w.dir, "--kind", "ticket", "--event", "1", list)
	const note = "note: 1 code is short enough to be guessed"
	if shown := s.sees("Write this?", 1); strings.Count(shown, note) != 1 {
		t.Errorf("before the question the terminal shows\n%s", shown)
	}
	s.types("yes")
	if shown := s.sees("created 1, updated", 1); strings.Count(shown, note) != 1 {
		t.Errorf("after it the terminal shows\n%s", shown)
	}
}

// give imports records.
func (p *program) give(lines string) {
	p.Helper()
	cmd := exec.Command(p.path, "import", "--data", p.dir, "-")
	cmd.Stdin = strings.NewReader(lines)
	if out, err := cmd.CombinedOutput(); err != nil {
		p.Fatalf("%v: %s", err, out)
	}
}

// TestServeGoesOnInTheBackground: a shell that puts the server into the background stops what reads from the terminal there, but not the server.
func TestServeGoesOnInTheBackground(t *testing.T) {
	t.Parallel()
	w := &program{t, compiled(t), filepath.Join(t.TempDir(), "data")}
	s := inTerminal(t, "bash", "-m", "-c", `"$0" serve --data "$1" --listen 127.0.0.1:0 & p=$!; trap 'kill $p; wait $p; exit 0' TERM; wait $p`, w.path, w.dir)
	shown := s.sees("For a code for one more phone", 1)
	found := answersAt.FindStringSubmatch(shown)
	if found == nil {
		t.Fatalf("the terminal shows\n%s", shown)
	}
	client := &http.Client{Timeout: scriptPatience}
	for ends := time.Now().Add(time.Second); time.Now().Before(ends); time.Sleep(50 * time.Millisecond) { // the shell stops it at some moment
		resp, err := client.Get(found[1] + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close() // its status says it
	}
}
