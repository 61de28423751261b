package record_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"doorward/kv/record"
	"doorward/kv/value"
)

// drawn is a settled record of a drawn kind and body.
func drawn(t *rapid.T) (*record.Doc, string) {
	k := anyKind().Draw(t, "kind")
	text := anyBody(k).Draw(t, "body")
	return fromBody(t, k, text), text
}

func fromBody(t *rapid.T, k *record.Kind, text string) *record.Doc {
	p, err := k.Parse([]byte(text), record.ParseOptions{Surface: record.Admin, Create: true})
	if err != nil || len(p.Faults) > 0 {
		t.Fatalf("Parse(%s) of %s: %v, faults %v", text, k.Name, err, p.Faults)
	}
	d := k.NewDoc()
	d.Apply(p)
	d.Settle(nil, record.Moment{Now: noon})
	return d
}

// view shows a record whose references are all there.
func view(b record.Body) *record.View {
	return &record.View{ID: record.Int(12), Body: b, UpdatedAt: noon, UpdatedBy: 3, Now: noon,
		Ref: func(k *record.Kind, _ record.ID) (record.Body, bool) {
			d := k.NewDoc()
			d.Set("name", value.Quote("A \"name\""))
			return d.Encode(), true
		},
		Count: func() int { return 5 }}
}

func TestReplySentBackChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, _ := drawn(t)
		before := d.Encode()
		reply := d.Kind.Show(nil, record.Admin, view(before))
		p, err := d.Kind.Parse(reply, record.ParseOptions{Surface: record.Admin})
		if err != nil || len(p.Faults) > 0 {
			t.Fatalf("Parse(%s): %v, faults %v", reply, err, p.Faults)
		}
		if changed := d.Apply(p); len(changed) > 0 {
			t.Errorf("Apply(%s) changed %v", reply, changed)
		}
		d.Settle(d.Clone(), record.Moment{Now: noon.Add(time.Hour)})
		if diff := cmp.Diff(before, d.Encode()); diff != "" {
			t.Errorf("the body changed: %s", diff)
		}
	})
}

func TestEmptyPatchChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, _ := drawn(t)
		before := d.Clone()
		p, err := d.Kind.Parse([]byte("{}"), record.ParseOptions{})
		if err != nil || !p.Empty() {
			t.Fatalf("Parse({}) = %v, %v", p, err)
		}
		changed := d.Apply(p)
		d.Settle(before, record.Moment{Now: noon.AddDate(1, 0, 0)})
		if len(changed) > 0 || !bytes.Equal(before.Canonical(), d.Canonical()) {
			t.Errorf("an empty patch changed %v: %s", changed, cmp.Diff(before.Encode(), d.Encode()))
		}
	})
}

func TestBodyDecodesToItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, _ := drawn(t)
		b := d.Encode()
		again, err := d.Kind.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b, again.Encode()); diff != "" {
			t.Errorf("Encode(Decode(b)) differs: %s", diff)
		}
		for _, f := range d.Kind.Fields {
			stored := b.Member(f.Name)
			if stored == nil && f.Default == "" {
				stored = []byte("null") // left out of the hidden run
			}
			if f.Stored() && !bytes.Equal(stored, d.Value(f.Name)) {
				t.Errorf("Member(%s) = %s, the document holds %s", f.Name, b.Member(f.Name), d.Value(f.Name))
			}
		}
	})
}

func TestUnknownFieldsSurviveAChange(t *testing.T) {
	const unknown = `"z_new":{"b":1,"a":"}\""},"a_new":[1.50],"née":"\"full_name\":","a\"b":7`
	rapid.Check(t, func(t *rapid.T) {
		d, _ := drawn(t)
		b := d.Encode()
		b.Hidden = bytes.TrimPrefix(append(append(b.Hidden, ','), unknown...), []byte(","))
		d, err := d.Kind.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := d.Kind.Parse([]byte(anyBody(d.Kind).Draw(t, "change")), record.ParseOptions{Surface: record.Admin})
		d.Apply(p)
		after := d.Encode()
		if !bytes.HasSuffix(after.Hidden, []byte(unknown)) {
			t.Errorf("Hidden ends with %s, want %s", after.Hidden, unknown)
		}
		if got := after.Member(`a"b`); string(got) != "7" || string(d.Value(`a"b`)) != "7" {
			t.Errorf(`Member(a"b) = %s, want 7`, got)
		}
		if got := after.Member("née"); string(got) != `"\"full_name\":"` {
			t.Errorf("Member(née) = %s", got)
		}
	})
}

func TestCanonicalDoesNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, _ := drawn(t)
		var members []string
		for _, f := range d.Kind.Fields {
			if f.Stored() {
				members = append(members, `"`+f.Name+`":`+string(d.Value(f.Name)))
			}
		}
		extra := []string{`"née":{"é":1,"z":{"b":1,"a":2}}`, `"_note":"dropped"`}
		shuffled := rapid.Permutation(append(extra, members...)).Draw(t, "order")
		decode := func(members []string) *record.Doc {
			d, err := d.Kind.Decode(record.Body{Shown: []byte(strings.Join(members, ","))})
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		want := decode(append(members, `"née":{"z":{"a":2,"b":1},"é":1}`)).Canonical()
		if got := decode(shuffled).Canonical(); !bytes.Equal(got, want) {
			t.Errorf("Canonical = %s, want %s", got, want)
		}
	})
}

func TestReplyFitsItsSchema(t *testing.T) {
	schemas := loadSchemas(t)
	rapid.Check(t, func(t *rapid.T) {
		d, text := drawn(t)
		for _, s := range []record.Surface{record.V1, record.Admin} {
			reply := d.Kind.Show(nil, s, view(d.Encode()))
			var value map[string]any
			if err := json.Unmarshal(reply, &value); err != nil {
				t.Fatalf("reply %s: %v", reply, err)
			}
			if err := schemas[schemaKey{d.Kind, s, record.Reply}].VisitJSON(value, openapi3.EnableJSONSchema2020()); err != nil {
				t.Errorf("reply %s of %s: %v", reply, d.Kind.Name, err)
			}
			if err := schemas[schemaKey{d.Kind, s, record.Change}].VisitJSON(value, openapi3.EnableJSONSchema2020()); s == record.Admin && err != nil {
				t.Errorf("reply %s of %s, sent back: %v", reply, d.Kind.Name, err)
			}
			required := d.Kind.Schema(s, record.Reply)["required"].([]string)
			if len(required) != len(value) {
				t.Errorf("a reply of %s has %d members, its schema requires %d", d.Kind.Name, len(value), len(required))
			}
		}
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if err := schemas[schemaKey{d.Kind, record.Admin, record.Create}].VisitJSON(value, openapi3.EnableJSONSchema2020()); err != nil {
			t.Errorf("request %s of %s: %v", text, d.Kind.Name, err)
		}
	})
}

type schemaKey struct {
	kind      *record.Kind
	surface   record.Surface
	direction record.Direction
}

// loadSchemas reads every schema as a document's readers will.
func loadSchemas(t *testing.T) map[schemaKey]*openapi3.Schema {
	out := map[schemaKey]*openapi3.Schema{}
	for _, k := range append([]*record.Kind{record.TicketForm}, record.Kinds()...) {
		for _, s := range []record.Surface{record.V1, record.Admin} {
			for _, d := range []record.Direction{record.Reply, record.Create, record.Change} {
				text, err := json.Marshal(k.Schema(s, d))
				if err != nil {
					t.Fatal(err)
				}
				schema := &openapi3.Schema{}
				if err := json.Unmarshal(text, schema); err != nil {
					t.Fatalf("%s: %v\n%s", k.Name, err, text)
				}
				out[schemaKey{k, s, d}] = schema
			}
		}
	}
	return out
}
