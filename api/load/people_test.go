package load_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"doorward/api/load"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/record"

	"github.com/google/go-cmp/cmp"
)

// importPeople imports a list of people, and returns the report and the error of the whole file.
func importPeople(s *kv.Store, list string, set func(*load.Source)) (load.Report, error) {
	src := load.Source{Kind: "person", Reader: strings.NewReader(list)}
	if set != nil {
		set(&src)
	}
	return load.Import(context.Background(), s, auth.Operator(), src, nil)
}

// fieldOf returns one field of all people by their names, but for the person of the congregation.
func fieldOf(t *testing.T, s *kv.Store, field string) map[string]any {
	t.Helper()
	got := map[string]any{}
	err := s.Log.Export(auth.Operator(), record.Person, func(b []byte) error {
		var one map[string]any
		err := json.Unmarshal(b, &one)
		got[one["full_name"].(string)] = one[field]
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(got, "Ana Souza")
	return got
}

// TestImportReadsTheLettersOfASex: M is a man beside F, a woman beside H, and neither beside both. Women of Spanish lists once became men.
func TestImportReadsTheLettersOfASex(t *testing.T) {
	for name, c := range map[string]struct {
		list string
		want map[string]any
	}{
		"H and M":           {"Nome;Sexo\nBia;M\nCaio;H\nEva;m.\n", map[string]any{"Bia": "female", "Caio": "male", "Eva": "female"}},
		"F and M":           {"Nome;Sexo\nBia;F\nCaio;M\n", map[string]any{"Bia": "female", "Caio": "male"}},
		"H, M and a word":   {"Nome;Sexo\nBia;Mujer\nCaio;Hombre\nEva;M\nLeo;H\n", map[string]any{"Bia": "female", "Caio": "male", "Eva": "female", "Leo": "male"}},
		"H, M and F":        {"Nome;Sexo\nBia;F\nCaio;H\nEva;M\n", map[string]any{"Bia": "female", "Caio": "male"}},
		"German, m and w":   {"Name;gender\nBia;w\nCaio;m\n", map[string]any{"Bia": "female", "Caio": "male"}},
		"French, H and F":   {"Name;gender\nBia;F\nCaio;H\n", map[string]any{"Bia": "female", "Caio": "male"}},
		"an export of ours": {"kind,id,full_name,gender\nperson,5,Bia,female\n", map[string]any{"Bia": "female"}},
	} {
		s := congregation(t)
		if _, err := importPeople(s, c.list, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, fieldOf(t, s, "gender")); diff != "" {
			t.Errorf("%s: the sexes differ (-want +got):\n%s", name, diff)
		}
	}
}
