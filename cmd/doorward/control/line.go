package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"doorward/api"
	"doorward/cmd/doorward/console"
	"doorward/kv"
)

// Line is a line to the control handler of a store.
type Line struct {
	Client   *http.Client
	Served   bool // a server has the store open
	Progress *console.Progress

	store   *kv.Store // nil = a server has it
	created *created  // nil = the store was there before
	warn    io.Writer // is told once that the store is of a revoked laptop; nil = not told
	close   func() error
}

// Created is the store, if this command made it; nil otherwise.
func (l *Line) Created() *kv.Store {
	if l.created == nil {
		return nil
	}
	return l.store
}

// Close closes the line, and the store if this process has it open.
func (l *Line) Close() error { return l.close() }

// GiveUp closes the line after a failure. A store that this command made is removed as long as it is empty.
func (l *Line) GiveUp() error {
	if l.created != nil {
		l.created.failed = true
	}
	return l.close()
}

// AlsoClose has Close call end too.
func (l *Line) AlsoClose(end func() error) {
	first := l.close
	l.close = func() error { return errors.Join(first(), end()) }
}

// Request is one request to the control handler.
type Request struct {
	Method string
	Path   string
	Query  url.Values
	Body   io.Reader
	Size   int64 // of the body, where it is known
	JSON   bool  // the body is JSON
}

// Post is a request to do something.
func Post(path string, q url.Values) Request {
	return Request{Method: http.MethodPost, Path: path, Query: q}
}

// Get is a request to tell something.
func Get(path string, q url.Values) Request {
	return Request{Method: http.MethodGet, Path: path, Query: q}
}

// PostJSON is a request with a value as its body.
func PostJSON(path string, v any) Request {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // the program makes each value that it sends
	}
	return Request{Method: http.MethodPost, Path: path, Body: bytes.NewReader(b), Size: int64(len(b)), JSON: true}
}

// Problem is an error as the handler answers it.
type Problem struct {
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
}

// Failure is the body of an error.
type Failure struct {
	Error Problem `json:"error"`
}

// Send sends a request; an answer that is an error comes back as one.
func (l *Line) Send(ctx context.Context, r Request) (*http.Response, error) {
	if !r.JSON {
		r.Body = closable(ctx, r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, "http://doorward"+r.Path+"?"+r.Query.Encode(), r.Body)
	if err != nil {
		return nil, err
	}
	if r.Size > 0 {
		req.ContentLength = r.Size
	}
	if r.JSON {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := l.Client.Do(req)
	switch {
	case ctx.Err() != nil:
		return nil, console.ErrStopped
	case err != nil:
		if failed := new(url.Error); errors.As(err, &failed) {
			err = failed.Err // the address within the socket says nothing to a person
		}
		if silent := new(Silent); errors.As(err, &silent) {
			return nil, silent
		}
		return nil, fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	if l.warn != nil && resp.Header.Get(api.RevokedHeader) != "" {
		fmt.Fprintln(l.warn, "this laptop is REVOKED at its centre: it sells and edits nothing more; check-ins are still recorded, for review")
		l.warn = nil
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

// Faults is why the server refuses a form: what is wrong with each field.
type Faults map[string][]string

// Error is one line, in the order of the fields' names.
func (f Faults) Error() string {
	var parts []string
	for field, texts := range f {
		parts = append(parts, field+": "+strings.TrimSuffix(strings.Join(texts, " "), "."))
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
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
	err := errors.New(strings.TrimPrefix(Lower(f.Error.Message), "wrong usage: "))
	var faults Faults
	if json.Unmarshal(f.Error.Details, &faults) == nil && len(faults) > 0 {
		err = faults
	}
	if resp.StatusCode == http.StatusBadRequest {
		return console.Usage(err)
	}
	return err
}

// Lower is a server's sentence as the command line prints it.
func Lower(s string) string {
	s = strings.TrimSuffix(s, ".")
	if len(s) > 1 && s[1] >= 'a' && s[1] <= 'z' {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

// Call sends a request that is answered with one JSON document.
func (l *Line) Call(ctx context.Context, r Request) (json.RawMessage, error) {
	resp, err := l.Send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // it is read to its end
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	return body, nil
}

// Ask is Call with the answer as a value.
func Ask[T any](ctx context.Context, l *Line, r Request) (v T, err error) {
	answer, err := l.Call(ctx, r)
	if err != nil {
		return v, err
	}
	return v, Read(answer, &v)
}

// Read reads an answer into a value.
func Read(answer json.RawMessage, v any) error {
	if err := json.Unmarshal(answer, v); err != nil {
		return fmt.Errorf("the server's answer: %w", err)
	}
	return nil
}

// Follow sends a request that is answered with progress and one result.
func (l *Line) Follow(ctx context.Context, r Request) (json.RawMessage, error) {
	resp, err := l.Send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or given up
	return Follow(ctx, resp.Body, l.Progress)
}

// What a server did not say.
var (
	ErrNoAnswer = errors.New("the server did not answer")
	ErrBrokeOff = errors.New("the server broke off before it was done") // progress without a result
)

// Follow reads lines of progress up to the result.
func Follow(ctx context.Context, r io.Reader, p *console.Progress) (json.RawMessage, error) {
	defer p.End()
	lines := bufio.NewReader(r)
	for {
		b, err := lines.ReadBytes('\n')
		switch {
		case ctx.Err() != nil:
			return nil, console.ErrStopped
		case err != nil:
			return nil, ErrBrokeOff
		}
		var line struct {
			Progress *struct{ Done, Total int64 }
			Result   json.RawMessage
			Error    *Problem
		}
		if err := Read(bytes.TrimSpace(b), &line); err != nil {
			return nil, err
		}
		switch {
		case line.Progress != nil:
			p.Show(line.Progress.Done, line.Progress.Total)
		case line.Error != nil:
			return nil, errors.New(Lower(line.Error.Message))
		default:
			return line.Result, nil
		}
	}
}

// page is one page of a list.
type page[T any] struct {
	Count   int
	Results []T
}

// List reads a list of the admin surface page by page.
func List[T any](ctx context.Context, l *Line, path string, filters url.Values) ([]T, error) {
	all := []T{}
	for {
		q := url.Values{"limit": {"100"}, "offset": {strconv.Itoa(len(all))}}
		maps.Copy(q, filters)
		page, err := Ask[page[T]](ctx, l, Get(path, q))
		if err != nil {
			return nil, err
		}
		if all = append(all, page.Results...); len(page.Results) == 0 || len(all) >= page.Count {
			return all, nil
		}
	}
}
