package overview

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"doorward/api/nullable"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/fault"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/table"

	"github.com/go-json-experiment/json/jsontext"
)

// need is something that a person has to do.
type need struct {
	Code    string   `json:"code"`
	Text    string   `json:"text"`    // whole sentences: the pages for phones show no command
	Command []string `json:"command"` // what to run, without the program and --data; empty = there is no command
	On      *string  `json:"on"`      // where to run it: the name of a laptop, or "centre"; null = here
	See     *string  `json:"see"`     // the path of a list that tells more
}

// run gives a need its command.
func (n *need) run(command ...string) *need {
	n.Command = command
	return n
}

// at says where the command is run.
func (n *need) at(place string) { n.On = &place }

// look names a list that tells more.
func (n *need) look(path string) { n.See = &path }

// need adds something to do, in the reader's language. The result is valid until the next one is added.
func (s needs) need(code, format string, args ...any) *need {
	s.Needs = append(s.Needs, need{Code: code, Text: s.say(format, args...), Command: []string{}})
	return &s.Needs[len(s.Needs)-1]
}

// When something needs a person.
const (
	unmetAfter      = 5 * time.Minute     // of the last contact, while something is still to come or an event is on
	backupAfter     = 48 * time.Hour      // of the last backup
	compactAfter    = 24 * time.Hour      // of an erasure
	keySoon         = 7 * 24 * time.Hour  // before the end of a key that is of no event
	laptopSoon      = 30 * 24 * time.Hour // before the end of a laptop's credential
	certificateSoon = 14 * 24 * time.Hour // before the end of the server's certificate
	keyGone         = 24 * time.Hour      // after the end of a key that is of no event
)

// needs adds what a person has to do to an overview.
type needs struct {
	*survey
	tongue
}

// add adds all needs, the most urgent first.
func (s needs) add() {
	s.ofStore()
	s.ofCentre()
	laptopNeeds{s, s.commonOffset()}.add()
	s.ofDoors()
	s.ofLists()
	s.ofUpkeep()
}

// ofStore are the needs of the store. Until they are met, doors get no answer, or a wrong one.
func (s needs) ofStore() {
	if !s.Overview.Served {
		s.need("not_served", "No server runs on this folder: no door is answered here.").run("serve")
	}
	if !s.State.Writable && !slices.Contains(s.State.Refused, "checkins") {
		s.need("store_stopped", "The store has stopped writing and doors are refused: %s. Mend the disk, start serve again, and check the store.", *s.State.Cause).run("verify")
	}
	if len(s.State.Refused) > 0 {
		s.need("disk_full", "The disk is nearly full: refused are %s. Make room on it; all goes on by itself.", s.words(s.State.Refused))
	}
	if s.State.Damaged {
		s.need("damaged", "Stored values are damaged: they are served to nobody, and figures here may be missing.").run("verify")
	}
	if s.Clock.Doubted {
		cause := s.word(*s.Clock.Cause)
		if off := s.Clock.Offset; off != nil && table.Doubt(*s.Clock.Cause) == table.OffPeer {
			cause = s.say("it is %s that of another machine", s.aside(time.Duration(*off)*time.Millisecond))
		}
		s.need("clock_doubted", "This machine's clock is doubted: %s. Look at it and set it. If it is right already, have this program trust it.", cause).run("clock", "trust")
	}
	if s.Erasures.Unfinished > 0 {
		s.need("erasures_unfinished", "%s could not be erased; nobody is shown them, and it is tried again. The log of serve says why.", s.many(s.Erasures.Unfinished, "record"))
	}
}

// ofCentre are the needs of a laptop that has a centre.
func (s needs) ofCentre() {
	c := s.Centre
	if c == nil {
		return
	}
	as := enrolledAs(&c.of)
	again := func(name string) []string { // which no laptop has that is not revoked
		return append([]string{"venue", "enrol", "--name", name}, enrolFlags(&as)...)
	}
	waits := ""
	if c.Backlog != nil && *c.Backlog > 0 {
		waits = s.say(", and %s%s cannot be sent", s.many(*c.Backlog, "change"), s.oldest(c.oldest))
	}
	switch left := c.of.Ends.Sub(s.now); {
	case c.Revoked:
		s.need("revoked", "This laptop is revoked at its centre: check-ins are marked for review, and nothing new comes. If it may go on, enrol it again there.").run(again(c.Name)...).at("centre")
	case !c.of.Ends.IsZero() && left <= laptopSoon:
		s.need("credential_ends", "The credential of this laptop %s: enrol it again.", s.ends(c.of.Ends)).run(again(c.Name + " 2")...).at("centre")
	}
	switch unmet := s.now.Sub(c.met); {
	case c.Revoked:
	case c.met.IsZero():
		s.need("centre_unmet", "The centre %s was never met%s. Look at the network; doors go on.", c.URL, waits)
	case unmet > unmetAfter:
		s.need("centre_unmet", "The centre %s was not met for %s%s. Look at the network; doors go on.", c.URL, s.lasting(unmet), waits)
	case waits != "" && !c.oldest.IsZero() && s.now.Sub(c.oldest) > unmetAfter:
		s.need("backlog", "The centre is met%s. The log of serve says why.", waits)
	}
	if zone := s.Store.Tables.Clock.Zone(); s.Overview.Served && isElsewhere(zone, c.of.Zone, s.now) { // without a server it is this command's own zone
		s.need("wrong_zone", "The time zone is %s here and %s at the centre: times are shown otherwise, and the days of a daily event begin at another moment. Start serve again where it is wrong.", zone, c.of.Zone).run("serve", "--timezone", c.of.Zone)
	}
	if len(c.Events) == 0 && slices.ContainsFunc(c.of.Pushes, func(name string) bool { return strings.HasPrefix(name, "event-") }) {
		s.need("no_event", "This laptop is ready for no event: what it was enrolled for is not here.")
	}
}

// isElsewhere tells whether the clocks of two zones differ on some day of the coming year. It is false for a name that this machine does not
// know, and for Local, which is another zone on each machine.
func isElsewhere(here *time.Location, name string, now time.Time) bool {
	there, err := time.LoadLocation(name)
	if name == "" || err != nil || there == time.Local {
		return false
	}
	for day := range 366 {
		at := now.AddDate(0, 0, day)
		_, a := at.In(here).Zone()
		_, b := at.In(there).Zone()
		if a != b {
			return true
		}
	}
	return false
}

// enrolFlags are the flags of venue enrol that let a laptop in for as much as this one is, and for no more.
func enrolFlags(e *office.Enrolled) (flags []string) {
	events := e.Events
	if e.Level.Name == auth.ChurchOf {
		flags = numbered(flags, "--church", e.Level.IDs)
	} else if e.Level.Name == auth.EventOf {
		events = e.Level.IDs
	}
	flags = numbered(flags, "--event", events)
	for _, f := range []struct {
		is   bool
		flag []string
	}{{e.Venue.Finance, []string{"--finance"}}, {e.Venue.Mirror, []string{"--mirror"}}, {!e.Venue.Names, []string{"--door-data", "labels"}}} {
		if f.is {
			flags = append(flags, f.flag...)
		}
	}
	return flags
}

func numbered(flags []string, flag string, ids []int64) []string {
	for _, id := range ids {
		flags = append(flags, flag, strconv.FormatInt(id, 10))
	}
	return flags
}

// enrolledAs is what this laptop was enrolled for. Only the databases that it exchanges with the centre tell.
func enrolledAs(u *table.Upstream) (e office.Enrolled) {
	churches, events := databaseIDs(u.Pushes, "church-"), databaseIDs(u.Pushes, "event-")
	switch {
	case len(churches) == 0:
		e.Level = auth.Level{Name: auth.EventOf, IDs: events}
	case u.Chosen:
		e.Level, e.Events = auth.Level{Name: auth.ChurchOf, IDs: churches}, events
	default:
		e.Level = auth.Level{Name: auth.ChurchOf, IDs: churches}
	}
	e.Venue.Finance = slices.ContainsFunc(churches, func(id int64) bool { return slices.Contains(u.Pushes, fmt.Sprintf("church-%d-finance", id)) })
	e.Venue.Mirror = slices.Contains(u.Pulls, "records")
	e.Venue.Names = len(events) == 0 || len(u.Pulls) == 0 || slices.ContainsFunc(u.Pulls, func(name string) bool { return strings.HasSuffix(name, "-names") })
	return e
}

// databaseIDs are the numbers of the databases with names of a prefix and a number.
func databaseIDs(names []string, prefix string) (ids []int64) {
	for _, name := range names {
		text, ok := strings.CutPrefix(name, prefix)
		if id, err := strconv.ParseInt(text, 10, 64); ok && err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

func (s needs) ofDoors() {
	for _, e := range s.Events {
		for _, d := range e.Doors {
			if d.Silent {
				s.need("door_silent", "The door %s of %s has scanned nobody for %s, while others do. Look at it.", d.Name, e.Name, s.ago(d.scanned))
			}
		}
	}
	for i := range s.Keys {
		s.ofKey(&s.Keys[i])
	}
}

// ofKey tells of a key that ends before its event does, or of another one that ends within a week.
func (s needs) ofKey(k *keyState) {
	left := k.of.Expires.Sub(s.now)
	is := left < keySoon && left > -keyGone
	if k.of.Level.Name == auth.EventOf {
		is = slices.ContainsFunc(s.current, func(e door.CurrentEvent) bool {
			return slices.Contains(k.of.Level.IDs, e.ID) && k.of.Expires.Before(e.End) && e.End.Sub(s.now) > 0
		})
	}
	if !is {
		return
	}
	command := []string{"keys", "add", "--name", k.Name, "--level", k.Level}
	if len(k.of.Permissions) > 0 {
		var allow []string
		for _, p := range k.of.Permissions {
			allow = append(allow, p.String())
		}
		command = append(command, "--allow", strings.Join(allow, ","))
	}
	s.need("key_ends", "The key %s of %s %s. Make another one if it is needed longer.", k.Name, k.Level, s.ends(k.of.Expires)).
		run(append(command, "--expires", "48h")...)
}

// ofLists are the needs for staff: what they have to decide or to look at. An item that never leaves its list counts only for current events.
func (s needs) ofLists() {
	for i := range s.Events {
		e := &s.Events[i]
		list := "/admin/v1/double_entries/?event_id=" + strconv.FormatInt(e.ID, 10)
		if e.LetIn > 0 {
			s.need("let_in", "Let in by a phone at %s while the laptop was away, with a ticket that is refused: %s. Look at who it was.", e.Name, s.many(e.LetIn, "guest")).look(list)
		}
		if n := e.Doubles - e.LetIn; n > 0 {
			s.need("double_entries", "Let in twice at %s, or with a ticket that is cancelled: %s. Nobody is turned out; look at who it was.", e.Name, s.many(n, "check-in")).look(list)
		}
	}
	for i := range s.Events {
		if e := &s.Events[i]; e.Reviews > 0 {
			s.need("reviews", "To be reviewed at %s: %s of a revoked laptop or a doubted clock.", e.Name, s.many(e.Reviews, "scan")).
				look("/admin/v1/reviews/?event_id=" + strconv.FormatInt(e.ID, 10))
		}
	}
	if s.Conflicts > 0 {
		s.need("conflicts", "%s to be decided: two people changed one field.", s.many(s.Conflicts, "conflict")).look("/admin/v1/conflicts/")
	}
	if s.Refusals > 0 {
		s.need("refusals", "%s of laptops or other stores to be applied or dropped.", s.many(s.Refusals, "refused document")).look("/admin/v1/refusals/")
	}
}

// ofUpkeep are the needs that can wait until the evening is over.
func (s needs) ofUpkeep() {
	if s.Verify != nil && s.Verify.Faults > 0 {
		s.need("verify_faults", "The last check of every value found %s.", s.many(int(s.Verify.Faults), "fault")).run("verify")
	}
	if c := s.Certificate; c != nil && !c.ends.IsZero() && c.ends.Sub(s.now) < certificateSoon {
		s.need("certificate_ends", "The certificate by which clients reach this server %s. Put the next one in the place of its files.", s.ends(c.ends))
	}
	s.ofBackup()
	if since := s.Erasures.since; !since.IsZero() && s.now.Sub(since) > compactAfter {
		s.need("compaction_due", "The bytes of %s are still in the file, since %s ago.", s.many(s.Erasures.Uncompacted, "erased record"), s.ago(since)).run("compact")
	}
}

// ofBackup tells of a centre that holds something and has no backup of late. What a laptop holds the centre has.
func (s needs) ofBackup() {
	name := "doorward-" + s.now.In(s.Store.Tables.Clock.Zone()).Format(time.DateOnly) + ".db"
	switch b := s.Backup; {
	case s.Centre != nil || s.Records[record.Person.Name]+s.Records[record.Event.Name]+s.Records[record.FinancialEntry.Name] == 0:
	case b == nil && !s.restored.IsZero():
		s.need("backup_due", "No backup was made since this store was restored from one, %s ago. Make one, on another disk.", s.ago(s.restored)).run("backup", name)
	case b == nil:
		s.need("backup_due", "No backup was ever made of this store. Make one, on another disk.").run("backup", name)
	case s.now.Sub(b.of.At).Abs() > backupAfter: // a clock that was ahead says nothing of its age
		s.need("backup_due", "The last backup is %s old. Make one, on another disk.", s.ago(b.of.At)).run("backup", filepath.Join(filepath.Dir(b.of.Path), name))
	}
}

// laptopNeeds adds what a person has to do about a centre's laptops.
type laptopNeeds struct {
	needs
	common time.Duration // how far the centre's clock is ahead of all of them
}

// add adds the needs of a centre's laptops: revoked ones in use, then wrong clocks, then changes that do not come.
func (s laptopNeeds) add() {
	if s.common != 0 {
		s.need("clock_of_all", "The clocks of all laptops that were met are about %s this one: this machine's own may be wrong. Look at it first.", s.aside(s.common))
	}
	for _, of := range []func(*laptopState){s.ofRevoked, s.ofClock, s.ofBacklog, s.ofCredential} {
		for i := range s.Laptops {
			l := &s.Laptops[i]
			if l.Replaced || l.of.Joined.IsZero() {
				continue
			}
			before := len(s.Needs)
			of(l)
			for _, n := range s.Needs[before:] {
				l.Needs = append(l.Needs, n.Code)
			}
		}
	}
}

// commonOffset is how far the centre's clock is ahead of all the laptops that were met, where that is at least two, they agree within two
// minutes, and it is too far; 0 = it is not so.
func (s needs) commonOffset() time.Duration {
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
func (s needs) offset(l *laptopState) (off time.Duration, known bool) {
	if l.Replaced || l.Revoked || l.Offset == nil {
		return 0, false
	}
	return time.Duration(*l.Offset) * time.Millisecond, true
}

func (s laptopNeeds) ofRevoked(l *laptopState) {
	e, wipe := l.of, []string{"venue", "wipe", s.called(l)}
	switch {
	case !l.Revoked || l.Wiped || !e.Wipe.IsZero():
	case e.Contact.At.After(e.Revoked) && s.now.Sub(e.Contact.At) > unmetAfter:
		s.need("laptop_revoked", "Laptop %s was revoked %s ago and was last met %s ago: it still holds its data. Have it clear its folder when it is met.", l.Name, s.ago(e.Revoked), s.ago(e.Contact.At)).run(wipe...)
	case e.Contact.At.After(e.Revoked):
		s.need("laptop_revoked", "Laptop %s was revoked %s ago and is still in use, met %s ago: its check-ins are kept, marked for review. Take it off the door, then have it clear its folder.", l.Name, s.ago(e.Revoked), s.ago(e.Contact.At)).run(wipe...)
	default:
		s.need("laptop_revoked", "Laptop %s was revoked %s ago and was not met since: it still holds its data. Have it clear its folder when it is met.", l.Name, s.ago(e.Revoked)).run(wipe...)
	}
}

func (s laptopNeeds) ofClock(l *laptopState) {
	off, known := s.offset(l)
	if s.common != 0 || !known || off.Abs() <= table.ClockSlack {
		return
	}
	s.need("laptop_clock", "The clock of laptop %s is %s this one: it judges no ticket by its times. Set the wrong clock right. If that of %s is right already, have the program there trust it.", l.Name, s.aside(off), l.Name).
		run("clock", "trust").at(l.Name)
}

func (s laptopNeeds) ofBacklog(l *laptopState) {
	c := l.of.Contact
	unmet := s.now.Sub(c.At) > unmetAfter
	switch {
	case l.Revoked || c.At.IsZero():
	case c.Backlog > 0 && unmet:
		s.need("laptop_backlog", "Laptop %s has %s that %s not here%s, and was not met for %s. Look at its power and network, then at its own status.", l.Name, s.many(c.Backlog, "change"), s.are(c.Backlog), s.oldest(c.Oldest), s.ago(c.At)).run("status").at(l.Name)
	case c.Backlog > 0 && !c.Oldest.IsZero() && s.now.Sub(c.Oldest) > unmetAfter:
		s.need("laptop_backlog", "Laptop %s is met, but %s cannot be sent%s. The log of its serve says why, and its own status tells more.", l.Name, s.many(c.Backlog, "change"), s.oldest(c.Oldest)).run("status").at(l.Name)
	case unmet && s.isOn(l):
		s.need("laptop_unmet", "Laptop %s was not met for %s while its event is on: its check-ins of that time are not here. Look at its power and network, then at its own status.", l.Name, s.ago(c.At)).run("status").at(l.Name)
	}
}

// isOn tells whether an event of a laptop is on: from an hour before its start to its end, and for an hour after its last scan.
func (s laptopNeeds) isOn(l *laptopState) bool {
	return slices.ContainsFunc(s.current, func(e door.CurrentEvent) bool {
		on := s.now.Sub(e.Start.Add(-time.Hour)) > 0 && e.End.Sub(s.now) > 0 || !e.Scanned.IsZero() && s.now.Sub(e.Scanned) < time.Hour
		return on && slices.Contains(l.Scopes, "event-"+strconv.FormatInt(e.ID, 10))
	})
}

func (s laptopNeeds) ofCredential(l *laptopState) {
	if l.Revoked || l.ends.IsZero() || l.ends.Sub(s.now) > laptopSoon {
		return
	}
	s.need("laptop_credential", "The credential of laptop %s %s: enrol it again.", l.Name, s.ends(l.ends)).
		run(append([]string{"venue", "enrol", "--name", l.Name + " 2"}, enrolFlags(&l.of)...)...)
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
