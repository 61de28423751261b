package api

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"doorward/api/query"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/crash"
	"doorward/kv/entry"
	"doorward/kv/fault"
	"doorward/kv/idempotency"
	"doorward/kv/record"
	"doorward/kv/table"
)

// exchange is one request being answered: the ResponseWriter that is handed down, and what the checks found out. It is
// reused, so nothing may keep it after the answer.
type exchange struct {
	http.ResponseWriter
	server  *Server
	request *http.Request
	scheme  string // http or https, as the client sees it; "" = on the control socket
	route   *route // nil where none matched
	pattern string // of a sister room's route; "" for ours
	query   query.Query
	identity
	trace
	status int    // 0 = nothing answered yet
	buffer []byte // reused for replies
}

// identity is the caller, once known.
type identity struct {
	caller auth.Principal
	known  bool
	page   bool // it has the session of a page
	owner  bool // of the machine that the store lies on
}

// operator is the identity of a request on the control socket, which only the owner of the store's folder can open.
func operator() identity { return identity{caller: auth.Operator(), known: true, owner: true} }

// trace identifies a request in logs and metrics.
type trace struct {
	id      string
	started time.Time
}

// maxBuffer is the largest buffer that is kept for the next request.
const maxBuffer = 256 << 10

// WriteHeader notes the status.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 && status >= http.StatusOK {
		crash.At(crash.BeforeReply)
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write notes the status that a first Write implies.
func (x *exchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	return x.ResponseWriter.Write(b)
}

// store returns the store of the server.
func (x *exchange) store() *kv.Store { return x.server.config.Store }

// withID runs a handler with the id of the record that the path names.
func withID(k *record.Kind, do func(*exchange, record.ID) error) func(*exchange) error {
	return func(x *exchange) error {
		id, err := parseID(k, x.request.PathValue("id"))
		if err != nil {
			return err
		}
		return do(x, id)
	}
}

// parseID reads an id. It returns ErrNotFound for a text that no record of the kind can have as its id.
func parseID(k *record.Kind, text string) (record.ID, error) {
	id, ok := k.ParseID(text)
	if !ok {
		return id, table.ErrNotFound
	}
	return id, nil
}

// Route names the route of a sister room's handler, for the metrics: one of a closed set.
func (x *exchange) Route(pattern string) { x.pattern = pattern }

// Unwrap is for http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// Header values that never change; sharing them costs a reply nothing.
var (
	typeJSON = []string{"application/json"}
	noStore  = []string{"no-store"}
	yes      = []string{"true"}
)

// reply answers with a JSON body.
func (x *exchange) reply(status int, body []byte) error {
	h := x.Header()
	h["Content-Type"] = typeJSON
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	x.WriteHeader(status)
	_, err := x.Write(body)
	return unlessGone(err)
}

// answer answers with a value as JSON.
func (x *exchange) answer(status int, v any) error {
	body, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	return x.reply(status, body)
}

// show answers with a value, if it could be had.
func (x *exchange) show(v any, err error) error {
	if err != nil {
		return err
	}
	return x.answer(http.StatusOK, v)
}

// done answers without a body, if what was asked for has not failed.
func (x *exchange) done(err error) error {
	if err != nil {
		return err
	}
	x.WriteHeader(http.StatusNoContent)
	return nil
}

// traces makes exchanges and their ids.
type traces struct {
	pool   sync.Pool
	prefix string
	last   atomic.Uint64
}

func newTraces() *traces {
	var start [8]byte
	_, _ = rand.Read(start[:]) // never fails: crypto/rand ends the program instead
	return &traces{pool: sync.Pool{New: func() any { return new(exchange) }}, prefix: hex.EncodeToString(start[:]) + "-"}
}

// begin starts an exchange. It takes over the client's request id if the id is printable.
func (t *traces) begin(s *Server, w http.ResponseWriter, r *http.Request) *exchange {
	x := t.pool.Get().(*exchange)
	*x = exchange{ResponseWriter: w, server: s, request: r, trace: trace{started: time.Now()}, buffer: x.buffer[:0]}
	h := w.Header()
	if given := r.Header["X-Request-Id"]; len(given) == 1 && printable(given[0]) {
		x.id, h["X-Request-Id"] = given[0], given[:1:1]
	} else {
		x.id = t.prefix + strconv.FormatUint(t.last.Add(1), 16)
		h["X-Request-Id"] = []string{x.id}
	}
	h["Cache-Control"] = noStore
	if x.store().Tables.Identity.IsRevoked() {
		h[RevokedHeader] = yes
	}
	return x
}

// end gives an exchange back.
func (t *traces) end(x *exchange) {
	if cap(x.buffer) > maxBuffer {
		x.buffer = nil
	}
	*x = exchange{buffer: x.buffer}
	t.pool.Put(x)
}

// printable tells whether a request id can be echoed and logged: it has 1 to 128 visible ASCII characters.
func printable(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for i := range len(id) {
		if id[i] < '!' || id[i] > '~' {
			return false
		}
	}
	return true
}

// maxBody is the largest body of an ordinary request.
const maxBody = 1 << 20

// roomAhead is how much memory a body gets by its Content-Length alone.
const roomAhead = 16 << 10

// readQuery reads a request's query string, once for all that ask it.
func (x *exchange) readQuery(r *http.Request) (err error) {
	x.query, err = query.Parse(r.URL.RawQuery)
	return err
}

// readBody reads a request's JSON; an empty body is an empty object.
func readBody(x *exchange) ([]byte, error) {
	r := x.request
	if r.ContentLength == 0 {
		return []byte("{}"), nil
	}
	if !isJSON(r.Header) {
		return onlyEmpty(x)
	}
	if r.ContentLength > maxBody {
		return nil, errTooLarge
	}
	body, err := readAll(http.MaxBytesReader(x.ResponseWriter, r.Body, maxBody), r.ContentLength)
	switch {
	case err != nil:
		return nil, unreadable(err)
	case len(body) == 0:
		return []byte("{}"), nil
	}
	return body, nil
}

// unreadable returns the error of a body that could not be read to its end.
func unreadable(err error) error {
	if errors.Is(err, errTooLarge) || errors.As(err, new(*http.MaxBytesError)) {
		return errTooLarge
	}
	return errUnreadable
}

// noBody returns an error if a request has a body that is not JSON. It does not read JSON.
func noBody(x *exchange) error {
	if isJSON(x.request.Header) {
		return nil
	}
	_, err := onlyEmpty(x)
	return err
}

// onlyEmpty takes a body of the wrong type, or of none, if it turns out to be empty.
func onlyEmpty(x *exchange) ([]byte, error) {
	if x.request.ContentLength > 0 {
		return nil, errMediaType
	}
	n, err := io.ReadFull(x.request.Body, make([]byte, 1))
	if n > 0 {
		return nil, errMediaType
	}
	if err != io.EOF {
		return nil, errUnreadable
	}
	return []byte("{}"), nil
}

// readAll reads a body of a given length. It allocates at most roomAhead before the bytes arrive.
func readAll(r io.Reader, length int64) ([]byte, error) {
	if length < 0 {
		return io.ReadAll(r)
	}
	body := bytes.NewBuffer(make([]byte, 0, min(length, roomAhead)+bytes.MinRead))
	_, err := io.CopyN(body, r, length)
	return body.Bytes(), err
}

// isJSON tells whether a request calls its body plain JSON.
func isJSON(h http.Header) bool {
	media, ok := mediaOf(h)
	return ok && media == jsonMedia
}

// mediaOf returns the media type of a request's body, in lower case; "" if the request names none. ok is false if it names several, or if
// the body is compressed.
func mediaOf(h http.Header) (media string, ok bool) {
	media, _, _ = strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(media)), len(h["Content-Type"]) <= 1 && len(h["Content-Encoding"]) == 0
}

// readPatch reads a request's body as a record of a kind. Faults of single fields stay in the patch.
func readPatch(x *exchange, k *record.Kind, o record.ParseOptions) (*record.Patch, []byte, error) {
	body, err := readBody(x)
	if err != nil {
		return nil, nil, err
	}
	o.Zone = x.store().Tables.Clock.Zone()
	patch, err := k.Parse(body, o)
	return patch, body, err
}

// readForm reads a request's body as a form: a kind that is not stored. Its faults stay in the patch, for more to be added.
func readForm(x *exchange, k *record.Kind) (*record.Patch, []byte, error) {
	return readPatch(x, k, record.ParseOptions{Surface: record.Admin, Create: true})
}

// fileMedia is the media type that any file may be sent as, and the one that the OpenAPI document names first.
const fileMedia = "application/octet-stream"

// fileBody is a body that is a file.
type fileBody struct {
	types   []string // its media types
	any     bool     // a body of another type is taken too: the bytes say what they are
	example string
}

// holds tells whether a request's body is a file of these types, not compressed. A form that contains a file is not.
func (f *fileBody) holds(h http.Header) bool {
	media, ok := mediaOf(h)
	return ok && (f.any || slices.Contains(f.types, media))
}

// describe returns the body for the OpenAPI document.
func (f *fileBody) describe() map[string]any {
	others := slices.DeleteFunc(slices.Clone(f.types), func(name string) bool { return name == fileMedia })
	return map[string]any{
		"required":    true,
		"description": "The file as it is, not as a part of a form. It may also be sent as " + strings.Join(others, ", ") + ".",
		"content":     content(fileMedia, map[string]any{"type": "string", "format": "binary"}, f.example),
	}
}

// castagnoli is the table of the checksum in an ETag.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// entityTag is a reply's ETag: its revision, and a checksum of its bytes, because derived members change without a revision.
func entityTag(rep entry.Reply) string {
	sum := crc32.Checksum(rep.JSON, castagnoli)
	tag := make([]byte, 0, len(rep.Revision)+11)
	tag = append(append(append(tag, '"'), rep.Revision...), '.')
	tag = hex.AppendEncode(tag, []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
	return string(append(tag, '"'))
}

// tags lists the entity tags of If-Match or If-None-Match, weak ones with their mark.
func tags(values []string) []string {
	var list []string
	for _, v := range values {
		for tag := range strings.SplitSeq(v, ",") {
			if tag = strings.TrimSpace(tag); tag != "" {
				list = append(list, tag)
			}
		}
	}
	return list
}

// unchanged tells whether If-None-Match names the reply.
func unchanged(x *exchange, tag string) bool {
	given := x.request.Header["If-None-Match"]
	return len(given) > 0 && slices.ContainsFunc(tags(given), func(t string) bool {
		return t == "*" || strings.TrimPrefix(t, "W/") == tag
	})
}

// revisionOf returns the revision in a strong entity tag; ok is false for a weak or malformed tag, which matches no revision.
func revisionOf(tag string) (revision string, ok bool) {
	tag, opened := strings.CutPrefix(tag, `"`)
	tag, closed := strings.CutSuffix(tag, `"`)
	revision, _, _ = strings.Cut(tag, ".")
	return revision, opened && closed && revision != ""
}

// ifMatch lists the revisions that a change requires; nil = any revision. A header that is not blank and names no revision gives an empty
// list, which no record meets.
func ifMatch(x *exchange) []string {
	values := x.request.Header["If-Match"]
	given := tags(values)
	if strings.TrimSpace(strings.Join(values, "")) == "" || slices.Contains(given, "*") {
		return nil
	}
	revisions := make([]string, 0, len(given))
	for _, tag := range given {
		if revision, ok := revisionOf(tag); ok {
			revisions = append(revisions, revision)
		}
	}
	return revisions
}

// The longest values of the headers that the store keeps.
const (
	maxIdempotency = 255
	maxDoor        = 64
)

// storedHeader reads a header of limited length; an empty one counts as absent.
func storedHeader(x *exchange, name string, limit int, faults *fault.ByField) string {
	v := strings.TrimSpace(x.request.Header.Get(name))
	switch {
	case !utf8.ValidString(v):
		faults.Add(name, fault.NotString)
	case utf8.RuneCountInString(v) > limit:
		faults.Add(name, fault.TooLong(limit))
	default:
		return v
	}
	return ""
}

// idempotencyKey is the value of Idempotency-Key or its alias.
func idempotencyKey(x *exchange, faults *fault.ByField) string {
	if v := storedHeader(x, "Idempotency-Key", maxIdempotency, faults); v != "" {
		return v
	}
	return storedHeader(x, "X-Idempotency-Key", maxIdempotency, faults)
}

// once returns what the store needs to do a request only once; nil without an Idempotency-Key. The same value belongs to another request if
// the api key, the method or the path is another.
func once(x *exchange, body []byte, faults *fault.ByField) *idempotency.Request {
	value := idempotencyKey(x, faults)
	if value == "" {
		return nil
	}
	name := fmt.Sprintf("%d\x00%s\x00%s\x00%s", x.caller.Key(), x.request.Method, x.path(), value)
	return &idempotency.Request{Key: sha256.Sum256([]byte(name)), Body: sha256.Sum256(body)}
}

// markReplayed marks an answer that was given before.
func markReplayed(x *exchange, again bool) {
	if again {
		x.Header()["Idempotency-Replayed"] = yes
	}
}

// unlessGone returns errGone if an answer could not be written.
func unlessGone(err error) error {
	if err != nil {
		return errGone
	}
	return nil
}
