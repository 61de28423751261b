package auth

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"doorward/kv/record"
)

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

// Has reports whether the level names a regional, church or event.
func (l Level) Has(id int64) bool { return slices.Contains(l.IDs, id) }
