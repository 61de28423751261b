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

// String is the database's name: "church-3-finance".
func (s Scope) String() string {
	id := strconv.FormatInt(s.ID, 10)
	switch s.Sort {
	case Reference:
		return "reference"
	case ReferenceFinance:
		return "reference-finance"
	case Church:
		return "church-" + id
	case ChurchFinance:
		return "church-" + id + "-finance"
	case Event:
		return "event-" + id
	case EventNames:
		return "event-" + id + "-names"
	case EventHolders:
		return "event-" + id + "-holders"
	case EventLabels:
		return "event-" + id + "-labels"
	case System:
		return "_system"
	}
	return ""
}

// OfEvent tells the sorts that hold what an event has.
func (s Sort) OfEvent() bool {
	return s >= Event && s <= EventLabels
}

// Parse reads a database's name as Scope.String writes it; ok is false for any other, and for the scope of the system,
// which is no database.
func Parse(name string) (s Scope, ok bool) {
	switch name {
	case "reference":
		return Scope{Sort: Reference}, true
	case "reference-finance":
		return Scope{Sort: ReferenceFinance}, true
	}
	parts := strings.SplitN(name, "-", 3)
	if len(parts) < 2 {
		return Scope{}, false
	}
	s.ID, _ = strconv.ParseInt(parts[1], 10, 64) // 0, or written in another way, is no name of this scope
	const maxID = 1<<53 - 1
	for s.Sort = Church; s.Sort < System; s.Sort++ {
		if s.ID > 0 && s.ID <= maxID && s.String() == name {
			return s, true
		}
	}
	return Scope{}, false
}
