package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"doorward/cmd/doorward/folder"
)

// maxSocketPath is the longest path that every system takes for a socket.
const maxSocketPath = 100

// socketPath is a path to the folder's socket that is short enough to bind and dial: the plain one, or one through a link
// that lasts until release is called.
func socketPath(dir string) (path string, release func(), err error) {
	none := func() {}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", none, err
	}
	if path = filepath.Join(abs, folder.Socket); len(path) <= maxSocketPath {
		return path, none, nil
	}
	for _, in := range []string{os.TempDir(), "/tmp"} { // the first may have a long path itself
		if path, release, err = linkedPath(in, abs); err != nil || len(path) <= maxSocketPath {
			break
		}
		release()
	}
	if err != nil {
		err = fmt.Errorf("the path of the folder %s is too long for a socket; move the folder to a shorter path (%w)", abs, err)
	}
	return path, release, err
}

// linkedPath is a path to a folder's socket through a link in another folder.
func linkedPath(in, dir string) (path string, release func(), err error) {
	tmp, err := os.MkdirTemp(in, "doorward")
	if err != nil {
		return "", func() {}, err
	}
	release = func() { _ = os.RemoveAll(tmp) } // a link and its folder: nothing is lost if they stay
	link := filepath.Join(tmp, "d")
	if err := os.Symlink(dir, link); err != nil {
		release()
		return "", func() {}, err
	}
	return filepath.Join(link, folder.Socket), release, nil
}

// Answers reports whether a server listens on the folder's socket. It may be stopped.
func Answers(ctx context.Context, dir string) bool {
	c, err := connect(ctx, dir)
	if err == nil {
		_ = c.Close() // the connection only shows that a server is there
	}
	return err == nil
}

// Dial connects to the server of a folder and waits until it acknowledges that: *Silent if it does not. say is told when the server is silent
// later, while its answer is waited for; nil = not told.
func Dial(ctx context.Context, dir string, say func(string)) (net.Conn, error) {
	c, err := connect(ctx, dir)
	if err != nil {
		return nil, err
	}
	h, err := newHeard(ctx, c, say)
	if err != nil {
		_ = c.Close() // the server is to find nothing
		return nil, err
	}
	return h, nil
}

// connect connects to the socket of a folder.
func connect(ctx context.Context, dir string) (net.Conn, error) {
	if folder.Unreached(dir) {
		return nil, folder.ErrNoSocket
	}
	path, release, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	defer release()
	return (&net.Dialer{}).DialContext(ctx, "unix", path)
}

// Listen listens on the folder's socket. The caller has the store open, so a socket that is there was left by a server that died. On a disk
// without sockets the error is folder.ErrNoSocket, and commands are told why they do not reach the server.
func Listen(dir string) (net.Listener, error) {
	if err := os.Remove(filepath.Join(dir, folder.Socket)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	path, release, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	defer release()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	switch {
	case hasNone(err):
		if err := folder.MarkUnreached(dir); err != nil {
			return nil, err
		}
		return nil, folder.ErrNoSocket
	case err != nil:
		return nil, fmt.Errorf("control socket: %w", err)
	}
	l.SetUnlinkOnClose(false)                                                                                       // the path may be gone; Close removes the file
	if err := os.Chmod(filepath.Join(dir, folder.Socket), 0o600); err != nil && !errors.Is(err, fs.ErrPermission) { // the folder keeps others out
		return nil, errors.Join(err, l.Close())
	}
	return beats{l}, nil
}

// hasNone reports whether a socket could not be made because its disk has none.
func hasNone(err error) bool {
	for _, none := range []error{syscall.EPERM, syscall.ENOTSUP, syscall.EOPNOTSUPP, syscall.ENOSYS} {
		if errors.Is(err, none) {
			return true
		}
	}
	return false
}

// Close removes the socket. It comes before the store is closed: a command that finds no socket waits for the store's lock. l is nil if the
// disk has no sockets.
func Close(dir string, l net.Listener) error {
	err := os.Remove(filepath.Join(dir, folder.Socket))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if l == nil {
		return err
	}
	if e := l.Close(); e != nil && !errors.Is(e, net.ErrClosed) {
		err = errors.Join(err, e)
	}
	return err
}

// Within answers a client's requests by a handler of this process: nothing else reaches it. shut finishes the requests that were begun.
func Within(h http.Handler) (client *http.Client, shut func() error) {
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: h, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(p) // it ends with Shutdown
	}()
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return p.dial(ctx) }}
	return &http.Client{Transport: t}, func() error {
		t.CloseIdleConnections()
		err := server.Shutdown(context.Background())
		<-served
		return err
	}
}

// pipes is a listener within the process.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Accept waits for the next dial.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close refuses every further dial.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr names the listener.
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
