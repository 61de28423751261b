package sync

import (
	"net/http"

	"doorward/kv"
	"doorward/kv/record"
)

// lease answers POST /sync/_lease {"kind":"person","count":100} with a range of ids that nobody else will ever use.
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
		return errShape
	}
	l, err := c.server.config.Store.Lease(c.caller, k, in.Count, "")
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, leased{From: l.From, To: l.To})
}
