package replicate

import (
	"context"
	"errors"

	"doorward/kv/record"
	"doorward/sync/line"

	"github.com/oklog/ulid/v2"
)

// isFact tells the id of a fact.
func isFact(id string) bool {
	k, _, ok := record.ParseDocID(id)
	return ok && k.Fact
}

// ErrRealm is an exchange of records between two congregations.
var ErrRealm = errors.New("the two stores belong to different congregations, whose records never mix: export them here, import them there")

// OfRecords tells whether a database of a name is one of records, which hold to their realm.
func OfRecords(name string) bool {
	_, scoped := record.ParseScope(name)
	return scoped || name == "records"
}

// holdsRecords tells that a peer is a database of records, as far as it says what it is.
func holdsRecords(ctx context.Context, p Peer) bool {
	says, err := p.Identify(ctx)
	return err == nil && OfRecords(says.DB)
}

// isNamed tells whether a head of a database of records names a realm and a node.
func isNamed(h *line.Head) bool {
	if !OfRecords(h.DB) {
		return true
	}
	_, realm := ulid.ParseStrict(h.Realm)
	_, node := ulid.ParseStrict(h.Node)
	return realm == nil && node == nil
}

// isServerKind tells the id of what only the server itself writes: keys, laptops, erasures, what staff shall look at. The parts of a
// ticket are written by whoever writes the ticket.
func isServerKind(id string) bool {
	k, _, ok := record.ParseDocID(id)
	return ok && k.System && k != record.HolderName && k != record.Holder
}

// isErasure tells the id of what says that a record was erased.
func isErasure(id string) bool {
	k, _, ok := record.ParseDocID(id)
	return ok && k == record.Erasure
}

// checkRealm returns ErrRealm if records would go from one realm to another.
func checkRealm(source, target Identity) error {
	if (OfRecords(source.DB) || OfRecords(target.DB)) && source.Realm != target.Realm {
		return ErrRealm
	}
	return nil
}
