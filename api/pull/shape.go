package pull

import (
	"errors"
	"maps"
	"slices"
	"time"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// reference is a record that is nested in another one.
type reference struct {
	kind *record.Kind
	id   int64
	body item // the members that are shown; nil: the source gives only the id
}

// shaped is a record on its way to the store: its fields under the kind's names, and its references.
type shaped struct {
	kind   *record.Kind
	id     int64
	fields []value.Member
	refs   []reference
}

// shape turns a record of /v1 into fields as an import gives them: nested records become ids.
func shape(k *record.Kind, one item) *shaped {
	s := &shaped{kind: k, id: one.id()}
	for i := range k.Fields {
		f := &k.Fields[i]
		v, given := one[f.Name]
		if !given || !f.Shown(record.V1) {
			continue
		}
		switch t := f.Type.(type) {
		case record.Nested:
			s.set(t.ID, s.refer(t.Kind, t.Keys, v))
		case record.NestedList:
			s.set(t.IDs, s.referAll(t, v))
		default:
			if f.Settable(record.Admin) {
				s.set(f.Name, v)
			}
		}
	}
	return s
}

func (s *shaped) set(name string, v jsontext.Value) {
	s.fields = append(s.fields, value.Member{Name: name, Value: v})
}

// refer notes a nested record and returns its id; null if there is none.
func (s *shaped) refer(kind string, keys []string, v jsontext.Value) jsontext.Value {
	r := reference{id: idOf(v)}
	r.kind, _ = record.ByName(kind)
	if v.Kind() == '{' {
		one := members(v)
		r.id = one.id()
		if name := one["name"]; name.Kind() == '"' && value.Unquote(name) != "" {
			maps.DeleteFunc(one, func(key string, _ jsontext.Value) bool { return !slices.Contains(keys, key) })
			r.body = one
		}
	}
	if r.id == 0 {
		return jsontext.Value("null")
	}
	s.refs = append(s.refs, r)
	return value.Number(r.id)
}

func (s *shaped) referAll(t record.NestedList, v jsontext.Value) jsontext.Value {
	var ids []jsontext.Value
	for _, one := range elements(v) {
		if id := s.refer(t.Kind, t.Keys, one); id.Kind() != 'n' {
			ids = append(ids, id)
		}
	}
	return array(ids)
}

// array returns an array of some values.
func array(all []jsontext.Value) jsontext.Value {
	list, _ := json.Marshal(all) // each was read as JSON
	return list
}

func object(fields []value.Member) []byte {
	out := []byte{'{'}
	for _, f := range fields {
		out = value.AppendMember(out, f.Name, f.Value)
	}
	return append(out, '}')
}

// row returns the record as the store takes it. A source may say what this /v1 refuses: row makes null of a blank text, and of a photo that is
// no https address.
func (s *shaped) row(zone *time.Location) (row entry.Row, photo bool, err error) {
	patch, err := s.parse(zone)
	if err != nil {
		return row, false, err
	}
	mended := false
	for i := range s.fields {
		one := &s.fields[i]
		f, ok := s.kind.Field(one.Name)
		if _, faulty := patch.Faults[one.Name]; !ok || !faulty || !f.TakesNull(record.Admin) {
			continue
		}
		_, isPhoto := f.Type.(record.Photo)
		isBlank := string(one.Value) == `""`
		if isPhoto || isBlank {
			one.Value, mended = jsontext.Value("null"), true
			photo = photo || isPhoto && !isBlank
		}
	}
	if mended {
		if patch, err = s.parse(zone); err != nil {
			return row, false, err
		}
	}
	if len(patch.Faults) > 0 {
		return row, photo, patch.Faults
	}
	return entry.Row{Kind: s.kind, ID: record.Int(s.id), Patch: patch}, photo, nil
}

func (s *shaped) parse(zone *time.Location) (*record.Patch, error) {
	return s.kind.Parse(object(s.fields), record.ParseOptions{Surface: record.Admin, Zone: zone})
}

// members returns the members of an object, elements those of an array. Both return nothing for another value.
func members(v jsontext.Value) (one item) {
	_ = json.Unmarshal(v, &one) // it was read before
	return one
}

func elements(v jsontext.Value) (all []jsontext.Value) {
	_ = json.Unmarshal(v, &all) // as above, or no array
	return all
}

// drop takes a reference away from the record.
func (s *shaped) drop(r reference) {
	for i := range s.fields {
		f, _ := s.kind.Field(s.fields[i].Name)
		if f == nil {
			continue
		}
		switch t := f.Type.(type) {
		case record.Ref:
			if t.Kind == r.kind.Name && idOf(s.fields[i].Value) == r.id {
				s.fields[i].Value = jsontext.Value("null")
			}
		case record.Refs:
			if t.Kind == r.kind.Name {
				s.fields[i].Value = without(s.fields[i].Value, r.id)
			}
		}
	}
}

func without(list jsontext.Value, id int64) jsontext.Value {
	return array(slices.DeleteFunc(elements(list), func(one jsontext.Value) bool { return idOf(one) == id }))
}

// shows tells whether a record has all members of its kind that a mirror keeps.
func (i item) shows(k *record.Kind) bool {
	return !slices.ContainsFunc(k.Fields, func(f record.Field) bool {
		_, given := i[f.Name]
		return !given && isMapped(&f)
	})
}

// isMapped tells whether a mirror keeps a field of /v1.
func isMapped(f *record.Field) bool {
	if !f.Shown(record.V1) {
		return false
	}
	switch f.Type.(type) {
	case record.Nested, record.NestedList:
		return true
	}
	return f.Settable(record.Admin)
}

// references are the records that others name.
type references struct {
	store   *desk.Desk
	who     auth.Principal
	there   map[Record]bool // whether the store has one; absent = not known yet
	unnamed map[string]int  // those that were left out, by kind
}

// fresh returns the records to write before some others, which refer to them. It removes a reference if the source does not say what it means
// and the store does not have it.
func (rs *references) fresh(all []*shaped) (fresh []*shaped, err error) {
	for _, s := range all {
		for _, r := range s.refs {
			one, err := rs.named(s, r)
			if err != nil {
				return nil, err
			}
			if one != nil {
				fresh = append(fresh, one)
			}
		}
	}
	return fresh, nil
}

// named returns the record to write for a reference; nil if there is nothing to write.
func (rs *references) named(s *shaped, r reference) (*shaped, error) {
	at := Record{r.kind.Name, r.id}
	if rs.there[at] {
		return nil, nil
	}
	if r.body != nil {
		rs.there[at] = true
		return referenced(r), nil
	}
	there, err := rs.holds(r)
	if err != nil {
		return nil, err
	}
	if rs.there[at] = there; !there {
		rs.unnamed[r.kind.Name]++
		s.drop(r)
	}
	return nil, nil
}

// holds tells whether the store has the record of a reference.
func (rs *references) holds(r reference) (bool, error) {
	err := rs.store.Sees(rs.who, r.kind, record.Int(r.id))
	if err == nil || errors.Is(err, table.ErrNotFound) {
		return err == nil, nil
	}
	return false, storeError{err}
}

func referenced(r reference) *shaped {
	s := &shaped{kind: r.kind, id: r.id}
	for i := range r.kind.Fields {
		if v, ok := r.body[r.kind.Fields[i].Name]; ok {
			s.set(r.kind.Fields[i].Name, v)
		}
	}
	return s
}
