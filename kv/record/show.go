package record

import "time"

// View is all that a reply is made of.
type View struct {
	ID        ID
	Body      Body
	UpdatedAt time.Time
	UpdatedBy int64 // an api key's id; 0 = none
	Now       time.Time
	Zone      *time.Location
	Ref       func(k *Kind, id ID) (Body, bool) // a referred record's body; false where it is gone
	Count     func(what string) int             // records counted elsewhere: "issued" = an event's tickets in state valid or unpaid
}

// Show appends the record's reply on a surface: {"id":…, stored members, nested and derived ones}. Admin shows the hidden
// members too.
func (k *Kind) Show(dst []byte, s Surface, v *View) []byte { panic("record") }

// Schema is the kind's OpenAPI 3.1 schema on a surface.
func (k *Kind) Schema(s Surface, d Direction) map[string]any { panic("record") }
