package sync

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"doorward/kv/table"
	"doorward/sync/dial"
	"doorward/sync/input"
	"doorward/sync/mango"
	"doorward/sync/replicate"
	"doorward/sync/transit"
)

// order is a request of _replicate.
type order struct {
	ID         string          `json:"replication_id"`
	Source     peerRef         `json:"source"`
	Target     peerRef         `json:"target"`
	Continuous bool            `json:"continuous"`
	Create     bool            `json:"create_target"`
	Cancel     bool            `json:"cancel"`
	IDs        []string        `json:"doc_ids"`
	Selector   json.RawMessage `json:"selector"`
	Filter     string          `json:"filter"` // of a design document, which is not run
	Since      json.RawMessage `json:"since_seq"`
	Notes      *bool           `json:"use_checkpoints"` // nil: true
}

// undone are options of an order that would change what is copied or on which way, and that this server does not know.
type undone struct {
	Winners     bool                       `json:"winning_revs_only"`
	Params      struct{ Partitioned bool } `json:"create_target_params"`
	Proxy       string                     `json:"proxy"`
	SourceProxy string                     `json:"source_proxy"`
	TargetProxy string                     `json:"target_proxy"`
}

// check returns an error if an option is given.
func (u *undone) check() error {
	switch {
	case u.Winners:
		return unsupported("winning_revs_only")
	case u.Params.Partitioned:
		return unsupported("partitioned")
	case u.Proxy+u.SourceProxy+u.TargetProxy != "":
		return unsupported("a proxy")
	}
	return nil
}

// peerRef is a peer of an order: a database of this server, or an address.
type peerRef struct {
	name, secret, user string
	header             http.Header
}

// ofConnection are headers of a request that an order may not set: those of the connection and of the body.
var ofConnection = []string{"Host", "Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect",
	"Content-Length", "Content-Type", "Content-Encoding", "Accept", "Accept-Encoding", "If-Match", "If-None-Match", "Range"}

// What net/http sends: a token, and text without controls (RFC 9110, 5.1 and 5.5).
var (
	headerName  = regexp.MustCompile("^[-!#$%&'*+.^_`|~0-9A-Za-z]+$")
	headerValue = regexp.MustCompile(`^[^\x00-\x08\x0a-\x1f\x7f]*$`)
)

// addHeader adds a header for requests to the peer. ok is false for one that cannot be sent.
func (p *peerRef) addHeader(name, value string) (ok bool) {
	name = http.CanonicalHeaderKey(name)
	if !headerName.MatchString(name) || !headerValue.MatchString(value) || slices.Contains(ofConnection, name) {
		return false
	}
	if p.header == nil {
		p.header = http.Header{}
	}
	p.header.Set(name, value)
	return true
}

// UnmarshalJSON reads a name, an address, or an object of an address, a login and headers. A name has no headers.
func (p *peerRef) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &p.name) == nil {
		return nil
	}
	var in struct {
		URL  string
		Auth struct {
			Basic struct{ Username, Password string }
		}
		Headers map[string]string
	}
	if json.Unmarshal(b, &in) != nil {
		return input.ErrShape
	}
	p.name, p.user, p.secret = in.URL, in.Auth.Basic.Username, in.Auth.Basic.Password
	for name, value := range in.Headers {
		if !p.remote() || !p.addHeader(name, value) {
			return input.ErrShape
		}
	}
	return nil
}

// remote tells an address from a name.
func (p *peerRef) remote() bool { return strings.Contains(p.name, "://") }

// secure tells whether the address is https.
func (p *peerRef) secure() bool {
	u, err := url.Parse(p.name)
	return err == nil && u.Scheme == "https"
}

// redacted returns the peer without its login.
func (p *peerRef) redacted() string {
	if u, err := url.Parse(p.name); err == nil && p.remote() {
		u.User = nil
		return u.String()
	}
	return p.name
}

// taskID returns the id of an order, made of its peers and its filter.
func (o *order) taskID() string {
	b, _ := json.Marshal([]any{o.Source.redacted(), o.Target.redacted(), o.IDs, o.Selector, o.Continuous}) // these can be marshalled
	sum := sha256.Sum256(b)
	id := hex.EncodeToString(sum[:16])
	if o.Continuous {
		id += "+continuous"
	}
	return id
}

// errOrder says that an order cannot be read, errPlain that an address is not https.
var (
	errOrder = errors.New("not an order to replicate")
	errPlain = errors.New("the address is not https")
)

// orderReplication carries out an order: now, or for as long as the server runs.
func orderReplication(c *call) error {
	if err := c.caller.CheckRule(); err != nil {
		return err
	}
	o, err := readOrder(c)
	if err != nil {
		return err
	}
	if o.Cancel {
		return cancelTask(c, o)
	}
	job, err := openJob(c, o)
	if err != nil {
		return err
	}
	s := c.server
	began := s.config.Clock()
	k := &task{began: began, row: activeTask{
		Type: "replication", ID: o.taskID(), Source: o.Source.redacted(), Target: o.Target.redacted(), User: c.caller.Name(), Continuous: o.Continuous,
		Started: began.Unix(), Updated: began.Unix(),
	}}
	running, ctx, err := s.tasks.begin(s.ended, k)
	if err != nil {
		return err
	}
	if running != nil {
		return joinTask(c, running)
	}
	job.On.Progress = func(done replicate.Outcome) { k.note(s.config.Clock(), done) }
	if !o.Continuous {
		return runOnce(c, ctx, k, job)
	}
	go func() {
		defer s.tasks.finish(k)
		if _, err := replicate.Run(ctx, job); err != nil && ctx.Err() == nil {
			s.config.Logger.Warn("a replication has ended", "id", k.row.ID, "error", err)
		}
	}()
	return c.reply(http.StatusAccepted, started{true, k.row.ID})
}

// started is the answer to an order that runs from now on.
type started struct {
	OK bool   `json:"ok"`
	ID string `json:"_local_id"`
}

// runOnce runs a job while the caller waits.
func runOnce(c *call, ctx context.Context, k *task, job replicate.Job) error {
	defer c.server.tasks.finish(k)
	stop := context.AfterFunc(c.request.Context(), k.cancel)
	defer stop()
	out, err := replicate.Run(ctx, job)
	switch {
	case err == nil:
		return c.reply(http.StatusOK, out)
	case ctx.Err() != nil && c.request.Context().Err() == nil:
		return errClosing
	}
	return err
}

// joinTask answers an order that runs already.
func joinTask(c *call, k *task) error {
	if k.row.Continuous {
		return c.reply(http.StatusAccepted, started{true, k.row.ID})
	}
	return &table.Conflict{Reason: "the same replication is running"}
}

func cancelTask(c *call, o *order) error {
	id := cmp.Or(o.ID, o.taskID())
	k := c.server.tasks.find(id)
	if k == nil {
		return errMissing
	}
	k.cancel()
	<-k.ended
	return c.reply(http.StatusOK, started{true, id})
}

func readOrder(c *call) (*order, error) {
	dec, err := c.decoder()
	if err != nil {
		return nil, err
	}
	v, err := dec.ReadValue()
	if err != nil {
		return nil, input.Wrap(err)
	}
	o, no := &order{}, &undone{}
	if json.Unmarshal(v, o) != nil || json.Unmarshal(v, no) != nil {
		return nil, errOrder
	}
	if err := no.check(); err != nil {
		return nil, err
	}
	if o.ID == "" && (o.Source.name == "" || o.Target.name == "") {
		return nil, errOrder
	}
	if o.Filter != "" {
		return nil, errMissing // without the filter too much would be copied
	}
	passes, err := mango.Parse(o.Selector)
	if passes != nil && o.IDs != nil {
		return nil, unsupported("selector beside doc_ids")
	}
	return o, err
}

// openJob opens the peers of an order.
func openJob(c *call, o *order) (replicate.Job, error) {
	j := replicate.Job{Live: o.Continuous, IDs: o.IDs, Selector: o.Selector, Since: o.Since, Logger: c.server.config.Logger, Clock: c.server.config.Clock}
	source, err := openPeer(c, &o.Source, false)
	if err != nil {
		return j, err
	}
	target, err := openPeer(c, &o.Target, o.Create)
	if err != nil {
		return j, err
	}
	if o.Notes != nil && !*o.Notes {
		source = nameless{source}
	}
	j.Source, j.Target = source, target
	return j, nil
}

// nameless is a peer with which no checkpoints are kept.
type nameless struct{ replicate.Peer }

// Identify says what the peer does, without its name in checkpoints.
func (n nameless) Identify(ctx context.Context) (replicate.Identity, error) {
	who, err := n.Peer.Identify(ctx)
	who.ID = ""
	return who, err
}

// openPeer opens a peer. An address must be https and public.
func openPeer(c *call, p *peerRef, create bool) (replicate.Peer, error) {
	conf := &c.server.config
	if !p.remote() {
		if create {
			err := conf.Store.Docs.CreateDatabase(c.caller, p.name)
			if err != nil && !errors.Is(err, table.ErrConflict) {
				return nil, err
			}
		}
		h, err := replicate.OpenLocal(conf.Store, c.caller, p.name)
		if errors.Is(err, table.ErrNotFound) {
			err = errNoDatabase
		}
		return h, err
	}
	to := dial.Config{URL: p.name, Client: c.server.client, Key: p.user, Secret: p.secret, Header: p.header}
	t, err := replicate.NewRemote(replicate.RemoteConfig{Config: to, Create: create})
	if err == nil && !conf.Insecure && !p.secure() {
		return nil, errPlain
	}
	return t, err
}

// activeTasks lists the replications that run.
func activeTasks(c *call) error {
	if err := c.caller.CheckRule(); err != nil {
		return err
	}
	all := []activeTask{}
	for _, k := range c.server.tasks.list() {
		all = append(all, k.active())
	}
	return c.reply(http.StatusOK, all)
}

// task is a replication that this server runs.
type task struct {
	began  time.Time
	cancel context.CancelFunc
	ended  chan struct{}

	mu  sync.Mutex // guards the row's figures
	row activeTask
}

// tasks are those that run. They end with the server.
type tasks struct {
	mu      sync.Mutex // guards what follows
	closed  bool
	running map[string]*task
	group   sync.WaitGroup
}

// errClosing says that the server ends.
var errClosing = errors.New("the server is shutting down")

// begin adds a task within a context. If one of the same id runs, it is returned instead. The caller calls finish in the end.
func (s *tasks) begin(within context.Context, k *task) (running *task, ctx context.Context, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, errClosing
	}
	if there := s.running[k.row.ID]; there != nil {
		return there, nil, nil
	}
	ctx, k.cancel = context.WithCancel(within)
	k.ended = make(chan struct{})
	s.running[k.row.ID] = k
	s.group.Add(1)
	return nil, ctx, nil
}

func (s *tasks) finish(k *task) {
	k.cancel()
	s.mu.Lock()
	delete(s.running, k.row.ID)
	s.mu.Unlock()
	close(k.ended)
	s.group.Done()
}

// find returns the running task of an id, or nil.
func (s *tasks) find(id string) *task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[id]
}

// list returns the running tasks, the oldest first.
func (s *tasks) list() []*task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.running), func(a, b *task) int {
		return cmp.Or(a.began.Compare(b.began), strings.Compare(a.row.ID, b.row.ID))
	})
}

// close lets no task begin any more, and waits for those that run.
func (s *tasks) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.group.Wait()
}

// note saves what a task has done so far.
func (k *task) note(at time.Time, done replicate.Outcome) {
	k.mu.Lock()
	defer k.mu.Unlock()
	run, a := done.History[0], &k.row
	a.Updated = at.Unix()
	a.Checked, a.Found, a.Read, a.Written, a.Failures, a.Noted = run.Checked, run.Found, run.Read, run.Written, run.Failures, run.Recorded
}

// active returns the task's row.
func (k *task) active() activeTask {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.row
}

// activeTask is a row of _active_tasks.
type activeTask struct {
	Type       string           `json:"type"`
	ID         string           `json:"replication_id"`
	Source     string           `json:"source"`
	Target     string           `json:"target"`
	User       string           `json:"user"`
	Continuous bool             `json:"continuous"`
	Started    int64            `json:"started_on"`
	Updated    int64            `json:"updated_on"`
	Checked    int              `json:"revisions_checked"`
	Found      int              `json:"missing_revisions_found"`
	Read       int              `json:"docs_read"`
	Written    int              `json:"docs_written"`
	Failures   int              `json:"doc_write_failures"`
	Noted      transit.Sequence `json:"checkpointed_source_seq"`
}
