package index

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"doorward/kv/record"
)

// analysis is the version of what analyse.go makes of a text, and of how documents lie in the folder. Raising it rebuilds
// every index.
const analysis = 2

// source is a kind that people search reads, and where in its records it looks.
type source struct {
	kind   *record.Kind
	fields []sourceField
}

// sourceField is one Searched or Document field. What is neither spoken nor a document is looked for by its digits.
type sourceField struct {
	name     string
	spoken   bool // terms with letters are looked for in it
	words    bool // it is a name: its words are looked for too
	document bool // it is looked for by all its digits, and by nothing else
}

// sources are read off the kinds' tables.
func sources() (out []source) {
	for _, k := range record.Kinds() {
		s := source{kind: k}
		for _, f := range k.Fields {
			if f.Flags.Has(record.Searched | record.Document) {
				s.fields = append(s.fields, fieldOf(f))
			}
		}
		if len(s.fields) > 0 {
			out = append(out, s)
		}
	}
	return out
}

func fieldOf(f record.Field) sourceField {
	return sourceField{name: f.Name, spoken: f.Spoken(), words: f.IsName(), document: f.Flags.Has(record.Document)}
}

// fingerprint names the folder of an index over these sources: another mapping is another folder.
func fingerprint(from []source) string {
	h := sha256.New()
	fmt.Fprintln(h, analysis)
	for _, s := range from {
		fmt.Fprintln(h, s.kind.Number, s.kind.Name)
		for _, f := range s.fields {
			fmt.Fprintf(h, "%s %v %v %v\n", f.name, f.spoken, f.words, f.document)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
