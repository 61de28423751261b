package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/api/nullable"
	"doorward/api/phone"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// A page's session is an API key in a cookie, which no script can read. It lasts over a restart of the server, and ends when the key is
// revoked or expires. A helper's phone gets a key of its own for a ticket that the operator shows as a QR code.
const (
	sessionCookie = "doorward_session"
	cookieMost    = 400 * 24 * time.Hour // longer is not kept by browsers
)

// errCrossOrigin is returned for a request with a session that another server's page has made.
var errCrossOrigin = errors.New("the request comes from another server's page")

// session is the session of a request's browser.
type session struct{ x *exchange }

// credentials reads the key and secret of a request's session. It first refuses a request from another server's page, because a browser
// sends the cookie with that too.
func (s session) credentials(r *http.Request) (key, secret string, ok bool, err error) {
	c, err := r.Cookie(s.cookieName())
	if err != nil {
		return "", "", false, nil
	}
	if err := s.checkOrigin(r); err != nil {
		return "", "", false, err
	}
	key, secret, ok = strings.Cut(c.Value, ":")
	return key, secret, ok, nil
}

// checkOrigin refuses a request that another server's page has made. Where the server answers https, its own page over http is another
// one: on the way that page may have been changed.
func (s session) checkOrigin(r *http.Request) error {
	if !s.x.server.origins.Own(r) || s.x.scheme == "https" && strings.HasPrefix(r.Header.Get("Origin"), "http://") {
		return errCrossOrigin
	}
	return nil
}

// cookieName is the session's cookie. The one of https has a name that browsers refuse to take over http: no machine on the way can put a
// session of its own there.
func (s session) cookieName() string {
	if s.x.scheme == "https" {
		return "__Secure-" + sessionCookie
	}
	return sessionCookie
}

// begin puts a key into the browser's cookie until a moment; zero = as long as browsers keep any.
func (s session) begin(key, secret string, until time.Time) {
	age := cookieMost
	if !until.IsZero() {
		age = min(age, time.Until(until))
	}
	http.SetCookie(s.x, s.cookie(key+":"+secret, max(1, int(age.Seconds()))))
}

func (s session) cookie(value string, age int) *http.Cookie {
	return &http.Cookie{Name: s.cookieName(), Value: value, Path: s.x.server.Prefix() + "/", MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.x.scheme == "https"}
}

// sessionForm is the body of a login: a door's ticket with the helper's name, or a key with its secret.
var sessionForm = record.Form("session_form",
	record.Field{Name: "ticket", Type: record.Text{Min: 1, Max: 64}, Flags: record.Null},
	record.Field{Name: "name", Type: record.Text{Max: maxDoor}, Flags: record.Null},
	record.Field{Name: "key", Type: record.Text{Min: 1, Max: 64}, Flags: record.Null},
	record.Field{Name: "secret", Type: record.Text{Min: 1, Max: 128}, Flags: record.Null},
)

// sessionView is what a page knows of its session.
type sessionView struct {
	Name   string      `json:"name"`
	Role   phone.Role  `json:"role"`
	KeyID  int64       `json:"key_id"`
	Events []eventView `json:"events"`
}

// eventView is an event that a door may serve.
type eventView struct {
	ID    int64          `json:"id"`
	Name  string         `json:"name"`
	Start jsontext.Value `json:"start_datetime"`
	End   jsontext.Value `json:"end_datetime"`
	Open  bool           `json:"open"`

	Reentry bool `json:"reentry"` // its doors may be set to a direction
}

// beginSession answers POST /door/v1/session/.
func beginSession(x *exchange) error {
	if err := (session{x}).checkOrigin(x.request); err != nil {
		return err
	}
	form, _, err := readForm(x, sessionForm)
	if err != nil {
		return err
	}
	ticket, name, key, secret := form.Text("ticket"), strings.TrimSpace(form.Text("name")), form.Text("key"), form.Text("secret")
	switch {
	case ticket != "" && name == "" && len(form.Faults["name"]) == 0:
		form.Faults.Add("name", fault.Required)
	case ticket == "" && key == "" && len(form.Faults["ticket"])+len(form.Faults["key"]) == 0:
		form.Faults.Add("ticket", fault.Required)
	}
	if err := form.Faults.Err(); err != nil {
		return err
	}
	var until time.Time
	if ticket != "" {
		k, made, err := redeem(x, ticket, name)
		if err != nil {
			return err
		}
		key, secret, until = k.Key, made, k.Expires
	}
	if x.caller, err = x.server.Login(x.request, key, secret); errors.Is(err, table.ErrExpired) {
		return errSessionExpired
	} else if err != nil {
		return err
	}
	if _, err := x.store().Door.DoorEvents(x.caller); err != nil {
		return err // a key that serves no door begins no session
	}
	session{x}.begin(key, secret, until)
	return showSession(x)
}

// showSession answers GET /door/v1/session/: the name of the session, and the events that it may serve.
func showSession(x *exchange) error {
	events, err := x.store().Door.DoorEvents(x.caller)
	if err != nil {
		return err
	}
	v := sessionView{Name: x.caller.Name(), Role: phone.RoleOf(x.caller), KeyID: x.caller.Key(), Events: []eventView{}}
	for _, e := range events {
		v.Events = append(v.Events, eventView{e.ID, e.Name, nullable.Time(e.Start), nullable.Time(e.End), e.Open, e.Reentry})
	}
	return x.answer(http.StatusOK, v)
}

// endSession answers DELETE /door/v1/session/. The key stays valid.
func endSession(x *exchange) error {
	if err := (session{x}).checkOrigin(x.request); err != nil {
		return err
	}
	http.SetCookie(x, session{x}.cookie("", -1))
	return x.done(nil)
}

// redeem gives a helper's phone a key of its own for a ticket. A wrong ticket counts as a failed login.
func redeem(x *exchange, text, name string) (k auth.Key, secret string, err error) {
	k, secret, err = x.server.tickets.Redeem(x.store(), text, name)
	if !errors.Is(err, phone.ErrTicket) {
		return k, secret, err
	}
	if slow := x.server.failedLogin(x.request, ""); !errors.Is(slow, table.ErrBadLogin) {
		err = slow
	}
	return k, "", err
}

// errNotServing is returned for a ticket of a door where no server runs that could take it.
var errNotServing = errors.New("phones open a page of the server: start it first, with serve")

// ticketView is a ticket as the operator is given it, with where the server is reached.
type ticketView struct {
	Ticket   string         `json:"ticket"`
	Event    int64          `json:"event"`
	Name     string         `json:"name"`
	Expires  jsontext.Value `json:"expires_at"`
	Zone     string         `json:"zone"` // the server's
	siteView `json:",inline"`
}

// siteView has the addresses of the server. Host is the name by which phones in the same network find it; "" = none.
type siteView struct {
	PublicURL string `json:"public_url"`
	Scheme    string `json:"scheme"`
	Address   string `json:"address"`
	Host      string `json:"host"`
	Authority bool   `json:"authority"` // https is answered too, to phones that trust the local authority
}

func (s *Server) siteView() siteView {
	c := s.config
	return siteView{c.PublicURL, s.scheme(), c.Address, c.Local.Name, len(c.Local.Authority) > 0}
}

// controlSite answers where the server is reached.
func controlSite(x *exchange, _ *http.Request) error {
	if x.server.config.Address == "" {
		return errNotServing
	}
	return x.answer(http.StatusOK, x.server.siteView())
}

// namedEvent is the event that the operator names, or the only one that is near.
func namedEvent(x *exchange, name string) (door.DoorEvent, error) {
	if name != "" {
		id, err := parseID(record.Event, name)
		if err != nil {
			return door.DoorEvent{}, err
		}
		return x.store().Door.DoorEvent(x.caller, id.Int())
	}
	all, err := x.store().Door.DoorEvents(x.caller)
	if err != nil {
		return door.DoorEvent{}, err
	}
	near, _ := phone.Near(all, x.store().Tables.Clock.Now())
	switch len(near) {
	case 0:
		return door.DoorEvent{}, &table.Conflict{Reason: "there is no event that has yet to end"}
	case 1:
		return near[0], nil
	}
	var names []string
	for _, e := range near[:min(len(near), 10)] {
		names = append(names, fmt.Sprintf("%d (%q)", e.ID, e.Name))
	}
	return door.DoorEvent{}, &table.Conflict{Reason: "an event is to be named (--event): " + fault.Listed(names)}
}

// controlTicket answers the operator's request for a ticket of a door.
func controlTicket(x *exchange, _ *http.Request) error {
	if x.server.config.Address == "" {
		return errNotServing
	}
	e, err := namedEvent(x, x.query.Value("event"))
	if err != nil {
		return err
	}
	as := phone.Steward
	if x.query.Value("role") == string(phone.Supervisor) {
		as = phone.Supervisor
	}
	text, ends, err := x.server.tickets.Show(x.store(), x.caller, e, as)
	if err != nil {
		return err
	}
	return x.answer(http.StatusOK, ticketView{text, e.ID, e.Name, value.Time(ends), x.store().Tables.Clock.Zone().String(), x.server.siteView()})
}
