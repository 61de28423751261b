package api

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"doorward/api/query"
	"doorward/kv/record"

	"github.com/go-json-experiment/json"
)

// operation describes a route in the OpenAPI document, beyond the method, path and needs of its row.
type operation struct {
	id      string // what generated clients call it; unique
	tag     string // "" = not in the document
	summary string
	text    string // what the summary does not say; "" = nothing
	query   []parameterDoc
	form    *record.Kind // the body; nil = none
	surface record.Surface
	change  bool      // the form is a PATCH: nothing of it is required
	file    *fileBody // the body is a file; nil = it is none
	reads   []string  // request headers
	status  int       // of success
	reply   string    // the schema of the answer; "" = no body
	list    bool      // the answer is a page of replies
	headers []string  // of the answer
	media   string    // of the answer; "" = JSON
	page    string    // an example of an answer that is no JSON
	refuses []errorDoc
}

// jsonMedia is the media type of most bodies.
const jsonMedia = "application/json"

// openapi answers GET of the document.
func openapi(x *exchange) error {
	text, err := x.server.document()
	if err != nil {
		return err
	}
	return x.reply(http.StatusOK, text)
}

// document renders the OpenAPI 3.1 document of a table of routes.
func document(table []route, publicURL, version string) ([]byte, error) {
	paths := map[string]map[string]any{}
	examples := replyExamples()
	for i := range table {
		r := &table[i]
		if r.doc.tag == "" {
			continue
		}
		if paths[r.path] == nil {
			paths[r.path] = map[string]any{}
		}
		paths[r.path][strings.ToLower(r.method)] = r.describe(examples)
	}
	if publicURL == "" {
		publicURL = "/"
	}
	if version == "" {
		version = "unknown"
	}
	return json.Marshal(map[string]any{
		"openapi":    "3.1.0",
		"info":       map[string]any{"title": "Doorward", "version": version, "description": aboutText},
		"servers":    []any{map[string]any{"url": publicURL}},
		"tags":       tagList(table),
		"paths":      paths,
		"security":   []any{map[string]any{"basic": []string{}}},
		"components": components(table),
	}, json.Deterministic(true))
}

// aboutText describes the document, and keyText how requests name their key.
const (
	aboutText = "Records of a congregation, and check-in of tickets. /v1 is the public contract, /door/v1 is for scanners, /admin/v1 for staff. " +
		"Paths end with a slash; without it they mean the same. Members that a request does not know are ignored. " +
		"Every error has the same envelope, and its code is for programs."
	keyText = "HTTP Basic: the user name is an API key, the password its secret. `doorward keys add` makes a key and prints both once. " +
		"The key's level says which records it sees: all (denomination), those of a regional, of churches, or of one event. " +
		"Its permissions say what it may do, as people:GET or checkin:*. An unknown key is answered 401, a permission that is missing 403."
)

// describe is the route's operation object. The examples are those of the replies by their names.
func (r *route) describe(examples map[string]any) map[string]any {
	op := map[string]any{"operationId": r.doc.id, "tags": []string{r.doc.tag}, "summary": r.doc.summary, "responses": r.responses(examples)}
	if parameters := r.parameters(); len(parameters) > 0 {
		op["parameters"] = parameters
	}
	if r.needs.open {
		op["security"] = []any{}
	}
	if text := strings.TrimSpace(r.doc.text + " " + r.needs.text(r.method)); text != "" {
		op["description"] = text
	}
	if body := r.doc.requestBody(); body != nil {
		op["requestBody"] = body
	}
	return op
}

// text says what a caller needs for a method.
func (n needs) text(method string) string {
	switch {
	case n.open:
		return ""
	case n.resource == "":
		return "Any key may do this."
	case n.whole:
		return "Needs the permission " + n.resource + ":" + method + " and level denomination."
	}
	return "Needs the permission " + n.resource + ":" + method + "."
}

// requestBody is the operation's body; nil for none.
func (o *operation) requestBody() map[string]any {
	switch {
	case o.form != nil:
		_, required := o.formSchema()["required"]
		return map[string]any{"required": required, "content": content(jsonMedia, reference(o.formName()), o.bodyExample())}
	case o.file != nil:
		return o.file.describe()
	}
	return nil
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
			add("path", parameterDoc{name: name, schema: r.idSchema(name), required: true, text: "The id of the record."})
		}
	}
	for _, q := range r.doc.query {
		add("query", q)
	}
	for _, name := range r.doc.reads {
		add("header", parameterDoc{name: name, schema: map[string]any{"type": "string"}, text: headerTexts[name]})
	}
	return list
}

// idSchema is the schema of the id in the path, by the parameter's name. The contract calls the group of memberships a string.
func (r *route) idSchema(name string) map[string]any {
	if name == groupParameter {
		return map[string]any{"type": "string"}
	}
	if rest, ok := strings.CutPrefix(r.path, "/admin/v1/"); ok {
		name, _, _ := strings.Cut(rest, "/")
		if k, ok := record.ByName(strings.TrimSuffix(name, "s")); ok && k.ULID {
			return map[string]any{"type": "string"}
		}
	}
	return map[string]any{"type": "integer", "format": "int64", "minimum": 1, "maximum": int64(record.MaxID)}
}

// responses are the answers of a route: the good one, and the error envelope under every status it can have.
func (r *route) responses(examples map[string]any) map[string]any {
	all := map[string]any{strconv.Itoa(r.doc.status): r.doc.success(examples)}
	for _, status := range r.errors() {
		all[strconv.Itoa(status)] = map[string]any{"$ref": "#/components/responses/" + statusName(status)}
	}
	for _, d := range r.doc.refuses {
		status := d.problem().status
		all[strconv.Itoa(status)] = errorResponse(status, r.doc.refuses)
	}
	if r.method == http.MethodGet && slices.Contains(r.doc.headers, "ETag") {
		all["304"] = map[string]any{"description": "The record is still the one that If-None-Match names.", "headers": headerObjects([]string{"ETag"})}
	}
	return all
}

// success is the good answer.
func (o *operation) success(examples map[string]any) map[string]any {
	good := map[string]any{"description": "The answer."}
	example := examples[o.reply]
	switch {
	case o.reply != "" && o.list:
		good["description"] = "A page of the list."
		good["content"] = content(jsonMedia, reference(pageName(o.reply)), map[string]any{
			"count": 1, "next": nil, "previous": nil, "results": []any{example}})
	case o.reply != "":
		good["content"] = content(jsonMedia, reference(o.reply), example)
	case o.media != "":
		good["content"] = content(o.media, map[string]any{"type": "string"}, o.page)
	default:
		good["description"] = "Done. The answer has no body."
	}
	if o.status == http.StatusCreated {
		good["description"] = "What was created."
	}
	if len(o.headers) > 0 {
		good["headers"] = headerObjects(o.headers)
	}
	return good
}

// headerTexts describe the headers of requests and answers.
var headerTexts = map[string]string{
	"Allow":                 "The methods that the path knows.",
	"ETag":                  "The revision of the record and a checksum of the answer, for If-Match and If-None-Match.",
	"Idempotency-Key":       "Any text that tells this request from others. If it is sent again, the first answer comes back and nothing is done twice.",
	"Idempotency-Replayed":  "true where the answer is that of an earlier request with this Idempotency-Key.",
	"If-Match":              "The ETag that the record must still have; 412 otherwise.",
	"If-None-Match":         "The ETag that is known; 304 if the record still has it.",
	"Location":              "The address of what was created.",
	"Retry-After":           "Seconds to wait.",
	"WWW-Authenticate":      "Names HTTP Basic.",
	"X-Checkin-At":          "When the ticket was admitted.",
	"X-Checkin-Id":          "The id of the check-in.",
	"X-Door":                "The name of the door, at most 64 characters. Without it the key's name counts.",
	"X-RateLimit-Limit":     "Requests a minute.",
	"X-RateLimit-Remaining": "Requests that are left in this minute.",
	"X-RateLimit-Reset":     "When the minute ends, in seconds since 1970.",
	"X-Search":              "fuzzy where the search found nothing without forgiving edits.",
}

// headerObjects describe an answer's headers.
func headerObjects(names []string) map[string]any {
	all := map[string]any{}
	for _, name := range names {
		all[name] = map[string]any{"description": headerTexts[name], "schema": map[string]any{"type": "string"}}
	}
	return all
}

// errors are the statuses of the errors that a route can answer.
func (r *route) errors() []int {
	list := []int{400, 429, 431, 500, 503}
	if r.path == "/readyz" {
		list = append(list, 507)
	}
	if !hostless("", r.path) {
		list = append(list, 421)
	}
	if login := r.method != http.MethodGet; r.path == metricsPath || login || !r.needs.open {
		list = append(list, 401, 403)
	}
	if strings.Contains(r.path, "{") {
		list = append(list, 404)
	}
	if r.method != http.MethodGet {
		list = append(list, 409, 412, 413, 415, 422, 507)
	}
	return list
}

// formName is the name of the body's schema.
func (o *operation) formName() string {
	name := prefixed(o.surface, o.form.Name)
	if o.change {
		return name + "_change"
	}
	return name + "_create"
}

// formSchema is the body's schema.
func (o *operation) formSchema() map[string]any {
	if o.change {
		return o.form.Schema(o.surface, record.Change)
	}
	return o.form.Schema(o.surface, record.Create)
}

// describe returns the operation of a method on a collection: on its list, or on one record.
func (c *collection) describe(method string, onList bool) operation {
	word, status := nounOf(c.kind), http.StatusOK
	o := operation{tag: word.many, surface: c.surface, reply: c.replyName(), headers: []string{"ETag"}}
	switch {
	case method == http.MethodGet && onList:
		o.id, o.summary = "list "+word.many, "List "+word.many
		o.list, o.headers, o.query = true, nil, c.parameters()
		if c.kind == record.Person {
			o.headers = []string{"X-Search"}
		}
	case method == http.MethodGet:
		o.id, o.summary = "retrieve "+word.one, "Retrieve "+word.a()
		o.reads = []string{"If-None-Match"}
	case method == http.MethodPost:
		o.id, o.summary, status = "create "+word.one, "Create "+word.a(), http.StatusCreated
		o.form, o.reads = c.form, []string{"Idempotency-Key"}
		o.headers = append(o.headers, "Idempotency-Replayed")
		if c.path != "" {
			o.headers = append(o.headers, "Location")
		}
	case method == http.MethodPatch:
		o.id, o.summary = "update "+word.one, "Change "+word.a()
		o.text = "Members that are not given stay as they are."
		o.form, o.change, o.reads = c.form, true, []string{"If-Match"}
	default:
		o.id, o.summary, status = "delete "+word.one, "Delete "+word.a(), http.StatusNoContent
		o.reply, o.headers, o.reads = "", nil, []string{"If-Match"}
	}
	o.status, o.id = status, prefixed(c.surface, identifier(o.id))
	if c.surface == record.Admin {
		o.tag = adminTag + o.tag
	}
	return o
}

// prefixed tells a name of the administration from that of /v1.
func prefixed(surface record.Surface, name string) string {
	if surface == record.Admin {
		return "admin_" + name
	}
	return name
}

// shownCollections are all collections with a schema in the document.
func shownCollections() []*collection {
	return slices.Concat([]*collection{entries, events, people, groups, memberships}, adminCollections())
}

// replyName is the name of the schema of the collection's records.
func (c *collection) replyName() string { return prefixed(c.surface, c.kind.Name) }

// replyExamples are the examples of all answers, by the names of their schemas.
func replyExamples() map[string]any {
	all := ownExamples()
	for _, c := range shownCollections() {
		if example := c.example(); example != nil {
			all[c.replyName()] = example
		}
	}
	return all
}

// components are the schemas that the operations of a table refer to.
func components(table []route) map[string]any {
	schemas := ownSchemas()
	for i := range table {
		o := &table[i].doc
		if o.form != nil {
			schemas[o.formName()] = o.formSchema()
		}
		if o.list {
			schemas[pageName(o.reply)] = page(reference(o.reply))
		}
	}
	for _, c := range shownCollections() {
		schemas[c.replyName()] = c.form.Schema(c.surface, record.Reply)
	}
	return map[string]any{
		"schemas":         schemas,
		"securitySchemes": map[string]any{"basic": map[string]any{"type": "http", "scheme": "basic", "description": keyText}},
		"responses":       errorComponents(),
	}
}

// pageName is the name of the schema of a list's pages.
func pageName(reply string) string { return reply + "_page" }

// content is a body of a media type with an example; nil for none.
func content(media string, schema map[string]any, example any) map[string]any {
	m := map[string]any{"schema": schema}
	if example != nil {
		m["example"] = example
	}
	return map[string]any{media: m}
}

func reference(name string) map[string]any {
	return map[string]any{"$ref": "#/components/schemas/" + name}
}

// parameterDoc is what the document says of one parameter.
type parameterDoc struct {
	name     string
	schema   map[string]any
	text     string
	required bool
}

// windowParameters are the query string of every list.
var windowParameters = []parameterDoc{
	{name: "limit", schema: map[string]any{"type": "integer"}, text: "Results a page: 10 if not given, at most 100."},
	{name: "offset", schema: map[string]any{"type": "integer"}, text: "Results before the page."},
}

// parametersOf are the query string of a list with filters.
func parametersOf(filters []query.Filter) []parameterDoc {
	list := windowParameters[:len(windowParameters):len(windowParameters)]
	for _, f := range filters {
		schema, text := describeFilter(f)
		list = append(list, parameterDoc{name: f.Name, schema: schema, text: text})
	}
	return list
}

// parameters are the query string of a collection's list.
func (c *collection) parameters() []parameterDoc {
	list := parametersOf(c.filters)
	if c.kind == record.Person {
		list = append(list, c.searchParameters()...)
	}
	return list
}

// describeFilter is the schema of what a filter takes, and what it means.
func describeFilter(f query.Filter) (schema map[string]any, text string) {
	const several = "Any of these values. The parameter may be repeated."
	id := map[string]any{"type": "integer", "format": "int64"}
	switch f.Sort {
	case query.ByID:
		return list(id), several
	case query.ByIDOrNull:
		none := map[string]any{"type": "string", "enum": []string{"null"}}
		return list(map[string]any{"anyOf": []any{id, none}}), several + " The word null finds the records that have none."
	case query.ByBool:
		return map[string]any{"type": "boolean"}, ""
	case query.ByText:
		return list(map[string]any{"type": "string"}), several
	case query.ByStart:
		return map[string]any{"type": "string"}, "From this date-time on. Of a date, the whole day counts."
	}
	return map[string]any{"type": "string"}, "Until this date-time. Of a date, the whole day counts."
}

// searchParameters are what the document says of searching a list of people.
func (c *collection) searchParameters() []parameterDoc {
	flag := map[string]any{"type": "boolean"}
	list := []parameterDoc{
		{name: "search", schema: map[string]any{"type": "string"},
			text: "Terms, all of which a name, e-mail, phone or membership number must match."},
		{name: "fuzzy", schema: flag,
			text: "Where the search finds nothing, forgive one edit in each term of at least four letters, in names. X-Search then says fuzzy."},
	}
	if c.surface == record.Admin {
		list = append(list, parameterDoc{name: "ranked", schema: flag,
			text: "Search as people type, the likeliest first: words of a name in any order, whole, begun, mistyped or of the same sound; " +
				"a phone or its end; a whole CPF; the beginning of an e-mail."})
	}
	return list
}
