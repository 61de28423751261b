package sync

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/docs"
	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/keys"
	"doorward/kv/laptop"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/table"
	"doorward/kv/value"
	"doorward/sync/dial"
	"doorward/sync/input"
	"doorward/sync/line"
	"doorward/sync/mango"
	"doorward/sync/replicate"
	"doorward/sync/transit"
)

// Errors of this room.
var (
	errMissing    = errors.New("missing")
	errDeleted    = errors.New("deleted")
	errNoDatabase = errors.New("no such database")
	errExists     = errors.New("the database is there already")
	errMethod     = errors.New("the path does not know the method")
	errAnonymous  = errors.New("nobody has logged in")
	errOrigin     = errors.New("a session is for pages of this server alone")
	errPath       = errors.New("the path could not be read")
	errMedia      = errors.New("the body is of another type")
	errPacked     = errors.New("the body is compressed in a way that is not known here")
	errQuery      = errors.New("a parameter could not be read")
	errView       = errors.New("a filter by a view that is not named")
	errDigest     = errors.New("an attachment is not what its digest says")
	errLocalParts = errors.New("an attachment of a local document")
	errRevisions  = errors.New("two revisions to write after")
	errDeleteDoc  = errors.New("the deletion of a database by a revision")
	errTogether   = errors.New("documents to store together or not at all")
	errClientGone = errors.New("the client went away")
)

// unsupported is an option that would change what a request does, and that this server does not know. A client must not believe that it was done.
type unsupported string

// Error names the option.
func (u unsupported) Error() string { return string(u) + " is not supported" }

// problem is the answer to an error.
type problem struct {
	status int
	Error  string `json:"error"`
	Reason string `json:"reason"`
}

// answers are the errors with a fixed answer. The first match counts. An empty reason is replicate.Reason's.
var answers = []struct {
	err error
	problem
}{
	{table.ErrRevoked, problem{403, "forbidden", "The key is revoked."}},
	{office.ErrCode, problem{403, "forbidden", "The code is wrong, was used before, or is older than a day."}},
	{office.ErrEnrolled, problem{412, "enrolled", "Another store is known by this laptop's name. Revoke it first."}},
	{laptop.ErrOtherRealm, problem{409, "conflict", "The store holds records of another congregation."}},
	{replicate.ErrRealm, problem{403, "forbidden", "The store belongs to another congregation."}},
	{errNode, problem{403, "forbidden", "The key is not that laptop's."}},
	{table.ErrBadLogin, problem{401, "unauthorized", "Name or password is incorrect."}},
	{errAnonymous, problem{401, "unauthorized", "Authentication required."}},
	{errOrigin, problem{403, "forbidden", "A session is for pages of this server alone."}},
	{errNoDatabase, problem{404, "not_found", "Database does not exist."}},
	{errDeleted, problem{404, "not_found", "deleted"}},
	{errMissing, problem{404, "not_found", "missing"}},
	{errNoLaptop, problem{404, "not_found", "The store has joined no centre."}},
	{replicate.ErrFile, problem{400, "bad_request", "The body is not a file of changes."}},
	{table.ErrNotFound, problem{404, "not_found", "missing"}},
	{errExists, problem{412, "file_exists", "The database could not be created, the file already exists."}},
	{table.ErrConflict, problem{409, "conflict", ""}},
	{transit.ErrStub, problem{412, "missing_stub", ""}},
	{docs.ErrNoBlob, problem{412, "missing_stub", ""}},
	{transit.ErrLength, problem{400, "bad_request", ""}},
	{errDigest, problem{400, "content_md5_mismatch", "An attachment is not what its digest says."}},
	{errLocalParts, problem{400, "bad_request", "_local documents do not accept attachments."}},
	{errRevisions, problem{400, "bad_request", "Document rev from request body, query string and If-Match have different values"}},
	{errTogether, problem{417, "not_implemented", "all_or_nothing is not supported"}},
	{errDeleteDoc, problem{400, "bad_request", "You tried to DELETE a database with a ?rev= parameter. Did you mean to DELETE a document instead?"}},
	{transit.ErrNoRevision, problem{400, "doc_validation", "If new_edits is false, a well-formed _rev must be included in the document."}},
	{docs.ErrDocumentID, problem{400, "illegal_docid", ""}},
	{docs.ErrDatabaseName, problem{400, "illegal_database_name", "Only lowercase characters (a-z), digits (0-9), and any of the characters _, $, (, ), +, -, and / are allowed. Must begin with a letter."}},
	{table.ErrSequence, problem{400, "bad_request", "Malformed sequence supplied in 'since' parameter."}},
	{keys.ErrSession, problem{400, "bad_request", "The session is none that a laptop would tell."}},
	{input.ErrShape, problem{400, "bad_request", "The body is JSON, but not of the shape that is wanted here."}},
	{input.ErrJSON, problem{400, "bad_request", "invalid UTF-8 JSON"}},
	{line.ErrUnmarked, problem{400, "bad_request", "Too many lines without a mark."}},
	{errPath, problem{400, "bad_request", "The path could not be read."}},
	{errQuery, problem{400, "query_parse_error", "A parameter could not be read."}},
	{value.ErrEscape, problem{400, "query_parse_error", "A parameter could not be read."}},
	{mango.ErrSelector, problem{400, "query_parse_error", "A parameter could not be read."}},
	{mango.ErrNoSelector, problem{400, "bad_request", "Selector error: expected a JSON object"}},
	{errView, problem{400, "bad_request", "`view` filter parameter is not provided."}},
	{transit.ErrRevision, problem{400, "bad_request", "Invalid rev format"}},
	{merge.ErrRevision, problem{400, "bad_request", ""}},
	{input.ErrBroken, problem{400, "bad_request", "The request's body could not be read."}},
	{input.ErrItems, problem{413, "too_large", "A list of the request has more than 100,000 items."}},
	{input.ErrRatio, problem{413, "too_large", "The request's body is compressed more than a hundredfold."}},
	{input.ErrTooLarge, problem{413, "too_large", ""}},
	{entry.ErrTooLarge, problem{413, "document_too_large", ""}},
	{errMedia, problem{415, "bad_content_type", "Content-Type must be application/json"}},
	{errPacked, problem{415, "bad_content_encoding", "Content-Encoding must be gzip, or left out"}},
	{errOrder, problem{400, "bad_request", "source and target must be given, each a database's name or an address. An address may have headers, but none of the connection's own."}},
	{dial.ErrURL, problem{400, "bad_request", "An address cannot be a database's."}},
	{dial.ErrNotDialed, problem{403, "forbidden", "The address is not a public one: a server replicates with no other."}},
	{errPlain, problem{403, "forbidden", "The address is not https: a server replicates over nothing else."}},
	{dial.ErrRedirect, problem{502, "replication_failed", "The peer redirects to another address."}},
	{dial.ErrCut, problem{502, "replication_failed", "The peer could not be reached, or broke off."}},
	{errClosing, problem{503, "service_unavailable", "The server is shutting down."}},
	{errUploads, problem{503, "service_unavailable", "Other large requests are being taken. Try again."}},
	{errMethod, problem{405, "method_not_allowed", "The path does not know the method."}},
	{engine.ErrReadOnly, problem{403, "forbidden", "The store is open for reading alone."}},
	{engine.ErrStopped, problem{503, "service_unavailable", "The store has stopped taking writes."}},
	{docs.ErrQuota, problem{507, "insufficient_storage", "The database has reached its quota, which the operator of the server sets (--free-quota). Deleted documents give their room back after _compact."}},
	{disk.ErrFull, problem{507, "insufficient_storage", "The server's disk is nearly full."}},
	{engine.ErrBusy, problem{503, "service_unavailable", "The store is busy. Try again."}},
}

// problemOf finds the answer to an error.
func problemOf(err error) problem {
	var forbidden *auth.Forbidden
	var slow interface{ RetryAfter() time.Duration }
	var peer *dial.Refusal
	var wrong *line.Error
	var more *office.HoldsMore
	var member transit.BadMember
	var option unsupported
	var untaken laptop.NotTaken
	var fault *input.Fault
	switch {
	case errors.As(err, &fault):
		return problem{400, "bad_request", "The " + strings.TrimPrefix(fault.Error(), "the ") + "."}
	case errors.As(err, &option):
		return problem{400, "bad_request", option.Error()}
	case errors.As(err, &member):
		return problem{400, "doc_validation", "Bad special document member: " + member.Shown()}
	case errors.As(err, &more):
		return problem{422, "holds_more", more.Error()}
	case errors.As(err, &wrong):
		return problem{400, "bad_request", wrong.Error()}
	case errors.As(err, &peer) && peer.Status == http.StatusNotFound:
		return problem{404, "db_not_found", "A database of the order does not exist at its server."}
	case errors.As(err, &peer):
		return problem{502, "replication_failed", peer.Error()}
	case errors.As(err, &untaken):
		return problem{403, "forbidden", untaken.Error()}
	case errors.As(err, &forbidden):
		return problem{403, "forbidden", forbidden.Error()}
	case errors.As(err, &slow):
		return problem{429, "too_many_requests", "Too many requests. Try again later."}
	}
	for _, a := range answers {
		if errors.Is(err, a.err) {
			a.problem.Reason = cmp.Or(a.problem.Reason, replicate.Reason(a.err))
			return a.problem
		}
	}
	if errors.Is(err, merge.ErrDocument) {
		return problem{400, "bad_request", replicate.Reason(err)}
	}
	return problem{500, "internal_server_error", "Something went wrong on our side."}
}

// refusalOf returns the answer to one document of many. For a replicated document it is always "forbidden": clients skip the document then, and
// stop at any other word.
func refusalOf(err error, replicated bool) problem {
	p := problemOf(err)
	if replicated {
		p.Error = "forbidden"
	}
	return p
}

// fail answers with an error. The cause of an internal one is logged here and nowhere else.
func (c *call) fail(err error) {
	if errors.Is(err, context.Canceled) && c.request.Context().Err() != nil {
		return // the client has left
	}
	p := problemOf(err)
	if p.status == http.StatusInternalServerError && !errors.Is(err, errClientGone) { // a client that leaves is no error of this server
		c.server.config.Logger.Error("request failed", "method", c.route.method, "route", "/sync"+c.route.path, "error", err)
	}
	if c.began {
		panic(http.ErrAbortHandler) // a client must notice that the answer is cut
	}
	h := c.Header()
	for _, name := range []string{"Content-Encoding", "Etag", "Content-Length", "Content-Disposition", "Location"} {
		h.Del(name)
	}
	var slow interface{ RetryAfter() time.Duration }
	switch {
	case errors.As(err, &slow):
		h.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(slow.RetryAfter().Seconds())))))
	case p.status == http.StatusUnauthorized && c.request.Header.Get("Sec-Fetch-Mode") == "":
		h.Set("WWW-Authenticate", `Basic realm="api"`) // in a page the browser's own window must not open
	case p.status == http.StatusServiceUnavailable, p.status == http.StatusInsufficientStorage:
		h.Set("Retry-After", "5")
	case p.status == http.StatusRequestEntityTooLarge:
		h.Set("Connection", "close")
	}
	if c.known && isLargeBody(c.request) {
		refuseBody(c, p)
		return
	}
	_ = c.reply(p.status, p) // two texts can be marshalled
}
