package table_test

import (
	"testing"

	"doorward/kv/record"
	"doorward/kv/table"
)

// TestFieldsHaveDifferentTags: lookups of two fields of a kind never mix.
func TestFieldsHaveDifferentTags(t *testing.T) {
	for _, k := range record.Kinds() {
		fields := map[string]string{}
		note := func(name string) {
			tag := string(table.LookupPrefix(nil, k, name))
			if other, taken := fields[tag]; taken && other != name {
				t.Errorf("%s: %s and %s have one tag: another name or a longer tag is needed", k.Name, name, other)
			}
			fields[tag] = name
		}
		note("updated_at")
		for _, f := range k.Lookups {
			note(f.Name)
		}
	}
}
