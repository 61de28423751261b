package api_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

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

// Generators drop what has an empty schema, and lists of types with "array" in them that do not say of what.
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

// checkSchema finds a schema that says nothing, and an array that does not say of what.
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
	}
}
