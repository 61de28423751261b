package record

import (
	"doorward/kv/scopes"
	"doorward/kv/value"
)

// Group is a segmentation group. One without a church is open to every church.
var Group = table(Kind{Name: "group", Number: 11, Version: 1, Resource: "group", Class: Shared, Home: "church_id",
	scopes: []scopes.Sort{scopes.Church},
	Fields: origin(
		Field{"name", Text{Min: 1, Max: 200}, Required, ``},
		Field{"church_id", Ref{"church"}, Null | Hidden | Indexed, ``},
	)})

// Membership is a person's place in a group.
var Membership = table(Kind{Name: "membership", Number: 12, Version: 1, Resource: "memberships", Class: Members, Home: "person",
	scopes: []scopes.Sort{scopes.Church},
	Fields: origin(
		Field{"person", Ref{"person"}, Required | Indexed, ``},
		Field{"group_id", Ref{"group"}, Required | ReadOnly | Indexed, ``},
		Field{"is_approved", Bool{}, 0, `true`},
		Field{"approval_date", DateTime{}, ReadOnly | Null, ``},
		Field{"joined_at", DateTime{}, ReadOnly | Filled, ``},
	)}, settleMembership)

// settleMembership dates the joining, and the approval if there is one.
func settleMembership(d, _ *Doc, m Moment) {
	setIfNull(d, "joined_at", d.Value("created_at"))
	if !d.Bool("is_approved") {
		d.Set("approval_date", []byte("null"))
		return
	}
	setIfNull(d, "approval_date", value.Time(m.Now))
}
