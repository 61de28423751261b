package access

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"doorward/kv/kvtest/proof"
	"doorward/kv/record"
	"doorward/kv/scopes"
)

var update = flag.Bool("update", false, "write the golden files anew")

// party is a principal of the matrix.
type party struct {
	name string
	who  rights
}

var parties = []party{
	{"the operator, and this store's replicator", rights{class: root}},
	{"a key of the denomination", rights{class: denominationKey}},
	{"a key of a regional", rights{class: regionalKey}},
	{"a key of a church", rights{class: churchKey}},
	{"a key of an event", rights{class: eventKey}},
	{"a mirror", rights{class: mirrorLaptop, grants: withMirror}},
	{"a mirror with all grants", rights{class: mirrorLaptop, grants: withFinance | withNames | withMirror}},
	{"a church's laptop, --door-data labels", rights{class: churchLaptop, grants: withLabels}},
	{"a church's laptop, --door-data names", rights{class: churchLaptop, grants: withNames}},
	{"a church's laptop, --finance", rights{class: churchLaptop, grants: withFinance}},
	{"a church's laptop, --mirror", rights{class: churchLaptop, grants: withMirror}},
	{"a church's laptop with all grants", rights{class: churchLaptop, grants: withFinance | withNames | withMirror}},
	{"an event's laptop, --door-data labels", rights{class: eventLaptop, grants: withLabels}},
	{"an event's laptop, --door-data names", rights{class: eventLaptop, grants: withNames}},
	{"an event's laptop with all grants, as none is enrolled", rights{class: eventLaptop, grants: withFinance | withNames | withMirror}},
	{"a laptop that is revoked", rights{class: revokedLaptop, grants: withFinance | withNames | withMirror}},
	{"a file of changes", rights{class: changesFile}},
}

var verbNames = map[Verb]string{Read: "read", Make: "make", Change: "change", Remake: "remake", Delete: "delete"}

var tieNames = []string{"own", "churchless", "guest", "lent", "had", "gone", "new", "foreign"}

func (t Tie) String() string {
	for i, name := range tieNames {
		if t == 1<<i {
			return name
		}
	}
	return fmt.Sprintf("tie %b", uint16(t))
}

var sortNames = map[scopes.Sort]string{0: "records"}

func (s Spot) String() string {
	name, ok := sortNames[s.Sort]
	if !ok {
		name = strings.Replace(scopes.Scope{Sort: s.Sort, ID: 7}.String(), "-7", "", 1)
	}
	if s.Tie == Own && !scoped(s.Sort) {
		return name
	}
	return name + ":" + s.Tie.String()
}

// scoped tells the sorts that are of one church or event.
func scoped(s scopes.Sort) bool {
	return s.OfEvent() || s == scopes.Church || s == scopes.ChurchFinance
}

// tiesAt are the ties that a principal can have to a scope of a sort.
func tiesAt(w rights, s scopes.Sort) (all []Tie) {
	set := Own
	switch {
	case s.OfEvent() && w.class&(laptops|revokedLaptop|root) != 0:
		set = anyTie
	case s.OfEvent():
		set = Own | Churchless | New | Foreign
	case scoped(s):
		set = Own | Foreign
	}
	for t := Own; t <= Foreign; t <<= 1 {
		if set&t != 0 {
			all = append(all, t)
		}
	}
	return all
}

// spotsOf are all spots that a record of a kind can be in, one at a time.
func spotsOf(w rights, k *record.Kind) (all []Spot) {
	all = append(all, mirrorSpot)
	for s := scopes.Reference; s <= scopes.System; s++ {
		if k != nil && !slices.Contains(record.KindsIn(s), k) {
			continue
		}
		for _, t := range tiesAt(w, s) {
			all = append(all, Spot{scopes.Scope{Sort: s}, t})
		}
	}
	return all
}

// ask asks for a record that is in one database and goes to another, through the one that it goes to.
func ask(w rights, v Verb, k *record.Kind, from, to Spot) Verdict {
	q := Question{Verb: v, Kind: k, Via: to.Scope}
	if to != mirrorSpot {
		q.To[0] = to
	}
	if from != mirrorSpot {
		q.From[0] = from
	}
	return may(w, q)
}

// allKinds are all kinds, and nil for the unknown one.
func allKinds() []*record.Kind { return append(slices.Clone(record.Kinds()), nil) }

func nameOf(k *record.Kind) string {
	if k == nil {
		return "a kind of a newer version"
	}
	return k.Name
}

// grouped joins the names of what has the same lines, in the order of their first.
type grouped struct {
	order []string
	names map[string][]string
}

func (g *grouped) add(name, lines string) {
	if g.names == nil {
		g.names = map[string][]string{}
	}
	if _, known := g.names[lines]; !known {
		g.order = append(g.order, lines)
	}
	g.names[lines] = append(g.names[lines], name)
}

// print writes each group: its names, and its lines below them.
func (g *grouped) print(b *strings.Builder, indent string) {
	for _, lines := range g.order {
		fmt.Fprintf(b, "%s%s\n", indent, strings.Join(g.names[lines], ", "))
		for line := range strings.Lines(lines) {
			b.WriteString(indent + "  " + line)
		}
	}
}

// pushMatrix prints the answers to all questions of replication.
func pushMatrix() string {
	var b strings.Builder
	section := func(title string, lines func(rights) string) {
		fmt.Fprintf(&b, "\n%s\n", title)
		all := grouped{}
		for _, p := range parties {
			all.add(p.name, lines(p.who))
		}
		all.print(&b, "  ")
	}
	section("WHO READS WHAT", func(w rights) string { return byKind(w, readsOf) })
	section("WHO MAY PUSH TO WHICH DATABASE; EACH DOCUMENT IS JUDGED BY ITSELF", offersOf)
	section("WHO WRITES WHAT", func(w rights) string { return byKind(w, writesOf) })
	return b.String()
}

// byKind prints what is so for each kind, kinds with the same lines together.
func byKind(w rights, lines func(rights, *record.Kind) string) string {
	kinds := grouped{}
	for _, k := range allKinds() {
		kinds.add(nameOf(k), lines(w, k))
	}
	var b strings.Builder
	kinds.print(&b, "")
	return b.String()
}

// list names spots, those of one sort together: "event:own,guest"; all of several are "everywhere".
func list(spots []Spot, of int) string {
	if len(spots) == of && of > 2 {
		return "everywhere"
	}
	var sorts []string
	ties := map[string][]string{}
	for _, s := range spots {
		sort, tie, _ := strings.Cut(s.String(), ":")
		if !slices.Contains(sorts, sort) {
			sorts = append(sorts, sort)
		}
		if tie != "" {
			ties[sort] = append(ties[sort], tie)
		}
	}
	for i, sort := range sorts {
		if ties[sort] != nil {
			sorts[i] += ":" + strings.Join(ties[sort], ",")
		}
	}
	return strings.Join(sorts, " ")
}

func readsOf(w rights, k *record.Kind) string {
	all := spotsOf(w, k)
	return orNowhere(slices.DeleteFunc(slices.Clone(all), func(s Spot) bool { return !reads(w, k, s) }), len(all))
}

func offersOf(w rights) string {
	all := spotsOf(w, nil)
	return orNowhere(slices.DeleteFunc(slices.Clone(all), func(s Spot) bool { return !offers(w, s) }), len(all))
}

func orNowhere(spots []Spot, of int) string {
	if len(spots) == 0 {
		return "nowhere\n"
	}
	return list(spots, of) + "\n"
}

// writesOf prints what a principal may do to a kind, verbs with the same answers together.
func writesOf(w rights, k *record.Kind) string {
	verbs := grouped{}
	for _, v := range []Verb{Make, Change, Remake, Delete} {
		verbs.add(verbNames[v], writesBy(w, v, k))
	}
	var b strings.Builder
	verbs.print(&b, "")
	return b.String()
}

// writesBy prints what one verb may do: from where to where with which verdict, and why all else is refused.
func writesBy(w rights, v Verb, k *record.Kind) string {
	froms, all := map[string][]Spot{}, spotsOf(w, k)
	from := all
	var order, why []string
	if v == Make {
		from = all[:1]
	}
	for _, f := range from {
		to := map[Verdict][]Spot{}
		for _, s := range all {
			verdict := ask(w, v, k, f, s)
			if to[verdict] = append(to[verdict], s); verdict.Refuses() && !slices.Contains(why, verdict.String()) {
				why = append(why, verdict.String())
			}
		}
		for verdict := Yes; !verdict.Refuses(); verdict++ {
			if to[verdict] == nil {
				continue
			}
			line := fmt.Sprintf("to %s: %s", list(to[verdict], len(all)), verdict)
			if froms[line] == nil {
				order = append(order, line)
			}
			froms[line] = append(froms[line], f)
		}
	}
	var b strings.Builder
	for _, line := range order {
		if v != Make {
			b.WriteString("from " + list(froms[line], len(all)) + " ")
		}
		b.WriteString(line + "\n")
	}
	if why != nil {
		slices.Sort(why)
		b.WriteString("otherwise refused: " + strings.Join(why, "; ") + "\n")
	}
	return b.String()
}

// deskMatrix prints what the desk allows: for each principal and kind, the verbs by tie.
func deskMatrix() string {
	var b strings.Builder
	all := grouped{}
	for _, p := range parties {
		all.add(p.name, byKind(p.who, deskOf))
	}
	all.print(&b, "")
	return b.String()
}

// deskOf prints what a principal may do to a kind by the desk, ties with the same verbs together.
func deskOf(w rights, k *record.Kind) string {
	ties := grouped{}
	for _, t := range []Tie{Own, Churchless, Foreign} {
		var verbs []string
		for v := Read; v <= Delete; v <<= 1 {
			if atDesk(w, v, k, t) {
				verbs = append(verbs, verbNames[v])
			}
		}
		if verbs != nil {
			ties.add(t.String(), strings.Join(verbs, ", "))
		}
	}
	if ties.order == nil {
		return "nothing\n"
	}
	var b strings.Builder
	for _, verbs := range ties.order {
		fmt.Fprintf(&b, "%s: %s\n", strings.Join(ties.names[verbs], ", "), verbs)
	}
	return b.String()
}

const pushHead = `# Who may read and write what by replication: the answers of the table (kv/access/access.go) to all questions.
# Written by: go test ./kv/access -update. A change here is a change of rights; read it as one.
# A record is in a database (event, church-finance …); after the colon stands the tie of the principal to its church or event.
`

const deskHead = `# Who may do what to a record through /v1 and /admin, by the tie of the principal to the church or event that the record belongs to;
# churchless: it belongs to none. Written by: go test ./kv/access -update.
`

// TestTheMatrix compares the answers to all questions with those that a person has read.
func TestTheMatrix(t *testing.T) {
	for file, got := range map[string]string{
		"testdata/push.golden": pushHead + pushMatrix(),
		"testdata/desk.golden": deskHead + deskMatrix(),
	} {
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: the answers have changed; first %s", file, firstDifference(got, string(want)))
		}
	}
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("line %d: %q, want %q", i+1, a[i], strings.Join(b[min(i, len(b)):min(i+1, len(b))], ""))
		}
	}
	return fmt.Sprintf("%d lines are missing", len(b)-len(a))
}

// TestTheMatrixShowsEveryChangeOfARule plants one bug after another in each row: it drops the row, and lets it fit more. Each of them
// changes the matrix. A proof plants all of them, a test one of six.
func TestTheMatrixShowsEveryChangeOfARule(t *testing.T) {
	proof.Unraced(t)
	push, at := pushMatrix(), deskMatrix()
	shows := func(desk bool) bool { return desk && deskMatrix() != at || !desk && pushMatrix() != push }
	chosen := proof.Sampled(proof.Seed(t), 6)
	planted, silent := 0, []string{}
	for _, rules := range []*table{&pushes, &desk} {
		sound := *rules
		for i := range sound {
			for name, plant := range bugsOf(rules == &desk) {
				broken := slices.Clone(sound)
				if plant(&broken[i]); broken[i] == sound[i] {
					continue
				}
				if !chosen() {
					continue
				}
				planted++
				*rules = broken
				if own := rules == &desk; !shows(own) && !shows(!own) {
					silent = append(silent, fmt.Sprintf("row %d %s: %+v", i, name, sound[i]))
				}
				*rules = sound
			}
		}
	}
	t.Logf("%d bugs planted", planted)
	for _, s := range silent {
		t.Error("the matrix does not show it: ", s)
	}
}

// bugsOf are changes of a row, where they mean something: a row that refuses refuses what no other row allows, a key has no grants, a
// mirror has the fewest rights of all laptops, and at the desk no laptop writes.
func bugsOf(desk bool) map[string]func(*row) {
	bugs := map[string]func(*row){
		"is dropped": func(r *row) { r.who = 0 },
		"is of foreign churches and events too": func(r *row) {
			if r.sorts&(church|money|ofEvent) != 0 {
				r.ties |= Foreign
			}
		},
		"is of keys of an event too": func(r *row) {
			if !r.verdict.Refuses() && r.grants == 0 {
				r.who |= eventKey
			}
		},
	}
	if desk {
		return bugs
	}
	bugs["is of events that have left too"] = func(r *row) {
		if r.sorts&ofEvent != 0 && r.who&(laptops|revokedLaptop) != 0 {
			r.ties |= Had
		}
	}
	bugs["needs no grant"] = func(r *row) { r.grants = 0 }
	bugs["is of all laptops too"] = func(r *row) {
		if !r.verdict.Refuses() && r.who != mirrorLaptop {
			r.who |= laptops
		}
	}
	return bugs
}
