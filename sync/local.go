package sync

import (
	"net/http"
	"strconv"
	"strings"

	"doorward/kv/docs"
	"doorward/sync/transit"
)

// localRev returns a local document's revision, made of how often it was written.
func localRev(written uint64) string { return "0-" + strconv.FormatUint(written, 10) }

func getLocal(c *call) error {
	id, err := c.parameter("id")
	if err != nil {
		return err
	}
	body, written, err := c.db.Local(id)
	if err != nil {
		return err
	}
	s := c.begin(uncompressed)
	s.text(`{"_id":`)
	s.quoted("_local/" + id)
	s.text(`,"_rev":"` + localRev(written) + `"`)
	if len(body) > len("{}") {
		s.text(",")
	}
	_, _ = s.Write(body[1:]) // the stream keeps the error
	return s.end()
}

// localWritten reads how often a local document was written from its revision; docs.Whatever if there is none.
func localWritten(rev string) (uint64, error) {
	if rev == "" {
		return docs.Whatever, nil
	}
	text, is := strings.CutPrefix(rev, "0-")
	n, err := strconv.ParseUint(text, 10, 53)
	if !is || err != nil {
		return 0, transit.ErrRevision
	}
	return n, nil
}

// putLocal stores a local document. If it names a revision, that must be the last. It ignores attachments, as CouchDB does.
func putLocal(c *call) error {
	dec, err := c.anyDecoder()
	if err != nil {
		return err
	}
	d, err := readDocument(c, dec)
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
	return writeLocal(c, status, body, d.RevText)
}

// storeLocal stores a local document of _bulk_docs.
func storeLocal(c *call, d *transit.Parsed) (o docOutcome) {
	body := d.Body
	if d.Deleted {
		body = nil
	}
	if o.Err = d.Err; o.Err == nil {
		o.local, o.Err = keepLocal(c, strings.TrimPrefix(d.ID, "_local/"), body, d.RevText)
	}
	return o
}

func deleteLocal(c *call) error { return writeLocal(c, http.StatusOK, nil, c.query.Get("rev")) }

// writeLocal writes the local document that the path names; a nil body deletes it.
func writeLocal(c *call, status int, body []byte, rev string) error {
	id, err := c.parameter("id")
	if err != nil {
		return err
	}
	next, err := keepLocal(c, id, body, rev)
	if err != nil {
		return err
	}
	return c.reply(status, writtenDoc{true, "_local/" + id, next})
}

// keepLocal writes a local document and returns its next revision; a nil body deletes it.
func keepLocal(c *call, id string, body []byte, rev string) (next string, err error) {
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
