package sync

import (
	"context"
	"errors"

	"github.com/oklog/ulid/v2"

	"doorward/kv/record"
	"doorward/kv/scopes"
)

// ErrRealm is an exchange of records between two congregations.
var ErrRealm = errors.New("the two stores belong to different congregations, whose records never mix: export them here, import them there")

// homed is an end that knows where it lives.
type homed interface {
	Head(ctx context.Context) (Head, error)
}

// Head tells whose database this is.
func (h *Here) Head(context.Context) (Head, error) {
	return Head{Format: lineFormat, Realm: h.store.Realm(), Node: h.store.Node(), Epoch: h.store.Epoch(), DB: h.db.Name()}, nil
}

// Head tells whose database this is, as far as its server says.
func (t *There) Head(ctx context.Context) (Head, error) {
	err := t.open(ctx)
	return t.head, err
}

// OfRecords tells whether a database of a name is one of records, which hold to their realm.
func OfRecords(name string) bool {
	_, scoped := scopes.Parse(name)
	return scoped || name == "records"
}

// keepsRecords tells that an end is a database of records, as far as it says what it is.
func keepsRecords(ctx context.Context, end any) bool {
	h, ok := end.(homed)
	if !ok {
		return false
	}
	head, err := h.Head(ctx)
	return err == nil && OfRecords(head.DB)
}

// named tells whether the realm and the node of a database of records have names that they can have.
func (h *Head) named() bool {
	if !OfRecords(h.DB) {
		return true
	}
	_, realm := ulid.ParseStrict(h.Realm)
	_, node := ulid.ParseStrict(h.Node)
	return realm == nil && node == nil
}

// isOfSystem tells the id of what only the server itself writes: keys, laptops, erasures, what staff shall look at. The parts of a
// ticket are written by whoever writes the ticket.
func isOfSystem(id string) bool {
	k, _, ok := record.ParseDocID(id)
	return ok && k.System && k != record.HolderName && k != record.Holder
}

// isErasure tells the id of what says that a record was erased.
func isErasure(id string) bool {
	k, _, ok := record.ParseDocID(id)
	return ok && k == record.Erasure
}

// sameRealm answers nil unless records would go from one realm to another.
func sameRealm(ctx context.Context, ends ...any) error {
	var heads []Head
	for _, e := range ends {
		h, ok := e.(homed)
		if !ok {
			return nil
		}
		head, err := h.Head(ctx)
		if err != nil {
			return err
		}
		heads = append(heads, head)
	}
	a, b := heads[0], heads[1]
	if (OfRecords(a.DB) || OfRecords(b.DB)) && a.Realm != b.Realm {
		return ErrRealm
	}
	return nil
}
