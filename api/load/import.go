package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"doorward/api/load/cells"
	"doorward/api/load/columns"
	"doorward/api/load/kinds"
	"doorward/api/load/sheet"
	"doorward/api/load/words"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/disk"
	"doorward/kv/door"
	"doorward/kv/entry"
	"doorward/kv/fault"
	"doorward/kv/outcome"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// Source is something to import, and the options that the operator gives.
type Source struct {
	Reader io.Reader
	Kind   string            // what the rows are; "" = each line names its own (NDJSON)
	Event  int64             // the event of all rows of a table, and of lines that name none; 0 = none
	From   string            // the system that wrote the file; "" = found out by its titles, "none" = none
	Sheet  string            // of a workbook; "" = the only one with a list
	Map    map[string]string // field → column, by its title, "Title#2" or "#3"; several with + between them
	Ignore []string          // columns that are not read

	States    map[string]string // what a word says of a ticket's state, beside those that are known
	Dates     string            // dmy, mdy or ymd; "" = as the dates of each column show
	Zone      *time.Location    // of times that name none; nil = the store's
	OnlyTypes []string          // the types of tickets that are taken; nil = all
	Checkins  bool              // tickets that the file says were used are checked in
	Reinstate bool              // tickets that are blocked, refunded or cancelled here get in again where the file says so
	Yes       bool              // also write new people that look like people in the store
	DryRun    bool              // decide everything, write nothing

	zone    *time.Location // Zone, or the store's
	answers columns.Answers
}

// ahead is how many batches are written while one is counted: the store always finds one that is prepared, and no more rows than needed are kept in
// memory.
const ahead = 4

// Import writes a source's rows to the store as p, each on its own: a bad one is reported with its line and blocks none.
// progress, if not nil, is told how many rows are decided; the total is 0, since a stream's end is not known. An error means
// that the source was refused as a whole (ErrUsage, ErrSource, *columns.HeaderError, columns.Questions), that ctx ended, or that the store
// failed; what was written before stays, the report counts it, and importing the source again completes it.
func Import(ctx context.Context, s *kv.Store, p auth.Principal, src Source, progress func(done, total int64)) (rep Report, err error) {
	if err := src.check(s); err != nil {
		return Report{}, err
	}
	// Within the store's folder: what a killed process leaves there is found and removed, and a wipe removes it too.
	folder := &s.Tables.Folder
	dir, done, err := disk.MakeWorkFolder(folder.Dir, disk.ImportPurpose)
	if err != nil {
		return Report{}, fmt.Errorf("keep the file: %w", err)
	}
	defer func() { err = errors.Join(err, done()) }()
	sp, err := sheet.NewSpool(ctx, dir, src.Reader, func() error { return folder.Room.Check(disk.Imports) })
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, sp.Close()) }()
	in, err := open(ctx, sp, &src)
	if err != nil {
		return Report{}, err
	}
	if err := src.checkEvent(s, p); err != nil {
		return Report{}, err
	}
	if t, ok := in.(*tableFile); ok {
		if t.known.churches, err = openChurches(s.Desk, p, t); err != nil {
			return Report{}, err
		}
		if t.known.members, err = openMembers(s.Log, p, t); err != nil {
			return Report{}, err
		}
	}
	if err := src.look(ctx, s, p, in); err != nil {
		return Report{}, err
	}
	return src.run(ctx, s, p, in, progress)
}

// look tries an import of people before it writes anything, because the file may hold people of the store.
func (s *Source) look(ctx context.Context, store *kv.Store, p auth.Principal, in file) error {
	t, ok := in.(*tableFile)
	if s.DryRun || s.Yes || !ok || !t.mayBeAlike() {
		return nil
	}
	trial := *s
	trial.DryRun = true
	rep, err := trial.run(ctx, store, p, in, nil)
	if n := len(rep.LooksLike) + rep.MoreAlike; err == nil && n > 0 {
		one := rep.LooksLike[0]
		err = fmt.Errorf("%w: %s who is there already; line %d looks like %s by %s. Say --dry-run to see them all, --yes to add them",
			ErrSource, counted(n, "new person looks like somebody", "new people look like somebody"), one.Line, one.ID, one.By)
	}
	return err
}

// run reads the rows of a source and writes them.
func (s *Source) run(ctx context.Context, store *kv.Store, p auth.Principal, in file, progress func(done, total int64)) (_ Report, err error) {
	rows, err := in.drafts()
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, rows.close()) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	im := &importer{
		writer: writer{store, p, s.DryRun, s.Checkins}, ctx: ctx, cancel: cancel, in: rows, progress: progress,
		maker:   maker{event: s.Event, zone: s.zone, reinstates: s.Reinstate, seen: newSeen(s.DryRun), named: contents{}, home: homeOf(p)},
		batches: make(chan *batch, ahead),
	}
	if t, ok := in.(*tableFile); ok && t.mayBeAlike() && p.CheckKind(record.Admin, record.Person, http.MethodGet) == nil {
		if im.alike, err = newLookalikes(store.Log, p); err != nil {
			return Report{}, err
		}
	}
	if im.tally.issued, err = s.issued(store); err != nil {
		return Report{}, err
	}
	im.run()
	in.plan(&im.report)
	return im.report, context.Cause(ctx)
}

// homeOf is the church that a key of one church gives its new records; 0 for any other key.
func homeOf(p auth.Principal) int64 {
	if p.IsWhole() || !p.IsOf(auth.ChurchOf) || len(p.Level().IDs) != 1 {
		return 0
	}
	return p.Level().IDs[0]
}

// issued counts the tickets of the event of all rows that are valid or unpaid.
func (s *Source) issued(store *kv.Store) (n int, err error) {
	if s.Event == 0 || s.Kind != record.Ticket.Name {
		return 0, nil
	}
	err = store.Tables.View(func(v *table.View) error {
		n = v.Lists.Kind(record.Ticket).Issued.Of(s.Event).Len()
		return nil
	})
	return n, err
}

// check finds what is wrong with a source before it is read.
func (s *Source) check(store *kv.Store) error {
	if s.zone = s.Zone; s.zone == nil {
		s.zone = store.Tables.Clock.Zone()
	}
	if s.Event < 0 {
		return fmt.Errorf("%w: --event: an id is wanted", ErrUsage)
	}
	if !cells.Order(s.Dates).Known() {
		return fmt.Errorf("%w: --dates %s: dmy, mdy or ymd is wanted", ErrUsage, s.Dates)
	}
	if err := s.checkStates(); err != nil {
		return err
	}
	s.answers = columns.Answers{From: s.From, Map: s.Map, Ignore: s.Ignore, States: s.States, Dates: s.Dates, OnlyTypes: s.OnlyTypes, Event: s.Event, Checkins: s.Checkins,
		Today: store.Tables.Clock.Now().In(s.zone).Format(time.DateOnly)}
	if s.Kind == "" {
		return nil
	}
	f, err := kinds.Of(s.Kind)
	if err == nil && s.Event != 0 && f.Field(kinds.Event) == nil {
		err = fmt.Errorf("%w: --event: kind %s belongs to no event", ErrUsage, s.Kind)
	}
	if err == nil && f.Kind != record.Ticket && (s.Checkins || len(s.States) > 0) {
		err = fmt.Errorf("%w: --states and --checkins: a %s has no state and no check-in; they are for kind ticket", ErrUsage, s.Kind)
	}
	if err == nil && f.Kind != record.Ticket && s.Reinstate {
		err = fmt.Errorf("%w: --reinstate: a %s has no state; it is for kind ticket", ErrUsage, s.Kind)
	}
	if err == nil {
		_, err = columns.OriginNamed(s.From, f)
	}
	return err
}

// checkStates checks the states of --states, and puts its words into plain form.
func (s *Source) checkStates() error {
	states := map[string]string{}
	for _, word := range slices.Sorted(maps.Keys(s.States)) {
		state := words.StateOf(s.States[word], nil)
		if !slices.Contains(words.Severity, s.States[word]) && state == "" {
			return fmt.Errorf("%w: --states %s=%s: the states are %s", ErrUsage, word, s.States[word], strings.Join(words.Severity, ", "))
		}
		key := words.Saying(word)
		if before, ok := states[key]; ok && before != state {
			return fmt.Errorf("%w: --states %s=%s: the same word is given another state; capitals, accents and signs do not count, and a dash is as good as blank", ErrUsage, word, s.States[word])
		}
		states[key] = state
	}
	s.States = states
	return nil
}

// checkEvent checks that the event of all rows exists. In a file of several kinds the event may be one of the rows.
func (s *Source) checkEvent(store *kv.Store, p auth.Principal) error {
	if s.Event == 0 || s.Kind == "" {
		return nil
	}
	_, err := store.Desk.Retrieve(p, desk.Target{Surface: record.Admin, Kind: record.Event, ID: record.Int(s.Event)})
	if errors.Is(err, table.ErrNotFound) {
		return fmt.Errorf("%w: --event %d: there is no such event", ErrUsage, s.Event)
	}
	return nil // each row checks whether p may write it
}

// importer is one import at work: one goroutine reads and parses, one for each batch writes it, one counts.
type importer struct {
	writer
	ctx      context.Context
	cancel   context.CancelCauseFunc
	alike    *lookalikes // nil = people are not compared
	in       drafts
	maker    maker
	progress func(done, total int64)
	total    int64       // rows in all; 0 = unknown
	batches  chan *batch // in the order of the file; each is written, or was
	report   Report

	tally tally
}

// tally counts the tickets of an event beside what the file says of them.
type tally struct {
	issued     int // valid or unpaid before; 0 = not counted
	stood      int // of these, in a row that was taken
	readmitted int // were kept out here, and the file makes them valid
	undone     int // were used, and the check-in of the file was undone here
}

// notes says what the counts of rows do not show. If no ticket of the event is in the file, the file is a further list, and leaves out all.
func (t tally) notes() (out []string) {
	if n := t.readmitted; n > 0 {
		out = append(out, counted(n, "ticket was", "tickets were")+" blocked, refunded or cancelled here, and valid by the file, which counts")
	}
	if n := t.undone; n > 0 {
		out = append(out, counted(n, "ticket was", "tickets were")+
			" used already, as the file says; what was undone here stays undone")
	}
	if n := t.issued - t.stood; n > 0 && t.stood > 0 {
		out = append(out, counted(n, "ticket of the event is", "tickets of the event are")+
			" valid or unpaid here and in no row that was taken: a shop may leave cancelled and refunded tickets out; cancel those here")
	}
	return out
}

// writer writes rows to the store.
type writer struct {
	store    *kv.Store
	who      auth.Principal
	dry      bool // nothing is written
	checkins bool // tickets that the file says were used are checked in
}

// batch is up to table.MaxRows rows of one kind, and the rejected rows between them.
type batch struct {
	items  []*item
	rows   []entry.Row
	failed bool          // no row was written
	done   chan struct{} // closed once the batch is decided
}

func newBatch() *batch { return &batch{done: make(chan struct{})} }

// read fills batches and has them written. Rows of another kind may refer to the rows before them, so they wait until those are written.
func (im *importer) read() {
	defer close(im.batches)
	var flying sync.WaitGroup
	b := newBatch()
	send := func() bool {
		full := b
		select {
		case im.batches <- full:
		case <-im.ctx.Done():
			return false
		}
		flying.Go(func() { im.write(full) })
		b = newBatch()
		return true
	}
	for {
		im.store.Tables.Yield() // to requests that wait
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
		return &item{rejected: rejected}, nil
	}
	return im.maker.item(d), nil
}

func (b *batch) add(it *item) {
	b.items = append(b.items, it)
	if it.rejected == nil {
		b.rows = append(b.rows, it.row)
	}
}

func (b *batch) full() bool { return len(b.rows) == table.MaxRows || len(b.items) >= 10*table.MaxRows }

// kind is the kind of a batch's rows; nil while it has none.
func (b *batch) kind() *record.Kind {
	if len(b.rows) == 0 {
		return nil
	}
	return b.rows[0].Kind
}

// write has a batch decided. An error of the store ends the import.
func (im *importer) write(b *batch) {
	defer close(b.done)
	if b.failed = im.ctx.Err() != nil; b.failed || len(b.rows) == 0 {
		return
	}
	if err := im.decide(b); err != nil {
		im.cancel(err)
	}
}

// decide hands a batch to the store.
func (w *writer) decide(b *batch) error {
	results, err := w.store.Desk.Upsert(w.who, b.rows, w.dry)
	if err != nil {
		b.failed = true
		return err
	}
	for _, it := range b.items {
		if it.rejected != nil {
			continue
		}
		it.result, results = results[0], results[1:]
		if w.checkins && !w.dry && it.entered && it.result.Fate != desk.Rejected {
			err = cmp.Or(err, w.admit(it))
		}
	}
	return err
}

// admit checks in a ticket that was used before, as the file says. The same file again repeats the first answer. A check-in that was undone
// here since stays undone.
func (w *writer) admit(it *item) error {
	code, state := it.row.Patch.Text(kinds.Code), it.row.Patch.Text(kinds.State)
	event, _ := it.row.Patch.Value(kinds.Event)
	id, ok := value.ParseInt(string(event))
	if !ok || code == "" || state != "" && state != words.Severity[0] {
		return nil
	}
	nonce := "import " + string(event) + " " + code
	d, err := w.store.Door.CheckIn(w.who, door.Attempt{Event: id, Code: code, Door: "import", Nonce: nonce, At: it.at, Told: true})
	if d.Outcome == outcome.Undone || d.Outcome == outcome.Admitted && !d.Replayed {
		it.checkin = d.Outcome
	}
	return err
}

// run reads and writes all rows, and counts the batches.
func (im *importer) run() {
	go im.read()
	rows := int64(0)
	for b := range im.batches {
		<-b.done
		im.count(b)
		rows += int64(len(b.items))
		if im.progress != nil {
			im.progress(rows, im.total)
		}
	}
	if im.maker.seen != nil {
		im.report.Warnings = im.maker.seen.warnings()
	}
	im.report.Warnings = append(im.report.Warnings, im.tally.notes()...)
	im.in.report(&im.report)
}

func (im *importer) count(b *batch) {
	if b.failed {
		return
	}
	for _, it := range b.items {
		if it.result.Fate == desk.Rejected {
			im.forgive(it)
		}
		switch {
		case it.rejected != nil:
			im.report.reject(*it.rejected)
		default:
			im.report.count(it.result.Fate)
			im.report.note(it)
			if it.result.Readmits {
				im.tally.readmitted++
			}
			if it.result.Stood {
				im.tally.stood++
			}
			if it.checkin == outcome.Undone {
				im.tally.undone++
			}
			if im.alike != nil && it.result.Fate == desk.Created {
				im.alike.find(it, &im.report)
			}
		}
	}
}

// forgive takes a row that the store refused. In a dry run it ignores faults of references to rows of the same file, because an import would
// have written those rows.
func (im *importer) forgive(it *item) {
	if im.dry {
		it.result.Err = Unpromised(it.result.Err, it.row.Patch, func(to record.Pointer) bool { return im.maker.seen.hasID(rowID{to.Kind, to.ID}) })
		if it.result.Err == nil {
			it.result.Fate = desk.Created
			return
		}
	}
	r := rejection(it.draft, it.result.Err)
	it.rejected = &r
}

// Unpromised returns the error of a row that was refused, without the faults of references to promised records: a dry run has not written
// these. It returns nil if nothing else is wrong with the row.
func Unpromised(err error, row *record.Patch, promised func(to record.Pointer) bool) error {
	var faults fault.ByField
	if !errors.As(err, &faults) {
		return err
	}
	left := maps.Clone(faults)
	for _, to := range row.Pointers() {
		if promised(to) {
			delete(left, to.Field)
		}
	}
	if len(left) == 0 {
		return nil
	}
	return left
}

// Filler writes records that a program makes.
type Filler struct {
	Store    *kv.Store
	Who      auth.Principal
	Total    int                     // how many records are made
	Progress func(done, total int64) // nil = not told
}

// Record is one record: a JSON object under the kind's own names.
type Record struct {
	Kind *record.Kind
	ID   int
	Body []byte
}

// Fill writes all records, each on its own and after the records that it refers to. The report has the refused ones. An error means that ctx
// ended or that the store failed.
func (f Filler) Fill(ctx context.Context, records iter.Seq[Record]) (Report, error) {
	next, stop := iter.Pull(records)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	im := &importer{
		writer: writer{store: f.Store, who: f.Who}, ctx: ctx, cancel: cancel, in: &made{from: next}, progress: f.Progress, total: int64(f.Total),
		maker: maker{zone: f.Store.Tables.Clock.Zone()}, batches: make(chan *batch, ahead),
	}
	im.run()
	stop()
	return im.report, context.Cause(ctx)
}

// made makes drafts of records.
type made struct {
	from func() (Record, bool)
	form kinds.Form
	line int
}

func (m *made) next() (draft, *Rejection, error) {
	r, ok := m.from()
	if !ok {
		return draft{}, nil, io.EOF
	}
	if m.form.Kind != r.Kind {
		m.form = kinds.New(r.Kind)
	}
	m.line++
	return draft{line: m.line, form: m.form, body: r.Body, event: true, column: sameName, id: strconv.Itoa(r.ID)}, nil, nil
}

func (m *made) report(*Report) {}

func (m *made) close() error { return nil }
