package sync

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"doorward/kv/docs"
	"doorward/kv/table"
	"doorward/sync/dial"
	"doorward/sync/input"
)

func createDatabase(c *call) error {
	name, err := c.parameter("db")
	if err != nil {
		return err
	}
	if q := queryOf(c.query); q.flag("partitioned") || q.err != nil {
		return cmp.Or(q.err, error(unsupported("partitioned")))
	}
	if _, err := c.store().Docs.Database(c.caller, name); err == nil {
		return errExists
	}
	switch err := c.store().Docs.CreateDatabase(c.caller, name); {
	case errors.Is(err, table.ErrConflict):
		return errExists
	case err != nil:
		return err
	}
	c.Header().Set("Location", c.request.URL.EscapedPath())
	return c.reply(http.StatusCreated, ok)
}

// deleteDatabase refuses a revision: a client that deletes a document with an empty id means no database.
func deleteDatabase(c *call) error {
	if c.query.Has("rev") || c.request.Header.Get("If-Match") != "" {
		return errDeleteDoc
	}
	name, err := c.parameter("db")
	if err != nil {
		return err
	}
	if err := c.store().Docs.DeleteDatabase(c.caller, name); err != nil {
		if errors.Is(err, table.ErrNotFound) {
			return errNoDatabase
		}
		return err
	}
	return c.reply(http.StatusOK, ok)
}

// startTime is when a database was created, as instance_start_time. It never changes.
func startTime(created time.Time) string { return strconv.FormatInt(created.UnixMicro(), 10) }

func showDatabase(c *call) error {
	info, err := c.db.Info()
	if err != nil {
		return err
	}
	if c.request.Header.Get(dial.HeaderFeed) != "" {
		h := c.Header()
		h.Set(dial.HeaderFeed, dial.FeedVersion)
		h.Set(dial.HeaderRealm, c.store().Tables.Identity.Realm())
		h.Set(dial.HeaderEpoch, c.store().Tables.Epochs.Present())
		if codes, err := c.store().Laptop.CodeKey(c.caller); err == nil && info.Name == "records" {
			h.Set(dial.HeaderCodeKey, hex.EncodeToString(codes))
		}
	}
	return c.reply(http.StatusOK, struct {
		Name    string `json:"db_name"`
		Seq     string `json:"update_seq"`
		Docs    int    `json:"doc_count"`
		Deleted int    `json:"doc_del_count"`
		Born    string `json:"instance_start_time"`
		Purged  int    `json:"purge_seq"`
		Running bool   `json:"compact_running"`
		Sizes   *sizes `json:"sizes,omitempty"`
	}{info.Name, c.store().Tables.Epochs.SeqText(info.Seq), info.Docs, info.Deleted, startTime(info.Created), 0, false, sizesOf(info)})
}

// sizes are how many bytes a free database takes in the store's file, under CouchDB's names. Its quota counts them.
type sizes struct {
	File   int64 `json:"file"`
	Active int64 `json:"active"`
}

func sizesOf(info docs.DatabaseInfo) *sizes {
	if !info.Free() {
		return nil
	}
	return &sizes{info.Size, info.Size}
}

// ensureCommit has nothing to do: all that was answered is on disk.
func ensureCommit(c *call) error {
	created, err := c.db.Created()
	if err != nil {
		return err
	}
	return c.reply(http.StatusCreated, struct {
		OK   bool   `json:"ok"`
		Born string `json:"instance_start_time"`
	}{true, startTime(created)})
}

// compact answers when it is done, even if that takes long.
func compact(c *call) error {
	if err := c.db.Compact(c.request.Context()); err != nil {
		return err
	}
	c.limitIdle()
	return c.reply(http.StatusAccepted, ok)
}

func showRevsLimit(c *call) error { return c.reply(http.StatusOK, table.RevsLimit) }

// setRevsLimit accepts only the present limit.
func setRevsLimit(c *call) error {
	dec, err := c.anyDecoder()
	if err != nil {
		return err
	}
	v, err := dec.ReadValue()
	if err != nil {
		return input.Wrap(err)
	}
	if string(v) != strconv.Itoa(table.RevsLimit) {
		return table.Refused(fmt.Sprintf("the limit is always %d", table.RevsLimit))
	}
	return c.reply(http.StatusOK, ok)
}

// listing is a request of _all_docs or _all_dbs.
type listing struct {
	keys             []string // nil: a range
	start, end       string
	ended, inclusive bool
	limit, skip      int
	descending       bool
	docs, seq        bool
	show             show
	lines            int
}

// allDatabases lists the names of databases, of a range as _all_docs lists ids.
func allDatabases(c *call) error {
	l, err := readListing(c)
	if err == nil && l.keys != nil {
		err = unsupported("keys")
	}
	if err != nil {
		return err
	}
	all, err := c.store().Docs.Databases(c.caller)
	if err != nil {
		return err
	}
	if l.descending {
		slices.Reverse(all)
	}
	names := []string{}
	for _, db := range all {
		switch {
		case l.start != "" && l.before(db.Name) || l.beyond(db.Name):
		case l.skip > 0:
			l.skip--
		case len(names) < l.limit:
			names = append(names, db.Name)
		}
	}
	return c.reply(http.StatusOK, names)
}

func allDocs(c *call) error {
	l, err := readListing(c)
	if err != nil {
		return err
	}
	info, err := c.db.Info()
	if err != nil {
		return err
	}
	s := c.begin(compressed)
	s.number(`{"total_rows":`, int64(info.Docs))
	if l.seq {
		s.text(`,"update_seq":"` + c.store().Tables.Epochs.SeqText(info.Seq) + `"`)
	}
	s.text(`,"offset":`)
	if l.keys != nil || l.start != "" {
		s.text("null")
	} else {
		s.number("", int64(min(l.skip, info.Docs)))
	}
	s.text(`,"rows":[`)
	if l.keys != nil {
		err = l.byKeys(s)
	} else {
		err = l.byRange(s)
	}
	if err != nil {
		return err
	}
	s.text("\n]}\n")
	return s.end()
}

// readListing reads the request. One key is a range of one document, within the range that is given. A list of keys takes no range.
func readListing(c *call) (*listing, error) {
	q, err := c.asked()
	if err != nil {
		return nil, err
	}
	l := &listing{
		limit: q.number("limit", unlimited), skip: q.number("skip", 0), descending: q.flag("descending"),
		docs: q.flag("include_docs"), seq: q.flag("update_seq"), show: showOf(q), inclusive: true, keys: q.list("keys"),
	}
	if q.values.Has("inclusive_end") {
		l.inclusive = q.flag("inclusive_end")
	}
	started := false
	l.start, started = q.key("startkey", "start_key")
	l.end, l.ended = q.key("endkey", "end_key")
	key, given := q.key("key")
	switch {
	case l.keys != nil && (started || l.ended || given):
		q.fail()
	case given:
		if started && l.before(key) || l.beyond(key) {
			l.limit = 0
		}
		l.start, l.end, l.ended, l.inclusive = key, key, true, true
	}
	return l, q.err
}

// before tells whether an id lies before the range.
func (l *listing) before(id string) bool { return id != l.start && (id < l.start) != l.descending }

func (l *listing) byRange(s *stream) error {
	r := docs.Range{From: l.start, Descending: l.descending, Limit: docs.DocPage}
	for {
		page, err := s.call.db.List(r)
		if err != nil {
			return err
		}
		for _, id := range page {
			if l.beyond(id) || l.limit == 0 {
				return s.err
			}
			if l.skip > 0 {
				l.skip--
				continue
			}
			l.limit--
			if err := l.row(s, id); err != nil {
				return err
			}
		}
		if len(page) < r.Limit || s.err != nil {
			return s.err
		}
		r.From, r.Past = page[len(page)-1], true
	}
}

// beyond tells whether an id lies behind the end of the range.
func (l *listing) beyond(id string) bool {
	switch {
	case !l.ended:
		return false
	case id == l.end:
		return !l.inclusive
	}
	return (id > l.end) != l.descending
}

func (l *listing) byKeys(s *stream) error {
	if l.descending {
		slices.Reverse(l.keys)
	}
	for i, id := range l.keys {
		if i < l.skip || l.limit == 0 {
			continue
		}
		l.limit--
		if err := l.row(s, id); err != nil {
			return err
		}
	}
	return s.err
}

// row writes a document's row. A document that is missing has a row if it was asked for by key.
func (l *listing) row(s *stream, id string) error {
	doc, err := s.call.db.Read(id, docs.Ask{})
	gone := errors.Is(err, table.ErrNotFound)
	if err != nil && !gone {
		return err
	}
	if l.keys == nil && (gone || doc.Deleted) {
		return nil
	}
	s.comma(l.lines)
	l.lines++
	s.text("\n{")
	if gone {
		s.quoted(`"key":`, id)
		s.text(`,"error":"not_found"}`)
		return s.err
	}
	s.quoted(`"id":`, id)
	s.quoted(`,"key":`, id)
	s.revision(`,"value":{"rev":`, doc.Revisions[0].Revision)
	if doc.Deleted {
		s.text(`,"deleted":true`)
	}
	s.text("}")
	switch {
	case l.docs && doc.Deleted:
		s.text(`,"doc":null`)
	case l.docs:
		s.text(`,"doc":`)
		s.document(&doc, &doc.Revisions[0], l.show)
	}
	s.text("}")
	return s.err
}
