package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// validated holds a request against the document and answers what its answer must be held against; nil for a path or a method
// that the document does not know.
func (s *site) validated(c *call, body string) *openapi3filter.RequestValidationInput {
	s.Helper()
	route, parameters := operationOf(s.document(), c.Method, c.URL.Path)
	if route == nil {
		return nil
	}
	input := &openapi3filter.RequestValidationInput{
		Request: c.Request, PathParams: parameters, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true},
	}
	if c.invalid || c.Method == http.MethodHead {
		return input
	}
	sent := c.Request
	probe := c.Request.Clone(c.Context())
	if body != "" {
		probe.Body = io.NopCloser(strings.NewReader(body))
	}
	input.Request = probe
	if err := openapi3filter.ValidateRequest(c.Context(), input); err != nil {
		s.Errorf("%s %s: the request breaks the document: %v", c.Method, c.URL.Path, err)
	}
	input.Request = sent
	return input
}

// conforms holds an answer against the document: the operation's own where there is one, otherwise the error envelope.
func (s *site) conforms(c *call, input *openapi3filter.RequestValidationInput, a answer) {
	s.Helper()
	if input == nil {
		s.isEnvelope(c, a)
		return
	}
	response := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: a.status, Header: a.header, Options: input.Options,
		Body: io.NopCloser(strings.NewReader(a.body)),
	}
	if err := openapi3filter.ValidateResponse(c.Context(), response); err != nil {
		s.Errorf("%s %s: the answer %d %s breaks the document: %v", c.Method, c.URL, a.status, a.body, err)
	}
}

// isEnvelope checks an error that belongs to no operation.
func (s *site) isEnvelope(c *call, a answer) {
	s.Helper()
	if a.status < 400 || c.Method == http.MethodHead {
		return
	}
	var body struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal([]byte(a.body), &body); err != nil || body.Error.Code == "" || body.Error.Message == "" {
		s.Errorf("%s %s: %d %q is no error envelope", c.Method, c.URL.Path, a.status, a.body)
	}
}

// documents are read once a process: every site has the same one.
var documents struct {
	once sync.Once
	doc  *openapi3.T
	err  error
}

func (s *site) document() *openapi3.T {
	s.Helper()
	documents.once.Do(func() {
		openapi3filter.RegisterBodyDecoder("text/html", openapi3filter.PlainBodyDecoder)
		w := httptest.NewRecorder() // a site may be asked at the address of another server
		s.server.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+s.server.Prefix()+"/openapi.json", nil))
		if documents.err = fmt.Errorf("%d %s", w.Code, w.Body); w.Code == http.StatusOK {
			documents.doc, documents.err = openapi3.NewLoader().LoadFromData(w.Body.Bytes())
		}
	})
	if documents.err != nil {
		s.Fatalf("read /openapi.json: %v", documents.err)
	}
	return documents.doc
}

// operationOf finds a request's operation in the document; both spellings of a path are the same.
func operationOf(doc *openapi3.T, method, path string) (*routers.Route, map[string]string) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	segments := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for pattern, item := range doc.Paths.Map() {
		parameters, ok := matches(strings.Split(strings.TrimSuffix(pattern, "/"), "/"), segments)
		if op := item.GetOperation(method); ok && op != nil {
			return &routers.Route{Spec: doc, Path: pattern, PathItem: item, Method: method, Operation: op}, parameters
		}
	}
	return nil, nil
}

func matches(pattern, segments []string) (map[string]string, bool) {
	if len(pattern) != len(segments) {
		return nil, false
	}
	parameters := map[string]string{}
	for i, p := range pattern {
		if name, ok := strings.CutPrefix(p, "{"); ok {
			parameters[strings.TrimSuffix(name, "}")] = segments[i]
		} else if p != segments[i] {
			return nil, false
		}
	}
	return parameters, true
}
