package api

import (
	"errors"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/api/throttle"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/door"
	"doorward/kv/engine"
	"doorward/kv/fault"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

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
	{&value.SyntaxError{Line: 1, Column: 14, Reason: "unexpected EOF"}, "The body is not a JSON object, or not a file that can be imported.", nil},
	{table.ErrBadLogin, "The key is unknown, revoked or expired, or the secret is wrong.", []string{"WWW-Authenticate"}},
	{&auth.Forbidden{RequiredScope: "people:POST", CurrentScopes: []string{"people:GET"}},
		"The key lacks a permission or a level. The details name it.", nil},
	{table.ErrNotFound, "There is no record with this id, or the key does not see it.", nil},
	{&wrongMethod{}, "The path does not know the method.", []string{"Allow"}},
	{&table.Conflict{Reason: "other records refer to this one", Counts: map[string]int{record.Membership.Name: 2}},
		"The request conflicts with other records. If they prevent a deletion, the details count them by kind.", nil},
	{desk.ErrStale, "The record has changed since the revision in If-Match.", nil},
	{errTooLarge, "The body is larger than 1 MiB; a picture, than 8 MiB; a file to import, than 1 GiB.", nil},
	{errMediaType, "The body has the wrong Content-Type.", nil},
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
		p.details = requestDetails{"5f2c9a7e41d8b306"}
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
		var refused *notAdmitted
		if errors.As(d.err, &refused) {
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
		"details": map[string]any{"type": "object", "description": "What else there is to say: the fields at fault and what is wrong with them, " +
			"the outcome of a check-in, the permission that is missing."},
	}, "code", "message")
}
