package auth_test

import (
	"testing"
	"time"

	"doorward/kv/auth"
	"doorward/kv/record"
)

// by is the principal of a key that expires at a moment, makes requests at a rate, and has permissions.
func by(expires time.Time, rate int, permissions ...string) auth.Principal {
	k := auth.Key{Key: "dw_maker", Expires: expires, Rate: rate, Level: auth.Level{Name: auth.Denomination}}
	for _, text := range permissions {
		p, err := auth.ParsePermission(text)
		if err != nil {
			panic(err)
		}
		k.Permissions = append(k.Permissions, p)
	}
	return k.Principal()
}

// A key makes none that is good for longer, or for more requests, than itself: CheckTerm refuses it, and Term shortens it.
func TestNoKeyOutlastsItsMaker(t *testing.T) {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	before, after, never := noon.Add(-time.Hour), noon.Add(time.Hour), time.Time{}
	for _, test := range []struct {
		ends, wanted, want time.Time
		rate, asked, gets  int
	}{
		{noon, before, before, 0, 0, 0},
		{noon, noon, noon, 0, 9, 9},
		{noon, after, noon, 9, 8, 8},
		{noon, never, noon, 9, 9, 9},
		{never, after, after, 9, 10, 9},
		{never, never, never, 9, 0, 9},
	} {
		p := by(test.ends, test.rate)
		if ends, rate := auth.Term(p, test.wanted, test.asked); !ends.Equal(test.want) || rate != test.gets {
			t.Errorf("Term of (%v, %d) for (%v, %d) = (%v, %d), want (%v, %d)", test.ends, test.rate, test.wanted, test.asked, ends, rate, test.want, test.gets)
		}
		within := test.wanted.Equal(test.want) && test.asked == test.gets
		if err := auth.CheckTerm(p, auth.Key{Expires: test.wanted, Rate: test.asked}); (err == nil) != within {
			t.Errorf("CheckTerm of (%v, %d) for (%v, %d) = %v", test.ends, test.rate, test.wanted, test.asked, err)
		}
	}
}

// A key without a list of permissions may do everything but administer and replicate, and so must its maker.
func TestWhoMakesAKeyWithoutAList(t *testing.T) {
	var all []string
	resources, _ := auth.PermissionWords()
	for _, r := range resources {
		if r != "*" && r != "admin" && r != "sync" {
			all = append(all, r+":*")
		}
	}
	for name, test := range map[string]struct {
		permissions []string
		makes       bool
	}{
		"of each resource": {all, true}, "of all but one": {all[1:], false}, "of everything": {[]string{"*:*"}, true}, "without a list": {nil, true},
	} {
		if err := auth.CheckKey(by(time.Time{}, 0, test.permissions...), auth.Key{}); (err == nil) != test.makes {
			t.Errorf("a maker %s: %v", name, err)
		}
	}
	p := by(time.Time{}, 0)
	for _, resource := range []string{"admin", "sync", "*"} {
		if p.Check(resource, "GET") == nil {
			t.Errorf("without a list a key may use %s", resource)
		}
	}
	for _, k := range []*record.Kind{record.Church, record.Person} { // lists of what everyone names are for all, on every surface
		if err := p.CheckKind(record.Admin, k, "GET"); (err == nil) != (k == record.Church) {
			t.Errorf("CheckKind(%s) = %v", k.Name, err)
		}
	}
	if p.CheckKind(record.Admin, record.Church, "POST") == nil {
		t.Error("without admin a key makes churches")
	}
}

// A client logs in by a key until it expires or is revoked. A laptop's key is for its replication alone.
func TestWhenAKeyWorks(t *testing.T) {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		key   auth.Key
		works bool
	}{
		"for ever":    {auth.Key{}, true},
		"until later": {auth.Key{Expires: noon.Add(1)}, true},
		"until now":   {auth.Key{Expires: noon}, false},
		"revoked":     {auth.Key{Revoked: noon.Add(-1)}, false},
		"of a laptop": {auth.Key{Node: auth.Venue{Node: "01J00000000000000000000000"}}, false},
	} {
		if test.key.Works(noon) != test.works {
			t.Errorf("a key %s works = %t", name, !test.works)
		}
	}
}
