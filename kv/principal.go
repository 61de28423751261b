package kv

// Principal is who asks: an api key that has logged in, or the operator of this machine.
type Principal struct {
	key         int64
	name        string
	level       Level
	permissions []Permission
	rate        int
	operator    bool
}

// Operator is the principal of the command line: whoever owns the folder.
func Operator() Principal {
	return Principal{operator: true, name: "operator", level: Level{Name: Denomination}}
}

// Key is the api key's id; 0 for the operator.
func (p Principal) Key() int64 { return p.key }

// Name is the api key's name.
func (p Principal) Name() string { return p.name }

// Rate is how many requests a minute the key may make; 0 = no limit.
func (p Principal) Rate() int { return p.rate }

// Check answers nil or a *Forbidden: may p use this method ("GET") on this resource ("people", "admin")?
func (p Principal) Check(resource, method string) error { panic("kv") }

// CheckLevel answers nil or a *Forbidden: does p stand at denomination level, as whole-store actions need?
func (p Principal) CheckWhole() error { panic("kv") }

// LevelName is one of the four levels.
type LevelName string

// The levels, from the largest.
const (
	Denomination LevelName = "denomination"
	RegionalOf   LevelName = "regional"
	ChurchOf     LevelName = "church"
	EventOf      LevelName = "event"
)

// Level is how much of the congregation a key sees: all, or what belongs to the named regionals, churches or events.
type Level struct {
	Name LevelName
	IDs  []int64 // empty for denomination
}

// ParseLevel reads "denomination", "regional:1", "church:3,4" or "event:7".
func ParseLevel(s string) (Level, error) { panic("kv") }

// String is the level as ParseLevel reads it.
func (l Level) String() string { panic("kv") }

// Permission is one thing a key may do: a resource and a method, "*" for any.
type Permission struct{ Resource, Method string }

// ParsePermission reads "people:GET", "checkin:*" or "*:*".
func ParsePermission(s string) (Permission, error) { panic("kv") }

// String is the permission as ParsePermission reads it.
func (p Permission) String() string { return p.Resource + ":" + p.Method }
