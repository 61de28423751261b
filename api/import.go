package api

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"doorward/api/load"
	"doorward/api/load/columns"
	"doorward/api/query"
	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/value"
)

// maxImport is the largest file of an import; importPause is how long an import may wait for the next bytes.
const (
	maxImport   = 1 << 30
	importPause = 30 * time.Second
)

// importRecords answers POST of a file of records. The report has the result of each line; refused lines do not make it an error.
func importRecords(x *exchange) error {
	boundary := formBoundary(x)
	if boundary == "" && !importFile.holds(x.request.Header) {
		return errImportType
	}
	src, err := importSource(x)
	if err != nil {
		return err
	}
	body := &moving{control: http.NewResponseController(x), reader: http.MaxBytesReader(x.ResponseWriter, x.request.Body, maxImport)}
	src.Reader = body
	if boundary != "" {
		if src.Reader, err = filePart(body, boundary); err != nil {
			return err
		}
	}
	rep, err := load.Import(x.request.Context(), x.store(), x.caller, src, nil)
	body.deadline(time.Now().Add(importPause)) // for the answer
	if err != nil {
		return refuseImport(err)
	}
	nameParameters(&rep)
	return x.answer(http.StatusOK, rep)
}

// flagged matches a flag of the command import in a text, with the beginning of its value.
var flagged = regexp.MustCompile(`(^|[^-\w])--([a-z]+(?:-[a-z]+)*)( '| [dmy]{3}\b)?`)

// switches are the flags of the command import that take no value.
var switches = []string{"checkins", "reinstate", "yes", "dry-run"}

// parameters is a text about flags of the command import as one about parameters of the query: --only-type 'VIP' is only_type='VIP' there.
func parameters(text string) string {
	return flagged.ReplaceAllStringFunc(text, func(found string) string {
		part := flagged.FindStringSubmatch(found)
		before, name, value := part[1], part[2], strings.Replace(part[3], " ", "=", 1)
		if slices.Contains(switches, name) {
			value = "=true"
		}
		return before + strings.ReplaceAll(name, "-", "_") + value
	})
}

// nameParameters has a report say parameters instead of flags.
func nameParameters(rep *load.Report) {
	for i := range rep.Rejected {
		rep.Rejected[i].Reason = parameters(rep.Rejected[i].Reason)
	}
	for i := range rep.Reasons {
		rep.Reasons[i].Reason = parameters(rep.Reasons[i].Reason)
	}
	for i := range rep.Warnings {
		rep.Warnings[i] = parameters(rep.Warnings[i])
	}
	for i := range rep.Columns {
		rep.Columns[i].Why = parameters(rep.Columns[i].Why)
	}
}

// refuseImport is the error of an import over HTTP, which says parameters instead of flags.
func refuseImport(err error) error {
	var questions columns.Questions
	errors.As(err, &questions)
	for _, q := range questions {
		for i := range q.Flags {
			q.Flags[i] = parameters(q.Flags[i])
		}
	}
	return &importRefused{err}
}

// importRefused is an error of an import that names the parameters of HTTP, and not the flags of the command.
type importRefused struct{ error }

// Unwrap returns the error that says flags.
func (e *importRefused) Unwrap() error { return e.error }

// Error is the text.
func (e *importRefused) Error() string { return parameters(e.error.Error()) }

// importFile is the file of an import. Its content decides what it is.
var importFile = &fileBody{
	types: []string{
		"text/csv", "application/x-ndjson", "application/json", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", fileMedia,
	},
	example: "Code,Holder,Type\nK7QP2M9D4RSX1ABC,Ana Souza,Adult\n",
}

// formBoundary returns the boundary of a form that contains the file; "" for any other body. Only a
// page with its session may send forms. A client with a key sends the file as the body.
func formBoundary(x *exchange) string {
	media, parameters, err := mime.ParseMediaType(x.request.Header.Get("Content-Type"))
	if err != nil || media != "multipart/form-data" || !x.page {
		return ""
	}
	return parameters["boundary"]
}

// filePart returns the file in a form: the part with the name file. What follows it is not read.
func filePart(form io.Reader, boundary string) (io.Reader, error) {
	parts := multipart.NewReader(form, boundary)
	for {
		part, err := parts.NextRawPart()
		switch {
		case errors.Is(err, io.EOF):
			return nil, fault.ByField{"file": {fault.Required}}
		case err != nil:
			return nil, unreadable(err)
		case part.FormName() == "file":
			return formFile{part}, nil
		}
	}
}

// formFile is a file in a form.
type formFile struct{ part *multipart.Part }

// Read reads. A form that breaks off is the client's fault.
func (f formFile) Read(b []byte) (int, error) {
	n, err := f.part.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = unreadable(err)
	}
	return n, err
}

// importSource reads the query string of an import. An import is many transactions and cannot keep
// the promise of an Idempotency-Key, so one is refused.
func importSource(x *exchange) (src load.Source, err error) {
	src, faults := sourceOf(x.query)
	if k, ok := record.ByName(src.Kind); src.Kind == "" {
		faults.Add("kind", fault.Required)
	} else if !ok || k.System || k.Fact {
		faults.Add("kind", fault.InvalidChoice(src.Kind))
	}
	if idempotencyKey(x, &faults) != "" {
		faults.Add("Idempotency-Key", textImportOnce)
	}
	return src, faults.Err()
}

// sourceOf reads the options of an import from a query.
func sourceOf(q query.Query) (src load.Source, faults fault.ByField) {
	src.Kind, _ = q.Text("kind")
	src.From, _ = q.Text("from")
	src.Sheet, _ = q.Text("sheet")
	src.Dates, _ = q.Text("dates")
	src.Ignore, src.OnlyTypes = q.All("ignore"), q.All("only_type")
	if text, ok := q.Text("event"); ok {
		if src.Event, ok = value.ParseInt(text); !ok || src.Event < 1 {
			faults.Add("event", fault.InvalidFilter(text))
		}
	}
	src.DryRun, src.Checkins = q.Flag("dry_run", &faults), q.Flag("checkins", &faults)
	src.Reinstate, src.Yes = q.Flag("reinstate", &faults), q.Flag("yes", &faults)
	if text, ok := q.Text("zone"); ok {
		var err error
		if src.Zone, err = time.LoadLocation(text); err != nil {
			faults.Add("zone", "not a time zone; America/Sao_Paulo is one")
		}
	}
	var err error
	if src.Map, err = pairsOf(q.All("map"), "field=column"); err != nil {
		faults.Add("map", err.Error())
	}
	if src.States, err = pairsOf(q.All("states"), "word=state"); err != nil {
		faults.Add("states", err.Error())
	}
	return src, faults
}

// pairsOf reads pairs like field=column: one in each text, or several with commas between them. A part without = continues the pair before
// its comma. Only the word of word=state may be blank, because a cell may be blank.
func pairsOf(texts []string, shape string) (map[string]string, error) {
	var pairs []string
	for _, text := range texts {
		for i, part := range strings.Split(text, ",") {
			if i > 0 && !strings.Contains(part, "=") {
				pairs[len(pairs)-1] += "," + part
				continue
			}
			pairs = append(pairs, part)
		}
	}
	all := map[string]string{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch _, twice := all[name]; {
		case !ok || value == "" || name == "" && shape != "word=state":
			return nil, fmt.Errorf("%s is wanted", shape)
		case twice:
			return nil, fmt.Errorf("%s is given two %ss", name, strings.TrimPrefix(shape[strings.Index(shape, "="):], "="))
		}
		all[name] = value
	}
	return all, nil
}

// moving is a body without a time limit for the whole, but with one for each read. After the last read it has no limit.
type moving struct {
	control *http.ResponseController
	reader  io.Reader
	until   time.Time
}

// Read reads, and moves the deadlines by importPause. A file that breaks off is the client's fault.
func (m *moving) Read(b []byte) (int, error) {
	if now := time.Now(); m.until.Sub(now) < importPause-time.Second {
		m.until = now.Add(importPause)
		m.deadline(m.until)
	}
	n, err := m.reader.Read(b)
	if err != nil {
		m.deadline(time.Time{})
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = unreadable(err)
	}
	return n, err
}

// deadline sets both deadlines of the connection. It ignores a connection without deadlines.
func (m *moving) deadline(t time.Time) {
	_ = m.control.SetReadDeadline(t)
	_ = m.control.SetWriteDeadline(t)
}
