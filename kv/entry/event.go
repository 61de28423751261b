package entry

import (
	"time"

	"doorward/kv/table"
)

// SpanOf returns when an event begins and ends; zero for a time that it does not have. An event that was put off may still have the end of
// its first day. It ends no earlier than it begins.
func SpanOf(event *table.Stored) (begins, ends time.Time) {
	begins, _ = table.TimeOf(event.Body.Member("start_datetime"))
	ends, _ = table.TimeOf(event.Body.Member("end_datetime"))
	if ends.Before(begins) {
		ends = begins
	}
	return begins, ends
}
