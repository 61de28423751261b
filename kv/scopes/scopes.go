package scopes

import (
	"strconv"
	"strings"
)

// Scope is a replication database that a record belongs to (sync.md §1): a name, and the id it is about or 0.
type Scope struct {
	Sort Sort
	ID   int64
}

// Sort is the sort of a scope.
type Sort byte

// The sorts. Their numbers are stored.
const (
	Reference Sort = 1 + iota
	ReferenceFinance
	Church
	ChurchFinance
	Event
	EventNames
	EventHolders
	EventLabels
	System
)

// forms are the databases' names; * stands for the id.
var forms = [...]string{
	Reference: "reference", ReferenceFinance: "reference-finance", Church: "church-*", ChurchFinance: "church-*-finance",
	Event: "event-*", EventNames: "event-*-names", EventHolders: "event-*-holders", EventLabels: "event-*-labels", System: "_system",
}

// String is the database's name: "church-3-finance". It is "" for no sort.
func (s Scope) String() string {
	if int(s.Sort) >= len(forms) {
		return ""
	}
	return strings.Replace(forms[s.Sort], "*", strconv.FormatInt(s.ID, 10), 1)
}

// OfEvent tells the sorts that hold what an event has.
func (s Sort) OfEvent() bool {
	return s >= Event && s <= EventLabels
}

// Parse reads a database's name as Scope.String writes it; ok is false for any other, and for the scope of the system,
// which is no database.
func Parse(name string) (s Scope, ok bool) {
	const maxID = 1<<53 - 1
	if parts := strings.SplitN(name, "-", 3); len(parts) > 1 {
		s.ID, _ = strconv.ParseInt(parts[1], 10, 64) // 0, or written in another way, is no name of this scope
	}
	for s.Sort = Reference; s.Sort < System; s.Sort++ {
		numbered := s.Sort >= Church
		if numbered == (s.ID > 0) && s.ID <= maxID && s.String() == name {
			return s, true
		}
	}
	return Scope{}, false
}
