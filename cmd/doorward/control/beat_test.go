package control

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestHeard_Answer: the answer comes without the beats, however long the server works at it and in whatever pieces it is read.
func TestHeard_Answer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		b := &beating{Conn: far, closed: make(chan struct{})}
		go b.run()
		go func() {
			for _, part := range []string{"one ", "", "two ", strings.Repeat("three ", 1000)} {
				time.Sleep(7 * time.Second / 2)
				if n, err := b.Write([]byte(part)); n != len(part) || err != nil {
					t.Errorf("Write of %d bytes = %d, %v", len(part), n, err)
				}
			}
			_ = b.Close() // the client reads to the end
		}()
		h, err := newHeard(t.Context(), near, func(text string) { t.Errorf("a server that works is silent: %s", text) })
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(h)
		if want := "one two " + strings.Repeat("three ", 1000); string(got) != want || err != nil {
			t.Errorf("the answer has %d bytes, %v, want %d", len(got), err, len(want))
		}
	})
}

// TestHeard_NotAcknowledged: nothing is written to a server that does not acknowledge, and the command ends after five seconds.
func TestHeard_NotAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer func() { _ = far.Close() }()
		from := time.Now()
		_, err := newHeard(t.Context(), near, nil)
		silent := new(Silent)
		if !errors.As(err, &silent) || time.Since(from) != silentAfter || !strings.Contains(err.Error(), "nothing was begun") {
			t.Errorf("after %s: %v, want a silent server after %s", time.Since(from), err, silentAfter)
		}
	})
}

// TestHeard_SilentLater: a server that is stopped while it works is said to be silent, once for each time, and its answer is waited for.
func TestHeard_SilentLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		b := &beating{Conn: far, closed: make(chan struct{})}
		go func() {
			for _, pause := range []time.Duration{0, 20 * time.Second, time.Second, 20 * time.Second} {
				time.Sleep(pause)
				_, _ = b.write(nil) // the answer below fails too
			}
			if _, err := b.Write([]byte("done")); err != nil {
				t.Error(err)
			}
			_ = b.Close() // as above
		}()
		var said []string
		h, err := newHeard(t.Context(), near, func(text string) { said = append(said, text) })
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(h); string(got) != "done" || err != nil {
			t.Errorf("the answer is %q, %v", got, err)
		}
		if len(said) != 2 || !strings.Contains(said[0], "the command waits for it") {
			t.Errorf("said %q, want two sentences", said)
		}
	})
}
