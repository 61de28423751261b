package load_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"doorward/api/load"
	"doorward/api/load/export"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/kvtest"
)

func TestExportIsWhatImportReads(t *testing.T) {
	ctx := context.Background()
	first := congregation(t)
	mustImport(t, first, load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader("codigo,nome,telefone\nA-1,Ana,21 99\nA-2,Bia,22\n")})
	mustImport(t, first, load.Source{Reader: strings.NewReader(`{"kind":"group","id":3,"name":"Jovens","church_id":1}
{"kind":"membership","person":1,"group_id":3}`)})
	export := func(s *kv.Store) string {
		var b bytes.Buffer
		if err := export.Write(ctx, &b, export.Options{Log: s.Log, Who: auth.Operator()}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	second := kvtest.Open(t)
	file := export(first)
	if rep := mustImport(t, second, load.Source{Reader: strings.NewReader(file)}); len(rep.Rejected)+len(rep.Ignored) != 0 {
		t.Errorf("import of an export = %+v, want nothing rejected or ignored", rep)
	}
	if diff := cmp.Diff(timeless(file), timeless(export(second))); diff != "" {
		t.Errorf("the second export differs (-first +second):\n%s", diff)
	}
	if rep := mustImport(t, kvtest.Open(t), load.Source{Reader: strings.NewReader(file), DryRun: true}); len(rep.Rejected) != 0 {
		t.Errorf("dry run of an export = %+v, want nothing rejected", rep)
	}
}

// timeless is an export without the stamps of the store that wrote it.
func timeless(export string) (lines []string) {
	for line := range strings.Lines(export) {
		m := map[string]json.RawMessage{}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			lines = append(lines, err.Error())
			continue
		}
		delete(m, "updated_at")
		b, _ := json.Marshal(m)
		lines = append(lines, string(b))
	}
	slices.Sort(lines)
	return lines
}
