package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"doorward/cmd/doorward/console"
	"doorward/cmd/doorward/control"
	"doorward/kv/table"
	"doorward/sync/dial"
	"doorward/sync/line"
	"doorward/sync/replicate"
)

// sticks returns a link to the laptop that a file of records goes to; nil = the target is no laptop, or the file is of an earlier store of
// its own. The laptop itself takes of the file what it takes along: the centre gives it that, and anything else would stay in it after an
// erasure or a revocation.
func (p *place) sticks(ctx context.Context, source *place) (*dial.Link, error) {
	if source.changes == nil || p.file != "" || !table.OfRecords(source.changes.Head().DB) || p.line != nil && p.line.Created() != nil {
		return nil, nil
	}
	conf := p.config.Config
	switch conf.URL = p.base + "/_stick"; {
	case p.base == "": // the address of one database
		at := strings.TrimRight(p.config.URL, "/")
		conf.URL = at[:strings.LastIndex(at, "/")] + "/_stick"
	}
	l, err := dial.New(conf)
	if err != nil {
		return nil, err
	}
	var taker replicate.StickTaker
	switch err := l.Ask(ctx, http.MethodGet, l.At(), nil, &taker); {
	case dial.Refused(err): // of a server that is no laptop, or knows no sticks; or the key may not give it one
		return nil, nil
	case err != nil:
		return nil, console.Stopped(ctx, err)
	case taker.Node == source.changes.Head().Node:
		return nil, nil
	}
	return l, nil
}

// deliver gives a file to a laptop, and once more if an event has come after its records.
func (c *Config) deliver(ctx context.Context, l *dial.Link, source *place) (all Report, err error) {
	if len(c.Databases) > 0 && !slices.Equal(c.Databases, []string{source.changes.Head().DB}) {
		return all, console.Usage(errors.New("--db: a laptop takes of a file what it takes along from its centre"))
	}
	for again := true; again; {
		said, err := send(ctx, l, source.raw)
		if err == nil && said.Error != "" && len(said.Databases) == 0 {
			err = errors.New(said.Error)
		}
		if err != nil {
			return all, console.Stopped(ctx, err)
		}
		again = said.Again && len(said.LeftOut) != len(all.LeftOut)
		all.add(said)
	}
	if all.failed() {
		err = console.ErrSaid
	}
	return all, err
}

// send sends a file once.
func send(ctx context.Context, l *dial.Link, file *os.File) (said replicate.StickReport, err error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return said, fmt.Errorf("a file that can be read twice is wanted: %w", err)
	}
	body := struct{ io.Reader }{file} // it stays open
	resp, err := l.Do(ctx, http.MethodPost, l.At(), &dial.Payload{Media: line.Media, Packing: "zstd", Read: body})
	if no, is := errors.AsType[*dial.Refusal](err); is && no.Reason != "" {
		return said, errors.New(control.Lower(no.Reason))
	}
	if err != nil {
		return said, err
	}
	defer func() { _ = resp.Body.Close() }() // it is read to its end
	return said, json.NewDecoder(resp.Body).Decode(&said)
}

// add adds what a laptop has taken of a file. What it leaves out is that of the last time.
func (r *Report) add(said replicate.StickReport) {
	before := map[string]int{}
	for i, d := range r.Databases {
		before[d.DB] = i
	}
	for _, d := range said.Databases {
		i, ok := before[d.DB]
		if !ok {
			i = len(r.Databases)
			r.Databases = append(r.Databases, Database{DB: d.DB})
		}
		one := &r.Databases[i]
		one.OK, one.Read, one.Refused, one.Denied = true, d.Read, d.Refused, d.Denied
		one.Written += d.Written
	}
	if last := len(r.Databases) - 1; said.Error != "" && last >= 0 {
		r.Databases[last].OK, r.Databases[last].Error = false, said.Error
	}
	r.LeftOut, r.Read, r.Written, r.Refused = said.LeftOut, 0, 0, 0
	for _, one := range r.Databases {
		r.Read, r.Written, r.Refused = r.Read+one.Read, r.Written+one.Written, r.Refused+one.Refused
	}
}
