package kv

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"doorward/kv/record"
)

// Principal makes requests: it is an api key that has logged in, or the operator of this machine.
type Principal struct {
	key         int64
	public      string // the key as it logs in; "" for the operator
	name        string
	level       Level
	permissions []Permission
	rate        int
	expires     time.Time // zero = never
	operator    bool
	node        Venue // zero: no key of class node
	revoked     bool  // a laptop that is revoked, and may bring its facts all the same
}

// Operator returns the principal of the command line: the owner of the folder.
func Operator() Principal {
	return Principal{operator: true, name: "operator", level: Level{Name: Denomination}}
}

// Key is the api key's id; 0 for the operator.
func (p Principal) Key() int64 { return p.key }

// Name is the api key's name.
func (p Principal) Name() string { return p.name }

// Rate is how many requests a minute the key may make; 0 = no limit.
func (p Principal) Rate() int { return p.rate }

// Check returns nil if p may use this method ("GET") on this resource ("people", "admin"), and a *Forbidden if not. Without any
// permission in its list a key may do everything but administer and replicate (contract.md §7).
func (p Principal) Check(resource, method string) error {
	if p.operator || p.grants(Permission{resource, method}) {
		return nil
	}
	return p.lacks(Permission{resource, method})
}

// lacks is the error of a permission that p does not have.
func (p Principal) lacks(want Permission) error {
	current := make([]string, 0, len(p.permissions))
	for _, g := range p.permissions {
		current = append(current, g.String())
	}
	return &Forbidden{RequiredScope: want.String(), CurrentScopes: current}
}

func (p Principal) grants(want Permission) bool {
	if len(p.permissions) == 0 {
		return want.Resource != "*" && !reservedResource(want.Resource)
	}
	return slices.ContainsFunc(p.permissions, func(g Permission) bool { return g.covers(want) })
}

// reservedResource tells whether only a named permission grants the resource.
func reservedResource(resource string) bool { return resource == "admin" || resource == "sync" }

// CheckWhole returns nil if p is at denomination level, as whole-store actions need, and a *Forbidden if not.
func (p Principal) CheckWhole() error { return p.checkLevel(Denomination) }

func (p Principal) checkLevel(need LevelName) error {
	if p.level.Name.rank() <= need.rank() {
		return nil
	}
	return p.lacksLevel(need)
}

// lacksLevel is the error of a level that p does not have.
func (p Principal) lacksLevel(need LevelName) error {
	return &Forbidden{CurrentScopes: []string{}, RequiredLevel: string(need), CurrentLevel: string(p.level.Name)}
}

// checkKind checks whether p may use method on records of kind k through a surface.
func (p Principal) checkKind(s record.Surface, k *record.Kind, method string) error {
	if s == record.V1 {
		return p.Check(k.Resource, method)
	}
	if method == "GET" && k.Class == record.Everyones {
		return nil
	}
	return p.Check("admin", method)
}

// whole tells whether p sees everything.
func (p Principal) whole() bool { return p.level.Name == Denomination }

// LevelName is one of the four levels.
type LevelName string

// The levels, from the largest.
const (
	Denomination LevelName = "denomination"
	RegionalOf   LevelName = "regional"
	ChurchOf     LevelName = "church"
	EventOf      LevelName = "event"
)

var levelNames = []LevelName{Denomination, RegionalOf, ChurchOf, EventOf}

func (n LevelName) rank() int { return slices.Index(levelNames, n) }

// Level is how much of the congregation a key sees: all, or what belongs to the named regionals, churches or events.
type Level struct {
	Name LevelName
	IDs  []int64 // empty for denomination
}

// ParseLevel reads "denomination", "regional:1", "church:3,4" or "event:7".
func ParseLevel(s string) (Level, error) {
	name, list, listed := strings.Cut(s, ":")
	l := Level{Name: LevelName(name)}
	if l.Name.rank() < 0 || listed == (l.Name == Denomination) {
		return Level{}, fmt.Errorf("level %q: want denomination, regional:ID, church:ID,… or event:ID", s)
	}
	if !listed {
		return l, nil
	}
	for _, text := range strings.Split(list, ",") {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 || n > record.MaxID {
			return Level{}, fmt.Errorf("level %q: %q is not an id", s, text)
		}
		l.IDs = append(l.IDs, n)
	}
	slices.Sort(l.IDs)
	l.IDs = slices.Compact(l.IDs)
	return l, nil
}

// String is the level as ParseLevel reads it.
func (l Level) String() string {
	if l.Name == Denomination {
		return string(l.Name)
	}
	ids := make([]string, len(l.IDs))
	for i, id := range l.IDs {
		ids[i] = strconv.FormatInt(id, 10)
	}
	return string(l.Name) + ":" + strings.Join(ids, ",")
}

func (l Level) has(id int64) bool { return slices.Contains(l.IDs, id) }

// Permission is one thing a key may do: a resource and a method, "*" for any.
type Permission struct{ Resource, Method string }

// ParsePermission reads "people:GET", "checkin:*" or "*:*".
func ParsePermission(s string) (Permission, error) {
	resource, method, ok := strings.Cut(strings.TrimSpace(s), ":")
	p := Permission{strings.ToLower(resource), strings.ToUpper(method)}
	if !ok || !slices.Contains(resources(), p.Resource) || !slices.Contains(methods, p.Method) {
		return Permission{}, fmt.Errorf("permission %q: want RESOURCE:METHOD, of %s and %s",
			s, strings.Join(resources(), ", "), strings.Join(methods, ", "))
	}
	return p, nil
}

// PermissionWords are what permissions are made of.
func PermissionWords() (resourceWords, methodWords []string) {
	return resources(), slices.Clone(methods)
}

var methods = []string{"*", "GET", "POST", "PATCH", "PUT", "DELETE"}

// resources are what permissions can name: the kinds' own, and the surfaces beside /v1.
func resources() []string {
	names := []string{"*", "admin", "sync"}
	for _, k := range record.Kinds() {
		if k.Resource != "" && !slices.Contains(names, k.Resource) {
			names = append(names, k.Resource)
		}
	}
	return names
}

// String is the permission as ParsePermission reads it.
func (p Permission) String() string { return p.Resource + ":" + p.Method }

// covers tells whether p grants want, which may itself hold a "*".
func (p Permission) covers(want Permission) bool {
	return (p.Resource == "*" || p.Resource == want.Resource) && (p.Method == "*" || p.Method == want.Method)
}
