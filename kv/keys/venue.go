package keys

import (
	"slices"

	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/value"
)

// The grants as the api_key record has them.
const (
	grantFinance = "finance"
	grantMirror  = "mirror"
	grantNames   = "names"
)

// VenueOf reads the venue of an api_key or node record.
func VenueOf(d *record.Doc) auth.Venue {
	return VenueWith(d.Text("node"), value.ReadTexts(d.Value("grants")))
}

// VenueWith returns the venue of a laptop with these grants.
func VenueWith(node string, grants []string) auth.Venue {
	return auth.Venue{Node: node, Finance: slices.Contains(grants, grantFinance), Mirror: slices.Contains(grants, grantMirror),
		Names: slices.Contains(grants, grantNames)}
}

func setVenue(d *record.Doc, n auth.Venue) {
	if n.Node == "" {
		return
	}
	d.Set("node", value.Quote(n.Node))
	d.Set("grants", value.Texts(GrantsOf(n)...))
}

// GrantsOf lists the grants of a venue, as records have them.
func GrantsOf(n auth.Venue) (grants []string) {
	for _, g := range []struct {
		name string
		has  bool
	}{{grantFinance, n.Finance}, {grantMirror, n.Mirror}, {grantNames, n.Names}} {
		if g.has {
			grants = append(grants, g.name)
		}
	}
	return grants
}
