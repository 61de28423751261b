package record_test

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"doorward/kv/record"
	"doorward/kv/value"
)

// TestPageShowsEachRecordAsItIsShownAlone draws records that name few others, their hidden runs ending anywhere.
func TestPageShowsEachRecordAsItIsShownAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom([]*record.Kind{record.Person, record.Event, record.FinancialEntry}).Draw(t, "kind")
		surface := rapid.SampledFrom([]record.Surface{record.V1, record.Admin}).Draw(t, "surface")
		page := record.NewPage(k)
		for i := range rapid.IntRange(2, 24).Draw(t, "records") {
			d := fromBody(t, k, anyBody(k).Draw(t, "body"))
			for _, f := range k.Fields {
				switch f.Type.(type) {
				case record.Ref:
					d.Set(f.Name, []byte(rapid.SampledFrom([]string{"1", "12", "123", "2", "null"}).Draw(t, f.Name)))
				case record.Refs:
					d.Set(f.Name, []byte(rapid.SampledFrom([]string{"[]", "[1]", "[12]", "[1,12]"}).Draw(t, f.Name)))
				}
			}
			v := named(d.Encode())
			if commas := ends(v.Body.Hidden); len(commas) > 0 && rapid.Bool().Draw(t, "cut") {
				v.Body.Hidden = v.Body.Hidden[:rapid.SampledFrom(commas[:min(3, len(commas))]).Draw(t, "end")]
			}
			v.ID = record.Int(int64(i + 1))
			alone := k.Show(nil, surface, v)
			v.Page = page
			if paged := k.Show(nil, surface, v); !bytes.Equal(paged, alone) {
				t.Fatalf("on a page %s, alone %s", paged, alone)
			}
		}
	})
}

// named shows a record whose references have names of their own.
func named(b record.Body) *record.View {
	v := view(b)
	v.Ref = func(k *record.Kind, id record.ID) (record.Body, bool) {
		d := k.NewDoc()
		d.Set("name", value.Quote(fmt.Sprint(k.Name, id.Int())))
		return d.Encode(), true
	}
	return v
}

// ends are the places in a run where a member of the top level has ended.
func ends(run []byte) (at []int) {
	depth, quoted := 0, false
	for i, c := range run {
		switch {
		case c == '"' && !escaped(run, i):
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == ',' && depth == 0:
			at = append(at, i)
		}
	}
	return at
}

func escaped(run []byte, i int) bool {
	n := 0
	for i > n && run[i-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}
