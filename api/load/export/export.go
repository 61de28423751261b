package export

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"doorward/api/load/kinds"
	"doorward/kv/auth"
	"doorward/kv/feed"
	"doorward/kv/record"
)

// Write writes every record of a kind, or of all importable kinds, as a principal sees them, so that Import reads them into an empty store: each
// kind after those it refers to. NDJSON is one object a line; the first member names its kind.
// A *feed.LeftOut comes after all has been written that is sound.
func Write(ctx context.Context, w io.Writer, o Options) error {
	switch o.Format {
	case "", NDJSON:
		return exportNDJSON(ctx, w, o)
	case CSV:
		return exportCSV(ctx, w, o)
	case XLSX:
		return exportXLSX(ctx, w, o)
	}
	return fmt.Errorf("%w: there is no format “%s”; the formats are %s", kinds.ErrUsage, o.Format, strings.Join(Formats, ", "))
}

// bufferSize is how much of an export is put together before it is written.
const bufferSize = 64 << 10

// log reads all records of a kind.
type log interface {
	Export(p auth.Principal, k *record.Kind, fn func(json []byte) error) error
}

// Options say what to export.
type Options struct {
	Log    log
	Who    auth.Principal
	Kind   string // "" = all
	Format string // "" = NDJSON
}

// exported are the kinds that an export holds.
func exported(o Options) ([]kinds.Form, error) {
	if o.Kind == "" {
		return kinds.All(), nil
	}
	f, err := kinds.Of(o.Kind)
	return []kinds.Form{f}, err
}

func exportNDJSON(ctx context.Context, w io.Writer, o Options) error {
	list, err := exported(o)
	if err != nil {
		return err
	}
	e := &exporter{ctx: ctx, w: bufio.NewWriterSize(w, bufferSize)}
	var out leftOut
	for _, f := range list {
		if err := out.unless(e.kind(o, f.Kind)); err != nil {
			return fmt.Errorf("export %s: %w", f.Kind.Name, err)
		}
	}
	return cmp.Or(e.w.Flush(), out.err())
}

// leftOut collects what is left out of an export.
type leftOut struct{ feed.LeftOut }

// unless collects an error that says what is left out of a kind, and answers any other.
func (l *leftOut) unless(err error) error {
	if out := (*feed.LeftOut)(nil); errors.As(err, &out) {
		l.Add(out)
		return nil
	}
	return err
}

// err answers a *feed.LeftOut, or nil where nothing is left out.
func (l *leftOut) err() error {
	if l.Count == 0 {
		return nil
	}
	return &l.LeftOut
}

type exporter struct {
	ctx context.Context
	w   *bufio.Writer
}

func (e *exporter) kind(o Options, k *record.Kind) error {
	head := `{"` + kinds.Kind + `":"` + k.Name + `",`
	return o.Log.Export(o.Who, k, func(json []byte) error {
		if err := e.ctx.Err(); err != nil {
			return err
		}
		_, _ = e.w.WriteString(head) // a failure stays with the writer
		_, _ = e.w.Write(json[1:])
		return e.w.WriteByte('\n')
	})
}
