package overview

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/api/nullable"
	"doorward/kv/door"
	"doorward/kv/fault"
	"doorward/kv/office"
	"doorward/kv/table"
)

// laptopNeeds finds what a person has to do about a centre's laptops.
type laptopNeeds struct{ needs }

// all are the needs of a centre's laptops: revoked ones in use, then wrong clocks, then changes that do not come.
func (s laptopNeeds) all() (all []need) {
	common := s.commonOffset()
	if common != 0 {
		all = append(all, s.need("clock_of_all", "The clocks of all laptops that were met are about %s this one: this machine's own may be wrong. Look at it first.", s.aside(common)))
	}
	for _, of := range []func(*laptopState) (need, bool){s.revokedNeed, s.clockNeed, s.backlogNeed, s.laptopEnds} {
		for i := range s.Laptops {
			l := &s.Laptops[i]
			n, is := of(l)
			if !is || l.Replaced || l.of.Joined.IsZero() || common != 0 && n.Code == "laptop_clock" {
				continue
			}
			l.Needs = append(l.Needs, n.Code)
			all = append(all, n)
		}
	}
	return all
}

// commonOffset is how far the centre's clock is ahead of all the laptops that were met, where that is at least two, they agree within two
// minutes, and it is too far; 0 = it is not so.
func (s laptopNeeds) commonOffset() time.Duration {
	var all []time.Duration
	for i := range s.Laptops {
		if off, known := s.offset(&s.Laptops[i]); known {
			all = append(all, off)
		}
	}
	if len(all) < 2 || slices.Max(all)-slices.Min(all) > table.ClockSlack {
		return 0
	}
	if mean := (slices.Max(all) + slices.Min(all)) / 2; mean.Abs() > table.ClockSlack {
		return mean
	}
	return 0
}

// offset is how far the centre's clock was ahead of a laptop's that counts.
func (s laptopNeeds) offset(l *laptopState) (off time.Duration, known bool) {
	if l.Replaced || l.Revoked || l.Offset == nil {
		return 0, false
	}
	return time.Duration(*l.Offset) * time.Millisecond, true
}

func (s laptopNeeds) revokedNeed(l *laptopState) (n need, is bool) {
	e := l.of
	switch {
	case !l.Revoked || l.Wiped || !e.Wipe.IsZero():
		return n, false
	case e.Contact.At.After(e.Revoked) && s.now.since(e.Contact.At) > unmetAfter:
		n = s.need("laptop_revoked", "Laptop %s was revoked %s ago and was last met %s ago: it still holds its data. Have it clear its folder when it is met.", l.Name, s.ago(e.Revoked), s.ago(e.Contact.At))
	case e.Contact.At.After(e.Revoked):
		n = s.need("laptop_revoked", "Laptop %s was revoked %s ago and is still in use, met %s ago: its check-ins are kept, marked for review. Take it off the door, then have it clear its folder.", l.Name, s.ago(e.Revoked), s.ago(e.Contact.At))
	default:
		n = s.need("laptop_revoked", "Laptop %s was revoked %s ago and was not met since: it still holds its data. Have it clear its folder when it is met.", l.Name, s.ago(e.Revoked))
	}
	return n.run("venue", "wipe", s.called(l)), true
}

func (s laptopNeeds) clockNeed(l *laptopState) (n need, is bool) {
	off, known := s.offset(l)
	if !known || off.Abs() <= table.ClockSlack {
		return n, false
	}
	return s.need("laptop_clock", "The clock of laptop %s is %s this one: it judges no ticket by its times. Set the wrong clock right. If that of %s is right already, have the program there trust it.", l.Name, s.aside(off), l.Name).
		run("clock", "trust").at(l.Name), true
}

func (s laptopNeeds) backlogNeed(l *laptopState) (n need, is bool) {
	c := l.of.Contact
	unmet := s.now.since(c.At) > unmetAfter
	switch {
	case l.Revoked || c.At.IsZero():
		return n, false
	case c.Backlog > 0 && unmet:
		n = s.need("laptop_backlog", "Laptop %s has %s that %s not here%s, and was not met for %s. Look at its power and network, then at its own status.", l.Name, s.many(c.Backlog, "change"), s.are(c.Backlog), s.oldest(c.Oldest), s.ago(c.At))
	case c.Backlog > 0 && !c.Oldest.IsZero() && s.now.since(c.Oldest) > unmetAfter:
		n = s.need("laptop_backlog", "Laptop %s is met, but %s cannot be sent%s. The log of its serve says why, and its own status tells more.", l.Name, s.many(c.Backlog, "change"), s.oldest(c.Oldest))
	case unmet && s.isOn(l):
		n = s.need("laptop_unmet", "Laptop %s was not met for %s while its event is on: its check-ins of that time are not here. Look at its power and network, then at its own status.", l.Name, s.ago(c.At))
	default:
		return n, false
	}
	return n.run("status").at(l.Name), true
}

// isOn tells whether an event of a laptop is on: from an hour before its start to its end, and for an hour after its last scan.
func (s laptopNeeds) isOn(l *laptopState) bool {
	return slices.ContainsFunc(s.current, func(e door.CurrentEvent) bool {
		on := s.now.since(e.Start.Add(-time.Hour)) > 0 && s.now.until(e.End) > 0 || !e.Scanned.IsZero() && s.now.since(e.Scanned) < time.Hour
		return on && slices.Contains(l.Scopes, "event-"+strconv.FormatInt(e.ID, 10))
	})
}

func (s laptopNeeds) laptopEnds(l *laptopState) (n need, is bool) {
	if l.Revoked || l.ends.IsZero() || s.now.until(l.ends) > laptopSoon {
		return n, false
	}
	return s.need("laptop_credential", "The credential of laptop %s %s: enrol it again.", l.Name, s.ends(l.ends)).
		run(append([]string{"venue", "enrol", "--name", l.Name + " 2"}, enrolFlags(&l.of)...)...), true
}

// called names a laptop in a command: by its name, or by its number if another laptop has the same name.
func (s laptopNeeds) called(l *laptopState) string {
	others := slices.ContainsFunc(s.Laptops, func(o laptopState) bool { return o.ID != l.ID && strings.EqualFold(o.Name, l.Name) })
	if _, err := strconv.ParseInt(l.Name, 10, 64); err == nil || others || strings.HasPrefix(l.Name, "-") {
		return strconv.FormatInt(l.ID, 10)
	}
	return l.Name
}

// Laptop is an enrolled laptop as its managers see it. Until it has been met, nothing is known of it but its name and scopes.
type Laptop struct {
	ID          int64          `json:"id"`
	Name        string         `json:"name"`
	Scopes      []string       `json:"scopes"`               // the first 100
	MoreScopes  int            `json:"scopes_more,omitzero"` // how many there are besides
	LastContact jsontext.Value `json:"last_contact"`
	Backlog     *int           `json:"backlog"`
	Offset      *int64         `json:"clock_offset_ms"`
	Version     *string        `json:"version"`
	Revoked     bool           `json:"revoked"`
	Wiped       bool           `json:"wiped"`
}

// LaptopOf is the wire form of an enrolled laptop.
func LaptopOf(e office.Enrolled) Laptop {
	v := Laptop{
		ID: e.ID, Name: e.Name, LastContact: nullable.Time(e.Contact.At), Offset: e.Contact.Offset,
		Revoked: !e.Revoked.IsZero(), Wiped: !e.Wiped.IsZero(),
	}
	v.Scopes, v.MoreScopes = fault.First(append([]string{}, e.Scopes...))
	if !e.Contact.At.IsZero() {
		v.Backlog, v.Version = &e.Contact.Backlog, &e.Contact.Version
	}
	return v
}
