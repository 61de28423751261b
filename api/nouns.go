package api

import (
	"maps"
	"strings"

	"doorward/kv/record"
)

// noun has the words for the records of a kind, and a sentence about them.
type noun struct {
	one, many string
	about     string // one sentence
}

// nouns are the words of the OpenAPI document: tags, summaries and operation ids are made of them.
var nouns = map[*record.Kind]noun{
	record.Church:           {"church", "churches", "The churches of the denomination."},
	record.Regional:         {"regional", "regionals", "Regionals are groups of churches."},
	record.FinancialAccount: {"financial account", "financial accounts", "The bank accounts and cash boxes that entries belong to."},
	record.Category:         {"category", "categories", "The categories of financial entries."},
	record.Subcategory:      {"subcategory", "subcategories", "The subcategories of financial entries."},
	record.CostCenter:       {"cost center", "cost centers", "The cost centers of financial entries."},
	record.BusinessUnit:     {"business unit", "business units", "The business units of financial entries."},
	record.Supplier:         {"supplier", "suppliers", "Suppliers are paid by financial entries, or pay them."},
	record.Role:             {"role", "roles", "The roles that people have."},
	record.Person:           {"person", "people", "Members, visitors and leaders."},
	record.Group:            {"group", "groups", "Segmentation groups of people."},
	record.Membership:       {"membership", "memberships", "A membership is a person's place in a group."},
	record.FinancialEntry:   {"financial entry", "financial entries", "Money received or spent."},
	record.Event:            {"event", "events", "Events, and the check-in of their tickets."},
	record.Ticket: {"ticket", "tickets", "A ticket admits its holder to an event. Changing person_id from one person to another or to null passes the ticket on: " +
		"name, e-mail and phone that the same request does not give start empty. Any other change is an edit of the present holder."},
	record.Checkin:  {"check-in", "check-ins", "Each admission, as the door wrote it down."},
	record.Scan:     {"refused scan", "refused scans", "Each refusal, as the door wrote it down."},
	record.Undo:     {"undone check-in", "undone check-ins", "Each check-in that was taken back."},
	record.APIKey:   {"API key", "API keys", "The stored records of API keys, without their secrets."},
	record.Conflict: {"conflict", "conflicts", "The stored records of values that a merge did not keep."},
	record.Refusal:  {"refusal", "refusals", "The stored records of documents that were pushed and not taken."},
	record.Node:     {"node", "nodes", "The stored records of laptops that may join, or have joined."},
	record.Erasure:  {"erasure", "erasures", "Each erased record, without anything that names the person."},
}

// nounOf returns the words for a kind. A kind without an entry in nouns gets its name; a test finds it.
func nounOf(k *record.Kind) noun {
	if n, ok := nouns[k]; ok {
		return n
	}
	return noun{one: k.Name, many: k.Name + " records"}
}

// a returns the noun with its article.
func (n noun) a() string {
	if strings.ContainsRune("aeiouAEIOU", rune(n.one[0])) {
		return "an " + n.one
	}
	return "a " + n.one
}

// identifier makes a part of an operation id of a phrase: "API keys" gives api_keys, "check-in" gives checkin.
func identifier(phrase string) string {
	return strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(phrase, "-", ""), " ", "_"))
}

// adminTag begins the tags of /admin/v1.
const adminTag = "admin: "

// tagTexts are the descriptions of the tags that belong to no kind.
var tagTexts = map[string]string{
	"door":                   "What scanners at the door ask. Every decision is a 200 with an outcome.",
	"conflicts and refusals": "What replication leaves for staff to decide.",
	"keys":                   "API keys, and what each may see and do.",
	"double entries":         "Tickets that were admitted more than once, because doors could not reach each other.",
	"reviews":                "Check-ins, refused scans and undone check-ins that a revoked laptop has brought, or that were written by a doubted clock.",
	"reads":                  "Which key was shown how many records of people.",
	"venues":                 "The laptops that are enrolled.",
	"import":                 "Files of records.",
	"health":                 "For machines that watch the server.",
	"documentation":          "This document.",
}

// tagList is the document's list of tags, in the order in which the routes use them.
func tagList(table []route) []any {
	texts := maps.Clone(tagTexts)
	for _, n := range nouns {
		texts[n.many], texts[adminTag+n.many] = n.about, n.about+" Staff see all that is stored of them."
	}
	var list []any
	seen := map[string]bool{"": true}
	for i := range table {
		tag := table[i].doc.tag
		if seen[tag] {
			continue
		}
		seen[tag] = true
		list = append(list, map[string]any{"name": tag, "description": texts[tag]})
	}
	return list
}
