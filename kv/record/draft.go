package record

import (
	"encoding/hex"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/value"
)

// maxFields bounds the fields of a fact.
const maxFields = 20

// Draft is a fact being written straight into its body, without a Doc: check-ins are the hot path. Members are given in
// table order; those left out get their defaults. A name that is unknown or out of order is a bug and panics.
type Draft struct {
	kind   *Kind
	run    []byte
	ends   [maxFields]int // where each field's member has ended
	filled int            // fields that have been written
}

// NewDraft begins a fact of a kind.
func NewDraft(k *Kind) Draft { return Draft{kind: k, run: make([]byte, 0, 640)} }

// Int writes an integer.
func (d *Draft) Int(name string, n int64) {
	d.seek(name)
	d.run = strconv.AppendInt(d.run, n, 10)
	d.end()
}

// Text writes a string.
func (d *Draft) Text(name, s string) {
	d.seek(name)
	d.run = value.AppendQuote(d.run, s)
	d.end()
}

// Hex writes bytes as their hexadecimal digits.
func (d *Draft) Hex(name string, b []byte) {
	d.seek(name)
	d.run = append(hex.AppendEncode(append(d.run, '"'), b), '"')
	d.end()
}

// Time writes a date-time.
func (d *Draft) Time(name string, t time.Time) {
	d.seek(name)
	d.run = value.AppendTime(d.run, t)
	d.end()
}

// Raw writes a value in its stored form.
func (d *Draft) Raw(name string, v jsontext.Value) {
	d.seek(name)
	d.run = append(d.run, v...)
	d.end()
}

// seek writes the defaults of the fields before a name, and the name.
func (d *Draft) seek(name string) {
	for ; d.filled < len(d.kind.Fields); d.end() {
		if d.filled > 0 {
			d.run = append(d.run, ',')
		}
		d.run = append(d.run, d.kind.labels[d.filled]...)
		f := &d.kind.Fields[d.filled]
		switch {
		case f.Name == name:
			return
		case f.Default == "":
			d.run = append(d.run, "null"...)
		default:
			d.run = append(d.run, f.Default...)
		}
	}
	if name != "" {
		panic("record: " + d.kind.Name + " has no field " + name + " there")
	}
}

func (d *Draft) end() {
	d.ends[d.filled] = len(d.run)
	d.filled++
}

// Close ends the fact: its body, and its canonical text as Doc.Canonical would have it.
func (d *Draft) Close() (b Body, canonical []byte) {
	d.seek("")
	canonical = append(make([]byte, 0, len(d.run)+2), '{')
	for n, i := range d.kind.sorted {
		if n > 0 {
			canonical = append(canonical, ',')
		}
		start := 0
		if i > 0 {
			start = d.ends[i-1] + 1
		}
		canonical = append(canonical, d.run[start:d.ends[i]]...)
	}
	return Body{Shown: d.run}, append(canonical, '}')
}
