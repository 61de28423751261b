// Package record says what a record is: each kind once, as a table of fields, and everything that follows from the table —
// reading requests, replies, schemas, search, identity. It is pure: no I/O, no clock, no HTTP.
//
// # The body
//
// A record stays JSON from the socket to the bucket to the replica. As it lies in the store it is two runs of members in
// table order, without braces, white space or escapes that are not needed:
//
//	Shown   "full_name":"Ana Souza","gender":null,…,"profile_change_date":"2026-05-01"
//	Hidden  "church_id":3,"location_type":null,…,"created_by":7,"a_newer_field":{"x":1}
//
// Shown are the members exactly as /v1 prints them. Hidden are write-only and hidden fields, references, and at the end the
// fields that this version does not know, byte for byte. A reply is
//
//	{"id":12, Shown, [Hidden, on /admin/v1,] "updated_at":…,"church":{"id":3,"name":…},"roles":[…]}
//
// so that showing a record copies a run and appends what the table derives. Every stored field is always there; what is
// absent in a body of an older table gets its default when the body is decoded.
//
// Stored values: strings with the shortest escapes; integers in decimal; amounts as strings with two places; dates as
// "2026-05-01"; date-times as "2026-05-01T18:00:00Z", with six digits of a second where those are not zero; objects as they
// were given, compact.
//
// # The way of a change
//
//	patch, err := record.Person.Parse(body, record.ParseOptions{Surface: record.V1, Create: true})
//	doc := record.Person.NewDoc()                // or Decode of the stored body
//	changed := doc.Apply(patch)                  // nothing changed: no revision
//	doc.Settle(nil, record.Moment{Now: now})     // the kind's own rules
//	rev := rev.Next(parent, false, doc.Canonical())
//	body := doc.Encode()
//
// Facts take a shorter way: NewFact.
package record
