package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"doorward/api"
	"doorward/index"
	"doorward/kv"
	"doorward/sync"
)

// control is a line to the control handler of a store.
type control struct {
	client   *http.Client
	served   bool // a server has the store open
	progress *progress
	fresh    *fresh    // nil: the store was there before
	warn     io.Writer // is told once that the store is of a laptop that is revoked; nil = nobody is
	close    func() error
}

// opening says which store a command is about.
type opening struct {
	*settings
	makes   bool // the store is made where there is none
	indexed bool // its search index is opened too
	aside   bool // it may be a copy that is only looked at
	reads   bool // it needs to write nothing, so the disk may be one that cannot be written
}

// patience is how often a command looks for a store that another one has just opened or let go of.
const patience = 3

// dial reaches the store through serve's socket, or opens it.
func (m *Main) dial(ctx context.Context, o opening) (*control, error) {
	if err := m.checkStore(o.settings); err != nil {
		return nil, err
	}
	if !o.makes && !hasStore(o.data) {
		return nil, fmt.Errorf("the folder %s holds no congregation", o.data)
	}
	var err error
	for range patience { // each try waits a while for the lock
		if c, e := dialSocket(ctx, o.data); e == nil {
			_ = c.Close() // it only showed that somebody answers
			return m.viaSocket(o.data), nil
		}
		if !o.reads && kv.ReadOnly(o.data) {
			return nil, errReadOnly(o.data)
		}
		var c *control
		if c, err = m.inProcess(o); !errors.Is(err, kv.ErrInUse) {
			return c, err
		}
		if ctx.Err() != nil {
			return nil, errStopped
		}
	}
	return nil, fmt.Errorf("another doorward is at work on the folder %s; try again when it is done", o.data)
}

func (m *Main) viaSocket(dir string) *control {
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dialSocket(ctx, dir) }}
	return &control{client: &http.Client{Transport: t}, served: true, progress: m.newProgress(), close: func() error {
		t.CloseIdleConnections()
		return nil
	}}
}

// inProcess opens the store and the handler over it.
func (m *Main) inProcess(o opening) (*control, error) {
	var own *fresh
	if !hasStore(o.data) {
		own = beforeMaking(o.data)
	}
	store, err := kv.Open(kv.Config{Dir: o.data, Zone: o.zone, Built: buildTime(), Logger: m.logger(slog.LevelError), Machine: m.machine(), Aside: o.aside, ReadOnly: o.reads && kv.ReadOnly(o.data), Disk: o.disk()})
	if err != nil {
		if own != nil {
			removeEmpty(own.folders)
		}
		return nil, err
	}
	if own != nil {
		own.store = store
	}
	conf := api.Config{Store: store, Version: versionText(), Logger: m.logger(slog.LevelError), Outbound: outbound, Backlog: backlogOf(store)}
	end := store.Close
	if o.indexed {
		endIndex := joinIndex(&conf, index.Config{Store: store, Dir: o.data, Logger: conf.Logger})
		end = func() error { return errors.Join(endIndex(), store.Close()) }
	}
	server, err := api.New(conf)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	peers, err := sync.New(sync.Config{Store: store, Version: conf.Version, Logger: conf.Logger})
	if err != nil {
		return nil, errors.Join(err, end())
	}
	p := newPipes()
	h := &http.Server{Handler: controlling(peers, joins(store, func() {}, server.Control())), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = h.Serve(p) // it ends with Shutdown
	}()
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return p.dial(ctx) }}
	return &control{client: &http.Client{Transport: t}, progress: m.newProgress(), fresh: own, close: func() error {
		t.CloseIdleConnections()
		peers.Close()
		err := h.Shutdown(context.Background()) // what is being written is finished
		<-served
		if own != nil && own.failed {
			own.takeBack()
		}
		return errors.Join(err, end())
	}}, nil
}

// request is one request to the control handler.
type request struct {
	method string
	path   string
	query  url.Values
	body   io.Reader
	size   int64 // of the body, where it is known
	json   bool  // the body is JSON
}

// problem is an error as the handler answers it.
type problem struct {
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
}

// failure is the body of an error.
type failure struct {
	Error problem `json:"error"`
}

// errStopped is a command ended by a signal.
var errStopped = errors.New("stopped")

// send sends a request; an answer that is an error comes back as one.
func (c *control) send(ctx context.Context, r request) (*http.Response, error) {
	if !r.json {
		r.body = closable(ctx, r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, "http://doorward"+r.path+"?"+r.query.Encode(), r.body)
	if err != nil {
		return nil, err
	}
	if r.size > 0 {
		req.ContentLength = r.size
	}
	if r.json {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.client.Do(req)
	switch {
	case ctx.Err() != nil:
		return nil, errStopped
	case err != nil:
		return nil, fmt.Errorf("the server did not answer: %w", err)
	}
	if c.warn != nil && resp.Header.Get(api.RevokedHeader) != "" {
		fmt.Fprintln(c.warn, "this laptop is REVOKED at its centre: it sells and edits nothing more; check-ins are still recorded, for review")
		c.warn = nil
	}
	if resp.StatusCode >= http.StatusBadRequest {
		defer func() { _ = resp.Body.Close() }() // read to its end below
		return nil, refusal(resp)
	}
	return resp, nil
}

// closable makes a body that ends with ctx, even within a Read that waits, as one of standard input may for ever: without it a
// command that is stopped would wait for its input to end.
func closable(ctx context.Context, body io.Reader) io.Reader {
	if body == nil {
		return nil
	}
	r, w := io.Pipe()
	context.AfterFunc(ctx, func() { _ = r.Close() }) // net/http closes a body only after its Read has answered
	go func() {
		_, err := io.Copy(w, body)
		_ = w.CloseWithError(err) // never fails
	}()
	return r
}

// refusal is an error answer as an error; a bad request is wrong usage.
func refusal(resp *http.Response) error {
	var f struct {
		Error struct {
			Message string          `json:"message"`
			Details json.RawMessage `json:"details"`
		} `json:"error"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&f); err != nil || f.Error.Message == "" {
		return fmt.Errorf("the server answered %s", resp.Status)
	}
	err := errors.New(strings.TrimPrefix(lower(f.Error.Message), "wrong usage: "))
	var faults map[string][]string
	if json.Unmarshal(f.Error.Details, &faults) == nil && len(faults) > 0 {
		err = errors.New(faultText(faults))
	}
	if resp.StatusCode == http.StatusBadRequest {
		return usageError{err}
	}
	return err
}

// lower is a server's sentence as the command line prints it.
func lower(s string) string {
	s = strings.TrimSuffix(s, ".")
	if len(s) > 1 && s[1] >= 'a' && s[1] <= 'z' {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

func faultText(faults map[string][]string) string {
	var parts []string
	for field, texts := range faults {
		parts = append(parts, field+": "+strings.TrimSuffix(strings.Join(texts, " "), "."))
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

// call sends a request whose answer is one JSON document.
func (c *control) call(ctx context.Context, r request) (json.RawMessage, error) {
	resp, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // it is read to its end
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("the server broke off: %w", err)
	}
	return body, nil
}

// follow sends a request whose answer is progress and one result.
func (c *control) follow(ctx context.Context, r request) (json.RawMessage, error) {
	resp, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or given up
	return follow(ctx, resp.Body, c.progress)
}

// errBrokeOff is an answer that ends before its last line.
var errBrokeOff = errors.New("the server broke off before it was done")

// follow reads lines of progress up to the result.
func follow(ctx context.Context, r io.Reader, p *progress) (json.RawMessage, error) {
	defer p.end()
	lines := bufio.NewReader(r)
	for {
		b, err := lines.ReadBytes('\n')
		switch {
		case ctx.Err() != nil:
			return nil, errStopped
		case err != nil:
			return nil, errBrokeOff
		}
		var line struct {
			Progress *struct{ Done, Total int64 }
			Result   json.RawMessage
			Error    *problem
		}
		if err := json.Unmarshal(bytes.TrimSpace(b), &line); err != nil {
			return nil, fmt.Errorf("the server's answer: %w", err)
		}
		switch {
		case line.Progress != nil:
			p.show(line.Progress.Done, line.Progress.Total)
		case line.Error != nil:
			return nil, errors.New(lower(line.Error.Message))
		default:
			return line.Result, nil
		}
	}
}

// drain is how long a server that ends waits for the requests it has begun.
const drain = 30 * time.Second
