package api_test

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"doorward/api"

	"github.com/getkin/kin-openapi/openapi3"
)

func TestOpenAPIDocumentIsValid(t *testing.T) {
	s := newSite(t)
	doc := s.document()
	if doc.OpenAPI != "3.1.0" || !doc.IsOpenAPI31OrLater() {
		t.Errorf("openapi = %s", doc.OpenAPI)
	}
	if err := doc.Validate(t.Context(), openapi3.IsOpenAPI31OrLater()); err != nil {
		t.Error(err)
	}
}

// Everything that the public text lists must be in the document under its path.
func TestOpenAPIDocumentHasThePublicText(t *testing.T) {
	doc := newSite(t).document()
	for _, line := range []string{
		"GET /v1/financial_entries/", "POST /v1/financial_entries/", "GET /v1/financial_entries/{id}/", "PATCH /v1/financial_entries/{id}/",
		"DELETE /v1/financial_entries/{id}/", "GET /v1/event/", "GET /v1/event/{id}/", "POST /v1/event/{id}/checkin/", "GET /v1/people/",
		"POST /v1/people/", "GET /v1/people/{id}/", "PATCH /v1/people/{id}/", "GET /v1/group/", "GET /v1/group/{id}/",
		"GET /v1/group/{parent_lookup_small_group_id}/memberships/", "POST /v1/group/{parent_lookup_small_group_id}/memberships/",
	} {
		method, path, _ := strings.Cut(line, " ")
		if item := doc.Paths.Find(path); item == nil || item.GetOperation(method) == nil {
			t.Errorf("%s is not in the document", line)
		}
	}
	for path, names := range map[string]string{
		"/v1/event/":  "church_id regional_id created_at_after created_at_before updated_at_after updated_at_before start_after start_before end_after end_before limit offset",
		"/v1/people/": "church_id created_at_after created_at_before updated_at_after updated_at_before is_leader is_pastor search limit offset",
	} {
		for _, name := range strings.Fields(names) {
			if doc.Paths.Find(path).Get.Parameters.GetByInAndName("query", name) == nil {
				t.Errorf("GET %s has no parameter %s in the document", path, name)
			}
		}
	}
}

// Every operation of the document answers, and nothing else does.
func TestOpenAPIDocumentIsTheRouter(t *testing.T) {
	s := newSite(t)
	for path, item := range s.document().Paths.Map() {
		real := strings.NewReplacer("{id}", "999", "{parent_lookup_small_group_id}", "999").Replace(path)
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			known := item.GetOperation(method) != nil
			a := s.do(method, real, "", invalid)
			if known == (a.status == http.StatusMethodNotAllowed) {
				t.Errorf("%s %s = %d, in the document: %v", method, path, a.status, known)
			}
		}
	}
}

// What the document says of an operation is what its route does.
func TestOpenAPIDocumentSaysWhatRoutesDo(t *testing.T) {
	paths := newSite(t).document().Paths
	const members = "/v1/group/{parent_lookup_small_group_id}/memberships/"
	if h := paths.Find(members).Post.Responses.Value("201").Value.Headers; h["Location"] != nil || h["ETag"] == nil {
		t.Errorf("a membership's headers = %v, want ETag and no Location", h)
	}
	if h := paths.Find("/v1/people/").Post.Responses.Value("201").Value.Headers; h["Location"] == nil {
		t.Error("a person's headers lack Location")
	}
	if h := paths.Find("/v1/people/{id}/").Get.Responses.Value("304").Value.Headers; h["ETag"] == nil {
		t.Error("the headers of 304 lack ETag")
	}
	for _, action := range []string{"scan", "undo"} {
		if h := paths.Find("/door/v1/event/{id}/" + action + "/").Post.Responses.Value("200").Value.Headers; h["Idempotency-Replayed"] == nil {
			t.Errorf("the headers of %s lack Idempotency-Replayed", action)
		}
	}
	for _, op := range []*openapi3.Operation{paths.Find(members).Get, paths.Find(members).Post} {
		if p := op.Parameters.GetByInAndName("path", "parent_lookup_small_group_id"); !p.Required || !p.Schema.Value.Type.Is("string") {
			t.Errorf("the group's id is %v, want a string", p.Schema.Value.Type)
		}
	}
	for path, names := range map[string]string{"/v1/people/": "search fuzzy", "/admin/v1/person/": "search fuzzy ranked", "/door/v1/event/{id}/search/": "q"} {
		op := paths.Find(path).Get
		for _, name := range strings.Fields(names) {
			if p := op.Parameters.GetByInAndName("query", name); p == nil || p.Required != (name == "q") {
				t.Errorf("GET %s: the parameter %s is %v", path, name, p)
			}
		}
		if op.Responses.Value("503") == nil || op.Responses.Value("400") == nil || op.Responses.Value("200").Value.Headers["X-Search"] == nil && names != "q" {
			t.Errorf("GET %s: responses are %v", path, op.Responses.Map())
		}
	}
	if paths.Find("/v1/people/").Get.Parameters.GetByInAndName("query", "ranked") != nil || paths.Find("/v1/event/").Get.Responses.Value("200").Value.Headers != nil {
		t.Error("the document promises searches that there are not")
	}
	for name, required := range map[string]bool{"kind": true, "event": false, "map": false, "dry_run": false} {
		if p := paths.Find("/admin/v1/import/").Post.Parameters.GetByInAndName("query", name); p.Required != required {
			t.Errorf("import's parameter %s is required: %v", name, p.Required)
		}
	}
	for path, judged := range map[string]bool{"/healthz": false, "/readyz": false, "/metrics": true, "/openapi.json": true, "/v1/people/": true} {
		if listed := paths.Find(path).Get.Responses.Value("421") != nil; listed != judged {
			t.Errorf("GET %s lists 421: %v", path, listed)
		}
	}
	for _, c := range []struct {
		op       *openapi3.Operation
		required bool
	}{
		{paths.Find("/v1/financial_entries/").Post, true}, {paths.Find("/v1/financial_entries/{id}/").Patch, false}, {paths.Find("/v1/people/").Post, false},
		{paths.Find(members).Post, true}, {paths.Find("/v1/event/{id}/checkin/").Post, true}, {paths.Find("/admin/v1/keys/").Post, true},
		{paths.Find("/admin/v1/ticket/").Post, true}, {paths.Find("/admin/v1/ticket/{id}/").Patch, false},
	} {
		if got := c.op.RequestBody.Value.Required; got != c.required {
			t.Errorf("%s: the body is required: %v, want %v", c.op.Summary, got, c.required)
		}
	}
}

func TestDocsPageIsEmbedded(t *testing.T) {
	s := newSite(t)
	resp, err := http.Get(s.url + "/docs/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(string(page), `"`) {
		if strings.HasSuffix(part, ".js") || strings.HasSuffix(part, ".css") || strings.HasSuffix(part, ".png") {
			if !strings.HasPrefix(part, "/docs/") {
				t.Errorf("the page loads %s", part)
			}
			s.status(s.do("GET", part, "", anybody), 200)
		}
	}
	for _, path := range []string{"/docs", "/docs/", "/docs/swagger-ui-bundle.js", "/docs/oauth2-redirect.html", "/docs/favicon-32x32.png"} {
		h := s.status(s.do("GET", path, "", anybody), 200).header
		policy := h.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self' 'sha256-", "style-src 'self' 'sha256-", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
			if !strings.Contains(policy, want) || strings.Contains(policy, "unsafe") {
				t.Errorf("GET %s has the policy %q, want %s", path, policy, want)
			}
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" || h.Get("Content-Type") == "" {
			t.Errorf("GET %s has the headers %v", path, h)
		}
	}
	if !strings.Contains(string(page), `"/openapi.json"`) {
		t.Error("the page does not name the document")
	}
}

func TestDocsUnknownPathsAre404InJSON(t *testing.T) {
	s := newSite(t, func(c *api.Config) { c.PublicURL = "http://localhost/doorward" })
	for _, name := range []string{"nope.js", "index.html", "x/index.html", "swagger-ui.css/", "swagger-ui.css.gz", "x/", "."} {
		a := s.status(s.do("GET", "/doorward/docs/"+name, "", anybody), 404)
		if a.body != `{"error":{"code":"NOT_FOUND","message":"Not found."}}` || a.header.Get("Content-Type") != "application/json" {
			t.Errorf("GET /docs/%s = %s %s", name, a.header.Get("Content-Type"), a.body)
		}
	}
	for _, name := range []string{"", "swagger-ui.css", "swagger-ui-bundle.js", "favicon-32x32.png"} {
		s.status(s.do("GET", "/doorward/docs/"+name, "", anybody), 200)
	}
}

func TestMetrics(t *testing.T) {
	w := newWorld(t)
	w.ticket(w.event, "A1", "")
	w.checkIn(w.event, "A1")
	w.do("GET", personPath(w.person), "")
	w.do("GET", "/v1/people/123456789012345/", "")
	w.do("BREW", "/nowhere/"+w.auth[1], "")
	page := w.do("GET", "/metrics", "").body
	for _, line := range []string{
		`http_requests_total{method="GET",route="/v1/people/{id}/",status="200"} 1`, `http_requests_total{method="GET",route="/v1/people/{id}/",status="404"} 1`,
		`http_requests_total{method="POST",route="/v1/event/{id}/checkin/",status="204"} 1`, `http_requests_total{method="other",route="unmatched",status="404"} 1`,
		`http_request_duration_seconds_count{method="GET",route="/v1/people/{id}/"} 2`, `http_requests_in_flight 1`, `version="test"`, "go_goroutines", "process_",
	} {
		if !strings.Contains(page, line) {
			t.Errorf("/metrics lacks %s", line)
		}
	}
	if strings.Contains(page, w.auth[1]) || strings.Contains(page, "123456789012345") {
		t.Error("/metrics holds what a client sent")
	}
	bare := serve(t, w.server.Metrics())
	resp, err := http.Get(bare + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode != 200 {
		t.Errorf("the bare listener = %d", resp.StatusCode)
	}
}

// operations calls a function with each operation of the document, by "GET /path".
func (s *site) operations(each func(name string, op *openapi3.Operation)) {
	s.Helper()
	n := 0
	for path, item := range s.document().Paths.Map() {
		for method, op := range item.Operations() {
			each(method+" "+path, op)
			n++
		}
	}
	if n < 100 {
		s.Errorf("the document has %d operations", n)
	}
}

// bodies are the bodies of an operation's request and answers, by where they stand.
func bodies(op *openapi3.Operation) map[string]*openapi3.MediaType {
	all := map[string]*openapi3.MediaType{}
	if op.RequestBody != nil {
		for media, body := range op.RequestBody.Value.Content {
			all["the request, "+media] = body
		}
	}
	for status, response := range op.Responses.Map() {
		for media, body := range response.Value.Content {
			all[status+", "+media] = body
		}
	}
	return all
}

// examplesOf are the examples of a body.
func examplesOf(body *openapi3.MediaType) (all []any) {
	if body.Example != nil {
		all = append(all, body.Example)
	}
	for _, e := range body.Examples {
		all = append(all, e.Value.Value)
	}
	return all
}

var identifierForm = regexp.MustCompile(`^[a-z]+(_[a-z0-9]+)*$`)

func TestOpenAPIOperationsAreNamedAndDescribed(t *testing.T) {
	s := newSite(t)
	tags, ids := map[string]bool{}, map[string]string{}
	for _, tag := range s.document().Tags {
		if tags[tag.Name] || tag.Description == "" {
			t.Errorf("the tag %q is there twice, or has no description", tag.Name)
		}
		tags[tag.Name] = true
	}
	s.operations(func(name string, op *openapi3.Operation) {
		if len(op.Tags) != 1 || !tags[op.Tags[0]] {
			t.Errorf("%s has the tags %q: one of the document's is wanted", name, op.Tags)
		}
		if len(op.Summary) < 10 || len(op.Summary) > 70 || regexp.MustCompile(`_|records$`).MatchString(op.Summary) {
			t.Errorf("%s has the summary %q", name, op.Summary)
		}
		if ids[op.OperationID] != "" || !identifierForm.MatchString(op.OperationID) {
			t.Errorf("%s has the operation id %q, as %q", name, op.OperationID, ids[op.OperationID])
		}
		ids[op.OperationID] = name
		for _, p := range op.Parameters {
			if p.Value.In != "query" && p.Value.Description == "" {
				t.Errorf("%s has no word on %s", name, p.Value.Name)
			}
		}
	})
	if scheme := s.document().Components.SecuritySchemes["basic"].Value; scheme.Scheme != "basic" || scheme.Description == "" {
		t.Errorf("the security scheme is %+v", scheme)
	}
}

// Every body has an example, and every example is what the body's schema says.
func TestOpenAPIExamplesFitTheirSchemas(t *testing.T) {
	s := newSite(t)
	s.operations(func(name string, op *openapi3.Operation) {
		if len(bodies(op)) == 0 {
			t.Errorf("%s has no example", name)
		}
		for where, body := range bodies(op) {
			examples := examplesOf(body)
			if len(examples) == 0 {
				t.Errorf("%s, %s: no example", name, where)
			}
			for _, example := range examples {
				if err := body.Schema.Value.VisitJSON(example, openapi3.EnableJSONSchema2020()); err != nil {
					t.Errorf("%s, %s: the example breaks the schema: %v", name, where, err)
				}
			}
		}
	})
}

// Examples of requests name no member that the server does not know: it would ignore a misspelt one without a word.
func TestOpenAPIRequestExamplesNameKnownMembers(t *testing.T) {
	newSite(t).operations(func(name string, op *openapi3.Operation) {
		if op.RequestBody == nil || op.RequestBody.Value.Content.Get("application/json") == nil {
			return
		}
		body := op.RequestBody.Value.Content.Get("application/json")
		example, _ := body.Example.(map[string]any)
		if len(example) == 0 {
			t.Errorf("%s: the example %v is no object with members; samples (schema.go) has one for each kind", name, body.Example)
		}
		for member := range example {
			if body.Schema.Value.Properties[member] == nil {
				t.Errorf("%s: no request has the member %s of the example", name, member)
			}
		}
	})
}

// Generators drop what has an empty schema, and lists of types with "array" in them that do not say of what. Some take an object without
// properties for one that is always empty, and an integer without a format for one of 32 bits.
func TestOpenAPISchemasSayTheirTypes(t *testing.T) {
	text, err := json.Marshal(newSite(t).document())
	if err != nil {
		t.Fatal(err)
	}
	var document any
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	n := 0
	var walk func(where string, v any, schema bool)
	walk = func(where string, v any, schema bool) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(where+"/*", e, schema)
			}
		case map[string]any:
			if schema {
				n++
				checkSchema(t, where, v)
			}
			for name, e := range v {
				switch name {
				case "example", "examples":
				case "properties":
					for property, p := range e.(map[string]any) {
						walk(where+"/"+property, p, true)
					}
				case "schemas":
					for component, c := range e.(map[string]any) {
						walk(where+"/"+component, c, true)
					}
				case "schema", "items", "anyOf", "oneOf", "additionalProperties":
					walk(where+"/"+name, e, true)
				default:
					walk(where+"/"+name, e, false)
				}
			}
		}
	}
	walk("", document, false)
	if n < 1000 {
		t.Errorf("only %d schemas were looked at", n)
	}
}

// checkSchema finds a schema that says nothing, an array or an object that does not say of what, and an integer that may not fit 32 bits
// and does not say so.
func checkSchema(t *testing.T, where string, schema map[string]any) {
	t.Helper()
	if len(schema) == 0 {
		t.Errorf("%s is empty", where)
	}
	kinds, ok := schema["type"].([]any)
	if !ok {
		kinds = []any{schema["type"]}
	}
	for _, kind := range kinds {
		if items, _ := schema["items"].(map[string]any); kind == "array" && len(items) == 0 {
			t.Errorf("%s is an array of nothing that is known", where)
		}
		if kind == "object" && schema["properties"] == nil && schema["additionalProperties"] == nil {
			t.Errorf("%s is an object of nothing that is known", where)
		}
		high, _ := schema["maximum"].(float64)
		if wide := high > math.MaxInt32 || strings.HasSuffix(where, "_id"); kind == "integer" && wide && schema["format"] != "int64" {
			t.Errorf("%s is an integer of 64 bits, and does not say so", where)
		}
	}
}
