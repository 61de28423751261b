package kinds_test

import (
	"slices"
	"testing"

	"doorward/api/load/kinds"
	"doorward/kv/record"
)

// TestAFileMayHoldEveryKindAfterTheKindsThatItRefersTo holds the order of the kinds against their tables.
func TestAFileMayHoldEveryKindAfterTheKindsThatItRefersTo(t *testing.T) {
	names := kinds.Names()
	for _, k := range record.Kinds() {
		if slices.Contains(names, k.Name) == (k.System || k.Fact) {
			t.Errorf("a file may hold %s: %v", k.Name, slices.Contains(names, k.Name))
		}
	}
	for i, f := range kinds.All() {
		for _, field := range f.Table.Fields {
			to := ""
			switch of := field.Type.(type) {
			case record.Ref:
				to = of.Kind
			case record.Refs:
				to = of.Kind
			}
			if slices.Contains(names[i:], to) {
				t.Errorf("%s stands before %s, which its %s refers to", f.Kind.Name, to, field.Name)
			}
		}
	}
}
