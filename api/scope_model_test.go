package api_test

import (
	"fmt"
	"slices"
	"strings"
)

// This file says once more who may see and do what (contract.md §7 and §12), in the plainest way, without a look at how the store
// decides it.

// lore is what the test knows of a record.
type lore struct {
	kind   string
	id     string
	marker string           // a word that stands in each of its texts, and nowhere else
	refs   map[string]int64 // whom it names
	code   string           // of a ticket
	reach  reach            // of a key
	tag    string           // its ETag on the admin surface, once it has been asked for
	body   string           // of a person that was made with the marker for an Idempotency-Key
}

// reach is a level.
type reach struct {
	name string
	ids  []int64
}

func (v reach) String() string {
	if len(v.ids) == 0 {
		return v.name
	}
	return v.name + ":" + strings.Trim(strings.ReplaceAll(fmt.Sprint(v.ids), " ", ","), "[]")
}

func (v reach) whole() bool { return v.name == "denomination" }

// classOf are the kinds by the rule that they are seen by.
var classOf = map[string]string{
	"church": "everyone's", "regional": "everyone's", "role": "everyone's",
	"financial_account": "finances", "supplier": "finances", "category": "finances", "subcategory": "finances",
	"cost_center": "finances", "business_unit": "finances",
	"person": "church's", "financial_entry": "church's", "event": "shared", "group": "shared", "membership": "membership",
	"ticket": "event's", "checkin": "event's", "scan": "event's", "undo": "event's", "double_entries": "event's", "api_key": "key",
	"conflicts": "church's", "refusals": "church's", "conflict": "key", "refusal": "key", "node": "key", "venues": "key", "erasure": "key", "reads": "key", "reviews": "event's",
}

// owns tells whether a church is one of a level's.
func (c *congregation) owns(v reach, church int64) bool {
	switch v.name {
	case "denomination":
		return true
	case "church":
		return slices.Contains(v.ids, church)
	case "regional":
		return church != 0 && slices.Contains(v.ids, c.regionalOf[church])
	}
	return false
}

// sees tells whether a level's keys may be shown a record.
func (c *congregation) sees(v reach, r *lore) bool {
	atEvent := v.name == "event"
	switch classOf[r.kind] {
	case "everyone's":
		return true
	case "finances":
		return !atEvent
	case "church's":
		return v.whole() || c.owns(v, r.refs["church_id"])
	case "shared":
		if atEvent {
			return r.kind == "event" && slices.Contains(v.ids, r.number())
		}
		return r.refs["church_id"] == 0 || c.owns(v, r.refs["church_id"])
	case "membership":
		return c.sees(v, c.find("person", r.refs["person"])) && c.sees(v, c.find("group", r.refs["group_id"]))
	case "event's":
		return c.sees(v, c.find("event", r.refs["event_id"]))
	case "key":
		return c.within(v, r.reach)
	}
	panic("no class for " + r.kind)
}

// within tells whether everything that one level sees, another sees too.
func (c *congregation) within(v, part reach) bool {
	levels := []string{"denomination", "regional", "church", "event"}
	switch {
	case v.whole():
		return true
	case slices.Index(levels, part.name) < slices.Index(levels, v.name):
		return false
	}
	for _, id := range part.ids {
		switch {
		case part.name == v.name && !slices.Contains(v.ids, id):
			return false
		case part.name == v.name:
		case part.name == "church" && !c.owns(v, id):
			return false
		case part.name == "event" && !c.owns(v, c.find("event", id).refs["church_id"]):
			return false
		}
	}
	return true
}

// changes tells whether a level's keys may change a record that they see.
func (c *congregation) changes(v reach, r *lore) bool {
	switch classOf[r.kind] {
	case "church's", "membership":
		return true
	case "shared":
		return v.whole() || v.name != "event" && r.refs["church_id"] != 0
	case "event's":
		return v.whole() || v.name == "event" || c.find("event", r.refs["event_id"]).refs["church_id"] != 0
	}
	return v.whole()
}

// may tells whether permissions allow a method on a resource; "" is a resource that needs none.
func may(permissions []string, resource, method string) bool {
	if resource == "" {
		return true
	}
	if len(permissions) == 0 {
		return resource != "admin"
	}
	return slices.ContainsFunc(permissions, func(p string) bool {
		r, m, _ := strings.Cut(p, ":")
		return (r == "*" || r == resource) && (m == "*" || m == method)
	})
}

// spot is one method on one path of the document.
type spot struct {
	method, path string
	kind         string // that its path names, or is about
	named        bool   // the path names a record
	under        bool   // the route goes on below that record
}

// readSpot reads a path of the document; ok is false for pages that are open to all.
func readSpot(method, path string) (s spot, ok bool) {
	s = spot{method: method, path: path, named: strings.Contains(path, "{")}
	segments := strings.Split(strings.Trim(path, "/"), "/")
	s.under = s.named && !strings.HasPrefix(segments[len(segments)-1], "{")
	switch segments[0] {
	case "v1":
		s.kind = map[string]string{"people": "person", "financial_entries": "financial_entry", "event": "event", "group": "group"}[segments[1]]
	case "door":
		if strings.HasSuffix(path, "/stream/") || strings.HasSuffix(path, "/family/") { // one does not end, the other is about a check-in: see stream_test.go
			return s, false
		}
		switch s.kind = "event"; segments[2] {
		case "decode":
			s.kind = "decode"
		case "session": // who asks, not about what
			return s, false
		}
	case "admin":
		s.kind = segments[2]
		if s.kind == "keys" {
			s.kind = "api_key"
		}
	default:
		return s, false
	}
	return s, true
}

// resource is what a permission for the spot names.
func (s spot) resource() string {
	switch {
	case strings.HasPrefix(s.path, "/door/"), strings.HasSuffix(s.path, "/checkin/") && s.under:
		return "checkin"
	case strings.HasSuffix(s.path, "/memberships/"):
		return "memberships"
	case strings.HasPrefix(s.path, "/v1/people/"):
		return "people"
	case strings.HasPrefix(s.path, "/v1/"):
		return strings.Split(s.path, "/")[2]
	case s.method == "GET" && classOf[s.kind] == "everyone's":
		return ""
	}
	return "admin"
}

// atDoor tells what doors are shown of an event.
func (s spot) atDoor() bool { return strings.HasPrefix(s.path, "/door/") }

// at is the spot's path with an id, and with what a search cannot do without.
func (s spot) at(id string) string {
	before, after, _ := strings.Cut(s.path, "{")
	_, after, found := strings.Cut(after, "}")
	switch {
	case !found:
		return before
	case s.searches():
		after += "?q=nobody"
	}
	return before + id + after
}

// searches tells the door's search.
func (s spot) searches() bool { return strings.HasSuffix(s.path, "/search/") }

// aFile tells a route whose body is a file.
func (s spot) aFile() bool { return s.kind == "import" || s.kind == "decode" }

// want is the status of a request about a record, nil for one that is not there, with a body that only a PATCH takes.
func (c *congregation) want(v reach, permissions []string, s spot, r *lore) int {
	reference := classOf[s.kind] == "everyone's" || classOf[s.kind] == "finances"
	system := s.kind == "api_key" && strings.HasPrefix(s.path, "/admin/v1/api_key/")
	switch {
	case !may(permissions, s.resource(), s.method), s.method != "GET" && reference && !v.whole():
		return 403
	case s.method == "POST" && !s.named && v.name == "event" && classOf[s.kind] != "event's" && s.kind != "api_key" && !s.aFile():
		return 403
	case s.named && (r == nil || !c.sees(v, r) || system && !v.whole()):
		return 404
	case s.method == "PATCH" && !c.changes(v, r):
		return 403
	case s.kind == "decode":
		return 415
	case s.method == "POST":
		return 400
	}
	return 200
}
