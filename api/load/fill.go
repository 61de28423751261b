package load

import (
	"context"
	"strconv"

	"doorward/api/load/kinds"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/record"
)

// Filler writes records that a program makes.
type Filler struct {
	Store    *kv.Store
	Who      auth.Principal
	Progress func(done, total int64) // nil = not told
}

// Records makes records one by one. Each record is made once, and comes after the records that it refers to.
type Records interface {
	Next() (Record, error) // io.EOF after the last
	Total() int
}

// Record is one record: a JSON object under the kind's own names.
type Record struct {
	Kind *record.Kind
	ID   int
	Body []byte
}

// Fill writes all records, each on its own. The report has the refused ones. An error means that ctx ended or that the store failed.
func (f Filler) Fill(ctx context.Context, from Records) (Report, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	im := &importer{
		writer: writer{desk: f.Store.Desk, door: f.Store.Door, yield: f.Store.Tables.Yield, who: f.Who}, ctx: ctx, cancel: cancel, in: &made{from: from}, progress: f.Progress, total: int64(from.Total()),
		maker: maker{zone: f.Store.Tables.Clock.Zone()}, ready: make(chan *batch, writers), done: make(chan *batch, writers),
	}
	im.run()
	return im.report, context.Cause(ctx)
}

// made makes drafts of Records.
type made struct {
	from Records
	form kinds.Form
	line int
}

func (m *made) next() (draft, *Rejection, error) {
	r, err := m.from.Next()
	if err != nil {
		return draft{}, nil, err
	}
	if m.form.Kind != r.Kind {
		m.form = kinds.New(r.Kind)
	}
	m.line++
	return draft{line: m.line, form: m.form, body: r.Body, event: true, column: sameName, id: strconv.Itoa(r.ID)}, nil, nil
}

func (m *made) ignored() []string { return nil }

func (m *made) close() error { return nil }
