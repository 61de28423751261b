package pull

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// The errors of a whole pull.
var (
	ErrUsage  = errors.New("wrong usage")                 // the address cannot be meant, or is another one than before
	ErrSource = errors.New("the source cannot be pulled") // it refuses the key, does not answer, or speaks no /v1
	errBroken = errors.New("the answer is broken off or no JSON object of /v1")
	errLogin  = errors.New("the source refuses the key or its secret (401)")

	errElsewhere = errors.New("the source sends on to another address, where the secret is not carried; give the address that answers itself")
	errTooLarge  = errors.New("an answer of the source is larger than 32 MiB")
)

const (
	maxAnswer  = 32 << 20
	maxTries   = 6 // of one request, after the source has answered once
	firstTries = 2 // before
	maxObeyed  = 30
	maxPause   = 15 * time.Minute // that a source may ask for
	patience   = time.Minute      // for one request
)

// source is the other server.
type source struct {
	client *http.Client
	base   string // without a slash at its end
	key    string
	secret string
	wait   func(context.Context, time.Duration) error
	bare   bool      // its paths end without a slash
	met    bool      // it has answered
	date   time.Time // of its last answer, by its own clock; zero = not said
}

// refused is an answer that is neither a record nor a list.
type refused struct {
	status int
	code   string        // of the error envelope, "" = none
	after  time.Duration // to wait before the next request; negative = not said
}

func (r *refused) Error() string {
	if r.code != "" {
		return fmt.Sprintf("the source answers %d %s", r.status, r.code)
	}
	return fmt.Sprintf("the source answers %d %s", r.status, http.StatusText(r.status))
}

// unreached is a request without a whole answer.
type unreached struct{ err error }

func (u *unreached) Error() string { return "the source cannot be reached: " + u.err.Error() }
func (u *unreached) Unwrap() error { return u.err }

// readAddress checks the address of a source, and takes off what is the same for all: /v1 and slashes at its end.
func readAddress(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return "", fmt.Errorf("%w: the address of a server is wanted, as https://example.org", ErrUsage)
	case u.User != nil:
		return "", fmt.Errorf("%w: no key or secret stands in the address", ErrUsage)
	case u.RawQuery != "", u.Fragment != "":
		return "", fmt.Errorf("%w: the address of the server is wanted, without ? and #", ErrUsage)
	}
	u.Host = strings.ToLower(u.Host)
	u.Path = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1"), "/")
	u.RawPath = ""
	return u.String(), nil
}

// newSource is a client of one server, which follows redirects within it alone.
func newSource(c *Config, base string) *source {
	client := *c.Client
	client.Timeout = patience
	client.CheckRedirect = func(to *http.Request, via []*http.Request) error {
		if from := via[0].URL; to.URL.Scheme != from.Scheme || to.URL.Host != from.Host || len(via) > 5 {
			return errElsewhere
		}
		return nil
	}
	return &source{client: &client, base: base, key: c.Key, secret: c.Secret, wait: c.Wait}
}

// get asks for one object, which read takes; false = the answer is broken off or another. It repeats the request while pause says so.
func (s *source) get(ctx context.Context, path string, q url.Values, read func(answer []byte) bool) error {
	obeyed, failed := 0, 0
	for {
		err := s.once(ctx, path, q, read)
		if err == nil {
			s.met = true
			return nil
		}
		pause, again := s.pause(err, &obeyed, &failed)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !again:
			return err
		}
		if err := s.wait(ctx, pause); err != nil {
			return err
		}
	}
}

// pause tells whether to repeat a failed request, and how long to wait before.
func (s *source) pause(err error, obeyed, failed *int) (time.Duration, bool) {
	var r *refused
	switch {
	case errors.As(err, &r) && r.after >= 0 && (r.status == http.StatusTooManyRequests || r.status == http.StatusServiceUnavailable):
		*obeyed++
		return max(r.after, time.Second), r.after <= maxPause && *obeyed <= maxObeyed
	case errors.As(err, &r) && r.status != http.StatusTooManyRequests && r.status < http.StatusInternalServerError:
		return 0, false
	case errors.Is(err, errElsewhere), errors.Is(err, errTooLarge), errors.Is(err, errLogin):
		return 0, false
	case errors.As(err, new(*unreached)), errors.As(err, &r), errors.Is(err, errBroken):
		*failed++
		tries := maxTries
		if !s.met {
			tries = firstTries
		}
		return time.Second << (*failed - 1), *failed < tries
	}
	return 0, false
}

// once makes one request. Where the path is not found it tries the other spelling of its end.
func (s *source) once(ctx context.Context, path string, q url.Values, read func(answer []byte) bool) error {
	body, err := s.ask(ctx, s.spelt(path), q)
	if r, ok := errors.AsType[*refused](err); ok && r.status == http.StatusNotFound && !s.met {
		s.bare = !s.bare
		if body, err = s.ask(ctx, s.spelt(path), q); err != nil {
			s.bare = !s.bare
		}
	}
	if err != nil {
		return err
	}
	if !read(body) {
		return errBroken
	}
	return nil
}

// spelt returns a path with or without a slash at its end, as the source has it.
func (s *source) spelt(path string) string {
	if s.bare {
		return strings.TrimSuffix(path, "/")
	}
	return path
}

func (s *source) ask(ctx context.Context, path string, q url.Values) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path+"?"+q.Encode(), nil)
	if err != nil {
		return nil, err
	}
	req.SetBasicAuth(s.key, s.secret)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "doorward")
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, plain(err)
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or given up
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return nil, errLogin
	case resp.StatusCode != http.StatusOK:
		return nil, refusalOf(resp, body)
	case err != nil:
		return nil, &unreached{plainCause(err)}
	case len(body) > maxAnswer:
		return nil, errTooLarge
	}
	s.date = time.Time{}
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		s.date = at
	}
	return body, nil
}

// plain returns the error of a failed request without the address in it.
func plain(err error) error {
	if errors.Is(err, errElsewhere) {
		return errElsewhere
	}
	return &unreached{plainCause(err)}
}

func plainCause(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if t, ok := err.(interface{ Timeout() bool }); ok && t.Timeout() {
		return errors.New("it does not answer in time")
	}
	return err
}

// codes are the names of errors that are repeated; of a strange server's texts nothing is.
var codes = regexp.MustCompile(`^[A-Z][A-Z_]{1,40}$`)

func refusalOf(resp *http.Response, body []byte) *refused {
	r := &refused{status: resp.StatusCode, after: retryAfter(resp)}
	var envelope struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &envelope) == nil && codes.MatchString(envelope.Error.Code) {
		r.code = envelope.Error.Code
	}
	return r
}

// retryAfter returns how long an answer asks to wait, in seconds or until a date; -1 if it does not ask.
func retryAfter(resp *http.Response) time.Duration {
	text := resp.Header.Get("Retry-After")
	if n, err := strconv.ParseInt(text, 10, 32); err == nil && n >= 0 {
		return time.Duration(n) * time.Second
	}
	until, err := http.ParseTime(text)
	now, failed := http.ParseTime(resp.Header.Get("Date"))
	if err != nil || failed != nil {
		return -1
	}
	return max(0, until.Sub(now))
}
