package sync

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
)

// vendor is the program's name and version.
type vendor struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// welcome says which server this is. Its uuid is the node's: peers name their checkpoints by it. Anonymous callers get it too, but not a
// caller with a wrong key: clients test their key here.
func welcome(c *call) error {
	if err := c.authenticate(); err != nil && !errors.Is(err, errAnonymous) {
		return err
	}
	conf := &c.server.config
	return c.reply(http.StatusOK, struct {
		Welcome string `json:"couchdb"`
		UUID    string `json:"uuid"`
		Vendor  vendor `json:"vendor"`
		Version string `json:"version"`
	}{"Welcome", strings.ToLower(conf.Store.Tables.Identity.Node()), vendor{"Doorward", conf.Version}, conf.Version})
}

func up(c *call) error {
	if err := c.server.config.Store.Tables.Engine.Writable(); err != nil {
		return err
	}
	return c.reply(http.StatusOK, struct {
		Status string `json:"status"`
	}{"ok"})
}

func allDatabases(c *call) error {
	all, err := c.server.config.Store.Docs.Databases(c.caller)
	if err != nil {
		return err
	}
	names := make([]string, len(all))
	for i, db := range all {
		names[i] = db.Name
	}
	return c.reply(http.StatusOK, names)
}

// maxUUIDs is how many ids _uuids gives.
const maxUUIDs = 1000

func uuids(c *call) error {
	q := queryOf(c.query)
	n := q.number("count", 1)
	if q.err != nil || n > maxUUIDs {
		return errQuery
	}
	ids := make([]string, n)
	for i := range ids {
		ids[i] = newID()
	}
	c.Header().Set("Cache-Control", "no-store")
	return c.reply(http.StatusOK, struct {
		UUIDs []string `json:"uuids"`
	}{ids})
}

// newID draws the id of a document that has none.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
