package rehearsal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"doorward/api"
	"doorward/cmd/doorward/control"
	"doorward/kv"
)

// stage is a server over a copy of a store.
type stage struct {
	store  *kv.Store
	line   *control.Line // of the operator
	server *http.Server
	at     string // its address
	ended  chan error
}

// openStage opens the copy and serves it on loopback.
func openStage(c kv.Config, version string) (*stage, error) {
	store, err := kv.Open(c)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	site, err := api.New(api.Config{Store: store, Address: l.Addr().String(), Version: version, Logger: c.Logger})
	if err != nil {
		return nil, errors.Join(err, l.Close(), store.Close())
	}
	s := &stage{store: store, server: api.HTTPServer(site.Handler()), at: "http://" + l.Addr().String(), ended: make(chan error, 1)}
	s.line = &control.Line{Client: &http.Client{Transport: within{site.Control()}}}
	go func() {
		defer site.Close()
		s.ended <- s.server.Serve(l)
	}()
	return s, nil
}

// close ends the server and closes the copy.
func (s *stage) close() error {
	err := s.server.Close()
	if e := <-s.ended; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return errors.Join(err, s.store.Close())
}

// within hands requests to a handler of this process: nothing but this process reaches it.
type within struct{ http.Handler }

// RoundTrip answers a request.
func (w within) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	a := &answer{header: http.Header{}, status: http.StatusOK}
	w.ServeHTTP(a, r)
	return &http.Response{StatusCode: a.status, Status: strconv.Itoa(a.status), Header: a.header, Body: nopCloser{&a.body}, Request: r}, r.Context().Err()
}

// answer is what a handler of this process writes.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header is the header of the answer.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader takes the status.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write takes a part of the body.
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

// nopCloser is a body in memory.
type nopCloser struct{ *bytes.Buffer }

// Close does nothing.
func (nopCloser) Close() error { return nil }

// most is how many records a page of a list has.
const most = 100

// list reads all records of a kind that are of the event.
func list[T any](ctx context.Context, s *stage, kind string, event int64) (all []T, err error) {
	for {
		q := url.Values{"event_id": {strconv.FormatInt(event, 10)}, "limit": {strconv.Itoa(most)}, "offset": {strconv.Itoa(len(all))}}
		page, err := control.Ask[struct{ Results []T }](ctx, s.line, control.Get("/admin/v1/"+kind+"/", q))
		if err != nil {
			return nil, err
		}
		if all = append(all, page.Results...); len(page.Results) < most {
			return all, nil
		}
	}
}

// ticket is a ticket of the event, as far as a helper needs it.
type ticket struct {
	ID   int64
	Code *string // nil = this machine does not know it
}

// scan is the body of a request that names the ticket: by its code as a scanner does, or as a search at the door does.
func (t ticket) scan(door, nonce string) json.RawMessage {
	body := map[string]any{"door": door, "nonce": nonce}
	if t.Code != nil {
		body["code"] = *t.Code
	} else {
		body["ticket_id"] = t.ID
	}
	b, err := json.Marshal(body)
	if err != nil {
		panic(err) // texts and a number
	}
	return b
}

// startsAt is a clock that stands at a moment when it is made, and goes on from there.
func startsAt(moment time.Time) func() time.Time {
	begun := time.Now()
	return func() time.Time { return moment.Add(time.Since(begun)) }
}
