package replicate

import (
	"context"
	"encoding/json"

	"doorward/kv"
	"doorward/kv/record"
	"doorward/sync/line"
)

// Peer is one end of a replication: Local, Remote or File.
type Peer interface {
	// Identify says which database the peer is.
	Identify(ctx context.Context) (Identity, error)
	// Checkpoint reads what Keep has saved. It returns the zero checkpoint if there is none.
	Checkpoint(ctx context.Context, id string) (Checkpoint, error)
	// Keep saves a checkpoint.
	Keep(ctx context.Context, id string, c Checkpoint) error
	// Feed calls fn with the changes after a place, in order. A live feed ends with ctx alone.
	Feed(ctx context.Context, w Wish, fn func(*Batch) error) error
	// Read calls fn with revisions that the target lacks. It leaves out those that the peer does not have any more.
	Read(ctx context.Context, missing []kv.MissingRevs, fn func(*line.Revision) error) error
	// Missing returns the offered revisions that the peer lacks.
	Missing(ctx context.Context, offers []kv.Revs) ([]kv.MissingRevs, error)
	// Write stores revisions. It returns those that the peer refuses for good. All others are stored.
	Write(ctx context.Context, revisions []*line.Revision) ([]Denial, error)
}

// Identity says which database a peer is.
type Identity struct {
	line.Head        // realm, node, epoch and database, as far as the peer says
	ID        string // names the peer in checkpoints; "" = it keeps none
	CodeKey   []byte // of the realm, if the source's operator copies all records
}

// Wish says which changes a feed brings.
type Wish struct {
	Since    line.Sequence   // after which place; nil: from the beginning
	Live     bool            // goes on with what comes later
	IDs      []string        // nil: all documents
	Selector json.RawMessage // nil: all documents
	Carry    bool            // the feed always brings the revisions along
	Records  bool            // the target is a database of records
	// Lacked tells which offers the target lacks.
	Lacked func(ctx context.Context, offers []kv.Revs) ([]kv.MissingRevs, error)
}

// Batch is some changes in order.
type Batch struct {
	Offers    []kv.Revs // the revisions of the changed documents
	Carried   bool      // Revisions has all that is offered
	Revisions []*line.Revision
	Denied    []Denial      // what cannot be offered
	Left      []string      // documents that have left the database and live on elsewhere
	Upto      line.Sequence // the place after the batch
}

// offer adds a document's revisions of a feed. Texts that are no revisions are denied.
func (b *Batch) offer(id string, revs []string) {
	o := kv.Revs{ID: id}
	for _, text := range revs {
		if rev, ok := record.ParseFreeRevision(text); ok && text != "" {
			o.Revisions = append(o.Revisions, rev)
		} else {
			b.Denied = append(b.Denied, Denial{ID: id, Rev: text, Error: "forbidden", Reason: "not a revision"})
		}
	}
	if len(o.Revisions) > 0 {
		b.Offers = append(b.Offers, o)
	}
}
