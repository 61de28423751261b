package api_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/record"
)

// permissionSets are what the keys of each level may do besides everything.
var permissionSets = [][]string{nil, {"people:GET", "admin:GET"}, {"checkin:*"}, {"*:GET"}, {"admin:*", "event:*"}, {"memberships:POST", "financial_entries:*"}}

// TestScopeShowsNothingOutside asks every route about every record with a key of each level, and holds the answers against the
// naive model: what lies outside is as if it were not there, in every byte.
func TestScopeShowsNothingOutside(t *testing.T) {
	c := drawCongregation(t, 1)
	before := c.export()
	for _, v := range c.reaches() {
		t.Run(v.String(), func(t *testing.T) {
			s := &sweep{caller: c.caller(v, "*:*"), c: c}
			s.TB = t
			s.lists()
			s.filters()
			s.outside()
			s.writes()
			s.codes()
			s.once()
		})
	}
	c.unchanged(before)
}

// TestScopePermissionsAndOrder asks every route with keys of each level and set of permissions, with good bodies and broken ones.
func TestScopePermissionsAndOrder(t *testing.T) {
	c := drawCongregation(t, 2)
	before := c.export()
	for _, v := range c.reaches() {
		for _, permissions := range append([][]string{{"*:*"}}, permissionSets...) {
			t.Run(fmt.Sprintf("%s %v", v, permissions), func(t *testing.T) {
				s := &sweep{caller: c.caller(v, permissions...), c: c}
				s.TB = t
				s.permitted()
			})
		}
	}
	c.unchanged(before)
}

// TestScopeNoKeyMakesALargerOne lets keys make keys of every level and looks through the eyes of what they made.
func TestScopeNoKeyMakesALargerOne(t *testing.T) {
	c := drawCongregation(t, 3)
	for _, v := range c.reaches() {
		for _, permissions := range [][]string{{"*:*"}, {"admin:*", "event:*"}}[:1+len(v.ids)%2] {
			t.Run(fmt.Sprintf("%s %v", v, permissions), func(t *testing.T) {
				s := &sweep{caller: c.caller(v, permissions...), c: c}
				s.TB = t
				s.makeKeys()
			})
		}
	}
}

func TestScopeNestedRecordOutsideHasNoName(t *testing.T) {
	w := newWorld(t)
	w.create(record.FinancialEntry, strings.Replace(w.entryOf(w.church), "{", fmt.Sprintf(`{"small_group_ids":[%d,%d],`, w.group, w.farGroup), 1))
	s := w.as(fmt.Sprintf("church:%d", w.church))
	want := fmt.Sprintf(`[{"id":%d,"name":"Choir"},{"id":%d,"name":null}]`, w.group, w.farGroup)
	if got := s.status(s.do("GET", "/v1/financial_entries/", ""), 200).text(t, "results.1.small_groups"); got != want {
		t.Errorf("small_groups = %s, want %s", got, want)
	}
	if got := w.status(w.do("GET", "/v1/financial_entries/", ""), 200).text(t, "results.2.small_groups"); !strings.Contains(got, "Surf") {
		t.Errorf("small_groups = %s to a key that sees both", got)
	}
}

// export is everything that the operator has, by kind and id.
func (c *congregation) export() map[string]string {
	c.Helper()
	all := map[string]string{}
	for _, k := range record.Kinds() {
		n := 0
		err := c.store.Log.Export(auth.Operator(), k, func(json []byte) error {
			id, _, _ := bytes.Cut(json, []byte{','}) // {"id":7
			all[k.Name+" "+string(id)] = string(json)
			n++
			return nil
		})
		if err != nil {
			c.Fatalf("export %s: %v", k.Name, err)
		}
	}
	return all
}

// unchanged wants all that was exported before as it was. Only refusals at a door, and the test's own keys, may be new.
func (c *congregation) unchanged(before map[string]string) {
	c.Helper()
	now := c.export()
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if now[name] != before[name] {
			c.Errorf("%s was\n%s, is\n%s", name, before[name], now[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if before[name] == "" && !strings.HasPrefix(name, "scan ") && !strings.HasPrefix(name, "api_key ") {
			c.Errorf("new: %s", now[name])
		}
	}
}
