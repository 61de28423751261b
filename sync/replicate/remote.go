package replicate

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"doorward/kv"
	"doorward/sync/dial"
	"doorward/sync/line"
)

// Remote is a database at a server that speaks the protocol, as an end of replications.
type Remote struct {
	link    *dial.Link
	http    *httpTransport
	create  bool
	plain   bool
	opening sync.Mutex // guards what follows
	opened  bool
	says    Identity          // what the server says of itself
	fast    bool              // the server is one of our own nodes
	dirty   bool              // something was written since it was told to commit
	revs    map[string]string // of checkpoints
}

// transport carries changes from a server, and revisions to it.
type transport interface {
	feed(ctx context.Context, w Wish, fn func(*Batch) error) error
	write(ctx context.Context, revisions []*line.Revision) ([]Denial, error)
}

// httpTransport speaks CouchDB's replication protocol.
type httpTransport struct {
	link   *dial.Link
	noBulk bool // the server does not know _bulk_get
}

// transport is the fastest that both sides know.
func (t *Remote) transport() transport {
	if t.fast {
		return lineTransport{t.http}
	}
	return t.http
}

// RemoteConfig says where a database is. Only URL is needed.
type RemoteConfig struct {
	dial.Config
	Create bool // the database is made where there is none
	Plain  bool // nothing but the protocol of all, also with our own nodes
	// Met is what one of our own servers has said of the database already: it is not asked again. nil = it is asked
	Met *line.Head // one that names no node keeps no checkpoints
}

// NewRemote makes an end of a database at a server, which is not asked yet: ErrURL.
func NewRemote(c RemoteConfig) (*Remote, error) {
	l, err := dial.New(c.Config)
	if err != nil {
		return nil, err
	}
	t := &Remote{link: l, http: &httpTransport{link: l}, create: c.Create, plain: c.Plain, revs: map[string]string{}}
	if c.Met != nil {
		t.opened, t.fast, t.says.Head = true, true, *c.Met
		if c.Met.Node != "" {
			t.says.ID = strings.ToLower(c.Met.Node) + "/" + c.Met.DB
		}
	}
	return t, nil
}

// escape is a part of a path.
func escape(text string) string { return url.PathEscape(text) }

// docPath is the part of a path that names a document.
func docPath(id string) string {
	if name, is := strings.CutPrefix(id, "_design/"); is {
		return "_design/" + escape(name)
	}
	return escape(id)
}

func (t *Remote) Identify(ctx context.Context) (Identity, error) {
	err := t.open(ctx)
	return t.says, err
}

// Feed reads the server's changes: as lines from one of our own nodes, unless only some documents are wanted.
func (t *Remote) Feed(ctx context.Context, w Wish, fn func(*Batch) error) error {
	if err := t.open(ctx); err != nil {
		return err
	}
	if w.IDs != nil || w.Selector != nil {
		return t.http.feed(ctx, w, fn)
	}
	return t.transport().feed(ctx, w, fn)
}

// Read asks for revisions.
func (t *Remote) Read(ctx context.Context, missing []kv.MissingRevs, fn func(*line.Revision) error) error {
	return t.http.read(ctx, missing, fn)
}

// Missing asks which of the offered revisions the server lacks.
func (t *Remote) Missing(ctx context.Context, offers []kv.Revs) ([]kv.MissingRevs, error) {
	if err := t.open(ctx); err != nil || len(offers) == 0 {
		return nil, err
	}
	return t.http.missing(ctx, offers)
}

// open asks once whether the database is there, what its server is called, and whether it is one of ours.
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
	t.says.CodeKey, _ = hex.DecodeString(resp.Header.Get(dial.HeaderCodeKey)) // one that cannot be read is none
	if err := dial.Drain(resp); err != nil {
		return err
	}
	if t.says.ID, err = t.name(ctx); err == nil {
		t.opened = true
	}
	return err
}

// createDatabase makes the database; somebody else may have made it meanwhile.
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

// name is the server's uuid and the database's name; of a server without a uuid its address.
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
		return Checkpoint{}, nil // what somebody else has put there is no checkpoint
	}
	return c, nil
}

// Keep writes a checkpoint after what it speaks of is safe.
func (t *Remote) Keep(ctx context.Context, id string, c Checkpoint) error {
	if err := t.commit(ctx); err != nil {
		return err
	}
	err := t.put(ctx, id, c)
	if dial.Is(err, http.StatusConflict) { // an answer was lost, or there are two of us
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
		err = dial.ErrCut // nobody has said that it is kept
	}
	if err == nil {
		t.revs[id] = answer.Rev
	}
	return err
}

// commit asks the server to have on disk what it has taken. Ours has it before it answers.
func (t *Remote) commit(ctx context.Context) error {
	if !t.dirty || t.fast {
		return nil
	}
	err := t.link.Ask(ctx, http.MethodPost, t.link.At("_ensure_full_commit"), struct{}{}, nil)
	if err == nil || dial.Is(err, http.StatusNotFound) || dial.Is(err, http.StatusMethodNotAllowed) {
		t.dirty = false
		return nil
	}
	return err
}
