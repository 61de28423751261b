package record_test

import (
	"strings"
	"testing"

	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/rev/revtest"
)

// What a tombstone says of the record that stays is agreed between versions.
func TestATombstoneNamesWhatStays(t *testing.T) {
	const ticket5 = `{"merged_into":"ticket:0000000000000005"}`
	if got := record.Tombstone(record.Ticket, 5); got != ticket5 {
		t.Errorf("Tombstone = %s, want %s", got, ticket5)
	}
	if got := record.Tombstone(record.Ticket, 0); got != "" {
		t.Errorf("the tombstone of a deletion is %s, want an empty body", got)
	}
	for _, c := range []struct {
		name, body string
		kind       *record.Kind
		id, want   int64
	}{
		{"a lower id", ticket5, record.Ticket, 7, 5},
		{"its own id", ticket5, record.Ticket, 5, 0},
		{"a higher id", ticket5, record.Ticket, 4, 5},
		{"another kind", ticket5, record.Person, 7, 0},
		{"an id that is spelt otherwise", `{"merged_into":"ticket:5"}`, record.Ticket, 7, 0},
		{"no id", `{"merged_into":"ticket:"}`, record.Ticket, 7, 0},
		{"more than that", `{"merged_into":"ticket:0000000000000005","x":1}`, record.Ticket, 7, 0},
		{"the end of a branch", `{"ended":true}`, record.Ticket, 7, 0},
		{"nothing", `{}`, record.Ticket, 7, 0},
	} {
		if got := record.MergedInto(c.kind, record.Int(c.id), []byte(c.body)); got != c.want {
			t.Errorf("%s: MergedInto = %d, want %d", c.name, got, c.want)
		}
	}
}

// A record that was merged into another one stays that, whatever replicas have made of it meanwhile; what they made is listed.
func TestAMergedRecordStaysMerged(t *testing.T) {
	tree := revtest.Tree(t, "1-a")
	_, body := conflict(t)
	for path, leaf := range map[string]rev.Node{"2-b 1-a": {Deleted: true, Into: 3}, "2-c 1-a": {Held: true}} {
		if _, err := tree.Graft(revtest.Revisions(t, strings.Fields(path)...), leaf); err != nil {
			t.Fatal(err)
		}
	}
	r, err := record.Resolve(record.Church, tree, body)
	if err != nil || r.Doc != nil || len(r.Clashes) != 1 || len(r.Ended) != 1 || r.Ended[0] != revtest.Revisions(t, "2-c")[0] {
		t.Fatalf("Resolve = %s, %v, want the edit listed and ended", outline(r), err)
	}
	if _, err := tree.Graft([]rev.ID{rev.Ending(r.Ended[0]), r.Ended[0]}, rev.Node{Deleted: true, Ended: true}); err != nil {
		t.Fatal(err)
	}
	if open := tree.Open(); len(open) != 1 || open[0].Into != 3 {
		t.Errorf("open leaves are %+v, want the one that names what stays", open)
	}
}
