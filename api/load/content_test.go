package load_test

import (
	"strings"
	"testing"

	"doorward/api/load"
	"doorward/kv/record"
)

func TestImportAgainOfRowsThatNothingNames(t *testing.T) {
	for name, c := range map[string]struct {
		kind string
		of   *record.Kind
		file string
		rows int
	}{
		"people, two of them alike": {"person", record.Person, "Nome completo;E-mail;Igreja ID\nBia Reis;;1\nBia Reis;;1\nCaio Luz;c@example.org;1\n", 3},
		"churches":                  {"church", record.Church, "Nome\nNorte\nSul\n", 2},
		"objects":                   {"person", record.Person, `{"full_name":"Bia","church_id":1}` + "\n" + `{"church_id":1,"full_name":"Bia"}` + "\n", 2},
	} {
		s := congregation(t)
		before := count(t, s, c.of)
		source := func() load.Source { return load.Source{Reader: strings.NewReader(c.file), Kind: c.kind} }
		first, again := mustImport(t, s, source()), mustImport(t, s, source())
		if first.Created != c.rows || again.Unchanged != c.rows || again.Created != 0 {
			t.Errorf("%s: first %+v, then %+v, want %d created and then unchanged", name, first, again, c.rows)
		}
		if got := count(t, s, c.of) - before; got != c.rows {
			t.Errorf("%s: %d records, want %d", name, got, c.rows)
		}
	}
}
