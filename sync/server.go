package sync

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/table"
	"doorward/sync/dial"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
)

// Config says what a server answers for. Only Store is needed.
type Config struct {
	Store      *kv.Store
	Gate       Gate                  // nil = no throttle, no rates
	Prefix     string                // of the paths before /sync: "" or "/doorward"
	Version    string                // of this program
	Logger     *slog.Logger          // nil = silent
	Registerer prometheus.Registerer // nil = not registered
	Clock      func() time.Time      // nil = time.Now
	OverAfter  time.Duration         // how long after its end laptops drop an event; 0 = never
	Insecure   bool                  // replications ordered here may dial any address, also http
}

// Gate is what the HTTP face around this room does for it: it slows guesses of secrets, and limits the rate of keys.
type Gate interface {
	// Login checks a key and its secret.
	Login(r *http.Request, key, secret string) (auth.Principal, error)
	// Admit counts a request of a key. It returns an error if the key makes too many.
	Admit(w http.ResponseWriter, p auth.Principal) error
}

// Server answers the replication protocol over one store.
type Server struct {
	config  Config
	mux     *chi.Mux
	metrics *metrics
	secret  [32]byte        // signs the cookies of sessions, which end with the process
	ended   context.Context // ends with the server: open feeds, and what is ordered here, end then
	end     context.CancelFunc
	tasks   tasks
	client  *http.Client // of replications that are ordered here
	packers *compressors
	idle    time.Duration // how long a read or a write of a request may take
	spools  spools
}

// New makes a server. It fails if the registry has other metrics of the same names.
func New(c Config) (*Server, error) {
	if c.Store == nil {
		return nil, errors.New("sync: no store")
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Gate == nil {
		c.Gate = openGate{c.Store}
	}
	m, err := newMetrics(c.Registerer)
	if err != nil {
		return nil, fmt.Errorf("sync: metrics: %w", err)
	}
	reach := dial.Public
	if c.Insecure {
		reach = dial.Anywhere
	}
	s := &Server{config: c, client: dial.NewClient(reach), metrics: m, tasks: tasks{running: map[string]*task{}}, packers: newCompressors(), idle: idleLimit, spools: newSpools()}
	s.ended, s.end = context.WithCancel(context.Background())
	_, _ = rand.Read(s.secret[:]) // never fails
	s.mux = newMux(s, c.Prefix+"/sync")
	return s, nil
}

// Close ends open feeds, each with its last line, and replications that were ordered here. It returns once they have ended.
func (s *Server) Close() {
	s.end()
	s.tasks.close()
	s.client.CloseIdleConnections()
}

// ServeHTTP answers one request. It routes by the escaped path: a slash in a document's id comes as %2F.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.URL.RawPath = r.URL.EscapedPath()
	s.mux.ServeHTTP(w, r)
}

// operatorKey marks a request of the operator.
type operatorKey struct{}

// Control answers the same requests for the owner of the folder, without a key.
func (s *Server) Control() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(context.WithValue(r.Context(), operatorKey{}, true))
		raw := s.config.Prefix + r.URL.EscapedPath()
		r.URL.Path, r.URL.RawPath = s.config.Prefix+r.URL.Path, raw
		s.ServeHTTP(w, r)
	})
}

// openGate is the Gate of a server without a face.
type openGate struct{ store *kv.Store }

// Login asks the store.
func (g openGate) Login(_ *http.Request, key, secret string) (auth.Principal, error) {
	return g.store.Keys.Login(key, secret)
}

// Admit admits all.
func (openGate) Admit(http.ResponseWriter, auth.Principal) error { return nil }

// handler answers a request. Its error is not answered yet.
type handler func(*call) error

// route is one operation.
type route struct {
	method, path string
	open         bool // without a login
	do           handler
}

// routes are all operations. GET stands for HEAD too.
func routes() []route {
	return []route{
		{"GET", "/", true, welcome},
		{"GET", "/_up", true, up},
		{"GET", "/_all_dbs", false, allDatabases},
		{"GET", "/_uuids", false, uuids},
		{"GET", "/_session", true, showSession},
		{"POST", "/_session", true, beginSession},
		{"DELETE", "/_session", true, endSession},
		{"POST", "/_replicate", false, orderReplication},
		{"GET", "/_active_tasks", false, activeTasks},
		{"POST", "/_enrol", true, enrol},
		{"POST", "/_hello", false, answerHello},
		{"GET", "/_hello", false, awaitKeys},
		{"POST", "/_lease", false, lease},
		{"POST", "/_erased", false, recallErasures},
		{"GET", "/_stick", false, showStick},
		{"POST", "/_stick", false, takeStick},
		{"PUT", "/{db}", false, createDatabase},
		{"DELETE", "/{db}", false, deleteDatabase},
		{"GET", "/{db}", false, withDatabase(showDatabase)},
		{"POST", "/{db}", false, withDatabase(postDocument)},
		{"GET", "/{db}/_changes", false, withReadable(changes)},
		{"POST", "/{db}/_changes", false, withReadable(changes)},
		{"POST", "/{db}/_revs_diff", false, withDatabase(revsDiff)},
		{"GET", "/{db}/_feed", false, withReadable(sendLines)},
		{"POST", "/{db}/_feed", false, withDatabase(takeLines)},
		{"POST", "/{db}/_bulk_get", false, withReadable(bulkGet)},
		{"POST", "/{db}/_bulk_docs", false, withDatabase(bulkDocs)},
		{"GET", "/{db}/_all_docs", false, withReadable(allDocs)},
		{"POST", "/{db}/_all_docs", false, withReadable(allDocs)},
		{"POST", "/{db}/_ensure_full_commit", false, withDatabase(ensureCommit)},
		{"POST", "/{db}/_compact", false, withDatabase(compact)},
		{"GET", "/{db}/_revs_limit", false, withDatabase(showRevsLimit)},
		{"PUT", "/{db}/_revs_limit", false, withDatabase(setRevsLimit)},
	}
}

// documentRoutes are those of documents at a path.
func documentRoutes(path string) []route {
	return []route{
		{"GET", path, false, withDatabase(withDocument(getDocument, getLocal))},
		{"PUT", path, false, withDatabase(withDocument(putDocument, putLocal))},
		{"DELETE", path, false, withDatabase(withDocument(deleteDocument, deleteLocal))},
	}
}

// attachmentRoutes are those of the attachments of documents at a path.
func attachmentRoutes(path string) []route {
	return []route{
		{"GET", path + "/*", false, withDatabase(getAttachment)},
		{"PUT", path + "/*", false, withDatabase(putAttachment)},
		{"DELETE", path + "/*", false, withDatabase(deleteAttachment)},
	}
}

// The paths of documents that have attachments.
const (
	documentPath = "/{db}/{doc}"
	designPath   = "/{db}/_design/{design}"
)

// newMux mounts everything below a path.
func newMux(s *Server, mount string) *chi.Mux {
	mux := chi.NewRouter()
	for _, rt := range slices.Concat(routes(), documentRoutes("/{db}/_local/{id}"), // without attachments
		documentRoutes(documentPath), attachmentRoutes(documentPath), documentRoutes(designPath), attachmentRoutes(designPath)) {
		patterns := []string{mount + rt.path}
		switch rt.path {
		case "/":
			patterns = append(patterns, mount)
		case "/{db}":
			patterns = append(patterns, mount+"/{db}/")
		}
		for _, pattern := range patterns {
			mux.Method(rt.method, pattern, s.endpoint(rt))
			if rt.method == http.MethodGet {
				mux.Method(http.MethodHead, pattern, s.endpoint(rt))
			}
		}
	}
	mux.NotFound(s.endpoint(route{do: func(*call) error { return errMissing }}).ServeHTTP)
	mux.MethodNotAllowed(s.endpoint(route{do: func(*call) error { return errMethod }}).ServeHTTP)
	return mux
}

// withDatabase opens the database of the path before the handler.
func withDatabase(do handler) handler {
	return func(c *call) error {
		name, err := c.parameter("db")
		if err != nil {
			return err
		}
		if c.db, err = c.store().Docs.Database(c.caller, name); errors.Is(err, table.ErrNotFound) {
			return errNoDatabase
		} else if err != nil {
			return err
		}
		if c.db.Free() {
			c.Header().Set("Cache-Control", "private, must-revalidate") // a browser may keep it, as CouchDB's answers
		}
		return do(c)
	}
}

// withReadable is withDatabase for an answer that begins before anything is read. A caller that may only write is refused here, and not in
// the middle of the answer.
func withReadable(do handler) handler {
	return withDatabase(func(c *call) error {
		if err := c.db.MayRead(); err != nil {
			return err
		}
		return do(c)
	})
}

// vendor is the program's name and version.
type vendor struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// welcome says which server this is. Its uuid is the node's: peers name their checkpoints by it. Anonymous callers get it too, but not a
// caller with a wrong key: clients test their key here.
func welcome(c *call) error {
	if err := c.authenticate(); err != nil && !errors.Is(err, errAnonymous) {
		return err
	}
	conf := &c.server.config
	return c.reply(http.StatusOK, struct {
		Welcome string `json:"couchdb"`
		UUID    string `json:"uuid"`
		Vendor  vendor `json:"vendor"`
		Version string `json:"version"`
	}{"Welcome", strings.ToLower(conf.Store.Tables.Identity.Node()), vendor{"Doorward", conf.Version}, conf.Version})
}

func up(c *call) error {
	if err := c.store().Tables.Engine.Writable(); err != nil {
		return err
	}
	return c.reply(http.StatusOK, map[string]string{"status": "ok"})
}

// maxUUIDs is how many ids _uuids gives.
const maxUUIDs = 1000

func uuids(c *call) error {
	q := queryOf(c.query)
	n := q.number("count", 1)
	if q.err != nil || n > maxUUIDs {
		return errQuery
	}
	ids := make([]string, n)
	for i := range ids {
		ids[i] = newID()
	}
	return c.reply(http.StatusOK, map[string][]string{"uuids": ids})
}

// newID draws the id of a document that has none.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
