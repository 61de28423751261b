package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"doorward/kv"
	"doorward/kv/record"
)

// Source is something to import.
type Source struct {
	Reader io.Reader
	Kind   string            // what the rows are; "" = each line names its own (NDJSON)
	Event  int64             // the event of rows that name none; 0 = none
	Map    map[string]string // field → column, by its title, "Title#2" or "#3"
	DryRun bool              // decide everything, write nothing
}

// writers is how many batches are in flight: the store commits together what waits together, and the more rows share a
// commit the fewer pages each costs.
const writers = 32

// Import writes a source's rows to the store as p, each on its own: a bad one is reported with its line and blocks none.
// progress, if not nil, is told how many rows are decided; the total is 0, since a stream's end is not known. An error means
// that the source was refused as a whole (ErrUsage, ErrSource, *HeaderError), that ctx ended, or that the store failed; what
// was written before stays, the report counts it, and importing the source again completes it.
func Import(ctx context.Context, s *kv.Store, p kv.Principal, src Source, progress func(done, total int64)) (Report, error) {
	if err := src.check(); err != nil {
		return Report{}, err
	}
	in, closeSource, err := open(ctx, &src)
	if err != nil {
		return Report{}, err
	}
	if err := src.checkEvent(s, p); err != nil {
		return Report{}, errors.Join(err, closeSource())
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	im := &importer{
		ctx: ctx, cancel: cancel, store: s, who: p, dry: src.DryRun, in: in, progress: progress,
		maker: maker{event: src.Event, zone: s.Zone(), seen: newSeen(src.DryRun), named: contents{}},
		ready: make(chan *batch, writers), done: make(chan *batch, writers),
	}
	im.run()
	if err := context.Cause(ctx); err != nil {
		return im.report, errors.Join(err, closeSource())
	}
	return im.report, closeSource()
}

// check finds what is wrong with a source before it is read.
func (s *Source) check() error {
	if s.Event < 0 {
		return fmt.Errorf("%w: --event: an id is wanted", ErrUsage)
	}
	if s.Kind == "" {
		return nil
	}
	f, err := formOf(s.Kind)
	if err == nil && s.Event != 0 && f.field(nameEvent) == nil {
		err = fmt.Errorf("%w: --event: kind %s belongs to no event", ErrUsage, s.Kind)
	}
	return err
}

// checkEvent finds out whether there is the event of all rows. In a file of several kinds it may be one of the rows.
func (s *Source) checkEvent(store *kv.Store, p kv.Principal) error {
	if s.Event == 0 || s.Kind == "" {
		return nil
	}
	_, err := store.Retrieve(p, kv.Target{Surface: record.Admin, Kind: record.Event, ID: record.Int(s.Event)})
	if errors.Is(err, kv.ErrNotFound) {
		return fmt.Errorf("%w: --event %d: there is no such event", ErrUsage, s.Event)
	}
	return nil // whether p may, every row is asked
}

// importer is one import at work: one goroutine reads and parses, several write, one counts.
type importer struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	store    *kv.Store
	who      kv.Principal
	dry      bool
	in       drafts
	maker    maker
	progress func(done, total int64)
	total    int64 // rows in all; 0 = unknown
	ready    chan *batch
	done     chan *batch
	report   Report
}

// batch is up to kv.MaxRows rows of one kind and the rejected ones that stand between them.
type batch struct {
	number int
	items  []*item
	rows   []kv.Row
	failed bool            // it was not written at all
	after  *sync.WaitGroup // is done when the batch is decided
}

func (im *importer) run() {
	go im.read()
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for b := range im.ready {
				im.write(b)
				b.after.Done()
				im.done <- b
			}
		})
	}
	go func() {
		wg.Wait()
		close(im.done)
	}()
	im.collect()
}

// read fills batches. Rows of another kind may refer to those before them: they wait until these are written.
func (im *importer) read() {
	defer close(im.ready)
	var flying sync.WaitGroup
	b := &batch{after: &flying}
	send := func() bool {
		flying.Add(1)
		select {
		case im.ready <- b:
		case <-im.ctx.Done():
			flying.Done()
			return false
		}
		b = &batch{number: b.number + 1, after: &flying}
		return true
	}
	for {
		im.store.Yield()
		it, err := im.item()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				im.cancel(err)
			}
			break
		}
		if other := b.kind() != nil && it.row.Kind != nil && it.row.Kind != b.kind(); other || b.full() {
			if !send() {
				return
			}
			if other {
				flying.Wait()
			}
		}
		b.add(it)
	}
	send()
}

// item reads the next row.
func (im *importer) item() (*item, error) {
	d, rejected, err := im.in.next()
	switch {
	case err != nil:
		return nil, err
	case rejected != nil:
		return &item{line: rejected.Line, rejected: rejected}, nil
	}
	return im.maker.item(d), nil
}

func (b *batch) add(it *item) {
	b.items = append(b.items, it)
	if it.rejected == nil {
		b.rows = append(b.rows, it.row)
	}
}

func (b *batch) full() bool { return len(b.rows) == kv.MaxRows || len(b.items) >= 10*kv.MaxRows }

// kind is the kind of a batch's rows; nil while it has none.
func (b *batch) kind() *record.Kind {
	if len(b.rows) == 0 {
		return nil
	}
	return b.rows[0].Kind
}

// write hands a batch to the store, unless the import has ended.
func (im *importer) write(b *batch) {
	if im.ctx.Err() != nil {
		b.failed = true
		return
	}
	if len(b.rows) == 0 {
		return
	}
	results, err := im.store.Upsert(im.who, b.rows, im.dry)
	if err != nil {
		b.failed = true
		im.cancel(err)
		return
	}
	i := 0
	for _, it := range b.items {
		if it.rejected == nil {
			it.fate, it.err = results[i].Fate, results[i].Err
			i++
		}
	}
}

// collect counts the batches in the order of the file.
func (im *importer) collect() {
	waiting := map[int]*batch{}
	next, rows := 0, int64(0)
	for b := range im.done {
		waiting[b.number] = b
		for ; waiting[next] != nil; next++ {
			im.count(waiting[next])
			rows += int64(len(waiting[next].items))
			delete(waiting, next)
		}
		if im.progress != nil {
			im.progress(rows, im.total)
		}
	}
	im.report.Ignored = im.in.ignored()
	if im.maker.seen != nil {
		im.report.Warnings = im.maker.seen.warnings()
	}
}

func (im *importer) count(b *batch) {
	if b.failed {
		return
	}
	for _, it := range b.items {
		if it.fate == kv.Rejected {
			im.forgive(it)
		}
		switch {
		case it.rejected != nil:
			im.report.reject(*it.rejected)
		default:
			im.report.count(it.fate)
		}
	}
}

// forgive settles a row that the store refused. In a dry run a reference to a row of the same file is not at fault: that row
// would have been written.
func (im *importer) forgive(it *item) {
	var faults record.Faults
	if im.dry && errors.As(it.err, &faults) {
		left := record.Faults{}
		for field, texts := range faults {
			if !im.promised(it, field) {
				left[field] = texts
			}
		}
		if len(left) == 0 {
			it.fate = kv.Created
			return
		}
		it.err = left
	}
	r := rejection(it, it.err)
	it.rejected = &r
}

// promised tells a field that refers to a row of the same file.
func (im *importer) promised(it *item, field string) bool {
	return slices.ContainsFunc(it.row.Patch.Pointers(), func(p record.Pointer) bool {
		return p.Field == field && im.maker.seen.hasID(p.Kind.Name, p.ID)
	})
}
