package api

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"doorward/kv/record"

	"github.com/go-json-experiment/json"
)

// operation is what the OpenAPI document says of a route, besides what the route itself says.
type operation struct {
	tag     string // "" = not in the document
	summary string
	query   []parameterDoc
	form    *record.Kind // the body; nil = none
	surface record.Surface
	change  bool     // the form is a PATCH: nothing of it is required
	reads   []string // request headers
	status  int      // of success
	reply   string   // the schema of the answer; "" = no body
	list    bool     // the answer is a page of replies
	headers []string // of the answer
	media   string   // of the answer, or anything: of the request; "" = JSON
}

// anything is a body of no certain type.
const anything = "*/*"

// openapi answers GET of the document.
func openapi(x *exchange) error { return x.reply(http.StatusOK, x.server.document) }

// document renders the OpenAPI 3.1 document of a table of routes.
func document(table []route, publicURL, version string) ([]byte, error) {
	paths := map[string]map[string]any{}
	for i := range table {
		r := &table[i]
		if r.doc.tag == "" {
			continue
		}
		if paths[r.path] == nil {
			paths[r.path] = map[string]any{}
		}
		paths[r.path][strings.ToLower(r.method)] = r.describe()
	}
	if publicURL == "" {
		publicURL = "/"
	}
	if version == "" {
		version = "unknown"
	}
	return json.Marshal(map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{"title": "Doorward", "version": version,
			"description": "Congregation records and ticket check-in. /v1 is the public contract, /door/v1 is for scanners, /admin/v1 for staff."},
		"servers":    []any{map[string]any{"url": publicURL}},
		"paths":      paths,
		"security":   []any{map[string]any{"basic": []string{}}},
		"components": components(table),
	}, json.Deterministic(true))
}

// describe is the route's operation object.
func (r *route) describe() map[string]any {
	op := map[string]any{"tags": []string{r.doc.tag}, "summary": r.doc.summary, "responses": r.responses()}
	if parameters := r.parameters(); len(parameters) > 0 {
		op["parameters"] = parameters
	}
	switch {
	case r.needs.open:
		op["security"] = []any{}
	case r.needs.resource != "":
		op["description"] = "Needs the permission " + r.needs.resource + ":" + r.method + "."
	}
	if r.doc.form != nil {
		_, required := r.doc.formSchema()["required"]
		op["requestBody"] = map[string]any{"required": required, "content": content("application/json", reference(r.doc.formName()))}
	}
	if r.doc.media == anything {
		op["requestBody"] = map[string]any{"content": content(anything, map[string]any{})}
	}
	return op
}

// parameters are the operation's parameters: of the path, the query string, the headers.
func (r *route) parameters() []any {
	var list []any
	add := func(in string, q parameterDoc) {
		p := map[string]any{"in": in, "name": q.name, "required": q.required, "schema": q.schema}
		if q.text != "" {
			p["description"] = q.text
		}
		list = append(list, p)
	}
	for segment := range strings.SplitSeq(r.path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			add("path", parameterDoc{name: name, schema: r.idSchema(name), required: true})
		}
	}
	for _, q := range r.doc.query {
		add("query", q)
	}
	for _, name := range r.doc.reads {
		add("header", parameterDoc{name: name, schema: map[string]any{"type": "string"}})
	}
	return list
}

// idSchema is the schema of the id in the path, by the parameter's name. The contract calls the group of memberships a string.
func (r *route) idSchema(name string) map[string]any {
	if name == groupParameter {
		return map[string]any{"type": "string"}
	}
	if strings.HasPrefix(r.path, "/admin/v1/") {
		name := strings.Split(strings.TrimPrefix(r.path, "/admin/v1/"), "/")[0]
		if k, ok := record.ByName(strings.TrimSuffix(name, "s")); ok && k.ULID {
			return map[string]any{"type": "string"}
		}
	}
	return map[string]any{"type": "integer", "minimum": 1, "maximum": int64(record.MaxID)}
}

// responses are the answers of a route: the good one, and the error envelope under every status it can have.
func (r *route) responses() map[string]any {
	good := map[string]any{"description": http.StatusText(r.doc.status)}
	switch {
	case r.doc.reply != "" && r.doc.list:
		good["content"] = content("application/json", page(reference(r.doc.reply)))
	case r.doc.reply != "":
		good["content"] = content("application/json", reference(r.doc.reply))
	case r.doc.media != "":
		good["content"] = map[string]any{r.doc.media: map[string]any{}}
	}
	if len(r.doc.headers) > 0 {
		headers := map[string]any{}
		for _, h := range r.doc.headers {
			headers[h] = map[string]any{"schema": map[string]any{"type": "string"}}
		}
		good["headers"] = headers
	}
	all := map[string]any{strconv.Itoa(r.doc.status): good}
	for _, status := range r.errors() {
		all[strconv.Itoa(status)] = map[string]any{"$ref": "#/components/responses/error"}
	}
	if r.method == http.MethodGet && slices.Contains(r.doc.headers, "ETag") {
		all["304"] = map[string]any{"description": "Not Modified"}
	}
	return all
}

// errors are the statuses of the errors that a route can answer.
func (r *route) errors() []int {
	list := []int{429, 431, 500, 503}
	if r.path == "/readyz" {
		list = append(list, 507)
	}
	if !hostless("", r.path) {
		list = append(list, 421)
	}
	if r.path == "/metrics" || !r.needs.open {
		list = append(list, 401, 403)
	}
	if strings.Contains(r.path, "{") {
		list = append(list, 404)
	}
	switch {
	case r.method != http.MethodGet:
		list = append(list, 400, 409, 412, 413, 415, 422, 507)
	case r.doc.list, len(r.doc.query) > 0:
		list = append(list, 400)
	}
	return list
}

// formName is the name of the body's schema.
func (o *operation) formName() string {
	switch {
	case o.surface == record.Admin && o.change:
		return "admin_" + o.form.Name + "_change"
	case o.surface == record.Admin:
		return "admin_" + o.form.Name + "_create"
	case o.change:
		return o.form.Name + "_change"
	}
	return o.form.Name + "_create"
}

// formSchema is the body's schema.
func (o *operation) formSchema() map[string]any {
	if o.change {
		return o.form.Schema(o.surface, record.Change)
	}
	return o.form.Schema(o.surface, record.Create)
}

// describe is what the document says of a method on a collection, on its list or on one of its records.
func (c *collection) describe(method string, onList bool) operation {
	name, tag := c.kind.Name, c.kind.Name
	reply := name
	if c.surface == record.Admin {
		reply, tag = "admin_"+name, "admin: "+name
	}
	o := operation{tag: tag, surface: c.surface, status: 200, reply: reply, headers: []string{"ETag"}}
	switch {
	case method == http.MethodGet && onList:
		o.summary, o.list, o.headers, o.query = "List "+name+" records", true, nil, c.parameters()
		if c.kind == record.Person {
			o.headers = []string{"X-Search"}
		}
	case method == http.MethodGet:
		o.summary, o.reads = "Retrieve a "+name, []string{"If-None-Match"}
	case method == http.MethodPost:
		o.summary, o.form, o.status, o.reads = "Create a "+name, c.form, 201, []string{"Idempotency-Key"}
		o.headers = append(o.headers, "Idempotency-Replayed")
		if c.path != "" {
			o.headers = append(o.headers, "Location")
		}
	case method == http.MethodPatch:
		o.summary, o.form, o.change, o.reads = "Change a "+name, c.form, true, []string{"If-Match"}
	default:
		o.summary, o.status, o.reply, o.headers, o.reads = "Delete a "+name, 204, "", nil, []string{"If-Match"}
	}
	return o
}

// components are the schemas that the operations of a table refer to.
func components(table []route) map[string]any {
	schemas := maps.Clone(ownSchemas())
	for i := range table {
		o := &table[i].doc
		if o.form != nil {
			schemas[o.formName()] = o.formSchema()
		}
	}
	for _, c := range slices.Concat([]*collection{entries, events, people, groups, memberships}, adminCollections()) {
		schemas[c.describe(http.MethodGet, false).reply] = c.form.Schema(c.surface, record.Reply)
	}
	return map[string]any{
		"schemas":         schemas,
		"securitySchemes": map[string]any{"basic": map[string]any{"type": "http", "scheme": "basic"}},
		"responses": map[string]any{"error": map[string]any{
			"description": "What went wrong.", "content": content("application/json", reference("error"))}},
	}
}

func content(media string, schema map[string]any) map[string]any {
	return map[string]any{media: map[string]any{"schema": schema}}
}

func reference(name string) map[string]any {
	return map[string]any{"$ref": "#/components/schemas/" + name}
}
