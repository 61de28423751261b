package api

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"doorward/api/barcode"
	"doorward/api/load"
	"doorward/api/load/columns"
	"doorward/api/phone"
	"doorward/api/pull"
	"doorward/api/throttle"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/disk"
	"doorward/kv/door"
	"doorward/kv/engine"
	"doorward/kv/entry"
	"doorward/kv/erase"
	"doorward/kv/fault"
	"doorward/kv/laptop"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The refusals of this package.
var (
	errHeaders    = errors.New("the request's headers are too large")
	errHost       = errors.New("the request is for another host")
	errForeign    = errors.New("a page of another site has made the request")
	errNoRoute    = errors.New("no such path")
	errMediaType  = errors.New("the request's body is not JSON")
	errImportType = errors.New("the request's body is no file of records")
	errPhotoType  = errors.New("the request's body is no picture")
	errTooLarge   = errors.New("the request's body is too large")
	errUnreadable = errors.New("the request's body could not be read")
	errGone       = errors.New("the client went away")
	errEnding     = errors.New("the server ends")

	errSessionExpired = errors.New("the key of a session that begins has expired") // its secret is right
)

// textImportOnce is the fault of an import with an Idempotency-Key.
const textImportOnce = "An import takes no such key: the same file again finds the records that it made."

// wrongMethod is the error of a method that a path does not know.
type wrongMethod struct{ allow string }

func (m *wrongMethod) Error() string { return "the path does not know the method" }

// notAdmitted is the error of a decision that /v1 answers with a refusal.
type notAdmitted struct{ door.Decision }

func (n *notAdmitted) Error() string { return "not admitted: " + string(n.Outcome) }

// problem is an error's answer. Details that are nil are left out.
type problem struct {
	status  int
	code    string
	message string
	details any
}

// answers are the errors that always have the same answer.
var answers = []struct {
	err error
	problem
}{
	{table.ErrNotFound, problem{404, "NOT_FOUND", "Not found.", nil}},
	{errNoRoute, problem{404, "NOT_FOUND", "Not found.", nil}},
	{door.ErrNoCheckin, problem{404, "NOT_FOUND", "Not found.", nil}},
	{table.ErrBadLogin, problem{401, "UNAUTHORIZED", "Invalid API credentials", nil}},
	{errSessionExpired, problem{401, "UNAUTHORIZED", "Invalid API credentials", map[string]any{"expired": true}}},
	{laptop.ErrMirrorAtCentre, problem{409, "CONFLICT", "This folder has joined a centre: pull at the centre.", nil}},
	{phone.ErrTicket, problem{401, "UNAUTHORIZED", "This QR code was used before, or is too old. Ask for another one.", nil}},
	{errNotServing, problem{409, "CONFLICT", "Phones open a page of the server: start it first, with serve.", nil}},
	{errCrossOrigin, problem{403, "FORBIDDEN", "The request comes from another server's page.", nil}},
	{desk.ErrStale, problem{412, "PRECONDITION_FAILED", "The record has changed since the revision in If-Match.", nil}},
	{table.ErrKeyReused, problem{422, "UNPROCESSABLE_ENTITY", "This Idempotency-Key was used for another request.", nil}},
	{engine.ErrCorrupt, problem{500, "INTERNAL_ERROR", "The store is damaged where this was looked for: it decides nothing by that. Whoever runs the server must restore a backup.", nil}},
	{engine.ErrStopped, problem{503, "SERVICE_UNAVAILABLE", "The store has stopped taking writes.", nil}},
	{engine.ErrBusy, problem{503, "SERVICE_UNAVAILABLE", "The store is busy. Try again.", nil}},
	{desk.ErrIndexing, problem{503, "SERVICE_UNAVAILABLE", "The search index is being built. Try again.", nil}},
	{errEnding, problem{503, "SERVICE_UNAVAILABLE", "The server ends.", nil}},
	{errHeaders, problem{431, "HEADERS_TOO_LARGE", "The request's headers are larger than 16 KiB.", nil}},
	{errHost, problem{421, "MISDIRECTED_REQUEST", "This server does not answer to the request's Host; see the setting allowed_hosts (--allowed-host).", nil}},
	{errForeign, problem{403, "FORBIDDEN", "The request comes from a page of another site, whose origin is not in the setting cors_origins (--cors-origin).", nil}},
	{errMediaType, problem{415, "UNSUPPORTED_MEDIA_TYPE", "The request's body must be application/json, and not compressed.", nil}},
	{errImportType, problem{415, "UNSUPPORTED_MEDIA_TYPE", "The request's body must be the file itself: text/csv, application/x-ndjson, application/json, the type of .xlsx workbooks, or application/octet-stream.", nil}},
	{errPhotoType, problem{415, "UNSUPPORTED_MEDIA_TYPE", "The request's body must be the picture itself, and not compressed.", nil}},
	{barcode.ErrTooLarge, problem{413, "PAYLOAD_TOO_LARGE", "The picture has too many points.", nil}},
	{barcode.ErrNoPicture, problem{400, "INVALID_REQUEST", "The request's body is no whole JPEG or PNG picture.", nil}},
	{errTooLarge, problem{413, "PAYLOAD_TOO_LARGE", "The request's body is too large.", nil}},
	{entry.ErrTooLarge, problem{413, "PAYLOAD_TOO_LARGE", "The record would be larger than 1 MiB.", nil}},
	{errUnreadable, problem{400, "INVALID_REQUEST", "The request's body could not be read.", nil}},
	{value.ErrEscape, problem{400, "INVALID_REQUEST", sentence(value.ErrEscape.Error()), nil}},
}

// unknown is the answer to every other error.
var unknown = problem{500, "INTERNAL_ERROR", "Something went wrong on our side.", nil}

// explain finds an error's answer.
func explain(err error) problem {
	var (
		faults    fault.ByField
		syntax    *value.SyntaxError
		forbidden *auth.Forbidden
		conflict  *table.Conflict
		refused   *notAdmitted
		questions columns.Questions
	)
	switch {
	case errors.As(err, &faults):
		return problem{400, "VALIDATION_ERROR", "The given data was invalid.", faults.Cut()}
	case errors.As(err, &syntax):
		return problem{400, "INVALID_REQUEST", syntax.Error(), nil}
	case errors.As(err, &forbidden):
		return problem{403, "FORBIDDEN", forbiddenText(forbidden), permissionDetails(forbidden)}
	case errors.Is(err, disk.ErrFull):
		return problem{507, "INSUFFICIENT_STORAGE", fullText(err), nil}
	case errors.As(err, &conflict):
		return problem{409, "CONFLICT", sentence(conflict.Reason), countDetails(conflict.Counts)}
	case errors.Is(err, errNotIndexed):
		return problem{503, "SERVICE_UNAVAILABLE", sentence(err.Error()), nil}
	case errors.As(err, &questions):
		return problem{400, "INVALID_REQUEST", sentence(err.Error()), map[string]any{"questions": questions}}
	case errors.Is(err, pull.ErrSource):
		return problem{409, "CONFLICT", sentence(err.Error()), nil}
	case errors.Is(err, load.ErrUsage), errors.Is(err, load.ErrSource), errors.Is(err, pull.ErrUsage):
		return problem{400, "INVALID_REQUEST", sentence(err.Error()), nil}
	case errors.As(err, new(*http.MaxBytesError)):
		return explain(errTooLarge)
	case errors.As(err, &refused):
		return refused.explain()
	case errors.As(err, new(*wrongMethod)):
		return problem{405, "METHOD_NOT_ALLOWED", "The method is not allowed here.", nil}
	case errors.As(err, new(*throttle.Error)):
		return problem{429, "RATE_LIMITED", "Too many requests. Try again later.", nil}
	}
	for _, a := range answers {
		if errors.Is(err, a.err) {
			return a.problem
		}
	}
	return unknown
}

// forbiddenText is the reason where there is one besides a level or a permission that is wanting.
func forbiddenText(f *auth.Forbidden) string {
	if f.Reason == "" {
		return "The key is not permitted to do this."
	}
	return sentence(f.Reason)
}

// fullText returns the sentence of a full disk. It keeps ErrErasureNoted of the errors around it, and no other.
func fullText(err error) string {
	full, ok := errors.AsType[*disk.Full](err)
	if !ok {
		return sentence(err.Error())
	}
	text := full.Error()
	if errors.Is(err, erase.ErrErasureNoted) {
		text += "; " + erase.ErrErasureNoted.Error()
	}
	return sentence(text)
}

// permissionDetails names the permission or the level that the key lacks; it returns nil if only the message says it.
func permissionDetails(f *auth.Forbidden) any {
	if f.RequiredScope != "" {
		return struct {
			Required string   `json:"required_scope"`
			Current  []string `json:"current_scopes"`
		}{f.RequiredScope, f.CurrentScopes}
	}
	if f.RequiredLevel == "" {
		return nil
	}
	return struct {
		Required string `json:"required_level"`
		Current  string `json:"current_level"`
	}{f.RequiredLevel, f.CurrentLevel}
}

// countDetails keeps an empty map out of the answer.
func countDetails(counts map[string]int) any {
	if len(counts) == 0 {
		return nil
	}
	return counts
}

// explain is the answer to a refused check-in.
func (n *notAdmitted) explain() problem {
	text := messages[n.Outcome]
	switch n.Outcome {
	case outcome.AlreadyAdmitted:
		return problem{409, "CONFLICT", text, duplicate(n.Decision)}
	case outcome.UnknownCode, outcome.WrongEvent:
		return problem{404, "NOT_FOUND", "Not found.", map[string]any{"outcome": n.Outcome}}
	}
	return problem{422, "UNPROCESSABLE_ENTITY", text, map[string]any{"outcome": n.Outcome}}
}

// fail answers with an error.
func (x *exchange) fail(err error) {
	if errors.Is(err, errGone) || errors.Is(err, context.Canceled) && x.request.Context().Err() != nil {
		return // the client has left
	}
	p := x.explain(err)
	if x.status != 0 {
		return // too late to say anything
	}
	errorHeaders(x, err, p.status)
	body, err := envelope(p)
	if err != nil {
		x.log(err)
	}
	_ = x.reply(p.status, body) // a client that left needs no answer
}

// explain finds the answer to an error. It logs the cause of an internal error, here and nowhere else: a client learns nothing of this
// machine. An operator gets the cause in the answer instead, because operators mend the folder, the disk or the file.
func (x *exchange) explain(err error) problem {
	p := explain(err)
	switch {
	case p.status != http.StatusInternalServerError:
	case x.owner:
		p.message = sentence(strings.ReplaceAll(x.store().Tables.Blamed(err).Error(), "\n", "; ")) // joined errors stand on lines of their own
	default:
		x.log(err)
		p.details = requestDetails(x.id)
	}
	return p
}

// requestDetails names the request under which the log has the cause of an internal error.
func requestDetails(id string) any { return map[string]any{"request_id": id} }

// errorHeaders writes the headers that go with an error.
func errorHeaders(x *exchange, err error, status int) {
	h := x.Header()
	var wrong *wrongMethod
	var wait *throttle.Error
	switch {
	case errors.As(err, &wrong):
		h.Set("Allow", wrong.allow)
	case errors.As(err, &wait):
		wait.Show(h)
		h.Set("Retry-After", seconds(wait.RetryAfter()))
	case status == http.StatusUnauthorized && x.request.Header.Get("X-Requested-With") == "":
		h.Set("WWW-Authenticate", `Basic realm="api"`) // a browser would ask the user of a page for a password
	case status == http.StatusServiceUnavailable, status == http.StatusInsufficientStorage:
		h.Set("Retry-After", "5")
	case status == http.StatusRequestEntityTooLarge, status == http.StatusRequestHeaderFieldsTooLarge:
		h.Set("Connection", "close")
	}
}

// log notes the cause of an internal error.
func (x *exchange) log(err error) {
	path := "unmatched"
	if x.route != nil {
		path = x.route.path
	}
	x.server.config.Logger.Error("request failed", "request_id", x.id, "method", methodLabel(x.request.Method), "route", path, "error", err)
}

// errorView is a problem as clients see it.
type errorView struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Details any    `json:"details,omitzero"`
}

func (p problem) view() errorView { return errorView{p.code, p.message, p.details} }

// envelope is a problem as JSON.
func envelope(p problem) ([]byte, error) {
	return json.Marshal(map[string]any{"error": p.view()}, json.Deterministic(true))
}

// sentence makes a message of a reason: it begins with a capital letter and ends with a full stop.
func sentence(reason string) string {
	if reason == "" {
		return "The request conflicts with another record."
	}
	if c := reason[0]; 'a' <= c && c <= 'z' {
		reason = string(c-'a'+'A') + reason[1:]
	}
	if last := reason[len(reason)-1]; last != '.' && last != '!' && last != '?' {
		reason += "."
	}
	return reason
}

// errorDoc is an error in the OpenAPI document. explain gives its status, code and example.
type errorDoc struct {
	err     error
	when    string
	headers []string
}

// errAny stands for every error that explain does not know.
var errAny = errors.New("any other error")

// errorDocs has every code of errors once, in the order of their statuses.
var errorDocs = []errorDoc{
	{fault.ByField{"email": {fault.Email}}, "A field or a parameter is wrong. The details list what is wrong with each.", nil},
	{&value.SyntaxError{Line: 1, Column: 14, Reason: "unexpected EOF"}, "The body is not a JSON object, or not a file that can be imported; or the address cannot be read.", nil},
	{table.ErrBadLogin, "The key is unknown, revoked or expired, or the secret is wrong.", []string{"WWW-Authenticate"}},
	{&auth.Forbidden{RequiredScope: "people:POST", CurrentScopes: []string{"people:GET"}},
		"The key lacks a permission or a level, which the details name; or a page of another site has made the request.", nil},
	{table.ErrNotFound, "There is no record with this id, or the key does not see it.", nil},
	{&wrongMethod{}, "The path does not know the method.", []string{"Allow"}},
	{&table.Conflict{Reason: "other records refer to this one", Counts: map[string]int{record.Membership.Name: 2}},
		"The request conflicts with other records. If they prevent a deletion, the details count them by kind.", nil},
	{desk.ErrStale, "The record has changed since the revision in If-Match.", nil},
	{errTooLarge, "The body is larger than 1 MiB; a picture, than 8 MiB; a file to import, than 1 GiB.", nil},
	{errMediaType, "The body has the wrong Content-Type, or is compressed.", nil},
	{errHost, "The server does not answer to this Host.", nil},
	{table.ErrKeyReused, "A rule refuses the request, or its Idempotency-Key was used for another one.", nil},
	{&throttle.Error{}, "Too many logins failed, or the key has made too many requests.", append(waitHeaders, rateHeaders...)},
	{errHeaders, "The headers are larger than 16 KiB.", nil},
	{errAny, "The server failed. Its log has the cause under the request_id in the details.", nil},
	{engine.ErrBusy, "The store is busy or takes no writes, or the search index is being built. Try again later.", waitHeaders},
	{shortage, "The disk is nearly full. Try again later.", waitHeaders},
}

// The headers of answers that ask to come again.
var (
	waitHeaders = []string{"Retry-After"}
	rateHeaders = []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}
)

// problem is the error's answer to a request that has an id.
func (d errorDoc) problem() problem {
	p := explain(d.err)
	if p.status == http.StatusInternalServerError {
		p.details = requestDetails("5f2c9a7e41d8b306")
	}
	return p
}

// checkinRefusals are the errors of a refused check-in: what the statuses mean there, and an example of each outcome.
func checkinRefusals() []errorDoc {
	docs := []errorDoc{
		{table.ErrNotFound, "There is no event with this id; or details.outcome says that the code is unknown, or that it belongs to another event.", nil},
		{alreadyAdmitted, "The ticket was admitted before. The details say when and at which door.", nil},
		{table.ErrKeyReused, "details.outcome says what is wrong with the ticket or the event; without it, the Idempotency-Key was used for another code.", nil},
	}
	for refused := range messages {
		switch refused {
		case outcome.Admitted, outcome.Undone, outcome.AlreadyAdmitted, outcome.Left, outcome.NotInside:
		default:
			docs = append(docs, errorDoc{err: &notAdmitted{door.Decision{Outcome: refused}}})
		}
	}
	return docs
}

var alreadyAdmitted = &notAdmitted{door.Decision{
	Outcome: outcome.AlreadyAdmitted, CheckinID: exampleULID, AdmittedAt: exampleTime, Door: "North door", SecondsAgo: 95}}

// errorComponents are the document's error responses by name, one for each status.
func errorComponents() map[string]any {
	all := map[string]any{}
	for _, d := range errorDocs {
		status := d.problem().status
		all[statusName(status)] = errorResponse(status, errorDocs)
	}
	return all
}

// statusName is the name of a status in the document: "not_found".
func statusName(status int) string { return identifier(http.StatusText(status)) }

// errorResponse is the response object of a status: what its errors mean, and an example of each, by its code or outcome.
func errorResponse(status int, docs []errorDoc) map[string]any {
	var texts, headers []string
	examples := map[string]any{}
	for _, d := range docs {
		p := d.problem()
		if p.status != status {
			continue
		}
		name := strings.ToLower(p.code)
		if refused, ok := errors.AsType[*notAdmitted](d.err); ok {
			name = string(refused.Outcome)
		}
		if d.when != "" {
			texts = append(texts, p.code+": "+d.when)
		}
		headers = append(headers, d.headers...)
		examples[name] = map[string]any{"value": p.example()}
	}
	answer := map[string]any{
		"description": strings.Join(texts, " "),
		"content":     map[string]any{jsonMedia: map[string]any{"schema": reference("error"), "examples": examples}},
	}
	if len(headers) > 0 {
		answer["headers"] = headerObjects(headers)
	}
	return answer
}

// example is a problem's envelope.
func (p problem) example() jsontext.Value {
	body, err := envelope(p)
	if err != nil {
		panic(err) // the details above are JSON
	}
	return body
}

// errorSchema is the schema of the error envelope, and of what it holds.
func errorSchema() map[string]any {
	return object(map[string]any{"error": errorViewSchema()}, "error")
}

func errorViewSchema() map[string]any {
	var codes []string
	for _, d := range errorDocs {
		codes = append(codes, d.problem().code)
	}
	return object(map[string]any{
		"code":    map[string]any{"type": "string", "description": "What went wrong, for programs: " + strings.Join(codes, ", ") + "."},
		"message": map[string]any{"type": "string", "description": "What went wrong, for people."},
		"details": map[string]any{"type": "object", "additionalProperties": true, "description": "What else there is to say: the fields at fault and " +
			"what is wrong with them, the outcome of a check-in, the permission that is missing."},
	}, "code", "message")
}
