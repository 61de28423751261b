package api

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"doorward/kv"
	"doorward/kv/record"
)

// need is something that a person has to do.
type need struct {
	Code    string   `json:"code"`
	Text    string   `json:"text"`
	Command []string `json:"command"` // what to run, without the program and --data; empty = there is no such command
	On      *string  `json:"on"`      // the laptop whose folder the command is for, or "centre"; null = this one
	See     *string  `json:"see"`     // the path of a list that tells more
}

// run gives a need its command.
func (n need) run(command ...string) need {
	n.Command = command
	return n
}

// at says where the command is run.
func (n need) at(place string) need {
	n.On = &place
	return n
}

// look names a list that tells more.
func (n need) look(path string) need {
	n.See = &path
	return n
}

func needOf(code, format string, args ...any) need {
	return need{Code: code, Text: fmt.Sprintf(format, args...), Command: []string{}}
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

// needs are what a person has to do, the most urgent first.
func (s *surveying) needs() (all []need) {
	for _, of := range []func() []need{s.storeNeeds, s.centreNeeds, s.laptopNeeds, s.doorNeeds, s.listNeeds, s.upkeepNeeds} {
		all = append(all, of()...)
	}
	return all
}

// storeNeeds are those without which no door is answered, or not as it should be.
func (s *surveying) storeNeeds() (all []need) {
	if !s.Served {
		all = append(all, needOf("not_served", "No server runs on this folder: no door is answered here.").run("serve"))
	}
	if !s.Store.Writable && !slices.Contains(s.Store.Refused, "checkins") {
		all = append(all, needOf("store_stopped", "The store has stopped writing and doors are refused: %s. Mend the disk, start serve again, and check the store.", *s.Store.Cause).run("verify"))
	}
	if len(s.Store.Refused) > 0 {
		all = append(all, needOf("disk_full", "The disk is nearly full: refused are %s. Make room on it; all goes on by itself.", strings.Join(s.Store.Refused, ", ")))
	}
	if s.Store.Damaged {
		all = append(all, needOf("damaged", "Stored values are damaged: they are served to nobody, and figures here may be missing.").run("verify"))
	}
	if s.Clock.Doubted {
		cause := *s.Clock.Cause
		if off := s.Clock.Offset; off != nil && kv.Doubt(cause) == kv.OffPeer {
			cause = "it is " + aside(time.Duration(*off)*time.Millisecond) + " that of another machine"
		}
		all = append(all, needOf("clock_doubted", "This machine's clock is doubted: %s. Look at it and set it; if it is right:", cause).run("clock", "trust"))
	}
	if s.Erasures.Unfinished > 0 {
		all = append(all, needOf("erasures_unfinished", "%s could not be erased; nobody is shown them, and it is tried again. The log of serve says why.", many(s.Erasures.Unfinished, "record")))
	}
	return all
}

// centreNeeds are those of a laptop.
func (s *surveying) centreNeeds() (all []need) {
	c := s.Centre
	if c == nil {
		return nil
	}
	as := enrolledAs(&c.of)
	again := func(name string) []string { // which no laptop has that is not revoked
		return append([]string{"venue", "enrol", "--name", name}, enrolFlags(&as)...)
	}
	waits := ""
	if c.Backlog != nil && *c.Backlog > 0 {
		waits = ", and " + many(*c.Backlog, "change") + s.oldest(c.oldest) + " cannot be sent"
	}
	switch left := c.of.Ends.Sub(s.now); {
	case c.Revoked:
		all = append(all, needOf("revoked", "This laptop is revoked at its centre: check-ins are marked for review, and nothing new comes. If it may go on, enrol it again:").run(again(c.Name)...).at("centre"))
	case !c.of.Ends.IsZero() && left <= laptopSoon:
		all = append(all, needOf("credential_ends", "The credential of this laptop %s: enrol it again.", s.ends(c.of.Ends)).run(again(c.Name+" 2")...).at("centre"))
	}
	switch unmet := s.now.Sub(c.met); {
	case c.Revoked:
	case c.met.IsZero():
		all = append(all, needOf("centre_unmet", "The centre %s was never met%s. Look at the network; doors go on.", c.URL, waits))
	case unmet > unmetAfter:
		all = append(all, needOf("centre_unmet", "The centre %s was not met for %s%s. Look at the network; doors go on.", c.URL, Lasting(unmet), waits))
	case waits != "" && !c.oldest.IsZero() && s.now.Sub(c.oldest) > unmetAfter:
		all = append(all, needOf("backlog", "The centre is met%s. The log of serve says why.", waits))
	}
	if len(c.Events) == 0 && slices.ContainsFunc(c.of.Pushes, func(name string) bool { return strings.HasPrefix(name, "event-") }) {
		all = append(all, needOf("no_event", "This laptop is ready for no event: what it was enrolled for is not here."))
	}
	return all
}

// enrolFlags are the flags of venue enrol that let a laptop in for as much as this one is, and for no more.
func enrolFlags(e *kv.Enrolled) (flags []string) {
	events := e.Events
	if e.Level.Name == kv.ChurchOf {
		flags = numbered(flags, "--church", e.Level.IDs)
	} else if e.Level.Name == kv.EventOf {
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

// enrolledAs is what this laptop was enrolled for, as far as the databases tell that the centre takes from it and gives.
func enrolledAs(u *kv.Upstream) (e kv.Enrolled) {
	churches, events := databaseIDs(u.Pushes, "church-"), databaseIDs(u.Pushes, "event-")
	switch {
	case len(churches) == 0:
		e.Level = kv.Level{Name: kv.EventOf, IDs: events}
	case u.Chosen:
		e.Level, e.Events = kv.Level{Name: kv.ChurchOf, IDs: churches}, events
	default:
		e.Level = kv.Level{Name: kv.ChurchOf, IDs: churches}
	}
	e.Venue.Finance = slices.ContainsFunc(churches, func(id int64) bool { return slices.Contains(u.Pushes, fmt.Sprintf("church-%d-finance", id)) })
	e.Venue.Mirror = slices.Contains(u.Pulls, "records")
	e.Venue.Names = len(events) == 0 || len(u.Pulls) == 0 || slices.ContainsFunc(u.Pulls, func(name string) bool { return strings.HasSuffix(name, "-names") })
	return e
}

// databaseIDs are the numbers of the databases whose names are a prefix and a number.
func databaseIDs(names []string, prefix string) (ids []int64) {
	for _, name := range names {
		text, ok := strings.CutPrefix(name, prefix)
		if id, err := strconv.ParseInt(text, 10, 64); ok && err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// laptopNeeds are those of a centre's laptops: who is revoked and still about, then wrong clocks, then what does not come.
func (s *surveying) laptopNeeds() (all []need) {
	common := s.commonOffset()
	if common != 0 {
		all = append(all, needOf("clock_of_all", "The clocks of all laptops that were met are about %s this one: this machine's own may be wrong. Look at it first.", aside(common)))
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
func (s *surveying) commonOffset() time.Duration {
	var all []time.Duration
	for i := range s.Laptops {
		if off, known := s.offset(&s.Laptops[i]); known {
			all = append(all, off)
		}
	}
	if len(all) < 2 || slices.Max(all)-slices.Min(all) > kv.ClockSlack {
		return 0
	}
	if mean := (slices.Max(all) + slices.Min(all)) / 2; mean.Abs() > kv.ClockSlack {
		return mean
	}
	return 0
}

// offset is how far the centre's clock was ahead of a laptop's that counts.
func (s *surveying) offset(l *laptopState) (off time.Duration, known bool) {
	if l.Replaced || l.Revoked || l.Offset == nil {
		return 0, false
	}
	return time.Duration(*l.Offset) * time.Millisecond, true
}

func (s *surveying) revokedNeed(l *laptopState) (n need, is bool) {
	e := l.of
	switch {
	case !l.Revoked || l.Wiped || !e.Wipe.IsZero():
		return n, false
	case e.Contact.At.After(e.Revoked) && s.now.Sub(e.Contact.At) > unmetAfter:
		n = needOf("laptop_revoked", "Laptop %s was revoked %s ago and was last met %s ago: it still holds its data. Have it clear its folder when it is met:", l.Name, s.ago(e.Revoked), s.ago(e.Contact.At))
	case e.Contact.At.After(e.Revoked):
		n = needOf("laptop_revoked", "Laptop %s was revoked %s ago and is still in use, met %s ago: its check-ins are kept, marked for review. Take it off the door, then have it clear its folder:", l.Name, s.ago(e.Revoked), s.ago(e.Contact.At))
	default:
		n = needOf("laptop_revoked", "Laptop %s was revoked %s ago and was not met since: it still holds its data. Have it clear its folder when it is met:", l.Name, s.ago(e.Revoked))
	}
	return n.run("venue", "wipe", s.called(l)), true
}

func (s *surveying) clockNeed(l *laptopState) (n need, is bool) {
	off, known := s.offset(l)
	if !known || off.Abs() <= kv.ClockSlack {
		return n, false
	}
	return needOf("laptop_clock", "The clock of laptop %s is %s this one: it judges no ticket by its times. Set the wrong clock right; if that of %s is right, run there:", l.Name, aside(off), l.Name).
		run("clock", "trust").at(l.Name), true
}

func (s *surveying) backlogNeed(l *laptopState) (n need, is bool) {
	c := l.of.Contact
	unmet := s.now.Sub(c.At) > unmetAfter
	switch {
	case l.Revoked || c.At.IsZero():
		return n, false
	case c.Backlog > 0 && unmet:
		n = needOf("laptop_backlog", "Laptop %s has %s that %s not here%s, and was not met for %s. Look at its power and network; then run there:", l.Name, many(c.Backlog, "change"), are(c.Backlog), s.oldest(c.Oldest), s.ago(c.At))
	case c.Backlog > 0 && !c.Oldest.IsZero() && s.now.Sub(c.Oldest) > unmetAfter:
		n = needOf("laptop_backlog", "Laptop %s is met, but %s cannot be sent%s. The log of its serve says why; run there:", l.Name, many(c.Backlog, "change"), s.oldest(c.Oldest))
	case unmet && s.isOn(l):
		n = needOf("laptop_unmet", "Laptop %s was not met for %s while its event is on: its check-ins of that time are not here. Look at its power and network; then run there:", l.Name, s.ago(c.At))
	default:
		return n, false
	}
	return n.run("status").at(l.Name), true
}

// isOn tells whether an event of a laptop is on: from an hour before its start to its end, and for an hour after its last scan.
func (s *surveying) isOn(l *laptopState) bool {
	return slices.ContainsFunc(s.current, func(e kv.CurrentEvent) bool {
		on := s.now.After(e.Start.Add(-time.Hour)) && s.now.Before(e.End) || !e.Scanned.IsZero() && s.now.Sub(e.Scanned) < time.Hour
		return on && slices.Contains(l.Scopes, "event-"+strconv.FormatInt(e.ID, 10))
	})
}

func (s *surveying) laptopEnds(l *laptopState) (n need, is bool) {
	if l.Revoked || l.ends.IsZero() || l.ends.Sub(s.now) > laptopSoon {
		return n, false
	}
	return needOf("laptop_credential", "The credential of laptop %s %s: enrol it again.", l.Name, s.ends(l.ends)).
		run(append([]string{"venue", "enrol", "--name", l.Name + " 2"}, enrolFlags(&l.of)...)...), true
}

// called is what a laptop is called in a command: its name, or its number where another one may be meant.
func (s *surveying) called(l *laptopState) string {
	others := slices.ContainsFunc(s.Laptops, func(o laptopState) bool { return o.ID != l.ID && strings.EqualFold(o.Name, l.Name) })
	if _, err := strconv.ParseInt(l.Name, 10, 64); err == nil || others || strings.HasPrefix(l.Name, "-") {
		return strconv.FormatInt(l.ID, 10)
	}
	return l.Name
}

func (s *surveying) doorNeeds() (all []need) {
	for _, e := range s.Events {
		for _, d := range e.Doors {
			if d.Silent {
				all = append(all, needOf("door_silent", "The door %s of %s has scanned nobody for %s, while others do. Look at it.", d.Name, e.Name, s.ago(d.scanned)))
			}
		}
	}
	for i := range s.Keys {
		if n, is := s.keyNeed(&s.Keys[i]); is {
			all = append(all, n)
		}
	}
	return all
}

// keyNeed tells of a key that ends before its event does, or of another one that ends within a week.
func (s *surveying) keyNeed(k *keyState) (n need, is bool) {
	left := k.of.Expires.Sub(s.now)
	is = left < keySoon && left > -keyGone
	if k.of.Level.Name == kv.EventOf {
		is = slices.ContainsFunc(s.current, func(e kv.CurrentEvent) bool {
			return slices.Contains(k.of.Level.IDs, e.ID) && k.of.Expires.Before(e.End) && s.now.Before(e.End)
		})
	}
	command := []string{"keys", "add", "--name", k.Name, "--level", k.Level}
	if len(k.of.Permissions) > 0 {
		var allow []string
		for _, p := range k.of.Permissions {
			allow = append(allow, p.String())
		}
		command = append(command, "--allow", strings.Join(allow, ","))
	}
	return needOf("key_ends", "The key %s of %s %s. Whoever needs it longer gets another one:", k.Name, k.Level, s.ends(k.of.Expires)).
		run(append(command, "--expires", "48h")...), is
}

// listNeeds are what staff have to decide or to look at. Of what can never leave its list, only the current events' counts.
func (s *surveying) listNeeds() (all []need) {
	for i := range s.Events {
		e := &s.Events[i]
		if e.Doubles > 0 {
			all = append(all, needOf("double_entries", "%s let in twice at %s, or with a ticket that is cancelled. Nobody is turned out; look at who it was.", were(e.Doubles), e.Name).
				look("/admin/v1/double_entries/?event_id="+strconv.FormatInt(e.ID, 10)))
		}
	}
	for i := range s.Events {
		if e := &s.Events[i]; e.Reviews > 0 {
			all = append(all, needOf("reviews", "To be reviewed at %s: %s of a revoked laptop or a doubted clock.", e.Name, many(e.Reviews, "scan")).
				look("/admin/v1/reviews/?event_id="+strconv.FormatInt(e.ID, 10)))
		}
	}
	if s.Conflicts > 0 {
		all = append(all, needOf("conflicts", "%s to be decided: two people changed one field.", many(s.Conflicts, "conflict")).look(conflicts.path))
	}
	if s.Refusals > 0 {
		all = append(all, needOf("refusals", "%s of laptops or other stores to be applied or dropped.", many(s.Refusals, "refused document")).look(refusals.path))
	}
	return all
}

// upkeepNeeds are what can wait until the evening is over.
func (s *surveying) upkeepNeeds() (all []need) {
	if s.Verify != nil && s.Verify.Faults > 0 {
		all = append(all, needOf("verify_faults", "The last check of every value found %s.", many(int(s.Verify.Faults), "fault")).run("verify"))
	}
	if c := s.Certificate; c != nil && !c.ends.IsZero() && c.ends.Sub(s.now) < certificateSoon {
		all = append(all, needOf("certificate_ends", "The certificate by which clients reach this server %s. Put the next one in the place of its files.", s.ends(c.ends)))
	}
	if n, is := s.backupNeed(); is {
		all = append(all, n)
	}
	if since := s.Erasures.since; !since.IsZero() && s.now.Sub(since) > compactAfter {
		all = append(all, needOf("compaction_due", "The bytes of %s are still in the file, since %s ago.", many(s.Erasures.Uncompacted, "erased record"), s.ago(since)).run("compact"))
	}
	return all
}

// backupNeed tells of a centre that holds something and has no backup of late. What a laptop holds the centre has.
func (s *surveying) backupNeed() (n need, is bool) {
	name := "doorward-" + s.now.In(s.store().Zone()).Format(time.DateOnly) + ".db"
	switch b := s.Backup; {
	case s.Centre != nil || s.Records[record.Person.Name]+s.Records[record.Event.Name]+s.Records[record.FinancialEntry.Name] == 0:
		return n, false
	case b == nil:
		n = needOf("backup_due", "No backup was ever made of this store. Make one, on another disk:")
	case s.now.Sub(b.of.At) > backupAfter:
		n = needOf("backup_due", "The last backup is %s old. Make one, on another disk:", s.ago(b.of.At))
		name = filepath.Join(filepath.Dir(b.of.Path), name)
	default:
		return n, false
	}
	return n.run("backup", name), true
}

// ago is how long ago something was.
func (s *surveying) ago(at time.Time) string { return Lasting(s.now.Sub(at)) }

// oldest says how old the oldest of some changes is.
func (s *surveying) oldest(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return " (the oldest " + s.ago(at) + " old)"
}

// ends says when something ends or has ended.
func (s *surveying) ends(at time.Time) string {
	if at.After(s.now) {
		return "ends in " + Lasting(at.Sub(s.now))
	}
	return "has ended " + s.ago(at) + " ago"
}

// Lasting is a time as people say it.
func Lasting(d time.Duration) string {
	in := func(unit time.Duration, name string) string {
		return strconv.FormatInt(int64(d.Round(unit)/unit), 10) + " " + name
	}
	switch d = d.Abs(); {
	case d < 2*time.Minute:
		return in(time.Second, "s")
	case d < 2*time.Hour:
		return in(time.Minute, "min")
	case d < 48*time.Hour:
		return in(time.Hour, "h")
	}
	return in(24*time.Hour, "days")
}

// aside is where a clock is against this one, which is so far ahead of it.
func aside(ahead time.Duration) string {
	if ahead > 0 {
		return Lasting(ahead) + " behind"
	}
	return Lasting(ahead) + " ahead of"
}

func many(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func were(n int) string {
	if n == 1 {
		return "1 person was"
	}
	return strconv.Itoa(n) + " people were"
}
