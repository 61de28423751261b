package record

import (
	"bytes"

	"doorward/kv/scopes"
	"doorward/kv/value"
)

// Person is a member of the congregation.
var Person = table(Kind{Name: "person", Number: 10, Version: 1, Resource: "people", Class: Churches, Home: "church_id",
	scopes: []scopes.Sort{scopes.Church},
	Fields: []Field{
		{"full_name", Text{Min: 1, Max: 255}, Searched, `""`},
		{"gender", Choice{"male", "female"}, Null, ``},
		{"status", Choice{"pending", "approved", "refused"}, Null, ``},
		{"photo", Photo{}, Null, ``},
		{"is_pastor", Bool{}, Indexed, `false`},
		{"is_leader", Bool{}, Indexed, `false`},
		{"leadership_date", Date{}, Null, ``},
		{"accepted_jesus", Bool{}, 0, `false`},
		{"decision_context", Text{Min: 1}, Null, ``},
		{"decision_date", Date{}, Null, ``},
		{"birthday", Date{}, Null, ``},
		{"cpf", Text{Max: 11}, Null | Indexed | Document, ``},
		{"rg", Text{Max: 14}, Null, ``},
		{"rg_state", Text{Min: 1}, Null, ``},
		{"church_profile", Choice{"visitor", "frequent", "member"}, Null, ``},
		{"baptized", Bool{}, Null, ``},
		{"baptism_date", Date{}, Null, ``},
		{"baptism_type", Choice{"immersion", "aspersion"}, Null, ``},
		{"marital_status", Text{Min: 1}, Null, ``},
		{"marriage_date", Date{}, Null, ``},
		{"email", Email{Max: 254}, Null | Searched, ``},
		{"phone", Phone{Text{Max: 24}}, Null | Searched, ``},
		{"mobile_phone", Phone{Text{Min: 1}}, Null | Searched, ``},
		{"has_whatsapp", Bool{}, 0, `false`},
		{"membership_number", Integer{}, Null | Searched, ``},
		{"has_special_needs", Bool{}, 0, `false`},
		{"special_needs_details", Text{Min: 1}, Null, ``},
		{"id_document", Text{Min: 1}, Null, ``},
		{"document_country", Text{Min: 1}, Null, ``},
		{"document_issuer", Text{Max: 255}, Null, ``},
		{"joining_reason", Text{Min: 1}, Null, ``},
		{"previous_church", Text{Min: 1}, Null, ``},
		{"education_level", Text{Min: 1}, Null, ``},
		{"occupation", Text{Max: 100}, Null, ``},
		{"membership_type", Text{Min: 1}, Null, ``},
		{"visit_reason", Text{Min: 1}, Null, ``},
		{"blood_type", Choice{"o-", "o+", "a-", "a+", "b-", "b+", "ab-", "ab+"}, Null, ``},
		{"nationality", Text{Max: 100}, Null, ``},
		{"birth_state", Text{Min: 1}, Null, ``},
		{"birth_place", Text{Min: 1}, Null, ``},
		{"death_date", Date{}, Null, ``},
		{"membership_start_date", Date{}, Null, ``},
		{"first_visit_date", Date{}, Null, ``},
		{"is_active", Bool{}, 0, `true`},
		{"inactive_reason", Choice{"transference", "death", "withdrawal", "exclusion", "no_contact", "other"}, Null, ``},
		{"inactive_reason_details", Text{Min: 1}, Null, ``},
		{"inactive_date", Date{}, Null, ``},
		{"created_at", DateTime{}, ReadOnly | Indexed | Frozen | Filled, ``},
		{"profile_change_date", Date{}, ReadOnly | Filled, ``},

		{"church_id", Ref{"church"}, Null | WriteOnly | Indexed, ``},
		{"role_ids", Refs{"role"}, Hidden | Indexed, `[]`},
		{"location_type", Choice{"national", "international"}, Null | WriteOnly, ``},
		{"location", Object{}, Null | WriteOnly, ``},
		{"external_id", Text{Min: 1, Max: 255}, Null | Hidden | Indexed, ``},
		{"created_by", keyID, ReadOnly | Hidden | Frozen | Null, ``},

		{"updated_at", Derived{updatedAt, DateTime{}}, ReadOnly, ``},
		{"updated_by", Derived{updatedBy, keyID}, ReadOnly | Hidden | Null, ``},
		{"church", Nested{Kind: "church", ID: "church_id", Keys: []string{"name"}}, ReadOnly, ``},
		{"roles", NestedList{Kind: "role", IDs: "role_ids", Keys: []string{"name"}}, ReadOnly, ``},
	}}, settlePerson)

// settlePerson dates the last change of church_profile, at first the creation.
func settlePerson(d, before *Doc, m Moment) {
	setIfNull(d, "profile_change_date", value.Day(d.Time("created_at"), m.Zone))
	if before == nil || bytes.Equal(before.Value("church_profile"), d.Value("church_profile")) {
		return
	}
	if bytes.Equal(before.Value("profile_change_date"), d.Value("profile_change_date")) {
		d.Set("profile_change_date", value.Day(m.Now, m.Zone))
	}
}

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

// settleMembership dates the joining, and the approval if there is one: an approval keeps its date.
func settleMembership(d, before *Doc, m Moment) {
	setIfNull(d, "joined_at", d.Value("created_at"))
	if !d.Bool("is_approved") {
		d.Set("approval_date", []byte("null"))
		return
	}
	if before != nil {
		setIfNull(d, "approval_date", before.Value("approval_date"))
	}
	setIfNull(d, "approval_date", value.Time(m.Now))
}
