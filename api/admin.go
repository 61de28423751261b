package api

import (
	"net/http"
	"slices"

	"doorward/api/query"
	"doorward/kv/record"
)

// adminRoutes lists the routes of /admin/v1: the records of each kind, keys, imports and lists for staff.
func adminRoutes() []route {
	admin := needs{resource: "admin"}
	var table []route
	for _, c := range adminCollections() {
		table = append(table, c.onList(http.MethodGet), c.onOne(http.MethodGet), c.onHistory())
		if c.kind.Fact || c.kind.System {
			continue
		}
		table = append(table, c.onList(http.MethodPost), c.onOne(http.MethodPatch), c.onOne(http.MethodDelete))
	}
	table = append(append(table, conflicts.routes()...), refusals.routes()...)
	return append(table,
		route{http.MethodGet, "/admin/v1/keys/", admin, listKeys, operation{
			id: "list_keys", tag: "keys", summary: "List API keys", status: 200, reply: "key", list: true, query: windowParameters,
			text: "Those with a level and permissions within the caller's own."}},
		route{http.MethodPost, "/admin/v1/keys/", admin, createKey, operation{
			id: "create_key", tag: "keys", summary: "Create an API key", form: keyForm, status: 201, reply: "new_key",
			text: "Only this answer shows the secret. The key's level and permissions must lie within the caller's own."}},
		route{http.MethodDelete, "/admin/v1/keys/{id}/", admin, revokeKey, operation{
			id: "revoke_key", tag: "keys", summary: "Revoke an API key", status: 204, text: "Its next request is answered 401."}},
		route{http.MethodGet, "/admin/v1/double_entries/", admin, listAllDoubles, operation{
			id: "list_double_entries", tag: "double entries", summary: "List the double entries of all events", status: 200, reply: "admin_double_entry", list: true,
			query: parametersOf(doubleFilters)}},
		route{http.MethodGet, "/admin/v1/reviews/", admin, listReviews, operation{
			id: "list_reviews", tag: "reviews", summary: "List the facts that staff have to review", status: 200, reply: "review", list: true,
			text:  "A fact has the flag needs_review where a revoked laptop has brought it, and clock_suspect where the clock of the machine was doubted.",
			query: parametersOf(reviewFilters)}},
		route{http.MethodGet, "/admin/v1/reads/", admin, listReads, operation{
			id: "list_reads", tag: "reads", summary: "List how many records of people each key read", status: 200, reply: "reads", list: true,
			text: "By key, kind and minute, the latest first.", query: parametersOf(readsFilters)}},
		route{http.MethodGet, "/admin/v1/venues/", admin, listVenues, operation{
			id: "list_venues", tag: "venues", summary: "List the enrolled laptops", status: 200, reply: "venue", list: true, query: windowParameters}},
		route{http.MethodPost, "/admin/v1/import/", admin, importRecords, operation{
			id: "import_records", tag: "import", summary: "Import a CSV, NDJSON or XLSX file", status: 200, reply: "import_report",
			text: "Rows that are wrong are named in the answer and hold none of the others up.",
			file: importFile, query: importParameters}},
	)
}

// adminCollections lists the kinds that staff handle. A ticket is one thing here: its other records have no collection.
func adminCollections() []*collection {
	var all []*collection
	for _, k := range record.Kinds() {
		if k.OfTicket() || k.OfHolding() {
			continue
		}
		form := k
		if k == record.Ticket {
			form = record.TicketForm
		}
		all = append(all, &collection{
			kind: k, form: form, surface: record.Admin, path: "/admin/v1/" + k.Name + "/", filters: indexFilters(k),
		})
	}
	return all
}

// indexFilters makes a filter of each indexed field of a kind, and of its home.
func indexFilters(k *record.Kind) []query.Filter {
	var filters []query.Filter
	for _, f := range k.Fields {
		if !f.Flags.Has(record.Indexed) && f.Name != k.Home {
			continue
		}
		if sort, ok := sortOf(f); ok {
			filters = append(filters, query.Filter{Name: f.Name, Field: f.Name, Sort: sort})
		}
	}
	return slices.Clip(filters)
}

// sortOf returns how a field's filter is read; ok is false for a field without a single value to compare.
func sortOf(f record.Field) (sort query.Sort, ok bool) {
	switch f.Type.(type) {
	case record.Ref:
		if f.Flags.Has(record.Null) {
			return query.ByIDOrNull, true
		}
		return query.ByID, true
	case record.Bool:
		return query.ByBool, true
	case record.Text, record.Texts, record.Choice, record.ULID:
		return query.ByText, true
	}
	return 0, false
}
