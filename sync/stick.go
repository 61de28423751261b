package sync

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"doorward/kv/auth"
	"doorward/kv/laptop"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/sync/dial"
	"doorward/sync/line"
	"doorward/sync/replicate"
	"doorward/sync/transit"
)

// errNoLaptop says that a store has joined no centre, so no file is one of its centre.
var errNoLaptop = errors.New("the store is no laptop's")

// errOldStick refuses a file of all records if no line says in which databases its record is.
const errOldStick = laptop.NotTaken("the file does not say which databases its records are in, as those that --plain or an older Doorward wrote: write another one at the centre")

// showStick says whose laptop this is, so that a person's command knows that it can give it a file of the centre.
func showStick(c *call) error {
	u, err := mayTakeStick(c)
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, replicate.StickTaker{Centre: u.URL, Node: c.store().Tables.Identity.Node()})
}

// mayTakeStick returns the centre of this laptop, if the caller may give it a file.
func mayTakeStick(c *call) (u table.Upstream, err error) {
	if err := c.caller.CheckRule(); err != nil {
		return u, err
	}
	u, joined, err := c.store().Laptop.Upstream()
	if err == nil && !joined {
		err = errNoLaptop
	}
	return u, err
}

// takeStick takes of a file of the centre what the laptop takes along. It writes as the laptop's own link does: each record comes through the
// database by which the centre would give it. What the laptop has already is not written again.
func takeStick(c *call) error {
	if _, err := mayTakeStick(c); err != nil {
		return err
	}
	if c.request.Header.Get("Content-Encoding") != "zstd" {
		return errMedia
	}
	f, err := replicate.OpenFile(c.request.Body)
	if err != nil {
		return err
	}
	head := f.Head()
	t, err := c.store().Laptop.Take(c.caller, laptop.Stick{Realm: head.Realm, Node: head.Node, Epoch: head.Epoch})
	if err != nil {
		return err
	}
	s := &stick{call: c, taking: t, head: head, done: map[string]*replicate.StickDatabase{}, left: map[string]*record.Kind{}}
	err = f.Feed(c.request.Context(), replicate.Wish{Records: true}, s.take)
	report, failed := s.report()
	switch {
	case errors.Is(err, replicate.ErrFileCut):
		report.Error = err.Error()
	case err != nil || failed != nil:
		return errors.Join(err, failed)
	case s.silent():
		return errOldStick
	}
	return c.reply(http.StatusOK, report)
}

// stick is a file that a laptop takes.
type stick struct {
	call   *call
	taking *laptop.Taking
	head   line.Head
	done   map[string]*replicate.StickDatabase
	left   map[string]*record.Kind // the databases of what is not taken, each with a kind that is in it
	unsaid int                     // lines that do not say in which databases their record is
	said   int                     // lines that do, or have been taken all the same
}

// silent reports whether nothing is known of what is in the file.
func (s *stick) silent() bool { return s.unsaid > 0 && s.said == 0 }

// take takes what is the laptop's of some lines.
func (s *stick) take(b *replicate.Batch) error {
	if len(b.Denied) > 0 {
		d := s.database(s.head.DB)
		d.Refused += len(b.Denied)
		d.Denied = append(d.Denied, b.Denied...)
	}
	parts := map[string][]*transit.Revision{}
	var names []string // in the order of the lines
	for _, x := range b.Revisions {
		name, err := s.place(x)
		switch {
		case err != nil:
			return err
		case name == "":
			continue
		case parts[name] == nil:
			names = append(names, name)
		}
		parts[name] = append(parts[name], x)
	}
	for _, name := range names {
		if err := s.write(s.call.request.Context(), name, parts[name]); err != nil {
			return err
		}
	}
	return nil
}

// place returns the database that a record goes to; "" = the laptop does not take it.
func (s *stick) place(x *transit.Revision) (string, error) {
	in := x.Scopes
	if len(in) == 0 {
		in = []string{s.head.DB}
	}
	k, _, _ := record.ParseDocID(x.ID) // nil for an id of an unknown kind
	name, err := s.taking.Of(k, in)
	if name == "" && in[0] == table.Mirror {
		s.unsaid++
	} else {
		s.said++
	}
	if err != nil || name != "" {
		return name, err
	}
	for _, name := range in {
		if table.OfRecords(name) {
			s.left[name] = k
		}
	}
	return "", nil
}

// write writes what the laptop lacks of some records of a database.
func (s *stick) write(ctx context.Context, name string, revisions []*transit.Revision) error {
	d := s.database(name)
	own, err := replicate.OpenLocal(s.call.store(), auth.Operator(), name)
	if err != nil {
		return err
	}
	var offers []merge.Revs
	for _, x := range revisions {
		offers = append(offers, merge.Revs{ID: x.ID, Revisions: x.Path[:1:1]})
	}
	missing, err := own.Missing(ctx, offers)
	if err != nil {
		return err
	}
	lacks := map[string][]rev.ID{}
	for _, m := range missing {
		lacks[m.ID] = append(lacks[m.ID], m.Missing...)
	}
	d.Read += len(revisions)
	revisions = slices.DeleteFunc(revisions, func(x *transit.Revision) bool { return !slices.Contains(lacks[x.ID], x.Rev()) })
	denied, err := own.Write(ctx, revisions)
	d.Written += len(revisions) - len(denied)
	d.Refused += len(denied)
	d.Denied = append(d.Denied, denied...)
	s.call.server.metrics.received.Add(float64(len(revisions) - len(denied)))
	return err
}

// database is what was taken of a database.
func (s *stick) database(name string) *replicate.StickDatabase {
	if s.done[name] == nil {
		s.done[name] = &replicate.StickDatabase{DB: name}
	}
	return s.done[name]
}

// report says what was taken, and what was left out.
func (s *stick) report() (r replicate.StickReport, err error) {
	for name, d := range s.done {
		d.Denied = d.Denied[:min(len(d.Denied), mostDenied)]
		r.Databases = append(r.Databases, *d)
		delete(s.left, name) // only some of its kinds are the laptop's
	}
	for name, k := range s.left {
		r.LeftOut = append(r.LeftOut, name)
		is, failed := s.taking.Of(k, []string{name})
		r.Again, err = r.Again || is != "", errors.Join(err, failed) // its event has come after it
	}
	slices.SortFunc(r.Databases, func(a, b replicate.StickDatabase) int { return strings.Compare(a.DB, b.DB) })
	slices.Sort(r.LeftOut)
	return r, err
}

// mostDenied is how many refused records a report names of each database.
const mostDenied = 1000

// alongOf returns what the laptop takes along that a parameter of a request names, and nil if there is no parameter.
func alongOf(c *call) (office.Along, error) {
	text := c.query.Get(dial.ParameterFor)
	if text == "" {
		return nil, nil
	}
	if !c.caller.IsOperator() || c.db.Name() != table.Mirror {
		return nil, errQuery
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, errQuery
	}
	c.Header().Set(dial.HeaderFor, text)
	return c.store().Venues.AlongOf(c.caller, id)
}

// isAlong reports whether a laptop takes a record along.
func isAlong(a office.Along, x *transit.Revision) bool {
	k, _, _ := record.ParseDocID(x.ID) // nil for an id of an unknown kind
	in := x.Scopes
	if len(in) == 0 {
		in = []string{table.Mirror}
	}
	return slices.ContainsFunc(in, func(name string) bool { return a.Takes(k, name) })
}
