package load

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"doorward/api/load/cells"
	"doorward/api/load/columns"
	"doorward/api/load/kinds"
	"doorward/api/load/sheet"
	"doorward/kv/auth"
	"doorward/kv/feed"
	"doorward/kv/names"
	"doorward/kv/record"
	"doorward/kv/value"
)

// The reasons for which a row of a list of memberships is refused. None tells of a record that the key does not see.
const (
	faultEnded     = "the person is not in the group any more: the row is not written; if the membership is still here, delete it here"
	faultNoGroup   = "no group here has this name or external_id: make the group first, or write its name as it is here"
	faultTwoGroups = "more than one group here has this name: give the external_id of the group, or its church in a column of its own"
	faultNoPerson  = "no person here is found by this row: add the person first, or give the external_id, the CPF, or the e-mail with the name as they are here"
	faultTwoPeople = "more than one person here may be meant: give the external_id, the CPF, or the e-mail of the one that is"
	faultOther     = "the person with this external_id or CPF has another name or birth date here: put right what is wrong, here or in the file"
	faultUnlike    = "a person here has this name, but other data (birth date, phone, e-mail, CPF or external_id): put right what is wrong, or give the external_id"
)

// members finds the group and the person that a row of a list of memberships names. It knows the groups and the people that the key sees, and of
// the people only those with a name, an e-mail or an id that stands in the file.
type members struct {
	groups map[string][]*member // by name and by external_id
	people map[string][]*member // by likeness
}

// member is a group or a person of the store, or the person that a row names.
type member struct {
	ID       int64  `json:"id"`
	Church   int64  `json:"church_id"` // 0 = none
	External string `json:"external_id"`
	Name     string `json:"name"` // of a group
	FullName string `json:"full_name"`
	Email    string `json:"email"`
	CPF      string `json:"cpf"`
	Birthday string `json:"birthday"`
	Phone    string `json:"phone"`
	Mobile   string `json:"mobile_phone"`
}

// The beginnings of the keys by which groups and people are found.
const (
	byID         = "i\x00"
	byExternalID = "x\x00"
	byCPF        = "c\x00"
	byEmail      = "e\x00"
	byName       = "n\x00"
)

// openMembers reads the groups and the people for a table of memberships that names them. It returns nil for any other table.
func openMembers(log *feed.Log, p auth.Principal, t *tableFile) (*members, error) {
	if columns.GiveIDs(t.ly) || !slices.ContainsFunc(t.ly.Form.Naming(), func(f record.Field) bool { return t.ly.Has(f.Name) }) {
		return nil, nil
	}
	m := &members{groups: map[string][]*member{}, people: map[string][]*member{}}
	rows := &tableDrafts{tableFile: t, cells: t.cells}
	err := t.sound(func(row sheet.Row) {
		if who, _, r := rows.named(row); r == nil {
			for _, key := range who.keys() {
				m.people[key] = nil
			}
		}
	})
	if err != nil {
		return nil, err
	}
	err = eachMember(log, p, record.Group, func(one *member) {
		for _, key := range []string{byID + fmt.Sprint(one.ID), byName + foldName(one.Name), byExternalID + one.External} {
			m.groups[key] = append(m.groups[key], one)
		}
	})
	if err != nil {
		return nil, err
	}
	return m, eachMember(log, p, record.Person, func(one *member) {
		for _, key := range one.keys() {
			if _, wanted := m.people[key]; wanted {
				m.people[key] = append(m.people[key], one)
			}
		}
	})
}

// eachMember reads the records of a kind that p sees. A damaged one stops the import: it may be a namesake.
func eachMember(log *feed.Log, p auth.Principal, k *record.Kind, fn func(*member)) error {
	err := log.Each(p, k, func(b []byte) error {
		one := &member{}
		if err := json.Unmarshal(b, one); err != nil {
			return err
		}
		fn(one)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read kind %s: %w", k.Name, err)
	}
	return nil
}

// keys are what a person may be found by. An external_id counts with the system that it is of and without.
func (one *member) keys() (keys []string) {
	add := func(by, what string) {
		if what != "" {
			keys = append(keys, by+what)
		}
	}
	add(byExternalID, one.External)
	if system, id, ok := strings.Cut(one.External, ":"); ok && slices.Contains(columns.Origins(), system) {
		add(byExternalID, id)
	}
	if names.IsCPF(one.CPF) {
		add(byCPF, one.CPF)
	}
	add(byEmail, strings.ToLower(one.Email))
	add(byName, strings.Join(one.words(), " "))
	return keys
}

// words are those of a person's name, without particles. “Souza, Ana” is Ana Souza.
func (one *member) words() []string {
	name := one.FullName
	if last, first, ok := strings.Cut(name, ","); ok && !strings.Contains(first, ",") {
		name = first + " " + last
	}
	return slices.DeleteFunc(names.Words(name), names.IsParticle)
}

// group finds the one group that a cell names, of a church if the row names one.
func (m *members) group(cell string, church int64) (*member, string) {
	var found []*member
	if cell != "" {
		found = slices.Clone(m.groups[byExternalID+cell])
	}
	for _, one := range m.groups[byName+foldName(cell)] {
		if one.isOf(church) && !slices.Contains(found, one) {
			found = append(found, one)
		}
	}
	return onlyOne(found, faultNoGroup, faultTwoGroups)
}

func onlyOne(found []*member, none, several string) (*member, string) {
	switch len(found) {
	case 0:
		return nil, none
	case 1:
		return found[0], ""
	}
	return nil, several
}

// person finds the one person that a row names: by external_id and CPF, else by e-mail and name, else by the name alone, within a church if the row
// or its group is of one.
func (m *members) person(who *member) (*member, string) {
	if certain := m.known(who, byExternalID, byCPF); len(certain) > 0 {
		one, fault := onlyOne(certain, "", faultTwoPeople)
		if one != nil && !who.maybe(one) {
			return nil, faultOther
		}
		return one, fault
	}
	mailed := m.known(who, byEmail)
	for _, agrees := range []func(*member) bool{who.isNamesake, who.agrees} {
		if same := slices.DeleteFunc(slices.Clone(mailed), func(one *member) bool { return !agrees(one) }); len(same) > 0 {
			return who.accept(onlyOne(same, "", faultTwoPeople))
		}
	}
	named := slices.DeleteFunc(m.known(who, byName), func(one *member) bool { return !one.isOf(who.Church) })
	one, fault := onlyOne(named, faultNoPerson, faultTwoPeople)
	if one != nil && (differ(strings.ToLower(who.Email), strings.ToLower(one.Email)) || who.hasOtherPhone(one)) {
		return nil, faultUnlike
	}
	return who.accept(one, fault)
}

// known are the people with a key of a row, of some sorts.
func (m *members) known(who *member, sorts ...string) (found []*member) {
	for _, key := range who.keys() {
		if slices.ContainsFunc(sorts, func(by string) bool { return strings.HasPrefix(key, by) }) {
			found = append(found, m.people[key]...)
		}
	}
	slices.SortFunc(found, func(a, b *member) int { return cmp.Compare(a.ID, b.ID) })
	return slices.Compact(found)
}

// isOf tells whether a group or a person may be of a church; 0 is any. One without a church may be.
func (one *member) isOf(church int64) bool {
	return church == 0 || one.Church == 0 || one.Church == church
}

// accept refuses a person found by the name if an id or the birth date is another one.
func (one *member) accept(found *member, fault string) (*member, string) {
	if found == nil {
		return nil, fault
	}
	isOther := differ(one.Birthday, found.Birthday) || differ(one.CPF, found.CPF) || !strings.HasPrefix(found.External, byContent) && differ(one.External, found.External)
	if isOther {
		return nil, faultUnlike
	}
	return found, ""
}

// maybe tells whether the person of an external_id or a CPF may be meant: two systems give one id to two people, and a child has the CPF of the father.
func (one *member) maybe(found *member) bool {
	ours, theirs := found.words(), one.words()
	switch {
	case differ(one.Birthday, found.Birthday), differ(one.CPF, found.CPF):
		return false
	case len(ours) == 0 || len(theirs) == 0 || one.Birthday != "" && one.Birthday == found.Birthday:
		return true
	}
	return ours[0] == theirs[0]
}

func (one *member) isNamesake(other *member) bool {
	return len(one.words()) > 0 && slices.Equal(one.words(), other.words())
}

// agrees tells whether two names may be one beside an equal e-mail: first and last word are equal, and one of them has more words between.
func (one *member) agrees(other *member) bool {
	a, b := one.words(), other.words()
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) < 2 || a[0] != b[0] || a[len(a)-1] != b[len(b)-1] {
		return false
	}
	return !slices.ContainsFunc(a, func(word string) bool { return !slices.Contains(b, word) })
}

// differ tells two texts of which none is blank and that are not equal.
func differ(a, b string) bool { return a != "" && b != "" && a != b }

// hasOtherPhone tells whether both have phones, and none in common. A country or an area may be written or not.
func (one *member) hasOtherPhone(other *member) bool {
	a, b := one.phones(), other.phones()
	return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(a, func(x string) bool {
		return slices.ContainsFunc(b, func(y string) bool {
			return x == y || min(len(x), len(y)) >= 8 && (strings.HasSuffix(x, y) || strings.HasSuffix(y, x))
		})
	})
}

func (one *member) phones() []string {
	all := []string{strings.TrimLeft(names.Digits(one.Phone), "0"), strings.TrimLeft(names.Digits(one.Mobile), "0")}
	return slices.DeleteFunc(all, func(phone string) bool { return phone == "" })
}

// named reads the cells of a row that name its group and its person.
func (t *tableDrafts) named(row sheet.Row) (who *member, group string, r *Rejection) {
	who = &member{}
	texts := map[string]*string{kinds.PersonID: &who.External, kinds.FullName: &who.FullName, kinds.CPF: &who.CPF, kinds.Email: &who.Email,
		"phone": &who.Phone, "mobile_phone": &who.Mobile, kinds.Birthday: &who.Birthday, kinds.Group: &group}
	for _, f := range t.ly.Form.Naming() {
		feed := t.ly.Feed(f.Name)
		if feed == nil {
			continue
		}
		at, cell, _ := feed.Read(row.Texts)
		v, wrong := t.value(t.ly.Form, f.Name, cell)
		if wrong != "" {
			return nil, "", &Rejection{row.Line, t.ly.Title(at), wrong}
		}
		if f.Name == kinds.Church {
			var ok bool
			if who.Church, ok = value.ParseInt(strings.Trim(string(v), `"`)); v != nil && !ok {
				return nil, "", &Rejection{row.Line, t.ly.Title(at), faultNoChurchID}
			}
		} else {
			*texts[f.Name] = cells.Clean(value.Unquote(v))
		}
	}
	return who, group, nil
}

// refer puts the group and the person into the draft that the row names without ids of this server.
func (t *tableDrafts) refer(d *draft, row sheet.Row) *Rejection {
	who, cell, r := t.named(row)
	if r != nil {
		return r
	}
	var group *member
	if id := t.ly.Cell(kinds.GroupID, row.Texts); id == "" {
		var fault string
		if group, fault = t.known.members.group(cell, who.Church); fault != "" {
			return &Rejection{row.Line, t.columnOf(kinds.GroupID), fault}
		}
		d.body = value.AppendMember(d.body, kinds.GroupID, value.Number(group.ID))
	} else if all := t.known.members.groups[byID+id]; len(all) > 0 {
		group = all[0]
	}
	if t.ly.Cell(kinds.Person, row.Texts) != "" {
		return nil
	}
	if who.Church == 0 && group != nil {
		who.Church = group.Church
	}
	person, fault := t.known.members.person(who)
	if fault != "" {
		return &Rejection{row.Line, t.columnOf(kinds.Person), fault}
	}
	d.body = value.AppendMember(d.body, kinds.Person, value.Number(person.ID))
	return nil
}

// columnOf is the column that gives a field, or that names the record which the field refers to.
func (t *tableDrafts) columnOf(field string) string {
	for _, name := range append([]string{field}, t.ly.Form.NamedBy(field)...) {
		if t.ly.Has(name) {
			return t.ly.Column(name)
		}
	}
	return field
}
