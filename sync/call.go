package sync

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/table"
	"doorward/kv/value"
	"doorward/sync/dial"
	"doorward/sync/input"
	"doorward/sync/line"
)

// call is one request and its answer.
type call struct {
	http.ResponseWriter
	server  *Server
	request *http.Request
	route   route
	caller  auth.Principal
	known   bool   // the caller has logged in
	session string // the session's key, if the caller has logged in by cookie
	query   url.Values
	db      *docs.Database
	values  *input.Values // of the body; nil = not read yet
	items   input.Items   // of the lists in the body
	began   bool          // the answer has begun: an error can only break it off
}

// store returns the store of the server.
func (c *call) store() *kv.Store { return c.server.config.Store }

// idleLimit is how long a read or a write of a request may take.
const idleLimit = 30 * time.Second

// endpoint runs one route for one request.
func (s *Server) endpoint(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{ResponseWriter: w, server: s, request: r, route: rt}
		if named, ok := w.(interface{ Route(pattern string) }); ok && rt.path != "" {
			named.Route("/sync" + rt.path)
		}
		c.limitIdle()
		defer limitWrite(c) // net/http sends the rest
		if r.Header.Get(dial.HeaderFeed) != "" {
			w.Header().Set(dial.HeaderNode, s.config.Store.Tables.Identity.Node())
		}
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent) // the face around this room has answered CORS
			return
		}
		w.Header().Set("Cache-Control", "no-store") // most answers say what a key may know, or who calls
		var err error
		if !rt.open {
			err = c.authenticate()
			c.known = err == nil
		}
		if err == nil {
			c.query, err = value.ParseQuery(r.URL.RawQuery)
		}
		if err == nil {
			err = rt.checkBody(r)
		}
		if err == nil {
			err = rt.do(c)
		}
		if err != nil {
			c.fail(err)
		}
	})
}

// limitIdle replaces the listener's limits, which are for short requests: each read and each write has a deadline of its own. Between
// them there is none, for HTTP/2 resets a stream at its deadline even while nothing is written.
func (c *call) limitIdle() {
	rc := http.NewResponseController(c.ResponseWriter)
	_ = rc.SetReadDeadline(time.Time{}) // a recorder in a test has no deadlines
	unlimitWrite(c)
	c.request.Body = &idleBody{ReadCloser: c.request.Body, rc: rc, idle: c.server.idle}
}

// limitWrite sets the deadline of what is written next.
func limitWrite(c *call) {
	_ = http.NewResponseController(c.ResponseWriter).SetWriteDeadline(time.Now().Add(c.server.idle)) // as above
}

// unlimitWrite removes the deadline while nothing is written.
func unlimitWrite(c *call) {
	_ = http.NewResponseController(c.ResponseWriter).SetWriteDeadline(time.Time{}) // as above
}

// idleBody gives each read of a body a deadline.
type idleBody struct {
	io.ReadCloser
	rc    *http.ResponseController
	idle  time.Duration
	last  time.Time // when the last read must have ended; zero = it may take its time
	ended bool      // it was read to its end
}

// Read reads with a deadline.
func (b *idleBody) Read(p []byte) (int, error) {
	end := time.Now().Add(b.idle)
	if !b.last.IsZero() && b.last.Before(end) {
		end = b.last
	}
	_ = b.rc.SetReadDeadline(end) // as above
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || errors.Is(err, io.EOF)
	_ = b.rc.SetReadDeadline(time.Time{}) // a deadline in the past would end the request
	return n, err
}

// parameter returns a part of the path, unescaped.
func (c *call) parameter(name string) (string, error) {
	text, err := url.PathUnescape(chi.URLParam(c.request, name))
	if err != nil {
		return "", errPath
	}
	return text, nil
}

// docID returns the document that the path names.
func (c *call) docID() (string, error) {
	prefix, parameter := "", "doc"
	switch {
	case strings.Contains(c.route.path, "/_design/"):
		prefix, parameter = "_design/", "design"
	case strings.Contains(c.route.path, "/_local/"):
		prefix, parameter = "_local/", "id"
	}
	name, err := c.parameter(parameter)
	return prefix + name, err
}

// reply answers with a small JSON body.
func (c *call) reply(status int, v any) error {
	body, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	h := c.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)+len("\n")))
	c.began = true
	limitWrite(c)
	c.WriteHeader(status)
	if c.request.Method != http.MethodHead {
		_, _ = c.Write(append(body, '\n')) // the client may have left
	}
	return nil
}

// ok is the answer to a request that returns nothing else.
var ok = map[string]bool{"ok": true}

// writtenDoc is the answer to a stored document.
type writtenDoc struct {
	OK  bool   `json:"ok"`
	ID  string `json:"id"`
	Rev string `json:"rev"`
}

// body returns the request's body, decompressed and limited.
func (c *call) body(most int64) (io.Reader, error) {
	raw := input.Limit(c.request.Body, most)
	switch strings.ToLower(c.request.Header.Get("Content-Encoding")) {
	case "", "identity":
		if c.request.ContentLength > most {
			return nil, input.ErrTooLarge
		}
		return raw, nil
	case "gzip":
		return raw.Gzip(input.RatioFrom)
	}
	return nil, errPacked
}

// decoder decodes a body that must be JSON. Errors of single documents are found later.
func (c *call) decoder() (*jsontext.Decoder, error) {
	if !isJSON(c.request.Header) {
		return nil, errMedia
	}
	return c.anyDecoder()
}

func (c *call) anyDecoder() (*jsontext.Decoder, error) {
	r, err := c.body(input.MaxSize)
	if err != nil {
		return nil, err
	}
	return c.decode(r), nil
}

// decode decodes JSON of the body, or of a part of it.
func (c *call) decode(r io.Reader) *jsontext.Decoder {
	c.values = input.NewValues(r)
	return c.values.Decoder()
}

// The media types of bodies.
const (
	mediaJSON    = "application/json"
	mediaForm    = "application/x-www-form-urlencoded"
	mediaRelated = "multipart/related"
)

// takes reports whether a route takes a body of a media type. Most take JSON only.
func (rt *route) takes(media string) bool {
	switch rt.path {
	case "", documentPath + "/*", designPath + "/*": // no route, which is told first; attachments
		return true
	case "/{db}/_feed", "/_stick":
		return media == line.Media
	case "/_session":
		return media == mediaJSON || media == mediaForm
	case documentPath, designPath:
		return media == mediaJSON || media == mediaRelated
	}
	return media == mediaJSON
}

// checkBody returns errMedia if a request has a body of a type that the route does not take.
func (rt *route) checkBody(r *http.Request) error {
	if rt.method == http.MethodGet || r.ContentLength == 0 || rt.takes(mediaOf(r.Header)) {
		return nil
	}
	if n, err := io.ReadFull(r.Body, make([]byte, 1)); n > 0 {
		return errMedia
	} else if err != io.EOF {
		return input.ErrBroken
	}
	return nil
}

// mediaOf returns the media type of a request's body, in lower case.
func mediaOf(h http.Header) string {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// isJSON tells whether a request says that its body is JSON.
func isJSON(h http.Header) bool { return mediaOf(h) == mediaJSON }

// maxSmall is the largest body of a request between our own nodes that holds no documents.
const maxSmall = 1 << 20

// authenticate finds the caller: by Authorization, or by the session. It returns errAnonymous if there is neither.
func (c *call) authenticate() (err error) {
	if c.request.Context().Value(operatorKey{}) != nil {
		c.caller = auth.Operator()
		return nil
	}
	if key, secret, given := c.request.BasicAuth(); given {
		c.caller, err = c.server.config.Gate.Login(c.request, key, secret)
		if errors.Is(err, table.ErrRevoked) && bringsFacts(c) {
			c.caller, err = c.store().Keys.RevokedNode(key)
		}
	} else if c.request.Header.Get("Authorization") != "" {
		return errAnonymous // a header that cannot be read hides the session
	} else if key, err = c.server.sessionKey(c.request); err == nil {
		c.session = key
		c.caller, err = c.store().Keys.StandingKey(key)
	}
	if err != nil {
		return err
	}
	return c.server.config.Gate.Admit(c.ResponseWriter, c.caller)
}

// bringsFacts tells whether a revoked laptop may make this request, to push its facts.
func bringsFacts(c *call) bool {
	if c.route.method != http.MethodPost {
		return false
	}
	switch c.route.path {
	case "/_hello", "/{db}/_revs_diff", "/{db}/_bulk_docs", "/{db}/_feed":
		return true
	}
	return false
}
