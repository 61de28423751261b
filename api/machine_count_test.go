package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
)

// doubled are an event's check-ins that stand: how many admitted somebody, and those that are double entries. Who was in when his
// ticket was cancelled is both.
func (m *machine) doubled(event int64) (admitted int, doubles []string) {
	for _, e := range m.entries {
		if e.event != event || e.undone {
			continue
		}
		first := m.first(e) == e
		if !first || m.items["ticket"][e.ticket].fields["state"] == `"cancelled"` {
			doubles = append(doubles, e.id)
		}
		if first {
			admitted++
		}
	}
	return admitted, doubles
}

// status reads an event's counts.
func (m *machine) status() {
	r := m.reading()
	a, ok := m.atDoor(r, "GET", fmt.Sprintf("/door/v1/event/%d/status/", r.event), "")
	if !ok {
		return
	}
	m.want(a, 200)
	issued := 0
	for _, b := range m.items["ticket"] {
		if b.number("event_id") == r.event && (b.fields["state"] == `"valid"` || b.fields["state"] == `"unpaid"`) {
			issued++
		}
	}
	admitted, doubles := m.doubled(r.event)
	if is, want := a.text(m.home, "issued")+" "+a.text(m.home, "admitted")+" "+a.text(m.home, "double_entries"), fmt.Sprint(issued, admitted, len(doubles)); is != want {
		m.Fatalf("issued, admitted and double entries are %s, want %s", is, want)
	}
}

// doubles reads an event's double entries.
func (m *machine) doubles() {
	r := m.reading()
	a, ok := m.atDoor(r, "GET", fmt.Sprintf("/door/v1/event/%d/double_entries/?limit=100", r.event), "")
	if !ok {
		return
	}
	m.want(a, 200)
	var page struct {
		Results []struct {
			CheckinID string `json:"checkin_id"`
		}
	}
	if err := json.Unmarshal([]byte(a.body), &page); err != nil {
		m.Fatal(err)
	}
	var is []string
	for _, e := range page.Results {
		is = append(is, e.CheckinID)
	}
	_, want := m.doubled(r.event)
	slices.Sort(is)
	slices.Sort(want)
	if !slices.Equal(is, want) {
		m.Fatalf("double entries are %v, want %v", is, want)
	}
}
