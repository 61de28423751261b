package auth

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"doorward/kv/record"
)

// ErrForbidden says that a principal may not do something. The concrete error is a *Forbidden.
var ErrForbidden = errors.New("not permitted")

// Forbidden names the permission or level that a principal needs, and what it has.
type Forbidden struct {
	RequiredScope string   // "people:POST"; "" if a level is missing
	CurrentScopes []string // never nil
	RequiredLevel string
	CurrentLevel  string
	Reason        string // one sentence, if level and permissions do not say it; else ""
}

// Error returns one sentence.
func (f *Forbidden) Error() string {
	if f.Reason != "" {
		return fmt.Sprintf("%v: %s", ErrForbidden, f.Reason)
	}
	if f.RequiredScope != "" {
		return fmt.Sprintf("%v: needs %s", ErrForbidden, f.RequiredScope)
	}
	return fmt.Sprintf("%v: needs level %s", ErrForbidden, f.RequiredLevel)
}

// Is makes a Forbidden an ErrForbidden.
func (f *Forbidden) Is(target error) bool { return target == ErrForbidden }

// Principal makes requests: it is an api key that has logged in, or the operator of this machine. The zero Principal may nothing.
type Principal struct {
	key      Key
	operator bool
	revoked  bool // a revoked laptop or helper's phone, which may still bring its facts
}

// Operator returns the principal of the command line: the owner of the folder.
func Operator() Principal {
	return Principal{operator: true, key: Key{Name: "operator", Level: Level{Name: Denomination}}}
}

// Principal returns the principal that logs in by the key.
func (k Key) Principal() Principal { return Principal{key: k} }

// Revoked returns the principal of a revoked key: it reads nothing and may only bring its facts. A laptop brings them by replication, the phone
// of a helper as check-ins.
func (p Principal) Revoked() Principal {
	p.revoked = true
	p.key.Permissions = []Permission{{record.Checkin.Resource, "POST"}}
	if p.IsLaptop() {
		p.key.Permissions = []Permission{{"sync", "POST"}}
	}
	return p
}

// Unsigned returns p without its key's id: the records that it changes name no author.
func (p Principal) Unsigned() Principal {
	p.key.ID = 0
	return p
}

// Key is the api key's id; 0 for the operator.
func (p *Principal) Key() int64 { return p.key.ID }

// Public is the key as it logs in; "" for the operator.
func (p *Principal) Public() string { return p.key.Key }

// Name is the api key's name.
func (p *Principal) Name() string { return p.key.Name }

// Rate is how many requests a minute the key may make; 0 = no limit.
func (p *Principal) Rate() int { return p.key.Rate }

// Made is when the key was made; zero for the operator.
func (p *Principal) Made() time.Time { return p.key.Made }

// Level is how much of the congregation it sees.
func (p *Principal) Level() Level { return p.key.Level }

// Node returns the ULID of the laptop that has this key; "" for any other principal.
func (p *Principal) Node() string { return p.key.Node.Node }

// Venue returns what the laptop that has this key was enrolled for; the zero Venue for any other principal.
func (p *Principal) Venue() Venue { return p.key.Node }

// IsLaptop reports whether it is a key of class node.
func (p *Principal) IsLaptop() bool { return p.key.Node.Node != "" }

// IsOperator reports whether it is the operator. This store's own replicator writes as the operator too.
func (p *Principal) IsOperator() bool { return p.operator }

// IsRevoked reports whether it is a revoked laptop or a revoked phone.
func (p *Principal) IsRevoked() bool { return p.revoked }

// IsWhole reports whether it sees everything.
func (p *Principal) IsWhole() bool { return p.key.Level.Name == Denomination }

// IsOf reports whether its level has this name.
func (p *Principal) IsOf(n LevelName) bool { return p.key.Level.Name == n }

// Check returns nil if p may use this method ("GET") on this resource ("people", "admin"), and a *Forbidden if not. Without any
// permission in its list a key may do everything but administer and replicate (contract.md §7).
func (p *Principal) Check(resource, method string) error {
	want := Permission{resource, method}
	if p.operator || grants(p, want) {
		return nil
	}
	return &Forbidden{RequiredScope: want.String(), CurrentScopes: p.key.PermissionTexts()}
}

func grants(p *Principal, want Permission) bool {
	if len(p.key.Permissions) == 0 {
		return want.Resource != "*" && !isReserved(want.Resource)
	}
	return slices.ContainsFunc(p.key.Permissions, func(g Permission) bool { return g.covers(want) })
}

// CheckWhole returns nil if p is at denomination level, as whole-store actions need, and a *Forbidden if not.
func (p *Principal) CheckWhole() error {
	if p.IsWhole() {
		return nil
	}
	return p.LacksLevel(Denomination)
}

// CheckRule returns nil if p may do what concerns the whole store, as to make and delete databases, and a *Forbidden if not.
func (p *Principal) CheckRule() error {
	if err := p.CheckWhole(); err != nil {
		return err
	}
	return p.Check("admin", "*")
}

// CheckKind returns nil if p may use a method on records of a kind through a surface, and a *Forbidden if not.
func (p *Principal) CheckKind(s record.Surface, k *record.Kind, method string) error {
	if s == record.V1 {
		return p.Check(k.Resource, method)
	}
	if method == "GET" && k.Class == record.Everyones {
		return nil
	}
	return p.Check("admin", method)
}

// Supervises reports whether it may take back any check-in.
func (p *Principal) Supervises() bool { return p.Check(record.Undo.Resource, "DELETE") == nil }

// LacksLevel returns the error of a level that p does not have.
func (p *Principal) LacksLevel(need LevelName) error {
	return &Forbidden{CurrentScopes: []string{}, RequiredLevel: string(need), CurrentLevel: string(p.key.Level.Name)}
}

// CheckKey returns a *Forbidden for a key that would have a permission that p does not have.
func CheckKey(p Principal, k Key) error {
	wants := k.Permissions
	if len(wants) == 0 { // everything but the reserved resources
		for _, resource := range resources() {
			if resource != "*" && !isReserved(resource) {
				wants = append(wants, Permission{resource, "*"})
			}
		}
	}
	for _, want := range wants {
		if err := p.Check(want.Resource, want.Method); err != nil {
			return err
		}
	}
	return nil
}

// CheckTerm returns a *Forbidden for a key that would be good for longer, or for more requests, than p.
func CheckTerm(p Principal, k Key) error {
	longer := !p.key.Expires.IsZero() && (k.Expires.IsZero() || k.Expires.After(p.key.Expires))
	faster := p.key.Rate > 0 && (k.Rate == 0 || k.Rate > p.key.Rate)
	if !longer && !faster {
		return nil
	}
	return &Forbidden{
		CurrentScopes: []string{}, RequiredLevel: k.Level.String(), CurrentLevel: p.key.Level.String(),
		Reason: "a key makes none that is good for longer, or for more requests a minute, than itself",
	}
}

// Term returns the moment until which a key that p makes is good, and its requests a minute: those wanted, but never more than p's own.
// Zero is no end, and no limit.
func Term(p Principal, expires time.Time, rate int) (time.Time, int) {
	if own := p.key.Expires; !own.IsZero() && (expires.IsZero() || expires.After(own)) {
		expires = own
	}
	if own := p.key.Rate; own > 0 && (rate == 0 || rate > own) {
		rate = own
	}
	return expires, rate
}

// Key is an api key as its managers see it. Only its maker knows the secret.
type Key struct {
	ID          int64
	Key         string // as it logs in
	Name        string
	Level       Level
	Permissions []Permission
	Made        time.Time // zero = by a caller that does not know
	Expires     time.Time // zero = never
	Revoked     time.Time // zero = not
	Rate        int       // requests a minute; 0 = no limit
	Node        Venue
}

// PermissionTexts returns the permissions as ParsePermission reads them; an empty list for none.
func (k *Key) PermissionTexts() []string {
	texts := make([]string, len(k.Permissions))
	for i, p := range k.Permissions {
		texts[i] = p.String()
	}
	return texts
}

// Works reports whether a client can log in by the key at a moment. A laptop's key is for its replication alone.
func (k *Key) Works(now time.Time) bool {
	return k.Node.Node == "" && k.Revoked.IsZero() && (k.Expires.IsZero() || now.Before(k.Expires))
}

// Venue says which laptop a key of class node belongs to, and what the laptop was enrolled for (sync.md §1). Enrolment makes the key, and only
// the laptop knows its secret.
type Venue struct {
	Node    string // the laptop's ULID
	Finance bool   // enrolled with --finance
	Mirror  bool   // enrolled with --mirror
	Names   bool   // enrolled with --door-data names
}

// Permission is one thing a key may do: a resource and a method, "*" for any.
type Permission struct{ Resource, Method string }

// ParsePermission reads "people:GET", "checkin:*" or "*:*".
func ParsePermission(s string) (Permission, error) {
	resource, method, _ := strings.Cut(strings.TrimSpace(s), ":") // without ":" the method is "", which is none
	p := Permission{strings.ToLower(resource), strings.ToUpper(method)}
	if !slices.Contains(resources(), p.Resource) || !slices.Contains(methods, p.Method) {
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

// isReserved tells whether only a named permission grants the resource.
func isReserved(resource string) bool { return resource == "admin" || resource == "sync" }

// resources lists what permissions can name: the resources of kinds, and the surfaces beside /v1.
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

// IsKnown reports whether a level of this name exists.
func (n LevelName) IsKnown() bool { return n.rank() >= 0 }

// IsAbove reports whether a level is larger than another one.
func (n LevelName) IsAbove(other LevelName) bool { return n.rank() < other.rank() }

// Level is how much of the congregation a key sees: all, or what belongs to the named regionals, churches or events.
type Level struct {
	Name LevelName
	IDs  []int64 // empty for denomination
}

// ParseLevel reads "denomination", "regional:1", "church:3,4" or "event:7".
func ParseLevel(s string) (Level, error) {
	name, list, listed := strings.Cut(s, ":")
	level := LevelName(name)
	if !level.IsKnown() || listed == (level == Denomination) {
		return Level{}, fmt.Errorf("level %q: want denomination, regional:ID, church:ID,… or event:ID", s)
	}
	if !listed {
		return Level{Name: level}, nil
	}
	var ids []int64
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 || n > record.MaxID {
			return Level{}, fmt.Errorf("level %q: %q is not an id", s, text)
		}
		ids = append(ids, n)
	}
	return NewLevel(level, ids), nil
}

// NewLevel returns the level of some regionals, churches or events: each once, in order.
func NewLevel(name LevelName, ids []int64) Level {
	return Level{Name: name, IDs: slices.Compact(slices.Sorted(slices.Values(ids)))}
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

// Has reports whether the level names a regional, church or event.
func (l Level) Has(id int64) bool { return slices.Contains(l.IDs, id) }
