package kv_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oklog/ulid/v2"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/docs"
	"doorward/kv/kvtest"
	"doorward/kv/kvtest/proof"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
)

// strange are values of which each is of some type, and none of all.
var strange = []string{`5`, `-1.5`, `9007199254740993`, `true`, `"strange"`, `"2026-05-01 12:00"`, `{"a":1}`, `[5]`, `["x"]`, `[[]]`,
	`null`, `{}`, `[{}]`, `[null]`}

// laptopWrites is what a laptop of church 1 with its money writes: the database, and a body that is taken.
var laptopWrites = map[*record.Kind][2]string{
	record.Person:         {"church-1", `"church_id":1`},
	record.Group:          {"church-1", `"church_id":1,"name":"Youth"`},
	record.Membership:     {"church-1", `"person":1,"group_id":1`},
	record.FinancialEntry: {"church-1-finance", `"church_id":1,"transaction_type":"income","financial_account_id":1,"supplier_id":1`},
	record.Event:          {"church-1", `"church_id":1,"start_datetime":"2026-11-22T19:00:00Z"`},
	record.Ticket:         {"event-1", `"event_id":1`},
	record.TicketCode:     {"event-1-holders", `"event_id":1,"code":"CODE"`},
	record.HolderName:     {"event-1-names", `"event_id":1,"ticket_id":1`},
	record.Holder:         {"event-1-holders", `"event_id":1,"ticket_id":1`},
	record.Checkin:        {"event-1", `"event_id":1,"node":"` + laptopNode + `","hlc":"0000000000000001","at":"2026-05-01T12:00:00Z"`},
	record.Scan: {"event-1", `"event_id":1,"node":"` + laptopNode + `","hlc":"0000000000000001","at":"2026-05-01T12:00:00Z",` +
		`"outcome":"blocked"`},
	record.Undo: {"event-1", `"event_id":1,"node":"` + laptopNode + `","hlc":"0000000000000001","at":"2026-05-01T12:00:00Z",` +
		`"checkin_id":"01HZX3Q0000000000000000000"`},
}

// strangeLaptop pushes what it means no good with.
type strangeLaptop struct {
	testing.TB
	store          *kv.Store
	key            auth.Principal
	drawn, refused int
}

// TestALaptopBringsNoValueOfAnotherType: whatever the field, such a document is refused alone, with the field's name, and kept for
// staff; what is shown stays of the documented types.
func TestALaptopBringsNoValueOfAnotherType(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	s := twoChurches(t)
	for k, body := range map[*record.Kind]string{ // what the documents refer to
		record.Person: `{"full_name":"Ana","church_id":1}`, record.Group: `{"name":"Choir","church_id":1}`,
		record.FinancialAccount: `{"name":"Bank"}`, record.Supplier: `{"name":"Mill"}`, record.Ticket: `{"event_id":1,"code":"K1"}`,
	} {
		kvtest.Create(t, s, k, body)
	}
	l := &strangeLaptop{TB: t, store: s, key: enrolled(t, s, "church:1", auth.Venue{Node: laptopNode, Names: true, Finance: true})}
	for _, k := range record.Kinds() {
		if laptopWrites[k][0] == "" {
			if err := push(t, opens(t, s, l.key, "church-1"), l.doc(k, "name", `5`)); kindOf(err) != "forbidden" {
				t.Errorf("a %s = %v: it is missing in the table of what laptops write", k.Name, err)
			}
			l.refused++
			continue
		}
		l.bringAll(k)
	}
	if n := pageOf(t, s, record.Refusal).Count; n != l.refused {
		t.Errorf("%d refusals are kept, want %d", n, l.refused)
	}
	for k := range laptopWrites {
		wantTypes(t, s, k)
	}
	healthy(t, s)
}

// bringAll pushes all that is strange to any field of a kind, and after each a document that is not.
func (l *strangeLaptop) bringAll(k *record.Kind) {
	l.Helper()
	var writes []merge.DocWrite
	var misfits []string // the field's name; "" where the value may fit
	for name, property := range typesOf(l, k, record.Admin).Properties {
		f, ok := k.Field(name)
		if !ok || !f.Stored() {
			continue
		}
		for _, v := range strange {
			misfit, value := "", any(nil)
			if err := json.Unmarshal([]byte(v), &value); err != nil {
				l.Fatal(err)
			}
			stands := value == nil && !f.Flags.Has(record.Required) // null is as if the field were absent
			if !stands && keyless(property.Value).VisitJSON(value, openapi3.EnableJSONSchema2020()) != nil {
				misfit = name
			}
			writes, misfits = append(writes, l.doc(k, name, v)), append(misfits, misfit)
		}
		writes, misfits = append(writes, l.doc(k, "unknown", `5`)), append(misfits, "unknown")
	}
	for part := range slices.Chunk(writes, table.MaxRows) {
		results, err := opens(l, l.store, l.key, laptopWrites[k][0]).Write(part)
		if err != nil {
			l.Fatalf("%s: %v", k.Name, err)
		}
		for i, r := range results {
			l.judge(k, part[i].Body, r.Err, misfits[i])
		}
		misfits = misfits[len(part):]
	}
}

// judge wants a refusal that names the field which does not fit, if one does not.
func (l *strangeLaptop) judge(k *record.Kind, body []byte, err error, misfit string) {
	l.Helper()
	var no *auth.Forbidden
	if errors.As(err, &no) {
		l.refused++
	}
	switch {
	case misfit == "unknown" && err != nil:
		l.Errorf("a %s beside strange ones: %v", k.Name, err)
	case misfit != "unknown" && misfit != "" && (no == nil || !strings.Contains(no.Reason, "value of "+misfit+" ")):
		l.Errorf("%s %s: %v, want *Forbidden that names %s", k.Name, body, err, misfit)
	}
}

// doc is a new document with one more member, or another value of one.
func (l *strangeLaptop) doc(k *record.Kind, name, value string) merge.DocWrite {
	id := k.DocID(record.FromULID(ulid.Make()))
	if l.drawn++; !k.ULID {
		id = drawnDoc(k, int64(l.drawn))
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte("{"+laptopWrites[k][1]+"}"), &members); err != nil {
		l.Fatal(err)
	}
	members[name] = json.RawMessage(value)
	body, err := json.Marshal(members)
	if err != nil {
		l.Fatal(err)
	}
	return merge.DocWrite{ID: id, Path: chain("a"), Body: body, Author: merge.Author{Node: ulid.MustParse(laptopNode)}}
}

// keyless is a property whose objects may lack keys: they are as if these were null.
func keyless(p *openapi3.Schema) *openapi3.Schema {
	is := *p
	is.Required = nil
	if is.Items != nil {
		is.Items = openapi3.NewSchemaRef("", keyless(is.Items.Value))
	}
	return &is
}

// typesOf is what a surface documents of a kind, but how long and which of a choice's texts a value may be.
func typesOf(t testing.TB, k *record.Kind, s record.Surface) *openapi3.Schema {
	t.Helper()
	text, err := json.Marshal(k.Schema(s, record.Reply))
	if err != nil {
		t.Fatal(err)
	}
	schema := &openapi3.Schema{}
	if err := json.Unmarshal(text, schema); err != nil {
		t.Fatal(err)
	}
	for _, p := range schema.Properties {
		p.Value.Enum, p.Value.MaxLength, p.Value.MinLength = nil, nil, 0
	}
	return schema
}

// wantTypes wants all records of a kind to be shown as it is documented.
func wantTypes(t testing.TB, s *kv.Store, k *record.Kind) {
	t.Helper()
	for _, surface := range []record.Surface{record.V1, record.Admin} {
		form := k
		if k == record.Ticket && surface == record.Admin {
			form = record.TicketForm
		}
		schema := typesOf(t, form, surface)
		page, err := s.Desk.List(auth.Operator(), desk.Query{Surface: surface, Kind: k, Limit: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		var all []map[string]json.RawMessage
		if err := json.Unmarshal(page.Results, &all); err != nil || len(all) == 0 {
			t.Fatalf("%s: %d records, %v", k.Name, len(all), err)
		}
		seen := map[string]bool{"unknown:5": surface == record.Admin} // of every member and value; to look takes long
		for _, shown := range all {
			for name, text := range shown {
				if is := name + ":" + string(text); !seen[is] {
					seen[is] = true
					wantType(t, schema.Properties[name], is, text)
				}
			}
		}
	}
}

func wantType(t testing.TB, property *openapi3.SchemaRef, is string, text []byte) {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	if property == nil {
		t.Errorf("%s is shown", is)
	} else if err := property.Value.VisitJSON(value, openapi3.EnableJSONSchema2020()); err != nil {
		t.Errorf("%s is shown: %v", is, err)
	}
}

// TestAStrangeValueThatIsThereHindersNoChange: an older version let it in. A laptop that has it along changes something else.
func TestAStrangeValueThatIsThereHindersNoChange(t *testing.T) {
	s := twoChurches(t)
	id := drawnDoc(record.Person, 1)
	old := merge.DocWrite{ID: id, Path: chain("a"), Body: []byte(`{"birthday":5,"church_id":1,"full_name":"Ana"}`)}
	if err := push(t, opens(t, s, auth.Operator(), "church-1"), old); err != nil {
		t.Fatalf("the operator's = %v: a pull must not stop", err)
	}
	db := opens(t, s, enrolled(t, s, "church:1", auth.Venue{}), "church-1")
	if err := push(t, db, onTop(t, db, id, `"Ana"`, `"Ana Souza"`)); err != nil {
		t.Errorf("a change of another field = %v", err)
	}
	if err := push(t, db, onTop(t, db, id, `"birthday":5`, `"birthday":6`)); kindOf(err) != "forbidden" {
		t.Errorf("another strange value = %v, want forbidden", err)
	}
	if err := push(t, db, onTop(t, db, id, `"birthday":5`, `"birthday":"2001-05-01"`)); err != nil {
		t.Errorf("a mended value = %v", err)
	}
}

// TestNothingStrangeIsBroughtToBeRestored: what a tombstone says was lost, staff may restore as it is.
func TestNothingStrangeIsBroughtToBeRestored(t *testing.T) {
	s := twoChurches(t)
	id := kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
	db := opens(t, s, enrolled(t, s, "church:1", auth.Venue{}), "church-1")
	w := onTop(t, db, record.Person.DocID(record.Int(id)), `"Ana"`, `5`)
	lost := w.Path[0]
	w.Path = append([]rev.ID{{Generation: lost.Generation + 1, Hash: lost.Hash}}, w.Path...)
	w.Deleted, w.Body = true, []byte(`{"lost":`+string(w.Body)+`}`)
	if err := push(t, db, w); kindOf(err) != "forbidden" {
		t.Errorf("a tombstone that brings a strange edit = %v, want forbidden", err)
	}
	w.Body = []byte(`{"lost":{"church_id":1,"full_name":"Eva"}}`)
	if err := push(t, db, w); err != nil {
		t.Errorf("a tombstone that brings an edit = %v", err)
	}
}

// TestAnEditThatIsMergedIsOfTheFieldsTypes: a page may write as a request of /v1 does, a number as a text, also upon a revision that
// is no longer the last.
func TestAnEditThatIsMergedIsOfTheFieldsTypes(t *testing.T) {
	s := twoChurches(t)
	id := kvtest.Create(t, s, record.Person, `{"full_name":"Ana","church_id":1}`)
	db := opens(t, s, kvtest.Login(t, s, "church:1", "*:*"), "church-1")
	w := onTop(t, db, record.Person.DocID(record.Int(id)), `"membership_number":null`, `"membership_number":" 7"`)
	patched(t, s, record.Person, id, `{"email":"ana@example.org"}`)
	if err := push(t, db, w); err != nil {
		t.Fatal(err)
	}
	r, err := s.Desk.Retrieve(auth.Operator(), desk.Target{Kind: record.Person, ID: record.Int(id)})
	if number, email := member(r.JSON, "membership_number"), member(r.JSON, "email"); err != nil || number != "7" || email != `"ana@example.org"` {
		t.Errorf("/v1 shows the number %s and the address %s, %v, want 7 and the one that was there", number, email, err)
	}
	if doc, err := db.Read(w.ID, docs.Ask{Revisions: w.Path[:1]}); err != nil || len(doc.Revisions) != 1 || !doc.Tree.Has(w.Path[0]) {
		t.Errorf("the edit is %+v, %v", doc, err)
	}
	healthy(t, s)
}

// TestWhatADocumentLacksIsMadeUpFor: as on the day when the revision was made, whenever it arrives, and under its name. What a newer
// version has besides stays.
func TestWhatADocumentLacksIsMadeUpFor(t *testing.T) {
	t.Parallel()
	s := twoChurches(t)
	made := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	db := opens(t, s, enrolled(t, s, "church:1", auth.Venue{Node: laptopNode}), "church-1")
	id := drawnDoc(record.Event, 1)
	w := merge.DocWrite{ID: id, Path: chain("a"), Author: merge.Author{Node: ulid.MustParse(laptopNode), At: made},
		Body: []byte(`{"active":null,"church_id":1,"created_at":null,"location":{"galaxy":"ours"},"start_datetime":"2026-11-22T19:00:00Z"}`)}
	if err := push(t, db, w); err != nil {
		t.Fatal(err)
	}
	r, err := s.Desk.Retrieve(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Event, ID: record.Int(record.FirstDrawn + 1)})
	if err != nil {
		t.Fatal(err)
	}
	place := record.Body{Shown: []byte(strings.Trim(member(r.JSON, "location"), "{}"))}
	active, created, galaxy, city := member(r.JSON, "active"), member(r.JSON, "created_at"), place.Member("galaxy"), place.Member("city")
	if active != "true" || created != `"2026-05-01T12:00:00Z"` || string(galaxy) != `"ours"` || string(city) != "null" {
		t.Errorf("it is shown as %s", r.JSON)
	}
	if r.Revision != w.Path[0].String() {
		t.Errorf("its revision is %s, want the one it came under, %s", r.Revision, w.Path[0])
	}
	healthy(t, s)
}
