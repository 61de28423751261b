package phone

import (
	"time"

	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/record"
)

// Role is what a helper is at a door.
type Role string

// The roles: a steward takes back the own check-ins of the last minute and finds five tickets at most; a supervisor any, and twenty.
const (
	Steward    Role = "steward"
	Supervisor Role = "supervisor"
)

// permissions are those of a helper's key.
func (r Role) permissions() []auth.Permission {
	if r == Supervisor {
		return []auth.Permission{{Resource: record.Checkin.Resource, Method: "*"}}
	}
	return []auth.Permission{{Resource: record.Checkin.Resource, Method: "GET"}, {Resource: record.Checkin.Resource, Method: "POST"}}
}

// RoleOf is what a principal is at a door.
func RoleOf(p auth.Principal) Role {
	if p.Supervises() {
		return Supervisor
	}
	return Steward
}

// soon is how long before an event helpers set up its doors.
const soon = 18 * time.Hour

// Near returns the events that doors are set up for at a moment: those that begin soon, else all. The others are later.
func Near(all []door.DoorEvent, now time.Time) (near, later []door.DoorEvent) {
	for _, e := range all {
		if e.Start.After(now.Add(soon)) {
			later = append(later, e)
		} else {
			near = append(near, e)
		}
	}
	if len(near) == 0 {
		return all, nil
	}
	return near, later
}
