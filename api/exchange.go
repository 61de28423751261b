package api

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/crash"
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
	identity
	trace
	status int    // 0 = nothing answered yet
	buffer []byte // reused for replies
}

// identity is the caller, once known.
type identity struct {
	caller auth.Principal
	known  bool
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

// pathID reads the id of the record that the path names. It returns ErrNotFound for a text that no record of the kind can have as its id.
func (x *exchange) pathID(k *record.Kind) (record.ID, error) {
	return parseID(k, x.request.PathValue("id"))
}

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

// done answers without a body.
func (x *exchange) done() error {
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
