package replicate

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"doorward/kv/docs"
	"doorward/kv/merge"
	"doorward/sync/dial"
	"doorward/sync/input"
	"doorward/sync/line"
	"doorward/sync/transit"
)

// Remote is a database at a server, as a peer. It asks the server once what it is, and uses lines if the server is one of our own nodes.
type Remote struct {
	link    *dial.Link
	http    *httpTransport
	create  bool
	plain   bool
	laptop  int64      // the feed has only what it takes along; 0 = all
	opening sync.Mutex // guards what follows
	opened  bool
	says    Identity          // what the server says of itself
	fast    bool              // the server is one of our own nodes
	dirty   bool              // something was written since it was told to commit
	revs    map[string]string // of checkpoints, by their ids
}

// transport brings changes from a server and revisions to it.
type transport interface {
	feed(ctx context.Context, w Wish, fn func(*Batch) error) error
	write(ctx context.Context, revisions []*transit.Revision) ([]Denial, error)
}

// transport returns the faster of those that the server knows.
func (t *Remote) transport() transport {
	if t.fast {
		return lineTransport{t.http}
	}
	return t.http
}

// RemoteConfig says where a database is. Only URL is needed.
type RemoteConfig struct {
	dial.Config
	Create bool // the database is created if there is none
	Plain  bool // never uses lines
	// For leaves out of the feed what the laptop with this id does not take along. It needs lines; 0 = nothing is left out.
	For int64
	// Met is what one of our own nodes has said of the database: it is not asked again. A head without a node keeps no checkpoints. nil = the
	// server is asked.
	Met *line.Head
}

// NewRemote makes a peer and sends nothing yet. It returns dial.ErrURL for an address that cannot be a database's.
func NewRemote(c RemoteConfig) (*Remote, error) {
	l, err := dial.New(c.Config)
	if err != nil {
		return nil, err
	}
	t := &Remote{link: l, http: &httpTransport{link: l}, create: c.Create, plain: c.Plain, laptop: c.For, revs: map[string]string{}}
	if c.Met != nil {
		t.opened, t.fast, t.says.Head = true, true, *c.Met
		if c.Met.Node != "" {
			t.says.ID = strings.ToLower(c.Met.Node) + "/" + c.Met.DB
		}
	}
	return t, nil
}

// Identify asks the server.
func (t *Remote) Identify(ctx context.Context) (Identity, error) {
	err := t.open(ctx)
	return t.says, err
}

// errNotFor says that a server gives more than a laptop takes along.
var errNotFor = errors.New("the source does not choose what a laptop takes along: it is another program, or an older Doorward")

// Feed reads the server's changes: as lines from one of our own nodes, unless only some documents are wanted.
func (t *Remote) Feed(ctx context.Context, w Wish, fn func(*Batch) error) error {
	if err := t.open(ctx); err != nil {
		return err
	}
	switch {
	case t.laptop != 0 && t.fast:
		_, err := lineTransport{t.http}.lines(ctx, w.Since, t.laptop, fn)
		return err
	case t.laptop != 0:
		return errNotFor
	case w.IDs != nil || w.Selector != nil:
		return t.http.feed(ctx, w, fn)
	}
	return t.transport().feed(ctx, w, fn)
}

// Read asks for revisions.
func (t *Remote) Read(ctx context.Context, missing []docs.MissingRevs, fn func(*transit.Revision) error) error {
	return t.http.read(ctx, missing, fn)
}

// Missing asks which of the offered revisions the server lacks.
func (t *Remote) Missing(ctx context.Context, offers []merge.Revs) ([]docs.MissingRevs, error) {
	if err := t.open(ctx); err != nil || len(offers) == 0 {
		return nil, err
	}
	return t.http.missing(ctx, offers)
}

// open asks the server once whether the database exists, what the server is called, and whether it is one of our own nodes.
func (t *Remote) open(ctx context.Context) error {
	t.opening.Lock()
	defer t.opening.Unlock()
	if t.opened {
		return nil
	}
	resp, err := t.link.Do(ctx, http.MethodGet, t.link.At(), nil)
	if dial.Is(err, http.StatusNotFound) && t.create {
		if err := t.createDatabase(ctx); err != nil {
			return err
		}
		resp, err = t.link.Do(ctx, http.MethodGet, t.link.At(), nil)
	}
	if err != nil {
		return err
	}
	t.fast = !t.plain && resp.Header.Get(dial.HeaderFeed) != ""
	t.says.Head = line.Head{Format: line.Format, DB: t.link.Name()}
	t.says.Realm, t.says.Node, t.says.Epoch = resp.Header.Get(dial.HeaderRealm), resp.Header.Get(dial.HeaderNode), resp.Header.Get(dial.HeaderEpoch)
	t.says.CodeKey, _ = hex.DecodeString(resp.Header.Get(dial.HeaderCodeKey)) // nil if it cannot be read
	if err := dial.Drain(resp); err != nil {
		return err
	}
	if t.says.ID, err = t.name(ctx); err == nil {
		t.opened = true
	}
	return err
}

// createDatabase creates the database. Another client may have created it since.
func (t *Remote) createDatabase(ctx context.Context) error {
	resp, err := t.link.Do(ctx, http.MethodPut, t.link.At(), nil)
	if dial.Is(err, http.StatusPreconditionFailed) {
		return nil
	}
	if err != nil {
		return err
	}
	return dial.Drain(resp)
}

// name returns the server's uuid and the database's name, or the address of a server without a uuid.
func (t *Remote) name(ctx context.Context) (string, error) {
	server, name := t.link.Root()
	var answer struct {
		UUID string `json:"uuid"`
	}
	err := t.link.Ask(ctx, http.MethodGet, server, nil, &answer)
	switch {
	case err != nil && dial.Transient(err), ctx.Err() != nil:
		return "", err
	case answer.UUID == "":
		return t.link.At(), nil
	}
	plain, err := url.PathUnescape(name)
	return strings.ToLower(answer.UUID) + "/" + plain, err
}

// Checkpoint reads a local document of the database.
func (t *Remote) Checkpoint(ctx context.Context, id string) (c Checkpoint, err error) {
	var body json.RawMessage
	err = t.link.Ask(ctx, http.MethodGet, t.link.At("_local", id), nil, &body)
	delete(t.revs, id)
	if dial.Is(err, http.StatusNotFound) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	var rev struct {
		Rev string `json:"_rev"`
	}
	if json.Unmarshal(body, &rev) == nil {
		t.revs[id] = rev.Rev
	}
	if json.Unmarshal(body, &c) != nil {
		return Checkpoint{}, nil // a document of another program
	}
	return c, nil
}

// Keep writes a checkpoint, once the server has on disk what the checkpoint speaks of.
func (t *Remote) Keep(ctx context.Context, id string, c Checkpoint) error {
	if err := t.commit(ctx); err != nil {
		return err
	}
	err := t.put(ctx, id, c)
	if dial.Is(err, http.StatusConflict) { // an answer was lost, or another client replicates the same
		if _, err := t.Checkpoint(ctx, id); err != nil {
			return err
		}
		err = t.put(ctx, id, c)
	}
	return err
}

func (t *Remote) put(ctx context.Context, id string, c Checkpoint) error {
	var answer struct {
		Rev string `json:"rev"`
	}
	err := t.link.Ask(ctx, http.MethodPut, t.link.At("_local", id), struct {
		ID  string `json:"_id"`
		Rev string `json:"_rev,omitempty"`
		Checkpoint
	}{"_local/" + id, t.revs[id], c}, &answer)
	if err == nil && answer.Rev == "" {
		err = dial.ErrCut // the server has not said that it keeps it
	}
	if err == nil {
		t.revs[id] = answer.Rev
	}
	return err
}

// commit asks the server to have on disk what it was sent. Our own nodes have it before they answer.
func (t *Remote) commit(ctx context.Context) error {
	if !t.dirty || t.fast {
		return nil
	}
	err := t.link.Ask(ctx, http.MethodPost, t.link.At("_ensure_full_commit"), struct{}{}, nil)
	if err == nil || dial.Is(err, http.StatusNotFound, http.StatusMethodNotAllowed) {
		t.dirty = false
		return nil
	}
	return err
}

// Write sends revisions in few requests. Each revision with large attachments has a request of its own.
func (t *Remote) Write(ctx context.Context, revisions []*transit.Revision) (denied []Denial, err error) {
	if err := t.open(ctx); err != nil {
		return nil, err
	}
	t.dirty = true
	var many []*transit.Revision
	for _, x := range revisions {
		if !isLarge(x) {
			many = append(many, x)
			continue
		}
		d, err := t.http.putRelated(ctx, x)
		if err != nil {
			return nil, err
		}
		denied = append(denied, d...)
	}
	d, err := t.writeMany(ctx, many)
	return append(denied, d...), err
}

// writeMany sends revisions in one request. If the server finds it too large, or one document malformed, it sends halves.
func (t *Remote) writeMany(ctx context.Context, revisions []*transit.Revision) (denied []Denial, err error) {
	if len(revisions) == 0 {
		return nil, nil
	}
	denied, err = t.transport().write(ctx, revisions)
	no := batchRefusal(err)
	switch {
	case no == nil:
		return t.resendWhole(ctx, revisions, denied, err)
	case len(revisions) == 1:
		return []Denial{denial(revisions[0], no)}, nil
	}
	half := len(revisions) / 2
	for _, some := range [][]*transit.Revision{revisions[:half], revisions[half:]} {
		d, err := t.writeMany(ctx, some)
		if err != nil {
			return nil, err
		}
		denied = append(denied, d...)
	}
	return denied, nil
}

// batchRefusal returns why a server refuses a whole request that it may take in parts; nil for any other error. CouchDB refuses all
// documents of a request if one is malformed.
func batchRefusal(err error) error {
	no, is := errors.AsType[*dial.Refusal](err)
	switch {
	case !is:
	case no.Status == http.StatusRequestEntityTooLarge:
		return input.ErrTooLarge
	case no.Status == http.StatusBadRequest && no.Word == "illegal_docid":
		return docs.ErrDocumentID
	case no.Status == http.StatusBadRequest && no.Word == "doc_validation":
		return merge.ErrDocument
	}
	return nil
}

// resendWhole sends revisions again with all attachments' bytes, if the server lacks bytes that it was thought to have.
func (t *Remote) resendWhole(ctx context.Context, revisions []*transit.Revision, denied []Denial, err error) ([]Denial, error) {
	for i := 0; i < len(denied) && err == nil; i++ {
		d := denied[i]
		at := slices.IndexFunc(revisions, func(x *transit.Revision) bool { return x.ID == d.ID && (d.Rev == "" || x.Rev().String() == d.Rev) })
		if at < 0 || len(revisions[at].Parts) == 0 || !lacksBytes(d) {
			continue
		}
		var still []Denial
		if still, err = t.http.putRelated(ctx, revisions[at]); err == nil && len(still) == 0 {
			denied = slices.Delete(denied, i, i+1)
			i--
		}
	}
	return denied, err
}

// lacksBytes tells whether a revision is refused because an attachment's bytes are missing.
func lacksBytes(d Denial) bool {
	return d.Error == "missing_stub" || d.Reason == Reason(transit.ErrStub)
}
