package sync

import (
	"net/http"
	"strconv"
	"strings"

	"doorward/kv"
	"doorward/sync/line"
)

// localID is the local document that the path names.
func (c *call) localID() (string, error) { return c.parameter("id") }

// localRev is a local document's revision: how often it was written.
func localRev(written uint64) string { return "0-" + strconv.FormatUint(written, 10) }

func getLocal(c *call) error {
	id, err := c.localID()
	if err != nil {
		return err
	}
	body, written, err := c.db.Local(id)
	if err != nil {
		return err
	}
	s := c.begin(unpacked)
	s.text(`{"_id":`)
	s.quoted("_local/" + id)
	s.text(`,"_rev":"` + localRev(written) + `"`)
	if len(body) > len("{}") {
		s.text(",")
	}
	_, _ = s.Write(body[1:]) // end tells
	return s.end()
}

// localWritten is how often a local document was written, by a revision that a client names; kv.Whatever where it names none.
func localWritten(rev string) (uint64, error) {
	if rev == "" {
		return kv.Whatever, nil
	}
	text, is := strings.CutPrefix(rev, "0-")
	n, err := strconv.ParseUint(text, 10, 53)
	if !is || err != nil {
		return 0, line.ErrRevision
	}
	return n, nil
}

// putLocal takes a local document: one that names a revision only where that is the last. One that is deleted goes. Attachments are
// passed over, as CouchDB has it.
func putLocal(c *call) error {
	dec, err := c.anyDecoder()
	if err != nil {
		return err
	}
	d, err := c.readDocument(dec)
	switch {
	case err != nil:
		return err
	case d.Err != nil:
		return d.Err
	case d.RevText == "":
		d.RevText = c.query.Get("rev")
	}
	status, body := http.StatusCreated, d.Body
	if d.Deleted {
		status, body = http.StatusOK, nil
	}
	return c.writeLocal(status, body, d.RevText)
}

// storeLocal stores a local document that comes among others.
func (c *call) storeLocal(d *line.Parsed) (o outcome) {
	body := d.Body
	if d.Deleted {
		body = nil
	}
	if o.Err = d.Err; o.Err == nil {
		o.local, o.Err = c.keepLocal(strings.TrimPrefix(d.Id, "_local/"), body, d.RevText)
	}
	return o
}

func deleteLocal(c *call) error { return c.writeLocal(http.StatusOK, nil, c.query.Get("rev")) }

// writeLocal writes the local document that the path names, after a revision of it; a nil body deletes it.
func (c *call) writeLocal(status int, body []byte, rev string) error {
	id, err := c.localID()
	if err != nil {
		return err
	}
	next, err := c.keepLocal(id, body, rev)
	if err != nil {
		return err
	}
	return c.reply(status, written{true, "_local/" + id, next})
}

// keepLocal writes a local document after a revision of it and answers the next; a nil body deletes it.
func (c *call) keepLocal(id string, body []byte, rev string) (next string, err error) {
	before, err := localWritten(rev)
	if err != nil {
		return "", err
	}
	count, err := c.db.PutLocal(id, body, before)
	if body == nil {
		count = 0
	}
	return localRev(count), err
}
