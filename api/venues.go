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
)

// listVenues answers GET of the laptops that are enrolled.
func listVenues(x *exchange) error {
	all, err := x.store().Venues.Venues(x.caller)
	if err != nil {
		return err
	}
	l := x.listing(nil)
	return replyEach(l, within(l, all), len(all), func(e *office.Enrolled) overview.Laptop { return overview.LaptopOf(*e) })
}

// EnrolForm is the body of POST /control/venue/enrol.
type EnrolForm struct {
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
	var form EnrolForm
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

// enrolment reads the form. Churches give the level; events then choose which events of the churches the laptop takes along.
func (f *EnrolForm) enrolment() (e office.Enrolment, err error) {
	e = office.Enrolment{Name: f.Name, Venue: auth.Venue{Finance: f.Finance, Mirror: f.Mirror, Names: f.DoorData != "labels"}}
	var faults fault.ByField
	switch {
	case len(f.Churches) > 0:
		e.Level, e.Events = auth.NewLevel(auth.ChurchOf, f.Churches), f.Events
	case len(f.Events) > 0:
		e.Level = auth.NewLevel(auth.EventOf, f.Events)
	case f.Mirror:
		e.Level.Name = auth.Denomination
	default:
		faults.Add("event", fault.Required)
	}
	for field, ids := range map[string][]int64{"event": f.Events, "church": f.Churches} {
		for _, id := range ids {
			if id < 1 || id > record.MaxID {
				faults.Add(field, fault.InvalidChoice(strconv.FormatInt(id, 10)))
			}
		}
	}
	if f.DoorData != "" && f.DoorData != "names" && f.DoorData != "labels" {
		faults.Add("door_data", fault.InvalidChoice(f.DoorData))
	}
	return e, faults.Err()
}

// site returns the address by which others reach this server; "" if the server does not know it.
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

// scheme returns the scheme of the server's own listener. It is http if https is only by the local authority, which a client may not trust.
func (s *Server) scheme() string {
	if s.config.CertificateEnds != nil && len(s.config.Local.Authority) == 0 {
		return "https"
	}
	return "http"
}

// controlEnd revokes a laptop, or orders it to wipe itself.
func controlEnd(end func(*office.Desk, auth.Principal, int64) error) func(*exchange, *http.Request) error {
	return func(x *exchange, r *http.Request) error {
		id, err := parseID(record.Node, r.PathValue("id"))
		if err != nil {
			return err
		}
		return x.done(end(x.store().Venues, x.caller, id.Int()))
	}
}
