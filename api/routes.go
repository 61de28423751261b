package api

import (
	"net/http"
	"slices"
	"strings"

	"doorward/api/query"
	"doorward/api/web"
	"doorward/kv/desk"
	"doorward/kv/record"

	"github.com/go-chi/chi/v5"
)

// route is one row of the table of routes: all that is known of one operation.
type route struct {
	method string // GET stands for HEAD too
	path   string // below the mount, as links print it
	needs  needs
	do     func(*exchange) error
	doc    operation
}

// needs is what a caller must have.
type needs struct {
	open     bool   // nothing: no key either
	resource string // of the permission; "" = any key
	whole    bool   // level denomination
	revoked  bool   // a door's key that is revoked will do
	browser  bool   // a browser that asks for a page: other clients find no such path
}

// The collections of /v1.
var (
	entries = &collection{kind: record.FinancialEntry, form: record.FinancialEntry, path: "/v1/financial_entries/"}
	events  = &collection{kind: record.Event, form: record.Event, path: "/v1/event/", filters: eventFilters}
	people  = &collection{kind: record.Person, form: record.Person, path: "/v1/people/", filters: peopleFilters}
	groups  = &collection{kind: record.Group, form: record.Group, path: "/v1/group/"}
)

// integratorRoutes are /v1.
func integratorRoutes() []route {
	const (
		checkinPath     = "/v1/event/{id}/checkin/"
		membershipsPath = "/v1/group/{" + groupParameter + "}/memberships/"
	)
	member := needs{resource: record.Membership.Resource}
	return []route{
		entries.onList(http.MethodGet), entries.onList(http.MethodPost),
		entries.onOne(http.MethodGet), entries.onOne(http.MethodPatch), entries.onOne(http.MethodDelete),
		events.onList(http.MethodGet), events.onOne(http.MethodGet),
		{http.MethodPost, checkinPath, atDoor, atEvent(checkIn), operation{
			id: "check_in_ticket", tag: nounOf(record.Event).many, summary: "Check a ticket in by its code", status: 204,
			text: "A check-in that is answered 204 is on disk, and no code is admitted twice. A refusal names its reason in details.outcome.",
			form: checkinForm, headers: checkinHeaders, reads: []string{"X-Door", "Idempotency-Key"}, refuses: checkinRefusals()}},
		people.onList(http.MethodGet), people.onList(http.MethodPost),
		people.onOne(http.MethodGet), people.onOne(http.MethodPatch),
		groups.onList(http.MethodGet), groups.onOne(http.MethodGet),
		{http.MethodGet, membershipsPath, member, listMemberships, memberships.describe(http.MethodGet, true)},
		{http.MethodPost, membershipsPath, member, createMembership, memberships.describe(http.MethodPost, true)},
	}
}

// doorPath begins the routes of one event's doors.
const doorPath = "/door/v1/event/{id}/"

// atDoor is what doors may do.
var atDoor = needs{resource: record.Checkin.Resource}

// scanRoutes decide scans, and take them back.
func scanRoutes() []route {
	return []route{
		{http.MethodPost, doorPath + "scan/", atDoor, atEvent(scan), operation{
			id: "scan_ticket", tag: "door", summary: "Decide whether a scanned ticket is admitted", form: scanForm, status: 200, reply: "ruling",
			text: "The ticket is named by its code, or by the ticket_id that a search at the door has found. " +
				"The door and the nonce of the body count before X-Door and Idempotency-Key. An event whose list_rule is reentry takes a direction: in, " +
				"which a scan without one means, out (left, or not_inside), or reentry (in, for guests alone that were inside before). " +
				"The notice is what the event has doors say of the ticket's type. not_yet_valid comes with valid_from, no_longer_valid with valid_until, and " +
				"not_inside with out_since if the guest was let out before.",
			headers: onceHeaders, reads: []string{"X-Door", "Idempotency-Key"}}},
		{http.MethodPost, doorPath + "undo/", atDoor, atEvent(undo), operation{
			id: "undo_checkin", tag: "door", summary: "Take a check-in back", form: undoForm, status: 200, reply: "ruling", headers: onceHeaders,
			text: "A key that may not DELETE check-ins takes back its own of the last minute alone.", reads: []string{"X-Door", "Idempotency-Key"}}},
		{http.MethodPost, doorPath + "close_door/", atDoor, atEvent(closeDoor), operation{
			id: "close_door", tag: "door", summary: "Close a door until it scans again", form: closingForm, status: 200, reply: "closed_door",
			text: "A closed door is not reported as silent. Only a key that may DELETE check-ins closes a door."}},
		{http.MethodPost, doorPath + "scans/", needs{resource: record.Checkin.Resource, revoked: true}, atEvent(scans), operation{
			id: "scan_tickets", tag: "door", summary: "Decide what an offline scanner has read", form: scansForm, status: 200,
			text: "At most 1,000 scans, decided in the order given. A scan that is wrong is refused alone. A guest with let_in is counted whatever the " +
				"outcome: double_entry_id names the check-in of one whose ticket was used before or is refused. The page of a revoked key hands in once " +
				"the scans of guests that it has let in: they are flagged for review, and it is told no label. At most 200 of them may be refused; " +
				"they are counted once staff accept the review.",
			reply: "scans_report", reads: []string{"X-Door", "Idempotency-Key"}}},
	}
}

// sessionRoutes are those of a page: its session, and the photos that it has read.
func sessionRoutes() []route {
	const sessionPath = "/door/v1/session/"
	return []route{
		{http.MethodPost, sessionPath, needs{open: true}, beginSession, operation{
			id: "begin_session", tag: "door", summary: "Begin a page's session", form: sessionForm, status: 200, reply: "session",
			text: "With a door's ticket and the helper's name, which makes a key of that name; or with a key and its secret. The answer sets a cookie that " +
				"counts on /v1, /door and /admin, for pages of this server alone."}},
		{http.MethodGet, sessionPath, atDoor, showSession, operation{
			id: "retrieve_session", tag: "door", summary: "See the name of the session, and the events that it may serve", status: 200, reply: "session"}},
		{http.MethodDelete, sessionPath, needs{open: true}, endSession, operation{
			id: "end_session", tag: "door", summary: "End a page's session", status: 204}},
		{http.MethodPost, "/door/v1/decode/", atDoor, decode, operation{
			id: "decode_photo", tag: "door", summary: "Read the codes on a photo", file: photoFile, status: 200, reply: "decoded",
			text: "QR, Data Matrix, Code 128 and EAN, of a JPEG or PNG picture of at most 8 MiB. Nothing is decided about the tickets."}},
	}
}

// eventRoutes are what a door may know of its event.
func eventRoutes() []route {
	return []route{
		{http.MethodGet, doorPath + "status/", atDoor, atEvent(status), operation{
			id: "retrieve_door_status", tag: "door", summary: "Count an event's check-ins and refusals", status: 200, reply: "status",
			text: "By outcome, ticket type, door and minute. inside counts the guests that have not left; those of let_in, whom a phone let in with a " +
				"ticket that is refused, are among them. At a daily event it counts today's. guests_today counts a guest once, entries_today each time."}},
		{http.MethodGet, doorPath + "double_entries/", atDoor, atEvent(listDoubles), operation{
			id: "list_event_double_entries", tag: "door", summary: "List an event's double entries", status: 200, reply: "double_entry", list: true, query: windowParameters}},
		{http.MethodGet, doorPath + "search/", atDoor, atEvent(searchTickets), operation{
			id: "search_tickets", tag: "door", summary: "Find tickets by what their holders say", status: 200, reply: "found",
			text: "At most 20, the likeliest first; at most 5 for a key that may not DELETE check-ins: more then tells that there are others.", query: []parameterDoc{typedParameter}}},
		{http.MethodPost, doorPath + "codes/", atDoor, atEvent(codesOf), operation{
			id: "find_codes", tag: "door", summary: "Tell which codes of a picture are tickets'", form: codesForm, status: 200, reply: "codes",
			text: "At most 8 codes, each looked up as a scan does. Nothing is decided about the tickets."}},
		{http.MethodGet, doorPath + "family/", atDoor, atEvent(family), operation{
			id: "find_family", tag: "door", summary: "Find the other tickets of an order", status: 200, reply: "found",
			text: "Those of the order of a check-in's ticket, at most 1,000, those that are not in first.", query: []parameterDoc{checkinParameter}}},
		{http.MethodGet, doorPath + "stream/", atDoor, atEvent(streamDoor), operation{
			id: "follow_door", tag: "door", summary: "Follow an event's doors as server-sent events", status: 200, media: typeEvents, page: streamExample(),
			text: "An event named status comes at once, with each change, and every ten seconds. The name of the door that listens makes it one of the doors. " +
				"Revoking the key ends the stream.", query: []parameterDoc{doorParameter}}},
	}
}

// onceHeaders are the headers of an answer that may come back; checkinHeaders those that a check-in is answered in.
var (
	onceHeaders    = []string{"Idempotency-Replayed"}
	checkinHeaders = append([]string{"X-Checkin-Id", "X-Checkin-At"}, onceHeaders...)
)

// siteRoutes are the server's own pages. prefix is where it is mounted.
func siteRoutes(prefix string) []route {
	open := needs{open: true}
	docs := newDocs(prefix)
	return []route{
		{http.MethodGet, "/healthz", open, healthz, operation{
			id: "check_liveness", tag: "health", summary: "Check that the process lives", status: 200, reply: "health"}},
		{http.MethodGet, "/readyz", open, readyz, operation{
			id: "check_readiness", tag: "health", summary: "Check that the server is ready", status: 200, reply: "health",
			text: "It is ready when the store takes check-ins and can be searched. The reasons name what a nearly full disk refuses. A laptop " +
				"that has joined a centre names the events that it can serve at doors, at most 100."}},
		{http.MethodGet, metricsPath, open, metricsPage, operation{
			id: "retrieve_metrics", tag: "health", summary: "Read the metrics", status: 200, media: "text/plain",
			text: "In the text format of Prometheus. From other machines this needs a key of level denomination.",
			page: "# TYPE http_requests_in_flight gauge\nhttp_requests_in_flight 1\n"}},
		{http.MethodGet, "/openapi.json", open, openapi, operation{
			id: "retrieve_openapi", tag: "documentation", summary: "Read this document", status: 200, reply: "document"}},
		{http.MethodGet, "/docs", open, docs.show, operation{
			id: "retrieve_docs", tag: "documentation", summary: "Read this document as a page", status: 200, media: "text/html",
			page: "<!DOCTYPE html><html><head><title>Doorward</title></head><body></body></html>"}},
		{http.MethodGet, "/docs/" + asterisk, open, docs.asset, operation{}},
		{http.MethodGet, "/", needs{open: true, browser: true}, consolePage, operation{}},
		{http.MethodGet, "/login", open, pageRoute("login.html"), operation{}},
		{http.MethodGet, "/login/assets/" + asterisk, open, assetRoute(web.ConsoleAssets()), operation{}},
		{http.MethodPost, "/door/ticket", needs{}, invite, operation{}},
		{http.MethodGet, "/door", open, pageRoute("door.html"), operation{}},
		{http.MethodGet, "/door/help", open, pageRoute("guide.html"), operation{}},
		{http.MethodGet, "/door/trust", open, trustPage, operation{}},
		{http.MethodGet, "/door/trust/" + authorityFile, open, trustFile, operation{}},
		{http.MethodGet, "/door/trust/" + profileFile, open, trustProfile, operation{}},
		{http.MethodGet, "/door/assets/" + asterisk, open, assetRoute(web.Assets()), operation{}},
	}
}

// onList is the route of a method on a collection's list.
func (c *collection) onList(method string) route {
	do := func(x *exchange) error { return c.page(x) }
	if method == http.MethodPost {
		do = c.create
	}
	return route{method, c.path, c.needs(method), do, c.describe(method, true)}
}

// onOne is the route of a method on one of a collection's records.
func (c *collection) onOne(method string) route {
	do := map[string]func(*exchange, desk.Target) error{
		http.MethodGet: c.retrieve, http.MethodPatch: c.update, http.MethodDelete: c.remove,
	}[method]
	return route{method, c.path + "{id}/", c.needs(method), c.onRecord(do), c.describe(method, false)}
}

// needs is what a method on a collection asks of a caller (contract.md §7).
func (c *collection) needs(method string) needs {
	if c.surface == record.V1 {
		return needs{resource: c.kind.Resource}
	}
	reading := method == http.MethodGet
	if reading && c.kind.Class == record.Everyones {
		return needs{}
	}
	reference := c.kind.Class == record.Everyones || c.kind.Class == record.Finances
	return needs{resource: "admin", whole: reference && !reading}
}

// The filters of the public lists (spec part 4).
var (
	peopleFilters = slices.Concat(query.By(query.ByID, "church_id"), query.Spans("created_at", "created_at"), query.Spans("updated_at", "updated_at"),
		query.By(query.ByBool, "is_leader", "is_pastor"))
	eventFilters = slices.Concat(query.By(query.ByIDOrNull, "church_id", "regional_id"), query.Spans("created_at", "created_at"),
		query.Spans("updated_at", "updated_at"), query.Spans("start", "start_datetime"), query.Spans("end", "end_datetime"))
)

// router finds a request's route. Both spellings of a path, with and without the slash at its end, are the same route.
type router struct {
	mux   *chi.Mux
	allow map[string]string // pattern → the methods it knows
}

// asterisk ends the path of a route that stands for everything below it.
const asterisk = "*"

func newRouter(prefix string, table []route) *router {
	rt := &router{mux: chi.NewRouter(), allow: map[string]string{}}
	methods := map[string][]string{}
	for i := range table {
		r := &table[i]
		for _, pattern := range spellings(prefix + r.path) {
			for _, method := range r.methods() {
				rt.mux.Method(method, pattern, endpoint{r})
				if !r.needs.browser {
					methods[pattern] = append(methods[pattern], method)
				}
			}
		}
	}
	for pattern, known := range methods {
		slices.Sort(known)
		rt.allow[pattern] = strings.Join(append(known, http.MethodOptions), ", ")
	}
	rt.mux.NotFound(rt.refuse)
	rt.mux.MethodNotAllowed(rt.refuse)
	return rt
}

// spellings are the patterns of a path: without and with the slash.
func spellings(path string) []string {
	if strings.HasSuffix(path, asterisk) {
		return []string{path}
	}
	bare := strings.TrimSuffix(path, "/")
	if bare == "" {
		return []string{path}
	}
	return []string{bare, bare + "/"}
}

// ServeHTTP answers OPTIONS to anybody and hands everything else to its route.
func (rt *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.URL.RawPath = "" // %31 is 1: routes are matched on what the path means
	if r.Method == http.MethodOptions {
		if allow := rt.allowed(r.URL.Path); allow != "" {
			w.Header().Set("Allow", allow)
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	rt.mux.ServeHTTP(w, r)
}

// refuse answers a request that no route takes. The caller must be known first.
func (rt *router) refuse(w http.ResponseWriter, r *http.Request) {
	x := w.(*exchange)
	err := x.authenticate(r)
	if err == nil {
		err = errNoRoute
		if allow := rt.allowed(r.URL.Path); allow != "" {
			err = &wrongMethod{allow}
		}
	}
	x.fail(err)
}

// allowed are the methods that a path knows; "" for an unknown path.
func (rt *router) allowed(path string) string {
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete} {
		if pattern := rt.mux.Find(chi.NewRouteContext(), method, path); pattern != "" {
			return rt.allow[pattern]
		}
	}
	return ""
}

// endpoint runs one route for one request.
type endpoint struct{ route *route }

// ServeHTTP checks the caller, in the order of the package's comment, and runs the route's handler.
func (e endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := w.(*exchange)
	x.request, x.route = r, e.route
	err := e.route.admit(x)
	if err == nil {
		err = x.readQuery(r)
	}
	if err == nil && e.route.readsNoBody() {
		err = noBody(x)
	}
	if err == nil {
		err = e.route.do(x)
	}
	if err != nil {
		x.fail(err)
	}
}

// admit checks the caller: key, permission, level, rate.
func (rt *route) admit(x *exchange) error {
	if rt.needs.open {
		return nil
	}
	if err := x.authenticate(x.request); err != nil && !(rt.needs.revoked && x.lastWords(err)) {
		return err
	}
	if rt.needs.resource != "" {
		if err := x.caller.Check(rt.needs.resource, rt.method); err != nil {
			return err
		}
	}
	if rt.needs.whole {
		if err := x.caller.CheckWhole(); err != nil {
			return err
		}
	}
	return x.server.Admit(x, x.caller)
}

// readsNoBody reports whether a route changes something and reads no body. The others check the type
// of their body when they read it.
func (rt *route) readsNoBody() bool {
	return rt.method != http.MethodGet && rt.doc.form == nil && rt.doc.file == nil
}

// methods lists the methods that the router registers for a route.
func (rt *route) methods() []string {
	if rt.method == http.MethodGet {
		return []string{http.MethodGet, http.MethodHead}
	}
	return []string{rt.method}
}

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
		route{http.MethodDelete, "/admin/v1/keys/{id}/", admin, withID(record.APIKey, revokeKey), operation{
			id: "revoke_key", tag: "keys", summary: "Revoke an API key", status: 204, text: "Its next request is answered 401."}},
		route{http.MethodGet, "/admin/v1/double_entries/", admin, listAllDoubles, operation{
			id: "list_double_entries", tag: "double entries", summary: "List the double entries of all events", status: 200, reply: "admin_double_entry", list: true,
			query: parametersOf(doubleFilters)}},
		route{http.MethodGet, "/admin/v1/reviews/", admin, listReviews, operation{
			id: "list_reviews", tag: "reviews", summary: "List the facts that staff have to review", status: 200, reply: "review", list: true,
			text:  "A fact has the flag needs_review where a revoked laptop has brought it, and clock_suspect where the clock of the machine was doubted, or a scanner's clock was ahead or told a time before its key was made.",
			query: parametersOf(reviewFilters)}},
		route{http.MethodPost, "/admin/v1/checkin/{id}/accept/", admin, withID(record.Checkin, acceptReview), operation{
			id: "accept_review", tag: "reviews", summary: "Count a guest whom a revoked key's phone let in", form: acceptForm, status: 200, reply: "accepted",
			text: "The check-in has a verdict and the flag needs_review. A further check-in without the flag says the same and counts; undo takes it back."}},
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
