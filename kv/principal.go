package kv

import "doorward/kv/auth"

// Who makes requests, and what it may: the words of package auth.
type (
	Principal  = auth.Principal
	Key        = auth.Key
	Venue      = auth.Venue
	Level      = auth.Level
	LevelName  = auth.LevelName
	Permission = auth.Permission
	Forbidden  = auth.Forbidden
)

// The levels, from the largest.
const (
	Denomination = auth.Denomination
	RegionalOf   = auth.RegionalOf
	ChurchOf     = auth.ChurchOf
	EventOf      = auth.EventOf
)

// ErrForbidden says that a principal may not do something; the concrete error is a *Forbidden.
var ErrForbidden = auth.ErrForbidden

// Operator returns the principal of the command line: the owner of the folder.
func Operator() Principal { return auth.Operator() }

// ParseLevel reads "denomination", "regional:1", "church:3,4" or "event:7".
func ParseLevel(s string) (Level, error) { return auth.ParseLevel(s) }

// ParsePermission reads "people:GET", "checkin:*" or "*:*".
func ParsePermission(s string) (Permission, error) { return auth.ParsePermission(s) }

// PermissionWords are what permissions are made of.
func PermissionWords() (resourceWords, methodWords []string) { return auth.PermissionWords() }
