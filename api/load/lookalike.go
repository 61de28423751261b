package load

import (
	"errors"
	"fmt"
	"hash/maphash"
	"strings"

	"doorward/api/load/kinds"
	"doorward/api/load/words"
	"doorward/kv/auth"
	"doorward/kv/feed"
	"doorward/kv/names"
	"doorward/kv/record"
	"doorward/kv/value"

	"github.com/go-json-experiment/json"
)

// lookalikes knows the people of a store by their e-mail, by their name with birthday or phone, and by their name within a church. It keeps
// hashes, not the values.
type lookalikes struct {
	seed maphash.Seed
	home int64 // the church that new people are given; 0 = none
	ids  map[uint64]int64
}

func newLookalikes(log *feed.Log, p auth.Principal) (*lookalikes, error) {
	l := &lookalikes{seed: maphash.MakeSeed(), home: homeOf(p), ids: map[uint64]int64{}}
	err := log.Each(p, record.Person, func(b []byte) error {
		var one struct { // null is blank, and of a church 0
			ID       int64  `json:"id"`
			Name     string `json:"full_name"`
			Email    string `json:"email"`
			Birthday string `json:"birthday"`
			Church   int64  `json:"church_id"`
			Phone    string `json:"phone"`
			Mobile   string `json:"mobile_phone"`
		}
		if err := json.Unmarshal(b, &one); err != nil {
			return err
		}
		if one.Email != "" {
			l.ids[l.email(one.Email)] = one.ID
		}
		if one.Name == "" {
			return nil
		}
		for _, within := range []int64{one.Church, anyChurch} {
			l.ids[l.name(one.Name, within)] = one.ID
		}
		for _, phone := range []string{one.Phone, one.Mobile} {
			if phone != "" {
				l.ids[l.phone(one.Name, phone)] = one.ID
			}
		}
		if one.Birthday != "" {
			l.ids[l.birth(one.Name, one.Birthday)] = one.ID
		}
		return nil
	})
	if errors.As(err, new(*feed.LeftOut)) {
		err = nil // a damaged person is compared with no row
	}
	return l, err
}

func (l *lookalikes) email(email string) uint64 {
	return maphash.String(l.seed, "e\x00"+strings.ToLower(strings.TrimSpace(email)))
}

func (l *lookalikes) birth(name, birthday string) uint64 {
	return maphash.String(l.seed, "b\x00"+birthday+"\x00"+words.Plain(name))
}

// anyChurch stands for people of whatever church.
const anyChurch = -1

// name is a name within a church; 0 = in none.
func (l *lookalikes) name(name string, church int64) uint64 {
	return maphash.String(l.seed, fmt.Sprintf("n\x00%d\x00", church)+words.Plain(name))
}

func (l *lookalikes) phone(name, phone string) uint64 {
	return maphash.String(l.seed, "p\x00"+names.Digits(phone)+"\x00"+words.Plain(name))
}

// find compares a new person with the people of the store.
func (l *lookalikes) find(it *item, rep *Report) {
	for _, key := range l.keys(it.row.Patch) {
		if id, ok := l.ids[key.sum]; ok {
			rep.alike(Alike{it.line, record.Person.FormatID(record.Int(id)), key.by})
			return
		}
	}
}

// likeness is a hash by which a person may be found, and how it is called.
type likeness struct {
	by  string
	sum uint64
}

// keys are those of a new person. The name alone counts for a row without an id that says no more of who it is: a list of names and phones.
func (l *lookalikes) keys(p *record.Patch) (keys []likeness) {
	name, birthday, email := p.Text(kinds.FullName), p.Text(kinds.Birthday), p.Text(kinds.Email)
	if email != "" {
		keys = append(keys, likeness{"e-mail", l.email(email)})
	}
	if birthday != "" {
		keys = append(keys, likeness{"name and birthday", l.birth(name, birthday)})
	}
	for _, field := range []string{"phone", "mobile_phone"} {
		if phone := p.Text(field); phone != "" {
			keys = append(keys, likeness{"name and phone", l.phone(name, phone)})
		}
	}
	if birthday != "" || email != "" || !strings.HasPrefix(p.Text(kinds.ExternalID), byContent) {
		return keys
	}
	within := []int64{anyChurch}
	if v, given := p.Value(kinds.Church); given && v.Kind() != 'n' {
		church, _ := value.ParseInt(string(v))
		within = []int64{church, 0}
	} else if l.home > 0 {
		within = []int64{l.home, 0}
	}
	for _, church := range within {
		keys = append(keys, likeness{"name", l.name(name, church)})
	}
	return keys
}
