package dial

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"doorward/sync/input"

	"github.com/go-json-experiment/json/jsontext"
)

// Link sends requests to a server, or to a database of it.
type Link struct {
	client *http.Client
	base   *url.URL // without name and password
	user   *url.Userinfo
	node   string
	header http.Header
}

// Config says where a server is. Only URL is needed.
type Config struct {
	URL    string       // it may hold a name and a password
	Client *http.Client // nil = one that dials anywhere
	Key    string       // logs in, if the URL does not
	Secret string
	Header http.Header // more of each request; those of the protocol, and the login above, count before these
	Node   string      // of the server, if it is one of ours: answers without its name are refused; "" = all count
}

// ErrURL is an address that cannot be a database's.
var ErrURL = errors.New("not the address of a database")

// New makes a link and sends nothing yet. It returns ErrURL for an address that cannot be a database's.
func New(c Config) (*Link, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, ErrURL // without the cause, which names the password
	}
	l := &Link{client: c.Client, base: u, user: u.User, node: c.Node, header: c.Header}
	if l.client == nil {
		l.client = NewClient(Anywhere)
	}
	if l.user == nil && c.Key != "" {
		l.user = url.UserPassword(c.Key, c.Secret)
	}
	u.User = nil
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = strings.TrimRight(u.EscapedPath(), "/")
	if u.Path == "" {
		return nil, ErrURL
	}
	return l, nil
}

// Headers between our own nodes. A client that sends HeaderFeed, and gets it back from a database, may use _feed. Each answer to a request
// with HeaderFeed names the node that gives it.
const (
	HeaderFeed    = "Doorward-Feed"
	FeedVersion   = "1"
	HeaderRealm   = "Doorward-Realm"
	HeaderNode    = "Doorward-Node"
	HeaderEpoch   = "Doorward-Epoch"
	HeaderCodeKey = "Doorward-Code-Key" // to the operator alone
	HeaderFor     = "Doorward-For"      // the laptop that the answer is for
)

// ParameterFor is the parameter of _feed that names a laptop: the answer has only what that takes along.
const ParameterFor = "for"

// At returns the address of something below the link's own. The parts are escaped already.
func (l *Link) At(parts ...string) string {
	text := l.base.String()
	for _, p := range parts {
		text += "/" + p
	}
	return text
}

// Close closes idle connections.
func (l *Link) Close() { l.client.CloseIdleConnections() }

// Root returns the address of the server, and the name of the database as the link's address has it.
func (l *Link) Root() (server, database string) {
	root := *l.base
	cut := strings.LastIndex(root.EscapedPath(), "/")
	database = root.EscapedPath()[cut+1:]
	root.RawPath = root.EscapedPath()[:cut+1]
	root.Path, _ = url.PathUnescape(root.RawPath) // it was escaped before
	return root.String(), database
}

// Name returns the last part of the link's path.
func (l *Link) Name() string { return l.base.Path[strings.LastIndex(l.base.Path, "/")+1:] }

// stallLimit is how long a peer may send nothing, heartbeats included.
const stallLimit = time.Minute

// Payload is a request's body, and the encoding that its answer may have.
type Payload struct {
	Media   string
	Packing string    // Content-Encoding
	Read    io.Reader // nil: there is no body
	Size    int64     // 0: not known
	Accept  string    // Accept-Encoding; "" = gzip, which net/http decompresses by itself
}

// Do sends a request. It returns *Refusal for an answer that is an error, ErrCut if there was no whole answer, *ProxyError if a proxy made no
// connection, and ErrNoCentre for the answer of another server than the one that is meant.
func (l *Link) Do(ctx context.Context, method, address string, p *Payload) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	req, err := l.request(ctx, method, address, p)
	if err != nil {
		cancel(nil)
		return nil, ErrURL
	}
	w := &watched{cancel: cancel, timer: time.AfterFunc(stallLimit, func() { cancel(ErrCut) })}
	if req.Body != nil {
		req.Body = &watchedUpload{req.Body, w}
	}
	resp, err := l.client.Do(req)
	if err != nil {
		err = l.requestError(ctx, err) // before the watch stops, which cancels ctx
		w.stop()
		return nil, err
	}
	w.body, w.ctx = resp.Body, ctx
	resp.Body = w
	if l.isOther(resp) {
		_ = w.Close() // its body is not read
		return nil, ErrNoCentre
	}
	if resp.StatusCode >= 300 {
		return nil, refusalOf(resp)
	}
	return resp, nil
}

// isOther reports whether an answer is another server's than the one that is meant: what another server gives or does not have, and the
// refusal of one that is no Doorward, as of a captive portal. What else refuses may be on the way to the one that is meant.
func (l *Link) isOther(resp *http.Response) bool {
	node := resp.Header.Get(HeaderNode)
	if l.node == "" || node == l.node {
		return false
	}
	switch resp.StatusCode {
	case http.StatusNotFound:
		return true
	case http.StatusUnauthorized, http.StatusForbidden:
		return node == ""
	}
	return resp.StatusCode < 300
}

// request makes a request.
func (l *Link) request(ctx context.Context, method, address string, p *Payload) (*http.Request, error) {
	if p == nil {
		p = &Payload{}
	}
	req, err := http.NewRequestWithContext(ctx, method, address, p.Read)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, l.header)
	req.Header.Set("Accept", "application/json")
	for name, value := range map[string]string{"Content-Type": p.Media, "Content-Encoding": p.Packing, "Accept-Encoding": p.Accept} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	req.Header.Set(HeaderFeed, FeedVersion)
	if p.Size > 0 {
		req.ContentLength = p.Size
	}
	if l.user != nil {
		secret, _ := l.user.Password()
		req.SetBasicAuth(l.user.Username(), secret)
	}
	return req, nil
}

// requestError says why a request had no answer.
func (l *Link) requestError(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(err, ErrNotDialed):
		return ErrNotDialed
	case cause != nil && !errors.Is(cause, ErrCut):
		return cause
	}
	if proxy, is := errors.AsType[*ProxyError](err); is {
		return proxy
	}
	cause := err
	if sent := (*url.Error)(nil); errors.As(err, &sent) {
		cause = sent.Err // an address may name people
	}
	cause = withAdvice(cause)
	if dial := (*net.OpError)(nil); errors.As(err, &dial) && dial.Op == "dial" || errors.As(err, new(*tls.CertificateVerificationError)) {
		return unreachable{cause}
	}
	return fmt.Errorf("%w: %w", ErrCut, cause)
}

// unreachable is an ErrCut of a peer to which no connection was made.
type unreachable struct{ cause error }

// Error says the cause.
func (u unreachable) Error() string { return "the peer cannot be reached: " + u.cause.Error() }

// Unwrap makes it an ErrCut.
func (u unreachable) Unwrap() []error { return []error{ErrCut, u.cause} }

// withAdvice adds to an error what helps if this machine does not trust the peer's certificate.
func withAdvice(err error) error {
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return fmt.Errorf("this machine does not know who signed the certificate: add that authority's own to the system's, or name its file in the variable SSL_CERT_FILE (%w)", err)
	case errors.As(err, new(x509.HostnameError)):
		return fmt.Errorf("the certificate is for other names than the one in the address (%w)", err)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Errorf("the certificate is out of its time, or this machine's clock is wrong (%w)", err)
	}
	return err
}

// watched is the body of an answer. A peer that sends nothing for too long ends it.
type watched struct {
	body   io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

// Read returns ErrCut if the answer breaks off.
func (w *watched) Read(p []byte) (int, error) {
	w.timer.Reset(stallLimit)
	n, err := w.body.Read(p)
	w.timer.Reset(stallLimit)
	if err != nil && !errors.Is(err, io.EOF) {
		if cause := context.Cause(w.ctx); cause != nil && !errors.Is(cause, ErrCut) {
			return n, cause
		}
		return n, fmt.Errorf("%w: %w", ErrCut, err)
	}
	return n, err
}

// Close ends the exchange.
func (w *watched) Close() error {
	err := w.body.Close()
	w.stop()
	return err
}

func (w *watched) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// watchedUpload is the body of a request. While the peer takes it, the answer is not late.
type watchedUpload struct {
	io.ReadCloser
	w *watched
}

// Read reads some of the request.
func (u *watchedUpload) Read(p []byte) (int, error) {
	u.w.timer.Reset(stallLimit)
	return u.ReadCloser.Read(p)
}

// maxAnswer is how much of a small answer is read.
const maxAnswer = 16 << 20

// Drain reads the rest of an answer, so that its connection can be used again.
func Drain(resp *http.Response) error {
	_, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer))
	return errors.Join(err, resp.Body.Close())
}

// refusalOf reads an answer that is an error.
func refusalOf(resp *http.Response) error {
	defer func() { _ = resp.Body.Close() }() // the rest does not matter
	if resp.StatusCode < 400 {
		return ErrRedirect
	}
	r := &Refusal{Status: resp.StatusCode}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		r.after = time.Duration(min(seconds, 1<<20)) * time.Second
	}
	r.At, _ = http.ParseTime(resp.Header.Get("Date")) // zero where it does not say
	var said struct{ Error, Reason string }
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10)) // as much as there is
	if json.Unmarshal(b, &said) == nil {
		r.Word, r.Reason = said.Error, said.Reason
	}
	return r
}

// JSON makes a body of a value.
func JSON(v any) *Payload {
	b, _ := json.Marshal(v) // all our requests can be marshalled
	return Bytes(b)
}

// Bytes makes a body of JSON that is marshalled already.
func Bytes(b []byte) *Payload {
	return &Payload{Media: "application/json", Read: bytes.NewReader(b), Size: int64(len(b))}
}

// Ask sends a small value and reads a small answer. Both may be nil.
func (l *Link) Ask(ctx context.Context, method, address string, in, out any) error {
	var p *Payload
	if in != nil {
		p = JSON(in)
	}
	resp, err := l.Do(ctx, method, address, p)
	if err != nil {
		return err
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	_ = resp.Body.Close() // it is read
	if err != nil || out == nil {
		return err
	}
	if json.Unmarshal(b, out) != nil {
		return ErrCut
	}
	return nil
}

// Stream sends a body and reads the answer as it comes. An answer that is not JSON counts as ErrCut.
func (l *Link) Stream(ctx context.Context, method, address string, p *Payload, fn func(*jsontext.Decoder) error) error {
	resp, err := l.Do(ctx, method, address, p)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it is read, or given up
	dec := input.NewDecoder(resp.Body)
	if err = fn(dec); err == nil {
		err = input.Trailing(dec)
	}
	if errors.Is(err, input.ErrJSON) {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return ErrCut
	}
	return err
}

// Refusal is an answer of a server that is an error.
type Refusal struct {
	Status int
	Word   string // CouchDB's name of the error
	Reason string
	after  time.Duration // how long to wait; 0 = the server does not say
	At     time.Time     // by the server's clock; zero = it does not say
}

// Error says the status, and the reason if there is one.
func (e *Refusal) Error() string {
	if e.Word == "" {
		return fmt.Sprintf("the peer answered %d", e.Status)
	}
	return fmt.Sprintf("the peer answered %d %s: %s", e.Status, e.Word, e.Reason)
}

// ErrCut is an exchange with a peer that broke off.
var ErrCut = errors.New("the peer broke off")

// ErrNoCentre is an answer of another server in the place of the centre's: of a gateway or a captive portal.
var ErrNoCentre = errors.New("no Doorward centre answers there")

// ErrRedirect is an answer that sends to another address. Redirects are not followed.
var ErrRedirect = errors.New("the peer redirects")

// Transient tells whether the same request may succeed later.
func Transient(err error) bool {
	if r, is := errors.AsType[*Refusal](err); is {
		return r.Status >= 500 && r.Status != 501 || r.Status == 429 || r.Status == 408
	}
	return errors.Is(err, ErrCut)
}

// Refused tells whether an error is an answer that says no for good.
func Refused(err error) bool {
	_, is := errors.AsType[*Refusal](err)
	return is && !Transient(err)
}

// Is tells whether an error is an answer with one of these statuses.
func Is(err error, statuses ...int) bool {
	r, is := errors.AsType[*Refusal](err)
	return is && slices.Contains(statuses, r.Status)
}

const (
	longestPause = time.Minute
	longestAfter = 10 * time.Minute // of what a peer asks for
)

// Pause returns how long to wait after some failures in a row. It grows with each failure, up to a minute, and is drawn from its upper
// half, so that clients do not come back all at once. A server that says how long to wait is obeyed, up to ten minutes.
func Pause(first time.Duration, failed int, err error) time.Duration {
	if r, is := errors.AsType[*Refusal](err); is && r.after > 0 {
		return min(r.after, longestAfter)
	}
	d := min(first<<min(failed, 20), longestPause)
	return d/2 + rand.N(d/2+1)
}

// Rest waits for a while, or until ctx ends.
func Rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
