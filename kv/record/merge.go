package record

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/rev"
	"doorward/kv/value"
)

// Rule is the field's merge rule.
func (f *Field) Rule() rev.Rule {
	switch {
	case f.Flags.Has(Strict):
		return rev.Strict
	case f.Flags.Has(Frozen):
		return rev.First
	case f.Flags.Has(Union):
		return rev.Union
	case !f.Stored(), f.Flags.Has(ServerOnly):
		return rev.Derived
	}
	return rev.Pick
}

// Clash is a value that a merge did not take and that staff should see.
type Clash struct {
	Field  string         // "": the whole record
	Winner jsontext.Value // the value that was taken; nil: none
	Other  jsontext.Value // the value that was not; nil: the field was taken away
	Rule   rev.Rule
	Leaf   rev.ID // the leaf that was merged in when it was seen; zero from Merge
}

// Merge merges two changes of base, field by field, each by its rule. A value that only one side changed is taken. base is nil if its
// body is not held: then every field that differs is a clash, and rule pick takes the winner's value. Fields that this version does not
// know are merged by pick. If the result differs from both sides, the kind's own rules (Settle) are applied as on the day of its
// creation.
//
// The fields with the flag Together are one side's, of a ticket always and of a holding where a person was linked to it: what the other
// side has changed of them is a clash. The side that has given the ticket another holding wins, and a ticket without one loses.
//
// Values are compared as Apply compares them; of two equal values the winner's text is taken. The result follows from the arguments
// alone, and shares its values with them.
func Merge(k *Kind, base, winner, other *Doc) (merged *Doc, clashes []Clash) {
	m := merger{base: base, winner: winner, other: other}
	m.side = m.together(k)
	merged = &Doc{Kind: k, values: make([]jsontext.Value, len(k.Fields))}
	for i := range k.Fields {
		if f := &k.Fields[i]; f.Stored() {
			merged.values[i] = m.field(i, f)
		}
	}
	if k == Ticket {
		endHoldings(merged, winner, other)
	}
	merged.extra = m.unknown()
	if created := merged.Time("created_at"); m.own && m.taken && !created.IsZero() {
		for _, settle := range k.rules {
			settle(merged, nil, Moment{Now: created})
		}
	}
	return merged, m.clashes
}

// merger is a merge in progress.
type merger struct {
	base, winner, other *Doc // base may be nil
	side                *Doc // whose fields with the flag Together are taken; nil: each by its rule
	own, taken          bool // the result differs from the other, from the winner
	clashes             []Clash
}

// field merges a known field.
func (m *merger) field(i int, f *Field) jsontext.Value {
	s := rev.Sides{Winner: m.winner.values[i], Other: m.other.values[i], Held: m.base != nil}
	if s.Held {
		s.Base = m.base.values[i]
	}
	if value.Equal(s.Winner, s.Other) {
		return s.Winner
	}
	if m.side != nil && f.Flags.Has(Together) {
		return m.whole(f, s)
	}
	rule := f.Rule()
	switch rule {
	case rev.Union:
		return m.choose(f.Name, rule, s, choice{union(s.Winner, s.Other), false})
	case rev.First:
		return m.choose(f.Name, rule, s, choice{s.First(m.ages(f, s)), !s.Held})
	case rev.Strict:
		v, clash := s.Strict()
		return m.choose(f.Name, rule, s, choice{v, clash})
	}
	v, clash := s.Pick()
	return m.choose(f.Name, rule, s, choice{v, clash && rule == rev.Pick})
}

// together returns the side whose fields with the flag Together are taken; nil for a record of which each field is merged by itself.
func (m *merger) together(k *Kind) *Doc {
	switch {
	case k == Ticket && m.winner.IsNull("holding") != m.other.IsNull("holding"):
		return m.without(m.winner.IsNull("holding"))
	case k == Ticket && m.base != nil && m.hands(m.winner) != m.hands(m.other):
		return m.without(m.hands(m.other))
	case k == Ticket:
		return m.without(m.base != nil && !m.changes(m.winner) && m.changes(m.other))
	case k != HolderName && k != Holder || value.Equal(m.winner.Value("link"), m.other.Value("link")):
		return nil
	case m.base != nil && value.Equal(m.base.Value("link"), m.winner.Value("link")):
		return m.other
	case m.base != nil && value.Equal(m.base.Value("link"), m.other.Value("link")):
		return m.winner
	}
	return m.without(m.winner.Text("link") < m.other.Text("link")) // the same side in both records of the holding
}

// hands reports whether a side has given the ticket another holding.
func (m *merger) hands(side *Doc) bool {
	return !value.Equal(side.Value("holding"), m.base.Value("holding"))
}

// without returns the side that is left once the winner has lost, or has not.
func (m *merger) without(lost bool) *Doc {
	if lost {
		return m.other
	}
	return m.winner
}

// changes reports whether a side has changed a field with the flag Together.
func (m *merger) changes(side *Doc) bool {
	return slices.ContainsFunc(side.Differs(m.base), func(name string) bool {
		f, known := side.Kind.Field(name)
		return known && f.Flags.Has(Together)
	})
}

// whole takes a field of the side that is taken as a whole. What the other side has changed is a clash, but for what the store derives.
func (m *merger) whole(f *Field, s rev.Sides) jsontext.Value {
	taken, lost := s.Winner, s.Other
	if m.side == m.other {
		taken, lost = lost, taken
	}
	clash := !s.Held || !value.Equal(lost, s.Base)
	if f.Flags.Has(ServerOnly) {
		clash = clash && f.Name == "holding" && !value.IsNull(lost)
	}
	return m.choose(f.Name, rev.Pick, s, choice{taken, clash})
}

// endHoldings has a merged ticket say which holdings are over: those that either side has had, but for the one that is taken.
func endHoldings(merged, winner, other *Doc) {
	present := merged.Text("holding")
	all := merged.Value("ended")
	for _, side := range [2]*Doc{winner, other} {
		if h := side.Text("holding"); h != "" && h != present {
			all = Adding(all, h)
		}
	}
	if present != "" {
		all = Without(all, present)
	}
	merged.Set("ended", all)
}

// union is a list of all elements of two, each once, in the order of their bytes.
func union(a, b jsontext.Value) jsontext.Value {
	all := slices.AppendSeq(slices.Collect(value.Elements(a)), value.Elements(b))
	slices.SortFunc(all, func(a, b jsontext.Value) int { return bytes.Compare(a, b) })
	out := jsontext.Value{'['}
	for _, e := range slices.CompactFunc(all, func(a, b jsontext.Value) bool { return bytes.Equal(a, b) }) {
		out = append(value.AppendComma(out), e...)
	}
	return append(out, ']')
}

// Adding is a stored list of texts with one more.
func Adding(list jsontext.Value, text string) jsontext.Value { return union(list, value.Texts(text)) }

// Without is a stored list of texts without one of them.
func Without(list jsontext.Value, text string) jsontext.Value {
	return value.Texts(slices.DeleteFunc(value.ReadTexts(list), func(s string) bool { return s == text })...)
}

// ages returns the times that tell which side of a field is the older one: those of its values, or those at which the records were
// created.
func (m *merger) ages(f *Field, s rev.Sides) rev.Sides {
	switch f.Type.(type) {
	case Date, DateTime:
		return s
	}
	return rev.Sides{Winner: m.winner.Value("created_at"), Other: m.other.Value("created_at")}
}

// choice is a value that a rule chose. clash tells that a person should see the other one.
type choice struct {
	value jsontext.Value
	clash bool
}

// choose notes how a choice differs from each side, and its clash.
func (m *merger) choose(name string, rule rev.Rule, s rev.Sides, c choice) jsontext.Value {
	own, taken := !value.Equal(c.value, s.Other), !value.Equal(c.value, s.Winner)
	m.own, m.taken = m.own || own, m.taken || taken
	if !c.clash {
		return c.value
	}
	loser := s.Other
	if taken {
		loser = s.Winner
	}
	m.clashes = append(m.clashes, Clash{Field: name, Winner: c.value, Other: loser, Rule: rule})
	return c.value
}

// unknown merges the fields that this version does not know: the winner's in their order, then those of the other side alone.
func (m *merger) unknown() (merged []value.Member) {
	if len(m.winner.extra)+len(m.other.extra) == 0 {
		return nil
	}
	winner, other := unknownOf(m.winner), unknownOf(m.other)
	var base map[string]jsontext.Value
	if m.base != nil {
		base = unknownOf(m.base)
	}
	seen := map[string]bool{}
	for _, side := range [2]*Doc{m.winner, m.other} {
		for _, member := range side.extra {
			name := value.Unquote([]byte(member.Name))
			if seen[name] {
				continue
			}
			seen[name] = true
			if v := m.member(name, rev.Sides{Base: base[name], Winner: winner[name], Other: other[name], Held: m.base != nil}); v != nil {
				merged = append(merged, value.Member{Name: member.Name, Value: v})
			}
		}
	}
	return merged
}

// member merges an unknown field. It returns nil if the field is taken away.
func (m *merger) member(name string, s rev.Sides) jsontext.Value {
	if value.Equal(s.Winner, s.Other) {
		return s.Winner
	}
	v, clash := s.Pick()
	return m.choose(name, rev.Pick, s, choice{v, clash})
}

// ErrNotHeld is returned if the store does not have the body of a leaf.
var ErrNotHeld = errors.New("the body of a leaf is not held")

// MergedRevision returns the revision of a body merged from open leaves, which come in any order: a child of their winner.
func MergedRevision(open []rev.Node, merged *Doc) rev.ID {
	return merged.Revision(rev.Best(open).Revision)
}

// Resolution says how the root resolves a conflict. To carry it out, the store does this in one operation:
//
//   - Revision is not Parent: it grafts Revision on Parent as a live leaf with the body Doc and the changed Fields. The author is the
//     root itself. Doc is the record from now on. If Revision is Parent, the winner stays as it is;
//   - Doc is nil: it shows the record as deleted;
//   - for each leaf of Ended: it grafts rev.Ending(leaf) on the leaf as a deleted leaf with Ended set, and keeps {"ended":true} as its
//     body;
//   - it lists Clashes for staff, and keeps the bodies that they are about until staff has looked at them;
//   - it gives the record one new row in the log, so that every peer learns of all new leaves.
//
// Afterwards at most one leaf is open, and Resolve returns nil. The same tree and bodies make the same revisions on every root.
type Resolution struct {
	Doc      *Doc     // the record; nil: it stays deleted
	Parent   rev.ID   // the winner; zero where Doc is nil
	Revision rev.ID   // of Doc: a child of Parent, or Parent itself where the merge has changed nothing; zero where Doc is nil
	Fields   []string // the fields in which Doc differs from the winner, in table order, unknown ones last
	Ended    []rev.ID // the leaves to end
	Clashes  []Clash
}

// Resolve merges a tree's open leaves into the winner, the best leaf first, each against the nearest common ancestor with a held body.
// body returns the body of a held revision, or nil if it is missing. Only an ancestor's body may be missing. Resolve returns nil if
// fewer than two leaves are open.
//
// A deletion against a change: the record stays deleted, and the whole change is a clash of rule rev.Delete. But an author that deletes
// one branch and goes on with another resolves the conflict by hand, as CouchDB's clients do: that deletion only ends the branch.
// All open leaves of a deleted record are ended, so a later write on any of them is not deleted for an old conflict. A record that was
// merged into another one (Tombstone) stays merged.
func Resolve(k *Kind, t *rev.Tree, body func(rev.ID) (*Doc, error)) (*Resolution, error) {
	open := t.Open()
	if len(open) < 2 {
		return nil, nil
	}
	r := resolver{k: k, t: t, body: body}
	var err error
	if deletes(t, open) {
		err = r.delete(open)
	} else {
		err = r.merge(open)
	}
	if err != nil {
		return nil, err
	}
	return &r.Resolution, nil
}

// deletes reports whether open leaves make a deleted record: one of them is deleted, and not by hand.
func deletes(t *rev.Tree, open []rev.Node) bool {
	return slices.ContainsFunc(open, func(n rev.Node) bool { return n.Deleted && !byHand(t, n, open) })
}

// byHand reports whether a deletion only ends a branch: its author wrote a live leaf beside it, and both follow from an older revision.
func byHand(t *rev.Tree, n rev.Node, open []rev.Node) bool {
	return n.Key != 0 && slices.ContainsFunc(open, func(live rev.Node) bool {
		sameAuthor := live.Key == n.Key && live.Node == n.Node
		return !live.Deleted && sameAuthor && t.Ancestor(n.Revision, live.Revision).Revision != n.Parent
	})
}

type resolver struct {
	k    *Kind
	t    *rev.Tree
	body func(rev.ID) (*Doc, error)
	Resolution
}

// leaf returns a live leaf's body.
func (r *resolver) leaf(rev rev.ID) (*Doc, error) {
	d, err := r.body(rev)
	if err == nil && d == nil {
		err = fmt.Errorf("%w: %s %s", ErrNotHeld, r.k.Name, rev)
	}
	return d, err
}

// delete ends every leaf and lists the live ones. It keeps the best leaf that names the record it was merged into.
func (r *resolver) delete(open []rev.Node) error {
	merged := false
	for _, n := range open {
		if n.Deleted && n.Into != 0 && !merged {
			merged = true
			continue
		}
		r.Ended = append(r.Ended, n.Revision)
		if n.Deleted {
			continue
		}
		d, err := r.leaf(n.Revision)
		if err != nil {
			return err
		}
		r.Clashes = append(r.Clashes, Clash{Other: d.Canonical(), Rule: rev.Delete, Leaf: n.Revision})
	}
	return nil
}

// merge merges the live leaves into the winner, and ends all others.
func (r *resolver) merge(open []rev.Node) error {
	r.Parent = open[0].Revision
	winner, err := r.leaf(r.Parent)
	if err != nil {
		return err
	}
	r.Doc, r.Revision = winner, r.Parent
	for _, n := range open[1:] {
		r.Ended = append(r.Ended, n.Revision)
		if !n.Deleted {
			err = r.take(n.Revision)
		}
		if err != nil {
			return err
		}
	}
	if !bytes.Equal(r.Doc.Canonical(), winner.Canonical()) {
		r.Revision, r.Fields = MergedRevision(open, r.Doc), r.Doc.Differs(winner)
	}
	return nil
}

// take merges one more leaf.
func (r *resolver) take(rev rev.ID) error {
	other, err := r.leaf(rev)
	if err != nil {
		return err
	}
	var base *Doc
	if n := r.t.Base(r.Parent, rev); n.Held {
		if base, err = r.body(n.Revision); err != nil {
			return err
		}
	}
	merged, clashes := Merge(r.k, base, r.Doc, other)
	for i := range clashes {
		clashes[i].Leaf = rev
	}
	r.Doc, r.Clashes = merged, append(r.Clashes, clashes...)
	return nil
}
