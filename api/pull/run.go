package pull

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"doorward/api/load"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/laptop"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// Config has the options of a pull. Needed are Store, Who, URL, Key, Secret and Client.
type Config struct {
	Store      *kv.Store
	Who        auth.Principal
	URL        string
	Key        string
	Secret     string
	Client     *http.Client // its redirects and its time limit are set here
	DryRun     bool         // decide everything and write nothing
	Full       bool         // read everything, also where changes would do
	Moved      bool         // the source of the last pull answers at another address now
	Progress   func(done, total int64)
	Wait       func(context.Context, time.Duration) error // nil = waits
	Now        func() time.Time                           // nil = time.Now
	MaxRecords int64                                      // in one list; 0 = ten million
}

// resource is a list of the source and the kind of its records.
type resource struct {
	kind  *record.Kind
	path  string
	since bool // it takes updated_at_after
}

// resources are in the order in which they are read: records after those that they name.
var resources = []resource{
	{record.Group, "/v1/group/", false},
	{record.Person, "/v1/people/", true},
	{record.Membership, "/v1/group/%d/memberships/", false},
	{record.Event, "/v1/event/", true},
	{record.FinancialEntry, "/v1/financial_entries/", false},
}

// overlap is how far before the last pull changes are read from: a record may get its time before it can be seen.
const overlap = time.Hour

// puller is one pull at work.
type puller struct {
	conf     Config
	reader   *reader
	refs     *references
	mirror   laptop.MirrorSource
	report   *Report
	progress progress
	noted    bool            // what the store is the mirror of
	groups   []int64         // that were seen, in order
	promised map[Record]bool // of a dry run: what would be there
	photos   int             // that were left out
	read     map[string]bool // kinds with a list that was read to its end
	start    map[string]time.Time
}

// progress counts the records that are written, of all that are known.
type progress struct {
	done, total int64
	tell        func(done, total int64)
}

func (p *progress) add(n int) {
	p.done += int64(n)
	p.tell(p.done, max(p.total, p.done))
}

// Run pulls a source's records into a store. An error means that nothing of the source could be read, that ctx ended, or that the store
// failed; what breaks off later is in the report. What was written before stays, and the same pull again goes on.
func Run(ctx context.Context, c Config) (*Report, error) {
	base, err := readAddress(c.URL)
	if err != nil {
		return nil, err
	}
	c.complete()
	p := &puller{conf: c, refs: &references{c.Store.Desk, c.Who, map[Record]bool{}, map[string]int{}}, report: newReport(base, c.DryRun),
		progress: progress{tell: c.Progress}, promised: map[Record]bool{}, read: map[string]bool{}, start: map[string]time.Time{}}
	p.reader = &reader{newSource(&c, base), c.MaxRecords, map[string]bool{}, func(n int64) { p.progress.total = p.progress.done + n }}
	if err := p.takeUp(base); err != nil {
		return nil, err
	}
	for _, r := range resources {
		if err := p.pull(ctx, r); err != nil {
			return p.end(ctx, err)
		}
	}
	return p.end(ctx, p.unread())
}

func (c *Config) complete() {
	if c.Wait == nil {
		c.Wait = wait
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.MaxRecords == 0 {
		c.MaxRecords = maxRecords
	}
	if c.Progress == nil {
		c.Progress = func(int64, int64) {}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// takeUp reads how far the last pull came. It refuses another source than the last one.
func (p *puller) takeUp(base string) error {
	m, ok, err := p.conf.Store.Laptop.Mirror.Source(p.conf.Who)
	if err != nil {
		return err
	}
	if ok && m.Source != base && !p.conf.Moved {
		return fmt.Errorf("%w: this folder is a mirror of %s; another server's records go into a folder of their own, and --moved says that it is the same one at a new address",
			ErrUsage, m.Source)
	}
	if m.Source != base || m.Key != p.conf.Key {
		m = laptop.MirrorSource{Source: base, Key: p.conf.Key}
	}
	p.mirror = m
	return nil
}

// storeError is an error of the store and not of the source.
type storeError struct{ error }

func (e storeError) Unwrap() error { return e.error }

// end completes the report. A pull that could read nothing, or that the store ended, is an error.
func (p *puller) end(ctx context.Context, err error) (*Report, error) {
	var s storeError
	switch {
	case errors.As(err, &s):
		return nil, s.error
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && !p.reader.source.met:
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	case err != nil:
		p.report.Stopped = err.Error()
	}
	for _, kind := range slices.Sorted(maps.Keys(p.refs.unnamed)) {
		p.report.Notes = append(p.report.Notes, fmt.Sprintf("%d times a %s without a name was left out: the source does not say what it is", p.refs.unnamed[kind], kind))
	}
	if p.photos > 0 {
		p.report.Notes = append(p.report.Notes, fmt.Sprintf("%d photos were left out: their addresses are not https://", p.photos))
	}
	p.report.judge()
	return p.report, nil
}

// unread returns an error if the source shows no list.
func (p *puller) unread() error {
	if p.reader.source.met {
		return nil
	}
	return errors.New("it shows no list of /v1 to this key: " + p.report.Kinds[0].NotReadable + p.report.Kinds[0].Failed)
}

// pull reads one resource. What fails with it is in the report; an error ends the pull.
func (p *puller) pull(ctx context.Context, r resource) error {
	line := p.report.of(r.kind)
	err := p.readResource(ctx, r)
	var refusal *refused
	switch {
	case err == nil:
		return p.keep(r)
	case ctx.Err() != nil, errors.As(err, new(storeError)), errors.Is(err, errLogin), errors.As(err, new(*unreached)):
		return err
	case errors.As(err, &refusal) && (refusal.status == http.StatusForbidden || refusal.status == http.StatusNotFound):
		line.NotReadable = refusal.Error()
	default:
		line.Failed = err.Error()
	}
	return nil
}

// keep notes the time after which the next pull reads changes of a resource. If records were refused or kept, the next pull reads all.
func (p *puller) keep(r resource) error {
	if !r.since || !p.read[r.kind.Name] {
		return nil
	}
	since := maps.Clone(p.mirror.Since)
	if since == nil {
		since = map[string]time.Time{}
	}
	since[r.kind.Name] = p.start[r.kind.Name]
	if line := p.report.of(r.kind); line.Refused > 0 || line.Kept > 0 {
		delete(since, r.kind.Name)
	}
	p.mirror.Since, p.noted = since, false
	return p.note()
}

// note stores the source and the times, unless they are stored already.
func (p *puller) note() error {
	if p.noted || p.conf.DryRun {
		return nil
	}
	p.noted = true
	if err := p.conf.Store.Laptop.Mirror.SetSource(p.conf.Who, p.mirror); err != nil {
		return storeError{err}
	}
	return nil
}

// readResource reads all records of a resource, or those that have changed.
func (p *puller) readResource(ctx context.Context, r resource) error {
	if r.kind == record.Membership {
		return p.readMemberships(ctx, r)
	}
	seen := map[int64]bool{}
	each := func(items []item) error { return p.take(ctx, r, items, 0) }
	l := list{path: r.path}
	if since := p.mirror.Since[r.kind.Name]; r.since && !since.IsZero() && !p.conf.Full {
		p.report.of(r.kind).Changes = true
		complete, err := p.readChanges(ctx, r, seen, each)
		if err != nil || complete {
			p.read[r.kind.Name] = complete
			return err
		}
		p.report.of(r.kind).Changes = false
	}
	p.begin(r)
	steady, err := p.reader.passes(ctx, l, seen, each)
	if err != nil {
		return err
	}
	return p.close(r.kind, seen, steady)
}

// begin notes the time after which the next pull reads changes: the time of the source's last answer, but never later than our clock.
func (p *puller) begin(r resource) {
	at := p.conf.Now()
	if d := p.reader.source.date; !d.IsZero() && d.Before(at) {
		at = d
	}
	p.start[r.kind.Name] = at.Add(-overlap).UTC().Truncate(time.Second)
}

// readChanges reads the records that have changed since the last pull. complete tells that the source then has as many records as the store.
func (p *puller) readChanges(ctx context.Context, r resource, seen map[int64]bool, each func([]item) error) (complete bool, err error) {
	since := p.mirror.Since[r.kind.Name]
	count, err := p.reader.page(ctx, list{path: r.path}, 0, 1)
	if err != nil {
		return false, err
	}
	p.begin(r)
	l := list{path: r.path, query: url.Values{"updated_at_after": {since.Format(time.RFC3339)}}}
	steady, err := p.reader.passes(ctx, l, seen, each)
	if err != nil || !steady {
		return false, err
	}
	here, err := p.conf.Store.Laptop.Mirror.Pulled(p.conf.Who, r.kind)
	if err != nil {
		return false, storeError{err}
	}
	if p.conf.DryRun {
		return int64(len(here)+p.report.of(r.kind).Created) == *count.Count, nil
	}
	return int64(len(here)) == *count.Count, nil
}

// close lists the records that are gone at the source, if the list was steady.
func (p *puller) close(k *record.Kind, seen map[int64]bool, steady bool) error {
	if !steady {
		p.report.of(k).Failed = "the list changed again and again while it was read; the next pull completes it"
		return nil
	}
	p.read[k.Name] = true
	here, err := p.conf.Store.Laptop.Mirror.Pulled(p.conf.Who, k)
	if err != nil {
		return storeError{err}
	}
	for _, id := range here {
		if !seen[id] {
			p.report.gone(k, id)
		}
	}
	return nil
}

// readMemberships reads the memberships of all groups that were seen.
func (p *puller) readMemberships(ctx context.Context, r resource) error {
	if !p.read[record.Group.Name] {
		line, groups := p.report.of(r.kind), p.report.of(record.Group)
		if line.NotReadable = groups.NotReadable; line.NotReadable == "" {
			line.Failed = "the groups were not read to their end"
		}
		if len(p.groups) == 0 {
			return nil
		}
	}
	seen, all, answered := map[int64]bool{}, p.read[record.Group.Name], false
	var missing error
	for _, group := range p.groups {
		steady, err := p.reader.passes(ctx, list{path: fmt.Sprintf(r.path, group)}, seen, func(items []item) error { return p.take(ctx, r, items, group) })
		if refusal, ok := errors.AsType[*refused](err); ok && refusal.status == http.StatusNotFound {
			missing, all = err, false // a group that is gone since, or the source has no such lists
			continue
		}
		if err != nil {
			return err
		}
		answered, all = true, all && steady
	}
	if missing != nil && !answered {
		return missing
	}
	if !p.read[record.Group.Name] {
		return nil
	}
	return p.close(r.kind, seen, all)
}

// take writes some records of a list; group is the one of memberships.
func (p *puller) take(ctx context.Context, r resource, items []item, group int64) error {
	items, err := p.reader.wholly(ctx, r, items)
	if err != nil {
		return err
	}
	var all []*shaped
	for _, one := range items {
		s := shape(r.kind, one)
		if s.id == 0 {
			p.report.of(r.kind).Seen++
			p.report.refuse(r.kind, 0, errors.New("the record has no id that is an integer from 1"))
			continue
		}
		if _, given := one["group_id"]; group != 0 && !given {
			s.set("group_id", value.Number(group))
		}
		if r.kind == record.Group {
			p.groups = append(p.groups, s.id)
			p.refs.there[Record{r.kind.Name, s.id}] = true // its own list says what it is
		}
		all = append(all, s)
	}
	if err := p.takeReferences(all); err != nil {
		return err
	}
	return p.write(r.kind, all)
}

// takeReferences writes the records that others refer to.
func (p *puller) takeReferences(all []*shaped) error {
	fresh, err := p.refs.fresh(all)
	if err != nil {
		return err
	}
	for _, k := range record.Kinds() {
		var some []*shaped
		for _, s := range fresh {
			if s.kind == k {
				some = append(some, s)
			}
		}
		if err := p.write(k, some); err != nil {
			return err
		}
	}
	return nil
}

// write hands records to the store.
func (p *puller) write(k *record.Kind, all []*shaped) error {
	var rows []entry.Row
	for _, s := range all {
		p.report.of(k).Seen++
		row, photo, err := s.row(p.conf.Store.Tables.Clock.Zone())
		if photo {
			p.photos++
		}
		if err != nil {
			p.report.refuse(k, s.id, err)
			continue
		}
		rows = append(rows, row)
	}
	for some := range slices.Chunk(rows, table.MaxRows) {
		if err := p.note(); err != nil { // before the first record, so that no other source's come among them
			return err
		}
		results, err := p.conf.Store.Laptop.Mirror.Pull(p.conf.Who, some, p.conf.DryRun)
		if err != nil {
			return storeError{err}
		}
		for i, one := range results {
			p.report.count(k, p.forgive(some[i], one))
		}
	}
	p.progress.add(len(all))
	return nil
}

// forgive takes the result of a row. In a dry run it ignores faults of references to records that a pull would have written before.
func (p *puller) forgive(row entry.Row, one desk.RowResult) desk.RowResult {
	if !p.conf.DryRun {
		return one
	}
	promised := func(to record.Pointer) bool { return p.promised[Record{to.Kind.Name, to.ID.Int()}] }
	if one.Err != nil && load.Unpromised(one.Err, row.Patch, promised) == nil {
		one = desk.RowResult{Fate: desk.Created, ID: row.ID}
	}
	if one.Fate == desk.Created {
		p.promised[Record{row.Kind.Name, row.ID.Int()}] = true
	}
	return one
}
