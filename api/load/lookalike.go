package load

import (
	"errors"
	"hash/maphash"
	"strings"

	"github.com/go-json-experiment/json"

	"doorward/api/load/kinds"
	"doorward/api/load/words"
	"doorward/kv/auth"
	"doorward/kv/feed"
	"doorward/kv/record"
)

// exporter reads all records of a kind.
type exporter interface {
	Export(p auth.Principal, k *record.Kind, fn func(json []byte) error) error
}

// lookalikes knows the people of a store by their e-mail, and by their name and birthday. It keeps hashes, not the values.
type lookalikes struct {
	seed maphash.Seed
	ids  map[uint64]string
}

func newLookalikes(s exporter, p auth.Principal) (*lookalikes, error) {
	l := &lookalikes{seed: maphash.MakeSeed(), ids: map[uint64]string{}}
	err := s.Export(p, record.Person, func(b []byte) error {
		var one struct {
			ID       int64   `json:"id"`
			Name     string  `json:"full_name"`
			Email    *string `json:"email"`
			Birthday *string `json:"birthday"`
		}
		if err := json.Unmarshal(b, &one); err != nil {
			return err
		}
		id := record.Person.FormatID(record.Int(one.ID))
		if one.Email != nil && *one.Email != "" {
			l.ids[l.email(*one.Email)] = id
		}
		if one.Birthday != nil && one.Name != "" {
			l.ids[l.birth(one.Name, *one.Birthday)] = id
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

// find compares a new person with the people of the store.
func (l *lookalikes) find(it *item, rep *Report) {
	p := it.row.Patch
	if email := text(p, kinds.Email); email != "" {
		if id, ok := l.ids[l.email(email)]; ok {
			rep.alike(Alike{it.line, id, "e-mail"})
			return
		}
	}
	if birthday := text(p, kinds.Birthday); birthday != "" {
		if id, ok := l.ids[l.birth(text(p, kinds.FullName), birthday)]; ok {
			rep.alike(Alike{it.line, id, "name and birthday"})
		}
	}
}
