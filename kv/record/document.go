package record

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Body is a record as it lies in the store: two runs of JSON members in table order, without the braces. Shown holds the
// members exactly as /v1 prints them; Hidden holds write-only and hidden fields, references and unknown fields.
type Body struct{ Shown, Hidden []byte }

// Member finds a stored member in either run without decoding: nil where there is none.
func (b Body) Member(name string) jsontext.Value { panic("record") }

// Doc is a record opened for change.
type Doc struct {
	Kind   *Kind
	values []jsontext.Value // by index into Kind.Fields; nil where not stored
	extra  []Member         // fields that this version does not know, kept
}

// NewDoc is a record of defaults.
func (k *Kind) NewDoc() *Doc { panic("record") }

// Decode opens a stored body, written under whatever version of the table.
func (k *Kind) Decode(b Body) (*Doc, error) { panic("record") }

// Encode closes the document into its two runs.
func (d *Doc) Encode() Body { panic("record") }

// Clone is a copy that shares no state.
func (d *Doc) Clone() *Doc { panic("record") }

// Value is a stored member's text; "null" where it has none.
func (d *Doc) Value(name string) jsontext.Value { panic("record") }

// Text is a stored string decoded; "" for null.
func (d *Doc) Text(name string) string { panic("record") }

// Int is a stored integer; 0 for null.
func (d *Doc) Int(name string) int64 { panic("record") }

// Bool is a stored boolean; false for null.
func (d *Doc) Bool(name string) bool { panic("record") }

// Ints is a stored list of integers.
func (d *Doc) Ints(name string) []int64 { panic("record") }

// Set stores a value in its stored form. The name must be one of the table's.
func (d *Doc) Set(name string, v jsontext.Value) { panic("record") }

// Apply lays a patch over the document and answers the names of the members whose text changed, in table order. Frozen
// fields keep their first non-null value.
func (d *Doc) Apply(p *Patch) (changed []string) { panic("record") }

// Moment is the clock's reading that a change is made under.
type Moment struct {
	Now  time.Time
	Zone *time.Location // the congregation's timezone; nil = UTC
}

// Settle keeps a kind's own rules after Apply (contract.md §9): defaults that follow other fields, frozen originals, dates
// of change, created_at. before is the record as it was, nil on create.
func (d *Doc) Settle(before *Doc, m Moment) { panic("record") }

// Canonical is the body's text inside the revision hash (design.md §4): keys sorted by bytes, numbers as their literal
// text, shortest escapes, no names that begin with "_".
func (d *Doc) Canonical() []byte { panic("record") }

// Quote is a string's stored form.
func Quote(s string) jsontext.Value { panic("record") }

// Number is an integer's stored form.
func Number(n int64) jsontext.Value { panic("record") }

// Time is a date-time's stored form: UTC with Z, microseconds only when not zero.
func Time(t time.Time) jsontext.Value { panic("record") }
