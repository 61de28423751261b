package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"doorward/api/load"
	"doorward/api/load/demo"
	"doorward/api/load/export"
	"doorward/api/overview"
	"doorward/api/pull"
	"doorward/kv/backup"
	"doorward/kv/disk"
	"doorward/kv/fault"
	"doorward/kv/feed"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/table"

	"github.com/go-json-experiment/json"
)

// Control answers the command line: what the operator does to the whole store, and all of /admin/v1, without a key. It must
// only ever be reachable by the owner of the store's folder: through a Unix socket in it, or in the process that opened it.
//
//	GET  /control/status?event=7                                             → overview
//	POST /control/import?kind=ticket&event=7&…, as /admin/v1/import/         body: the file    → progress, load.Report
//	GET  /control/export?kind=person&format=csv                              → the file, as NDJSON without a format; a failure is in the trailer X-Export-Error,
//	                                                                           what a whole file leaves out as damaged in X-Export-Left-Out
//	POST /control/demo?size=s&seed=1                                         → progress, demo.Report
//	POST /control/pull                 {"url","key","secret",…}              → progress, pull.Report
//	GET  /control/verify                                                     → progress, {"rows","records","damaged","damage","places"}
//	POST /control/reindex                                                    → progress, {"documents"}
//	POST /control/backup?folder=.doorward-backup-1, or a whole path          → {"realm","node","epoch","seq","at","bytes"}
//	POST /control/backup/note?file=/mnt/backup.db
//	GET  /control/erase?id=5                                                 → {"id","full_name","erased_at"}, erased_at a day or null
//	POST /control/erase?id=5                                                 → {"id","tickets","memberships","conflicts","refusals","answers","free_databases","older_files"}
//	GET  /control/olderfiles                                                 → {"older_files","uncompacted"}
//	POST /control/compact                                                    → {"bytes_before","bytes"}
//	POST /control/clock/trust                                                → {"now","doubted","clock_offset_ms"}
//	POST /control/door?event=7                                               → {"ticket","event","name","expires_at"} and the members of /control/site
//	GET  /control/site                                                       → {"public_url","scheme","address","host","authority"}
//	POST /control/venue/enrol          {"name","events","churches",…}        → {"id","code","url","expires_at"}
//	POST /control/venue/{id}/revoke
//	POST /control/venue/{id}/wipe
//
// Those with progress answer application/x-ndjson: lines {"progress":{"done":n,"total":n}}, total 0 where it is unknown, then
// one {"result":…} or {"error":{"code","message"}}. What is wrong with the request itself is answered as /admin/v1 does.
func (s *Server) Control() http.Handler {
	mux, admin := http.NewServeMux(), newRouter("", adminRoutes())
	for pattern, do := range map[string]func(*exchange, *http.Request) error{
		"GET /control/status":             controlStatus,
		"POST /control/import":            controlImport,
		"GET /control/export":             controlExport,
		"POST /control/demo":              controlDemo,
		"POST /control/pull":              controlPull,
		"GET /control/verify":             controlVerify,
		"POST /control/reindex":           controlReindex,
		"POST /control/backup":            controlBackup,
		"POST /control/backup/note":       controlNoteBackup,
		"GET /control/erase":              controlToErase,
		"POST /control/erase":             controlErase,
		"GET /control/olderfiles":         controlOlderFiles,
		"POST /control/compact":           controlCompact,
		"POST /control/clock/trust":       controlTrust,
		"POST /control/door":              controlTicket,
		"GET /control/site":               controlSite,
		"POST /control/venue/enrol":       controlEnrol,
		"POST /control/venue/{id}/revoke": controlEnd((*office.Desk).RevokeVenue),
		"POST /control/venue/{id}/wipe":   controlEnd((*office.Desk).WipeVenue),
		"/": func(x *exchange, r *http.Request) error {
			admin.ServeHTTP(x, r)
			return nil
		},
	} {
		mux.Handle(pattern, s.answer(func(x *exchange, r *http.Request) error {
			x.identity = operator()
			if err := x.readQuery(r); err != nil {
				return err
			}
			return do(x, r)
		}))
	}
	return mux
}

// controlStatus answers the overview: what needs a person, and figures.
func controlStatus(x *exchange, _ *http.Request) error {
	c := overviewOf(x, "")
	if text := x.query.Value("event"); text != "" {
		id, err := parseID(record.Event, text)
		if err != nil {
			return err
		}
		c.Event = id.Int()
	}
	return x.show(overview.Take(c))
}

// overviewOf says which store the caller's overview is of, and in which language its sentences are; "" = English.
func overviewOf(x *exchange, language string) overview.Config {
	c := x.server.config
	return overview.Config{Store: x.store(), Who: x.caller, Version: c.Version, Served: c.Address != "", CertificateEnds: c.CertificateEnds, Backlog: c.Backlog, Language: language}
}

func controlImport(x *exchange, r *http.Request) error {
	src, faults := sourceOf(x.query)
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		return fmt.Errorf("%w: --%s: %s", load.ErrUsage, strings.ReplaceAll(name, "_", "-"), strings.Join(faults[name], " "))
	}
	x.Header().Set("Connection", "close")                // in full duplex, net/http does not reuse a connection with an unread body
	_ = http.NewResponseController(x).EnableFullDuplex() // where it is not known, as in HTTP/2, both directions flow anyway
	src.Reader = r.Body
	st := newStream(x)
	rep, err := load.Import(r.Context(), x.store(), x.caller, src, st.progress)
	return st.end(rep, err)
}

// exportError is the trailer of an export that broke off. exportLeftOut is the trailer of a whole export that leaves out damaged records.
const (
	exportError   = "X-Export-Error"
	exportLeftOut = "X-Export-Left-Out"
)

func controlExport(x *exchange, r *http.Request) error {
	x.Header().Set("Content-Type", "application/octet-stream")
	x.Header().Set("Trailer", exportError+", "+exportLeftOut)
	err := export.Write(r.Context(), x, export.Options{Log: x.store().Log, Who: x.caller, Kind: x.query.Value("kind"), Format: x.query.Value("format")})
	if out := (*feed.LeftOut)(nil); errors.As(err, &out) {
		if x.status == 0 {
			x.WriteHeader(http.StatusOK) // nothing is sound
		}
		x.Header().Set(exportLeftOut, x.store().Tables.Blamed(out).Error())
		return nil
	}
	if err == nil || x.status == 0 {
		if err != nil {
			x.Header().Del("Trailer")
		}
		return err
	}
	x.Header().Set(exportError, x.explain(err).message)
	return nil
}

func controlDemo(x *exchange, r *http.Request) error {
	st := newStream(x)
	text, given := x.query.Last("seed")
	seed, err := strconv.ParseInt(text, 10, 64)
	if err != nil && given {
		return fmt.Errorf("%w: --seed: an integer is wanted", load.ErrUsage)
	}
	rep, err := demo.Make(r.Context(), x.store(), x.caller, demo.Options{Size: x.query.Value("size"), Seed: seed, Progress: st.progress})
	if errors.Is(err, demo.ErrNotVacant) {
		err = &table.Conflict{Reason: demo.ErrNotVacant.Error()}
	}
	return st.end(rep, err)
}

func controlVerify(x *exchange, _ *http.Request) error {
	st := newStream(x)
	rep, err := verify(x, func(done, total int) { st.progress(int64(done), int64(total)) })
	return st.end(rep, err)
}

// verify reads a file that may be damaged. A fault or a panic by a broken page counts as damage, and does not end the process.
func verify(x *exchange, progress func(done, total int)) (rep backup.Report, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			rep.Damaged++
			rep.Damage = append(rep.Damage, "the file's own structure is broken")
			x.log(fmt.Errorf("verify: panic: %v", v))
		}
	}()
	return x.store().Files.Verify(x.caller, progress)
}

// progressPause is the shortest time between two lines of progress.
const progressPause = 100 * time.Millisecond

// PullForm is the body of POST /control/pull: the server to pull from, and how. The store does not keep the secret.
type PullForm struct {
	URL      string `json:"url"`
	Key      string `json:"key"`
	Secret   string `json:"secret"`
	Insecure bool   `json:"insecure"`
	DryRun   bool   `json:"dry_run"`
	Full     bool   `json:"full"`
	Moved    bool   `json:"moved"`
}

// errNoOutbound says that this server has no client for other servers.
var errNoOutbound = errors.New("api: no client for other servers")

// controlPull makes the store the mirror of another server.
func controlPull(x *exchange, r *http.Request) error {
	var form PullForm
	if err := json.UnmarshalRead(http.MaxBytesReader(x, r.Body, maxHeaders), &form); err != nil {
		return errUnreadable
	}
	loopback, err := form.reach()
	if err != nil {
		return err
	}
	if x.server.config.Outbound == nil {
		return errNoOutbound
	}
	st := newStream(x)
	rep, err := pull.Run(r.Context(), pull.Config{
		Store: x.store(), Who: x.caller, URL: form.URL, Key: form.Key, Secret: form.Secret, Client: x.server.config.Outbound(loopback),
		DryRun: form.DryRun, Full: form.Full, Moved: form.Moved, Progress: st.progress,
	})
	return st.end(rep, err)
}

// reach returns whether to dial this machine alone, as for http. It returns an error if the secret would cross a network in the clear.
func (f *PullForm) reach() (loopback bool, err error) {
	u, err := url.Parse(f.URL)
	if err != nil || u.Scheme != "http" || f.Insecure {
		return false, nil // pull.Run refuses an address that cannot be read
	}
	at, failed := netip.ParseAddr(u.Hostname())
	if strings.EqualFold(u.Hostname(), "localhost") || failed == nil && at.IsLoopback() {
		return true, nil
	}
	return false, fmt.Errorf("%w: the address is http://, where everybody on the way can read the secret and all records: https:// is wanted, or --insecure", pull.ErrUsage)
}

// Indexer keeps the search index of a Finder.
type Indexer interface {
	// Rebuild builds the index from nothing and returns how many records are in it. It calls progress from any goroutine, also for a
	// moment after it has returned.
	Rebuild(ctx context.Context, progress func(done, total int)) (documents int, err error)
	// Usable tells whether searches are answered from the index now.
	Usable() bool
}

// errNotIndexed says that the index could not be built. The operator reads the cause.
var errNotIndexed = errors.New("the search index could not be built")

func controlReindex(x *exchange, r *http.Request) error {
	by := x.server.config.Indexer
	if by == nil {
		return &table.Conflict{Reason: "nothing keeps a search index here"}
	}
	type step struct{ done, total int }
	documents, steps, end := 0, make(chan step, 1), make(chan error, 1)
	go func() { // only this handler's own goroutine writes the answer
		var err error
		documents, err = by.Rebuild(r.Context(), func(done, total int) {
			select {
			case steps <- step{done, total}:
			default: // the next one says more
			}
		})
		if err != nil {
			err = fmt.Errorf("%w: %w", errNotIndexed, err)
		}
		end <- err
	}()
	st := newStream(x)
	for {
		select {
		case s := <-steps:
			st.progress(int64(s.done), int64(s.total))
		case err := <-end:
			return st.end(map[string]int{"documents": documents}, err)
		}
	}
}

const typeNDJSON = "application/x-ndjson"

// stream is an answer in lines of JSON: progress as it comes, then one result or one error.
type stream struct {
	x    *exchange
	last time.Time
}

func newStream(x *exchange) *stream { return &stream{x: x, last: time.Now()} }

// progress writes a line, unless the last is younger than a tenth of a second.
func (s *stream) progress(done, total int64) {
	now := time.Now()
	if now.Sub(s.last) < progressPause {
		return
	}
	s.last = now
	_ = s.line(map[string]any{"progress": map[string]any{"done": done, "total": total}}) // a client that is gone ends the work by its context
}

// end writes the last line. If no line was written yet, it returns an error of the request, which is answered by its status. A fault in the
// content of a file is a line: the request itself was good.
func (s *stream) end(result any, err error) error {
	if err != nil {
		return s.fail(err)
	}
	return s.line(map[string]any{"result": result})
}

func (s *stream) fail(err error) error {
	if s.x.request.Context().Err() != nil {
		return errGone
	}
	if s.x.status == 0 && !errors.Is(err, load.ErrSource) {
		return err
	}
	body, err := envelope(s.x.explain(err))
	if err != nil {
		return err
	}
	return s.write(body)
}

func (s *stream) line(v any) error {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	return s.write(b)
}

func (s *stream) write(b []byte) error {
	if s.x.status == 0 {
		s.x.Header().Set("Content-Type", typeNDJSON)
	}
	if _, err := s.x.Write(append(b, '\n')); err != nil {
		return errGone
	}
	return http.NewResponseController(s.x).Flush()
}

// Erased is the answer of POST /control/erase: it counts what an erasure has removed, and names the older files that still hold it.
type Erased struct {
	ID          int64    `json:"id"`
	Tickets     int      `json:"tickets"`
	Memberships int      `json:"memberships"`
	Conflicts   int      `json:"conflicts"`
	Refusals    int      `json:"refusals"`
	Answers     int      `json:"answers"`
	MoreFree    int      `json:"free_databases_more,omitzero"`
	Free        []string `json:"free_databases"` // the first 100; the program does not read their documents, so the operator must look for the person there
	olderFiles  `json:",inline"`
}

type olderFiles struct {
	Files []string `json:"older_files"`
}

// Erasable is the answer of GET /control/erase: the person that an erasure means, and the day of an earlier one.
type Erasable struct {
	ID       int64   `json:"id"`
	Name     string  `json:"full_name"` // "" = the person was deleted
	ErasedAt *string `json:"erased_at"`
}

// controlToErase names the person to erase.
func controlToErase(x *exchange, _ *http.Request) error {
	id, err := parseID(record.Person, x.query.Value("id"))
	if err != nil {
		return err
	}
	who, err := x.store().Erasures.Preview(x.caller, id)
	if err != nil {
		return err
	}
	view := Erasable{ID: id.Int(), Name: who.Name}
	if !who.ErasedAt.IsZero() {
		day := who.ErasedAt.In(x.store().Tables.Clock.Zone()).Format(time.DateOnly)
		view.ErasedAt = &day
	}
	return x.answer(http.StatusOK, view)
}

// controlErase erases a person for good.
func controlErase(x *exchange, _ *http.Request) error {
	id, err := parseID(record.Person, x.query.Value("id"))
	if err != nil {
		return err
	}
	e, err := x.store().Erasures.Erase(x.caller, record.Person, id)
	if err != nil {
		return err
	}
	older, err := findOlderFiles(x)
	if err != nil {
		return err
	}
	free, err := freeDatabases(x)
	if err != nil {
		return err
	}
	free, more := fault.First(free)
	return x.answer(http.StatusOK, Erased{id.Int(), e.Tickets, e.Memberships, e.Conflicts, e.Refusals, e.Answers, more, free, older})
}

// freeDatabases are the names of the databases that hold documents of other programs.
func freeDatabases(x *exchange) ([]string, error) {
	names := []string{}
	all, err := x.store().Docs.Databases(x.caller)
	for _, d := range all {
		if d.Free() {
			names = append(names, d.Name)
		}
	}
	return names, err
}

// findOlderFiles names the files that hold what the store held before now.
func findOlderFiles(x *exchange) (older olderFiles, err error) {
	found, err := x.store().Files.OlderFiles(x.caller, x.store().Tables.Clock.Now())
	return olderFiles{append([]string{}, found...)}, err
}

// controlOlderFiles names the files that hold what the store held before, and says how many erasures its own file holds still.
func controlOlderFiles(x *exchange, _ *http.Request) error {
	older, err := findOlderFiles(x)
	if err != nil {
		return err
	}
	due, _, err := x.store().Erasures.Uncompacted()
	if err != nil {
		return err
	}
	return x.answer(http.StatusOK, struct {
		olderFiles `json:",inline"`
		Due        int `json:"uncompacted"`
	}{older, due})
}

// controlNoteBackup remembers where a backup was written to.
func controlNoteBackup(x *exchange, _ *http.Request) error {
	file := x.query.Value("file")
	if !filepath.IsAbs(file) {
		return table.ErrNotFound
	}
	return x.show(struct{}{}, x.store().Files.NoteBackup(x.caller, file))
}

// controlBackup copies the store into a folder within its own, or into one that the whole path of it names, on another disk. The client makes the
// folder and removes it.
func controlBackup(x *exchange, _ *http.Request) error {
	dir := x.query.Value("folder")
	name := filepath.Base(dir)
	if !disk.IsWorkFolder(name, "backup") || name != dir && !filepath.IsAbs(dir) {
		return fmt.Errorf("%w: folder: .doorward-backup- and a number are wanted", load.ErrUsage)
	}
	if name == dir {
		dir = filepath.Join(x.store().Tables.Folder.Dir, name)
	}
	return x.show(x.store().Files.CopyTo(x.caller, table.Path(dir)))
}

// controlCompact writes the store's file again, without its free pages.
func controlCompact(x *exchange, r *http.Request) error {
	return x.show(x.store().Files.Compact(r.Context(), x.caller))
}

// trusted is the state of the clock after a person has trusted it.
type trusted struct {
	Now     time.Time `json:"now"`
	Doubted bool      `json:"doubted"`
	Offset  *int64    `json:"clock_offset_ms"` // how far a peer's clock was ahead when last measured; null = never
}

// controlTrust ends every doubt of the clock.
func controlTrust(x *exchange, _ *http.Request) error {
	c, err := x.store().Tables.Clock.Trust(x.caller)
	if err != nil {
		return err
	}
	t := trusted{Now: x.store().Tables.Clock.Now().UTC(), Doubted: c.Doubt != ""}
	if !c.Measured.IsZero() {
		ms := c.Offset.Milliseconds()
		t.Offset = &ms
	}
	return x.answer(http.StatusOK, t)
}
