package record

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// ParseOptions say how a request's body is read.
type ParseOptions struct {
	Surface Surface
	Create  bool           // required fields must be there
	Zone    *time.Location // of date-times without an offset; nil = UTC
}

// Patch is what a body asks for, each value in the form it is stored in, and everything that is wrong with it.
type Patch struct {
	Kind   *Kind
	Faults Faults
	values []Member
}

// Member is one name and value of a JSON object.
type Member struct {
	Name  string
	Value jsontext.Value
}

// Parse reads a request's body. It answers a *SyntaxError where the body is no JSON object; what is wrong with single
// fields is in the patch's Faults, all of it. Unknown names, and names that the surface cannot set, are ignored.
func (k *Kind) Parse(body []byte, o ParseOptions) (*Patch, error) { panic("record") }

// Value is what the patch sets a field to; ok is false where it leaves the field alone.
func (p *Patch) Value(name string) (v jsontext.Value, ok bool) { panic("record") }

// Set makes the patch set a field to a value in its stored form.
func (p *Patch) Set(name string, v jsontext.Value) { panic("record") }

// Drop makes the patch leave a field alone.
func (p *Patch) Drop(name string) { panic("record") }

// Pointer is a reference that a patch makes: the store checks that it exists.
type Pointer struct {
	Field string
	Kind  *Kind
	ID    ID
}

// Pointers lists the references that a patch sets.
func (p *Patch) Pointers() []Pointer { panic("record") }

// Project is the part of a patch that another kind's table knows, a field renamed where names says so (from → to).
func (p *Patch) Project(k *Kind, names map[string]string) *Patch { panic("record") }
