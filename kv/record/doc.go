// Package record says what a record is. Each kind is one table of fields, and everything else follows from the table: reading requests,
// replies, schemas, canonical bodies, merges. There is no other list of field names. The package is pure: no I/O, no clock, no HTTP.
//
//	Kind ─┬─ Fields: name, Type, Flags, default      person.go, event.go, ticket.go, …
//	      ├─ Parse   request → Patch, or faults      patch.go; the types in type.go and nested.go
//	      ├─ Decode  Body → Doc → Apply, Settle → Body, Canonical
//	      ├─ Show    Body → reply                    show.go, nested.go
//	      ├─ Schema  the OpenAPI schema of both      show.go
//	      └─ Merge, Resolve: two changes of one record, and a tree with a conflict
//
// # The body
//
// A record stays JSON from the socket to the bucket to the replica. Its stored form is two runs of members in table order, without
// braces, white space or needless escapes:
//
//	Shown   "full_name":"Ana Souza","gender":null,…,"profile_change_date":"2026-05-01"
//	Hidden  "church_id":3,"role_ids":[],…,"created_by":7,"a_newer_field":{"x":1}
//
// Shown holds the members as /v1 prints them. Hidden holds write-only and hidden fields, references, and at the end the fields that
// this version does not know, byte for byte. A null is left out of Hidden where a field's default is null and no nested member is made of
// it. A reply is
//
//	{"id":12, Shown, [Hidden, on /admin/v1,] "updated_at":…,"church":{"id":3,"name":…},"roles":[…]}
//
// so a reply copies a run and appends the derived members. Every stored field of a decoded body is there: one that the body lacks, as
// that of an older table does, gets its default. Package value draws the stored form of a value.
//
// Most fields of most people are null. A stored Shown lacks long stretches of defaults, which a reader puts back from the template of
// the table that wrote it (template.go). templates.txt has the template of each Version.
//
// # The way of a change
//
//	patch, err := record.Person.Parse(body, record.ParseOptions{Surface: record.V1, Create: true})
//	doc := record.Person.NewDoc()                // or Decode of the stored body
//	changed := doc.Apply(patch)                  // nothing changed: no revision
//	doc.Settle(nil, record.Moment{Now: now})     // the kind's own rules
//	next := rev.Next(parent, false, doc.Canonical())
//	body := doc.Encode()
//
// A fact is written straight into its body by a Draft.
//
// # A new field
//
// It is a row of the kind's table, in the place where replies show it. Searched makes search, index and import find it, Indexed makes it
// a filter; it is replicated because it is stored. The table's Version goes up, so that bodies of the table before it are written again.
// templates.txt gets a line, which the program prints as long as it is missing. Tests say where a list of their own has no row yet:
// layouts, bounds, the order of a reply, the golden merge, and in api/load the files of other programs with a column of that title.
//
// # A new kind
//
// It is a table with the next Number, entered in kinds, and a line of templates.txt. Its class says who sees it, its scopes to which
// databases it belongs, and access.May who writes it there. Its words and an example for the OpenAPI document stand in nouns and
// samples (api). The sweep of all routes by all keys (scope_model_test.go, scope_world_test.go in api) fails until it knows the kind.
package record
