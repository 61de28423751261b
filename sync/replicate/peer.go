package replicate

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"doorward/kv/access"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/entry"
	"doorward/kv/merge"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/sync/input"
	"doorward/sync/line"
	"doorward/sync/transit"

	"github.com/oklog/ulid/v2"
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
	Read(ctx context.Context, missing []docs.MissingRevs, fn func(*transit.Revision) error) error
	// Missing returns the offered revisions that the peer lacks.
	Missing(ctx context.Context, offers []merge.Revs) ([]docs.MissingRevs, error)
	// Write stores revisions. It returns those that the peer refuses for good. All others are stored.
	Write(ctx context.Context, revisions []*transit.Revision) ([]Denial, error)
}

// Identity says which database a peer is.
type Identity struct {
	line.Head        // realm, node, epoch and database, as far as the peer says
	ID        string // names the peer in checkpoints; "" = it keeps none
	CodeKey   []byte // of the realm, if the source's operator copies all records
}

// Wish says which changes a feed brings.
type Wish struct {
	Since    transit.Sequence // after which place; nil: from the beginning
	Live     bool             // goes on with what comes later
	IDs      []string         // nil: all documents
	Selector json.RawMessage  // nil: all documents
	Carry    bool             // the feed always brings the revisions along
	Records  bool             // the target is a database of records
	// Lacked tells which offers the target lacks.
	Lacked func(ctx context.Context, offers []merge.Revs) ([]docs.MissingRevs, error)
}

// Batch is some changes in order.
type Batch struct {
	Offers    []merge.Revs // the revisions of the changed documents
	Carried   bool         // Revisions has all that is offered
	Revisions []*transit.Revision
	Denied    []Denial         // what cannot be offered
	Left      []string         // documents that have left the database and live on elsewhere
	Upto      transit.Sequence // the place after the batch
}

// offer adds a document's revisions of a feed. Texts that are no revisions are denied.
func (b *Batch) offer(id string, revs []string) {
	known, others := transit.SortRevs(revs)
	for _, text := range others {
		b.Denied = append(b.Denied, Denial{ID: id, Rev: text, Error: "forbidden", Reason: "not a revision"})
	}
	if len(known) > 0 {
		b.Offers = append(b.Offers, merge.Revs{ID: id, Revisions: known})
	}
}

// Denial is a revision that the target refuses.
type Denial struct {
	ID     string `json:"id"`
	Rev    string `json:"rev,omitempty"`
	Error  string `json:"error"`
	Reason string `json:"reason"`
	Kept   bool   `json:"kept,omitzero"` // the target keeps it for its staff
}

// denial makes the denial of a revision.
func denial(r *transit.Revision, err error) Denial {
	return Denial{ID: r.ID, Rev: r.Rev().String(), Error: "forbidden", Reason: Reason(err)}
}

// reasons has the sentence for each refusal of a revision. The first match counts.
var reasons = []struct {
	err  error
	text string
}{
	{table.ErrConflict, "Document update conflict."},
	{transit.ErrStub, "A stub of an attachment that is not there."},
	{docs.ErrNoBlob, "A stub of an attachment that is not there."},
	{transit.ErrLength, "An attachment is not as long as its document says."},
	{docs.ErrDocumentID, "A document's id is a text of 1 to 8192 bytes. Only reserved ids begin with an underscore."},
	{merge.ErrRevision, "Invalid rev format"},
	{input.ErrTooLarge, "The request's body is too large."},
	{entry.ErrTooLarge, "The document is too large."},
}

// Reason returns the sentence for a refusal of a revision; "" for any other error.
func Reason(err error) string {
	if forbidden, is := errors.AsType[*auth.Forbidden](err); is {
		return forbidden.Error()
	}
	for _, r := range reasons {
		if errors.Is(err, r.err) {
			return r.text
		}
	}
	if errors.Is(err, merge.ErrDocument) {
		return err.Error()
	}
	return ""
}

// isFact tells whether an id is a fact's.
func isFact(id string) bool {
	k, _, ok := record.ParseDocID(id)
	return ok && k.Fact
}

// ErrRealm says that a replication would copy records between two congregations.
var ErrRealm = errors.New("the two stores belong to different congregations, whose records never mix: export them here, import them there")

// holdsRecords tells whether a peer says that it is a database of records.
func holdsRecords(ctx context.Context, p Peer) bool {
	says, err := p.Identify(ctx)
	return err == nil && table.OfRecords(says.DB)
}

// isNamed tells whether the head of a database of records names a realm and a node.
func isNamed(h *line.Head) bool {
	if !table.OfRecords(h.DB) {
		return true
	}
	_, realm := ulid.ParseStrict(h.Realm)
	_, node := ulid.ParseStrict(h.Node)
	return realm == nil && node == nil
}

// inFiles tells whether a file of changes may bring a document.
func inFiles(id string) bool {
	k, _, _ := record.ParseDocID(id) // nil for an id of an unknown kind
	return access.InFiles(k)
}

// checkRealm returns ErrRealm if records would go from one realm to another. Databases of records stay within their realm.
func checkRealm(source, target Identity) error {
	if (table.OfRecords(source.DB) || table.OfRecords(target.DB)) && source.Realm != target.Realm {
		return ErrRealm
	}
	return nil
}

// Echo remembers revisions that a peer has just given. This store's log offers them back at once, and the peer is not asked about them.
// Each is forgotten once it was offered back, and all when the link ends.
type Echo struct {
	mu   sync.Mutex // guards revs
	revs map[docRevision]struct{}
}

type docRevision struct {
	id  string
	rev rev.ID
}

// maxReceived is how many revisions are remembered. The peer is asked about all others.
const maxReceived = 200_000

// note remembers revisions before they are written here. A nil Echo remembers nothing.
func (r *Echo) note(missing []docs.MissingRevs) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.revs == nil {
		r.revs = map[docRevision]struct{}{}
	}
	for _, m := range missing {
		for _, rev := range m.Missing {
			if len(r.revs) < maxReceived {
				r.revs[docRevision{m.ID, rev}] = struct{}{}
			}
		}
	}
}

// Unknown returns those of the offers that the peer has not given itself.
func (r *Echo) Unknown(offers []merge.Revs) []merge.Revs {
	if r == nil {
		return offers
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	left := make([]merge.Revs, 0, len(offers))
	for _, o := range offers {
		o.Revisions = slices.DeleteFunc(slices.Clone(o.Revisions), func(rev rev.ID) bool { return r.forget(docRevision{o.ID, rev}) })
		if len(o.Revisions) > 0 {
			left = append(left, o)
		}
	}
	if len(r.revs) == 0 {
		r.revs = nil // a map never shrinks
	}
	return left
}

// forget tells whether a revision was remembered, and forgets it.
func (r *Echo) forget(d docRevision) bool {
	_, was := r.revs[d]
	delete(r.revs, d)
	return was
}
