package api

import (
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"doorward/api/overview"
	"doorward/kv/auth"
	"doorward/kv/fault"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/table"
)

// listVenues answers GET of the laptops that are enrolled.
func listVenues(x *exchange) error {
	all, err := x.store().Venues.Venues(x.caller)
	if err != nil {
		return err
	}
	l := x.listing()
	page := within(l, all)
	views := make([]overview.Laptop, len(page))
	for i, e := range page {
		views[i] = overview.LaptopOf(e)
	}
	return l.replyWith(views, len(all))
}

// enrolForm is what a laptop is to be enrolled for.
type enrolForm struct {
	Name     string  `json:"name"`
	Events   []int64 `json:"events"`
	Churches []int64 `json:"churches"`
	Finance  bool    `json:"finance"`
	Mirror   bool    `json:"mirror"`
	DoorData string  `json:"door_data"` // names or labels
}

// invited is a code by which a laptop may join. The code stands behind the URL's #, which no browser sends and no server logs.
type invited struct {
	ID      int64     `json:"id"`
	Code    string    `json:"code"`
	URL     string    `json:"url"` // "" where the server does not know its own
	Expires time.Time `json:"expires_at"`
}

// controlEnrol makes a code by which one laptop may join.
func controlEnrol(x *exchange, r *http.Request) error {
	var form enrolForm
	if err := json.UnmarshalRead(http.MaxBytesReader(x, r.Body, maxHeaders), &form); err != nil {
		return errUnreadable
	}
	e, err := form.enrolment()
	if err != nil {
		return err
	}
	id, code, ends, err := x.store().Venues.Enrol(x.caller, e)
	if err != nil {
		return err
	}
	in := invited{ID: id, Code: code, Expires: ends.UTC().Truncate(time.Second)}
	if site := x.server.site(); site != "" {
		in.URL = site + "/#" + code
	}
	return x.answer(http.StatusOK, in)
}

// enrolment is what the form means: churches give the level, and events within them what of it is taken along.
func (f *enrolForm) enrolment() (e office.Enrolment, err error) {
	e = office.Enrolment{Name: f.Name, Venue: auth.Venue{Finance: f.Finance, Mirror: f.Mirror, Names: f.DoorData != "labels"}}
	var faults fault.ByField
	switch {
	case len(f.Churches) > 0:
		e.Level, e.Events = levelOf(auth.ChurchOf, f.Churches), f.Events
	case len(f.Events) > 0:
		e.Level = levelOf(auth.EventOf, f.Events)
	case f.Mirror:
		e.Level.Name = auth.Denomination
	default:
		faults.Add("event", fault.Required)
	}
	f.checkIDs(faults.Add)
	if f.DoorData != "" && f.DoorData != "names" && f.DoorData != "labels" {
		faults.Add("door_data", fault.InvalidChoice(f.DoorData))
	}
	if len(faults) > 0 {
		return e, faults
	}
	return e, nil
}

// checkIDs finds what can be no event's and no church's number.
func (f *enrolForm) checkIDs(wrong func(field, text string)) {
	for field, ids := range map[string][]int64{"event": f.Events, "church": f.Churches} {
		for _, id := range ids {
			if id < 1 || id > record.MaxID {
				wrong(field, fault.InvalidChoice(strconv.FormatInt(id, 10)))
			}
		}
	}
}

func levelOf(name auth.LevelName, ids []int64) auth.Level {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.FormatInt(id, 10)
	}
	l, err := auth.ParseLevel(string(name) + ":" + strings.Join(texts, ","))
	if err != nil {
		return auth.Level{} // an id that is none: the store says so
	}
	return l
}

// site is where others reach this server, as far as it knows.
func (s *Server) site() string {
	if s.base != nil {
		return strings.TrimRight(s.base.String(), "/")
	}
	host, port, err := net.SplitHostPort(s.config.Address)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		if host = s.config.Local.Name; host == "" {
			return ""
		}
	}
	return (&url.URL{Scheme: s.scheme(), Host: net.JoinHostPort(host, port)}).String()
}

// scheme is what clients reach the server's own listener by. A client may not trust the local authority, so http goes before that.
func (s *Server) scheme() string {
	if s.config.CertificateEnds != nil && len(s.config.Local.Authority) == 0 {
		return "https"
	}
	return "http"
}

// controlEnd revokes a laptop, or orders it to wipe itself.
func controlEnd(end func(*office.Desk, auth.Principal, int64) error) func(*exchange, *http.Request) error {
	return func(x *exchange, r *http.Request) error {
		id, ok := record.Node.ParseID(r.PathValue("id"))
		if !ok {
			return table.ErrNotFound
		}
		if err := end(x.store().Venues, x.caller, id.Int()); err != nil {
			return err
		}
		return x.done()
	}
}
