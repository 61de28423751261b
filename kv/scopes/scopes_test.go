package scopes_test

import (
	"testing"

	"doorward/kv/scopes"
)

// TestNames: rows may be added and must never be changed.
func TestNames(t *testing.T) {
	for name, want := range map[string]scopes.Scope{
		"reference":         {Sort: scopes.Reference},
		"reference-finance": {Sort: scopes.ReferenceFinance},
		"church-3":          {Sort: scopes.Church, ID: 3},
		"church-3-finance":  {Sort: scopes.ChurchFinance, ID: 3},
		"event-7":           {Sort: scopes.Event, ID: 7},
		"event-7-names":     {Sort: scopes.EventNames, ID: 7},
		"event-7-holders":   {Sort: scopes.EventHolders, ID: 7},
		"event-7-labels":    {Sort: scopes.EventLabels, ID: 7},
	} {
		if s, ok := scopes.Parse(name); !ok || s != want || s.String() != name {
			t.Errorf("Parse(%s) = %v, %t, want %v", name, s, ok, want)
		}
	}
	for _, bad := range []string{"", "_system", "church", "church-", "church-0", "church-03", "church-x", "church--3", "church-3-names",
		"event-7-finance", "event-7-", "Event-7", "event-9007199254740992", "reference-"} {
		if s, ok := scopes.Parse(bad); ok {
			t.Errorf("Parse(%s) = %v", bad, s)
		}
	}
}

func TestSortsOfAnEvent(t *testing.T) {
	for sort := scopes.Reference; sort <= scopes.System; sort++ {
		if want := sort == scopes.Event || sort == scopes.EventNames || sort == scopes.EventHolders || sort == scopes.EventLabels; sort.OfEvent() != want {
			t.Errorf("%v is of an event: %t, want %t", scopes.Scope{Sort: sort}, sort.OfEvent(), want)
		}
	}
}
