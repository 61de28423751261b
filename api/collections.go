package api

import (
	"slices"

	"doorward/api/query"
)

// The filters of the public lists (spec part 4).
var (
	peopleFilters = slices.Concat(query.By(query.ByID, "church_id"), query.Spans("created_at", "created_at"), query.Spans("updated_at", "updated_at"),
		query.By(query.ByBool, "is_leader", "is_pastor"))
	eventFilters = slices.Concat(query.By(query.ByIDOrNull, "church_id", "regional_id"), query.Spans("created_at", "created_at"),
		query.Spans("updated_at", "updated_at"), query.Spans("start", "start_datetime"), query.Spans("end", "end_datetime"))
)
