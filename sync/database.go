package sync

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"doorward/kv/auth"
	"doorward/kv/table"
	"doorward/sync/dial"
	"doorward/sync/input"
)

func createDatabase(c *call) error {
	name, err := c.parameter("db")
	if err != nil {
		return err
	}
	store := c.server.config.Store
	if _, err := store.Docs.Database(c.caller, name); err == nil {
		return errExists
	}
	switch err := store.Docs.CreateDatabase(c.caller, name); {
	case errors.Is(err, table.ErrConflict):
		return errExists
	case err != nil:
		return err
	}
	c.Header().Set("Location", c.request.URL.EscapedPath())
	return c.reply(http.StatusCreated, ok)
}

func deleteDatabase(c *call) error {
	name, err := c.parameter("db")
	if err != nil {
		return err
	}
	if err := c.server.config.Store.Docs.DeleteDatabase(c.caller, name); err != nil {
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
		h, store := c.Header(), c.server.config.Store
		h.Set(dial.HeaderFeed, dial.FeedVersion)
		h.Set(dial.HeaderRealm, store.Tables.Identity.Realm())
		h.Set(dial.HeaderEpoch, store.Tables.Epochs.Present())
		if codes, err := store.Laptop.CodeKey(c.caller); err == nil && info.Name == "records" {
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
	}{info.Name, c.server.config.Store.Tables.Epochs.SeqText(info.Seq), info.Docs, info.Deleted, startTime(info.Created), 0, false})
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
		return &auth.Forbidden{CurrentScopes: []string{}, Reason: fmt.Sprintf("the limit is always %d", table.RevsLimit)}
	}
	return c.reply(http.StatusOK, ok)
}
