package replicate

import (
	"context"
	"errors"

	"doorward/kv/record"
	"doorward/sync/line"

	"github.com/oklog/ulid/v2"
)

// isFact tells whether an id is a fact's.
func isFact(id string) bool {
	k, _, ok := record.ParseDocID(id)
	return ok && k.Fact
}

// ErrRealm is a replication of records between two congregations.
var ErrRealm = errors.New("the two stores belong to different congregations, whose records never mix: export them here, import them there")

// OfRecords tells whether a name is that of a database of records. These stay within their realm.
func OfRecords(name string) bool {
	_, scoped := record.ParseScope(name)
	return scoped || name == "records"
}

// holdsRecords tells whether a peer says that it is a database of records.
func holdsRecords(ctx context.Context, p Peer) bool {
	says, err := p.Identify(ctx)
	return err == nil && OfRecords(says.DB)
}

// isNamed tells whether the head of a database of records names a realm and a node.
func isNamed(h *line.Head) bool {
	if !OfRecords(h.DB) {
		return true
	}
	_, realm := ulid.ParseStrict(h.Realm)
	_, node := ulid.ParseStrict(h.Node)
	return realm == nil && node == nil
}

// isServerKind tells whether an id is of a kind that only a server writes: keys, laptops, erasures, items for staff. The parts of a ticket
// are written with the ticket.
func isServerKind(id string) bool {
	k, _, ok := record.ParseDocID(id)
	return ok && k.System && k != record.HolderName && k != record.Holder
}

// isErasure tells whether an id is an erasure's.
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
