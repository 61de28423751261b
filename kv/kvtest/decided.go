package kvtest

import (
	"encoding/json"
	"net/http"
)

// Decided reads what an answer decides about a code: that of a check-in or of a scan, a success or an error. An answer that decides
// nothing gives empty texts.
func Decided(status int, h http.Header, body string) (outcome, id, at string) {
	if status == http.StatusNoContent {
		return "admitted", h.Get("X-Checkin-Id"), h.Get("X-Checkin-At")
	}
	type ruling struct {
		Outcome    string
		CheckinID  string `json:"checkin_id"`
		AdmittedAt string `json:"admitted_at"`
	}
	var b struct {
		ruling
		Error struct{ Details ruling }
	}
	_ = json.Unmarshal([]byte(body), &b) // anything else decides nothing
	if status == http.StatusConflict {
		b.ruling = b.Error.Details
	}
	return b.Outcome, b.CheckinID, b.AdmittedAt
}
