package record_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/rev/revtest"
)

// withUnknown gives a record some fields of a newer version, for those it has.
func withUnknown(t *rapid.T, d *record.Doc) *record.Doc {
	var members []string
	for i := range d.Kind.Fields {
		if f := &d.Kind.Fields[i]; f.Stored() {
			members = append(members, fmt.Sprintf("%q:%s", f.Name, d.Value(f.Name)))
		}
	}
	for _, name := range []string{"y_new", "z_new", "_new"} {
		if value := rapid.SampledFrom([]string{"", "1", "null", `{"b":1,"a":[2]}`, `{"a":[2],"b":1}`}).Draw(t, name); value != "" {
			members = append(members, fmt.Sprintf("%q:%s", name, value))
		}
	}
	out, err := d.Kind.Decode(record.Body{Hidden: []byte(strings.Join(members, ","))})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// evolved is a record after somebody's change.
func evolved(t *rapid.T, before *record.Doc) *record.Doc {
	p, err := before.Kind.Parse([]byte(anyBody(before.Kind).Draw(t, "change")), record.ParseOptions{Surface: record.Admin})
	if err != nil || len(p.Faults) > 0 {
		t.Fatalf("Parse: %v, %v", err, p.Faults)
	}
	d := before.Clone()
	d.Apply(p)
	d.Settle(before, record.Moment{Now: noon.AddDate(0, 0, rapid.IntRange(0, 2).Draw(t, "days"))})
	return withUnknown(t, d)
}

// mergeable draws a kind whose records replicas change.
func mergeable() *rapid.Generator[*record.Kind] {
	return anyKind().Filter(func(k *record.Kind) bool { return !k.Fact })
}

// twoChanges draws a record, and what two replicas made of it. Without a base they made it apart.
func twoChanges(t *rapid.T) (k *record.Kind, base, winner, other *record.Doc) {
	k = mergeable().Draw(t, "kind")
	base = withUnknown(t, fromBody(t, k, anyBody(k).Draw(t, "base")))
	winner, other = evolved(t, base), evolved(t, base)
	if rapid.IntRange(0, 3).Draw(t, "held") == 0 {
		base, other = nil, withUnknown(t, fromBody(t, k, anyBody(k).Draw(t, "apart")))
	}
	return k, base, winner, other
}

func same(a, b *record.Doc) bool { return bytes.Equal(a.Canonical(), b.Canonical()) }

func TestMergeOfEqualsIsThat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, base, x, _ := twoChanges(t)
		merged, clashes := record.Merge(k, base, x, x.Clone())
		if diff := cmp.Diff(x.Encode(), merged.Encode()); diff != "" || len(clashes) > 0 {
			t.Errorf("Merge(base, x, x) clashes on %v and differs: %s", clashes, diff)
		}
	})
}

func TestMergeWithWhatDidNotChangeIsTheChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, base, x, _ := twoChanges(t)
		if base == nil {
			base = withUnknown(t, fromBody(t, k, anyBody(k).Draw(t, "base")))
			x = evolved(t, base)
		}
		for _, sides := range [][2]*record.Doc{{base, x}, {x, base}} {
			merged, clashes := record.Merge(k, base, sides[0], sides[1])
			if !same(merged, x) || len(clashes) > 0 {
				t.Errorf("clashes on %v and differs: %s", clashes, cmp.Diff(string(x.Canonical()), string(merged.Canonical())))
			}
		}
	})
}

func TestMergeIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, base, winner, other := twoChanges(t)
		merged, _ := record.Merge(k, base, winner, other)
		for _, side := range []*record.Doc{winner, other} {
			if again, _ := record.Merge(k, base, merged, side); !same(again, merged) {
				t.Errorf("merged again it differs: %s", cmp.Diff(string(merged.Canonical()), string(again.Canonical())))
			}
		}
	})
}

func TestMergeCommutesButForPick(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, base, winner, other := twoChanges(t)
		merged, clashes := record.Merge(k, base, winner, other)
		turned, others := record.Merge(k, base, other, winner)
		clashed := map[string]bool{}
		for i, c := range clashes {
			clashed[c.Field] = true
			if i >= len(others) || !slices.ContainsFunc(others, func(o record.Clash) bool { return o.Field == c.Field && o.Rule == c.Rule }) {
				t.Fatalf("clashes on %v, turned on %v", clashes, others)
			}
		}
		for i := range k.Fields {
			f := &k.Fields[i]
			a, b := merged.Value(f.Name), turned.Value(f.Name)
			if rule := f.Rule(); (rule == rev.First || rule == rev.Strict) && !bytes.Equal(a, b) {
				t.Errorf("%s, %s: %s, turned %s", f.Name, rule, a, b)
			}
		}
		if base != nil && len(clashed) == 0 && !k.System && k != record.Ticket && k != record.Membership && !same(merged, turned) {
			t.Errorf("nothing clashes, and yet it differs: %s", cmp.Diff(string(merged.Canonical()), string(turned.Canonical())))
		}
	})
}

// What a person wrote is in the merged record, or listed, or was there before and somebody changed it.
func TestMergeLosesNothingUnseen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, base, winner, other := twoChanges(t)
		merged, clashes := record.Merge(k, base, winner, other)
		for i := range k.Fields {
			f := &k.Fields[i]
			if f.Rule() != rev.Pick || f.Name == "approval_date" {
				continue
			}
			for _, side := range []*record.Doc{winner, other} {
				v := side.Value(f.Name)
				was := base != nil && equal(base.Value(f.Name), v)
				listed := slices.ContainsFunc(clashes, func(c record.Clash) bool { return c.Field == f.Name && equal(c.Other, v) })
				if !equal(merged.Value(f.Name), v) && !was && !listed {
					t.Errorf("%s = %s is lost: merged %s, clashes %v", f.Name, v, merged.Value(f.Name), clashes)
				}
			}
		}
		for _, c := range clashes {
			if f, ok := k.Field(c.Field); ok && f.Flags.Has(record.Secret|record.ServerOnly) {
				t.Errorf("%s is listed", c.Field)
			}
			if got := merged.Value(c.Field); c.Winner != nil && !equal(got, c.Winner) && c.Field != "approval_date" {
				t.Errorf("%s = %s, the clash says %s", c.Field, got, c.Winner)
			}
		}
	})
}

// equal compares values as a record of one field would.
func equal(a, b []byte) bool {
	wrap := func(v []byte) string {
		d, err := record.Church.Decode(record.Body{Hidden: append([]byte(`"x":`), v...)})
		if err != nil {
			return ""
		}
		return string(d.Canonical())
	}
	return wrap(a) == wrap(b)
}

func TestResolveDoesNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := mergeable().Draw(t, "kind")
		history := revtest.AnyHistory().Draw(t, "history")
		bodies := bodiesOf(t, k, history)
		deliveries := revtest.AnyDeliveries(history).Draw(t, "deliveries")
		for i := range deliveries {
			deliveries[i].Leaf.Held = true
		}
		tree := revtest.Grafted(t, deliveries)
		other := revtest.Grafted(t, rapid.Permutation(deliveries).Draw(t, "order"))
		want, got := resolved(t, k, tree, bodies), resolved(t, k, other, bodies)
		if diff := cmp.Diff(describe(want), describe(got)); diff != "" {
			t.Fatalf("the resolutions differ: %s", diff)
		}
		if want == nil {
			return
		}
		winner := tree.Winner().Revision
		carryOut(t, tree, want, bodies)
		if again := resolved(t, k, tree, bodies); again != nil {
			t.Errorf("resolved, it is resolved again: %v", again)
		}
		is := tree.Winner()
		if is.Deleted != (want.Doc == nil) || want.Doc != nil && (is.Revision != want.Revision || want.Parent != winner) {
			t.Errorf("resolved, the winner is %v, want %v on %v", is, want.Revision, want.Parent)
		}
		if len(tree.Conflicts()) > 0 {
			t.Errorf("resolved, it has conflicts: %v", tree.Conflicts())
		}
	})
}

// bodiesOf draws a record's bodies, each made of its parent's.
func bodiesOf(t *rapid.T, k *record.Kind, history []rev.Node) map[rev.ID]*record.Doc {
	bodies := map[rev.ID]*record.Doc{}
	for _, n := range history {
		if parent := bodies[n.Parent]; parent != nil {
			bodies[n.Revision] = evolved(t, parent)
		} else {
			bodies[n.Revision] = fromBody(t, k, anyBody(k).Draw(t, "body"))
		}
	}
	return bodies
}

func resolved(t *rapid.T, k *record.Kind, tree *rev.Tree, bodies map[rev.ID]*record.Doc) *record.Resolution {
	r, err := record.Resolve(k, tree, func(rev rev.ID) (*record.Doc, error) { return bodies[rev], nil })
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// describe writes a resolution out.
func describe(r *record.Resolution) string {
	if r == nil {
		return "none"
	}
	text := fmt.Sprintf("%v on %v, %v, ends %v, clashes %v", r.Revision, r.Parent, r.Fields, r.Ended, r.Clashes)
	if r.Doc != nil {
		text += fmt.Sprintf(", %s | %s", r.Doc.Encode().Shown, r.Doc.Encode().Hidden)
	}
	return text
}

// carryOut does to a tree what the store must do.
func carryOut(t *rapid.T, tree *rev.Tree, r *record.Resolution, bodies map[rev.ID]*record.Doc) {
	type child struct {
		of, rev rev.ID
		leaf    rev.Node
	}
	var children []child
	if r.Revision != r.Parent {
		children = append(children, child{r.Parent, r.Revision, rev.Node{At: 1, Held: true, Fields: r.Fields}})
		bodies[r.Revision] = r.Doc
	}
	for _, leaf := range r.Ended {
		children = append(children, child{leaf, rev.Ending(leaf), rev.Node{At: 1, Deleted: true, Ended: true}})
	}
	for _, c := range children {
		if isNew, err := tree.Graft([]rev.ID{c.rev, c.of}, c.leaf); err != nil || !isNew {
			t.Fatalf("Graft(%v): %t, %v", c.rev, isNew, err)
		}
	}
}
