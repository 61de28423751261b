// Package api decides every byte of /v1, /door/v1 and /admin/v1: which requests are answered, in which words, and with which
// status. Package kv/record says what a record is; the desks of kv decide on permissions and admissions, and own every transaction.
//
// A request passes, in this order (contract.md §1):
//
//	request id → size of the headers (431) → Host (421) → no page of another site (403) → CORS
//	  → route → key and secret (401, or 429 after too many failures)
//	    → method (405) → permission (403) → rate (429) → query string (400)
//	      → record (404) → media type (415) → body (400)
//
// Server answers the public API over one kv.Store; Config has its options. Handler is everything public, Control answers the command line, and
// Wrap puts the same checks around the handler of sync. Each request is an exchange: the answer's writer, and what the checks have found.
//
// What knows no route is a package of its own: names and addresses (reach), failed logins and rates (throttle), query strings
// (query), the operator's overview (overview), files of records (load), the mirror of another server (pull), pages (web), photos
// (barcode), tickets for helpers' phones (phone).
//
// All routes stand in one table (routes.go), from which the router, the permissions, the metrics' labels and the OpenAPI
// document are made. A handler returns an error, and errors.go alone knows what an error's answer looks like:
//
//	{"error":{"code":"VALIDATION_ERROR","message":"The given data was invalid.","details":{"email":["…"]}}}
//
// A new route is a row there and a handler. What it answers is a struct, with an example in ownExamples, which gives the schema. Tests
// hold each answer against the document, and ask each route with keys of each level.
//
// A list is the page's records as the store hands them over, between an envelope:
//
//	{"count":2,"next":null,"previous":null,"results":[…]}
package api
