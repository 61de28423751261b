package serve

import (
	"bufio"
	"net"
	"sync"
	"time"
)

// fork gives the connections of one listener to two: those that begin with a TLS handshake, and all others. Phones then reach the server at
// one address by http and by https, whichever the browser chooses.
type fork struct {
	net.Listener
	secure, plain chan net.Conn
	closed        chan struct{}
	once          sync.Once
}

// handshake is the first byte of a TLS connection. No request of HTTP begins with it.
const handshake = 0x16

// firstByteWithin is how long a client may take to send its first byte, as for the headers of a request.
const firstByteWithin = 5 * time.Second

// newFork takes over a listener. Closing one of the two closes both.
func newFork(l net.Listener) (plain, secure net.Listener) {
	f := &fork{Listener: l, secure: make(chan net.Conn), plain: make(chan net.Conn), closed: make(chan struct{})}
	go f.run()
	return &branch{f, f.plain}, &branch{f, f.secure}
}

// run accepts connections until the listener is closed.
func (f *fork) run() {
	defer f.close()
	for {
		c, err := f.Accept()
		switch e, temporary := err.(interface{ Temporary() bool }); {
		case err == nil:
			go f.sort(c)
		case temporary && e.Temporary(): // too many open files, as net/http waits for too
			select {
			case <-time.After(acceptPause):
			case <-f.closed:
				return
			}
		default:
			return
		}
	}
}

// acceptPause is the time between two attempts to accept a connection when the system has none left.
const acceptPause = 50 * time.Millisecond

// sort looks at the first byte of a connection and gives the connection to its branch.
func (f *fork) sort(c net.Conn) {
	_ = c.SetReadDeadline(time.Now().Add(firstByteWithin)) // a connection that has ended fails at the read
	p := &peeked{c, bufio.NewReaderSize(c, 1)}
	first, err := p.first.Peek(1)
	_ = c.SetReadDeadline(time.Time{}) // as above
	if err != nil {
		_ = c.Close() // nothing was asked
		return
	}
	to := f.plain
	if first[0] == handshake {
		to = f.secure
	}
	select {
	case to <- p:
	case <-f.closed:
		_ = c.Close() // the server ends
	}
}

func (f *fork) close() (err error) {
	f.once.Do(func() {
		close(f.closed)
		err = f.Listener.Close()
	})
	return err
}

// branch is a listener for one kind of connection.
type branch struct {
	*fork
	conns chan net.Conn
}

// Accept waits for the next connection.
func (b *branch) Accept() (net.Conn, error) {
	select {
	case c := <-b.conns:
		return c, nil
	case <-b.closed:
		return nil, net.ErrClosed
	}
}

// Close closes both branches and the listener.
func (b *branch) Close() error { return b.close() }

// peeked is a connection of which the first byte was looked at.
type peeked struct {
	net.Conn
	first *bufio.Reader
}

// Read reads what was looked at first.
func (p *peeked) Read(b []byte) (int, error) {
	if p.first.Buffered() > 0 {
		return p.first.Read(b)
	}
	return p.Conn.Read(b)
}
