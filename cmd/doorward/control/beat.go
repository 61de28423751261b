package control

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// What the server writes to a connection of its socket goes in frames, so that a command can tell a server that works from one that is
// stopped:
//
//	length 4 │ bytes     a part of the answer
//	0                    a beat: the first at once, which acknowledges the connection, then one every second
//
// A command writes to the connection once it has the first beat, and each request has a connection of its own. So a server that was stopped
// finds nothing to do when it is continued.
const (
	beatEvery   = time.Second
	silentAfter = 5 * time.Second // a server that does not beat for so long does not answer
	frameHead   = 4
)

// beats is the socket of a server. Each connection that it accepts beats until it is closed.
type beats struct{ net.Listener }

// Accept waits for the next connection.
func (l beats) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	b := &beating{Conn: c, closed: make(chan struct{})}
	go b.run()
	return b, nil
}

// beating is the server's end of a connection.
type beating struct {
	net.Conn
	mu     sync.Mutex // held while a frame is written
	once   sync.Once
	closed chan struct{}
}

func (c *beating) run() {
	t := time.NewTicker(beatEvery)
	defer t.Stop()
	for {
		if _, err := c.write(nil); err != nil {
			return // the server meets the error too
		}
		select {
		case <-t.C:
		case <-c.closed:
			return
		}
	}
}

// Write writes a part of the answer.
func (c *beating) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	return c.write(b)
}

func (c *beating) write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	frame := net.Buffers{binary.BigEndian.AppendUint32(nil, uint32(len(b))), b}
	n, err := frame.WriteTo(c.Conn)
	return int(max(n-frameHead, 0)), err
}

// Close closes the connection and ends its beats.
func (c *beating) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// heard is a command's end of a connection: what it reads is the answer without the beats.
type heard struct {
	net.Conn
	frames *bufio.Reader
	left   int          // bytes of the frame that is being read
	said   bool         // that the server is silent
	say    func(string) // is told once for each silence; nil = not told
}

// newHeard waits for the server's acknowledgement: *Silent if it does not come in time.
func newHeard(ctx context.Context, c net.Conn, say func(string)) (*heard, error) {
	h := &heard{Conn: c, say: say}
	h.frames = bufio.NewReader(patient{h})
	_ = c.SetReadDeadline(time.Now().Add(silentAfter)) // a connection that has ended fails at the read
	forget := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Now()) })
	defer forget()
	var head [frameHead]byte
	_, err := io.ReadFull(c, head[:])
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &Silent{process: processOf(c)}
	case err == nil && head != [frameHead]byte{}:
		return nil, errors.New("it is a server of another version")
	}
	return h, err
}

// Read reads a part of the answer.
func (h *heard) Read(b []byte) (int, error) {
	for h.left == 0 {
		var head [frameHead]byte
		if _, err := io.ReadFull(h.frames, head[:]); err != nil {
			return 0, err
		}
		h.left = int(binary.BigEndian.Uint32(head[:]))
	}
	n, err := h.frames.Read(b[:min(len(b), h.left)])
	h.left -= n
	return n, err
}

// patient reads from the connection for as long as it takes, and says so when the server is silent.
type patient struct{ *heard }

func (p patient) Read(b []byte) (int, error) {
	for {
		_ = p.Conn.SetReadDeadline(time.Now().Add(silentAfter)) // as above
		n, err := p.Conn.Read(b)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			p.said = false
			return n, err
		}
		if p.say != nil && !p.said {
			p.say((&Silent{process: processOf(p.Conn), begun: true}).Error())
		}
		p.said = true
	}
}

// Silent is a server that is there and does not answer: its process is stopped, or waits for a disk.
type Silent struct {
	process int // 0 = unknown
	begun   bool
}

// Error names the process, its state where the system tells it, and what became of the command.
func (s *Silent) Error() string {
	text := "the server"
	if s.process > 0 {
		text = fmt.Sprintf("the server (process %d)", s.process)
	}
	text = fmt.Sprintf("%s has not answered for %d s", text, silentAfter/time.Second)
	if state := stateText(s.process); state != "" {
		text += ": " + state
	}
	if s.begun {
		return text + "; the command waits for it"
	}
	return text + "; nothing was begun"
}
