package sync

import (
	"net/http"

	"doorward/kv"
	"doorward/kv/record"
	"doorward/sync/handshake"
	"doorward/sync/input"
)

// lease answers POST /sync/_lease {"kind":"person","count":100} with a range of ids that is used nowhere else.
func lease(c *call) error {
	var in struct {
		Kind  string `json:"kind"`
		Count int64  `json:"count"`
	}
	if err := c.readSmall(&in); err != nil {
		return err
	}
	k, ok := record.ByName(in.Kind)
	if !ok || in.Count < 1 || in.Count > kv.LeaseSize(k) {
		return input.ErrShape
	}
	l, err := c.server.config.Store.Lease(c.caller, k, in.Count, "")
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, handshake.Lease{From: l.From, To: l.To})
}
