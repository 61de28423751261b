package load_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"doorward/api/load"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// churched is a store with churches, of which two have one name but for capitals and accents, and one is called by a number.
func churched(t *testing.T) *kv.Store {
	t.Helper()
	s := kvtest.Open(t)
	mustImport(t, s, load.Source{Reader: strings.NewReader(`{"kind":"church","id":1,"name":"Sede"}
{"kind":"church","id":2,"name":"São  José"}
{"kind":"church","id":3,"name":"Água Viva"}
{"kind":"church","id":4,"name":"agua viva"}
{"kind":"church","id":5,"name":"7"}
{"kind":"church","id":7,"name":"Vila Nova"}
`)})
	return s
}

// placed are the people of a store, each by name with the church.
func placed(t *testing.T, s *kv.Store) map[string]any {
	t.Helper()
	out := map[string]any{}
	err := s.Log.Export(auth.Operator(), record.Person, func(b []byte) error {
		var one map[string]any
		err := json.Unmarshal(b, &one)
		out[one["full_name"].(string)] = one["church_id"]
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestImportFindsTheChurchByItsName(t *testing.T) {
	const two, none, noID, foreign = "more than one church has this name", "no church has this name", "no church has this id",
		"the numbers of this column are not all ids of churches here"
	for name, c := range map[string]struct {
		file    string
		set     map[string]string
		want    map[string]any
		refused []load.Reason
	}{
		"names, in capitals, without accents, with blanks": {file: "Nome;Igreja\nAna;SEDE\nBia;sao jose\nCaio; São   José \nDora;\n",
			want: map[string]any{"Ana": 1.0, "Bia": 2.0, "Caio": 2.0, "Dora": nil}},
		"unknown names": {file: "Nome;Igreja\nAna;Sede\nBia;Sed\nCaio;Sede 2\nDora;Sede, Centro\nElisa;Betel\n", want: map[string]any{"Ana": 1.0},
			refused: []load.Reason{{Column: "Igreja", Reason: none, Count: 4, Lines: []int{3, 4, 5}}}},
		"a name of two churches": {file: "Nome;Church\nAna;Água Viva\nBia;Sede\nCaio;agua viva\n", want: map[string]any{"Bia": 1.0},
			refused: []load.Reason{{Column: "Church", Reason: two, Count: 2, Lines: []int{2, 4}}}},
		"ids":                                   {file: "Nome;Congregação\nAna;1\nBia;2\n", want: map[string]any{"Ana": 1.0, "Bia": 2.0}},
		"a number that is an id and a name":     {file: "Nome;Igreja\nAna;7\nBia;1\n", want: map[string]any{"Bia": 1.0}, refused: []load.Reason{{Column: "Igreja", Reason: two, Count: 1, Lines: []int{2}}}},
		"a number among names is a name":        {file: "Nome;Igreja\nAna;7\nBia;Sede\nCaio;2\n", want: map[string]any{"Ana": 5.0, "Bia": 1.0}, refused: []load.Reason{{Column: "Igreja", Reason: none, Count: 1, Lines: []int{4}}}},
		"ids of another system":                 {file: "Nome;Igreja\nAna;1\nBia;57\n", want: map[string]any{}, refused: []load.Reason{{Column: "Igreja", Reason: foreign, Count: 1, Lines: []int{2}}, {Column: "Igreja", Reason: noID, Count: 1, Lines: []int{3}}}},
		"an id that the title calls so":         {file: "Nome;Igreja ID\nAna;1\nBia;57\n", want: map[string]any{"Ana": 1.0}, refused: []load.Reason{{Column: "Igreja ID", Reason: "Invalid pk - object does not exist.", Count: 1, Lines: []int{3}}}},
		"the id beats the name beside it":       {file: "Nome;Igreja;Igreja ID\nAna;Sede;2\n", want: map[string]any{"Ana": 2.0}},
		"names by map":                          {file: "Nome;Onde\nAna;sede\nBia;x\n", set: map[string]string{"church_id": "Onde"}, want: map[string]any{"Ana": 1.0}, refused: []load.Reason{{Column: "Onde", Reason: none, Count: 1, Lines: []int{3}}}},
		"ids by map":                            {file: "Nome;Onde\nAna;2\n", set: map[string]string{"church_id": "Onde"}, want: map[string]any{"Ana": 2.0}},
		"Campus Name of a system with a Campus": {file: "Family Id,Id,First Name,Last Name,Nick Name,Campus,Campus Name\n1,9,Ana,Luz,,7,Sede\n", want: map[string]any{"Ana Luz": 1.0}},
		"numbers of another system are no ids": {file: "Family Id,Id,First Name,Last Name,Nick Name,Campus\n1,9,Ana,Luz,,1\n", want: map[string]any{},
			refused: []load.Reason{{Column: "Campus", Reason: none, Count: 1, Lines: []int{2}}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := churched(t)
			rep := mustImport(t, s, load.Source{Kind: "person", Reader: strings.NewReader(c.file), Map: c.set})
			if diff := cmp.Diff(c.want, placed(t, s)); diff != "" {
				t.Errorf("people and churches differ (-want +got):\n%s\n%+v", diff, rep)
			}
			if diff := cmp.Diff(c.refused, rep.Reasons); diff != "" {
				t.Errorf("reasons differ (-want +got):\n%s", diff)
			}
			if n := churchCount(t, s); n != 6 {
				t.Errorf("%d churches, want the 6 there were", n)
			}
			if warned := strings.Contains(fmt.Sprint(rep.Warnings), "--ignore"); warned != (len(c.refused) > 0 && !strings.HasSuffix(c.refused[0].Column, "ID")) {
				t.Errorf("warnings = %q", rep.Warnings)
			}
		})
	}
}

// TestImportFindsTheChurchOfAWorkbook: an XLSX list is read as a CSV one.
func TestImportFindsTheChurchOfAWorkbook(t *testing.T) {
	s := churched(t)
	mustImport(t, s, load.Source{Kind: "person", Reader: book(t, false, [][]any{{"Nome", "Iglesia"}, {"Ana", "vila nova"}, {"Bia", "SÃO JOSÉ"}})})
	if diff := cmp.Diff(map[string]any{"Ana": 7.0, "Bia": 2.0}, placed(t, s)); diff != "" {
		t.Errorf("people and churches differ (-want +got):\n%s", diff)
	}
}

// TestImportFindsTheCampusOfRock: the column Campus Name of its export names the church.
func TestImportFindsTheCampusOfRock(t *testing.T) {
	file, err := os.Open(filepath.Join("testdata", "exports", "rock.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	s := congregation(t)
	mustImport(t, s, load.Source{Kind: "person", Reader: file})
	if got := placed(t, s)["Gil Sá"]; got != 1.0 {
		t.Errorf("the church of a row of Rock = %v, want 1", got)
	}
}

func churchCount(t *testing.T, s *kv.Store) (n int) {
	t.Helper()
	if err := s.Log.Export(auth.Operator(), record.Church, func([]byte) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}
