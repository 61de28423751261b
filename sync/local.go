package sync

import (
	"net/http"
	"strconv"
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

// putLocal takes a local document whatever its revision says: it belongs to one key, whose last word counts.
func putLocal(c *call) error {
	id, err := c.localID()
	if err != nil {
		return err
	}
	dec, err := c.anyDecoder()
	if err != nil {
		return err
	}
	d, err := c.readDocument(dec)
	if err == nil {
		err = d.err
	}
	if err != nil {
		return err
	}
	count, err := c.db.PutLocal(id, d.body)
	if err != nil {
		return err
	}
	return c.reply(http.StatusCreated, written{true, "_local/" + id, localRev(count)})
}

func deleteLocal(c *call) error {
	id, err := c.localID()
	if err == nil {
		_, err = c.db.PutLocal(id, nil)
	}
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, written{true, "_local/" + id, localRev(0)})
}
