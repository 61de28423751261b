package sync

import (
	"net/http"

	"github.com/go-chi/chi/v5"
)

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
		{"GET", "/{db}/_local/{id}", false, withDatabase(getLocal)},
		{"PUT", "/{db}/_local/{id}", false, withDatabase(putLocal)},
		{"DELETE", "/{db}/_local/{id}", false, withDatabase(deleteLocal)},
	}
}

// documentRoutes are those of documents, below one of two paths.
func documentRoutes(path string) []route {
	return []route{
		{"GET", path, false, withDatabase(withDocument(getDocument, getLocal))},
		{"PUT", path, false, withDatabase(withDocument(putDocument, putLocal))},
		{"DELETE", path, false, withDatabase(withDocument(deleteDocument, deleteLocal))},
		{"GET", path + "/*", false, withDatabase(getAttachment)},
		{"PUT", path + "/*", false, withDatabase(putAttachment)},
		{"DELETE", path + "/*", false, withDatabase(deleteAttachment)},
	}
}

// newMux mounts everything below a path.
func newMux(s *Server, mount string) *chi.Mux {
	mux := chi.NewRouter()
	all := append(routes(), documentRoutes("/{db}/{doc}")...)
	for _, rt := range append(all, documentRoutes("/{db}/_design/{design}")...) {
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
		if err := c.openDatabase(); err != nil {
			return err
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
