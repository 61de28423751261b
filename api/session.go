package api

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/api/nullable"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/fault"
	"doorward/kv/keys"
	"doorward/kv/record"
	"doorward/kv/table"
	"doorward/kv/value"
)

// A page's session is an API key in a cookie, which no script can read. It lasts over a restart of the server, and ends when the key is
// revoked or expires. A helper's phone gets a key of its own for a ticket that the operator shows as a QR code.
const (
	sessionCookie = "doorward_session"
	cookieMost    = 400 * 24 * time.Hour // longer is not kept by browsers
	helperLasts   = 24 * time.Hour       // how long after the event's end a helper's key is good
	helperLeast   = 12 * time.Hour       // and from now, where the event is over
)

// errCrossOrigin is returned for a request with a session that another server's page has made.
var errCrossOrigin = errors.New("the request comes from another server's page")

// errTicket is returned for a ticket of a door that is unknown, used or too old.
var errTicket = errors.New("the door's ticket is unknown, used or too old")

// fromCookie reads the key and secret of a request's session. The protection against other servers' pages comes first: a browser sends
// the cookie with each request of another server's page.
func (x *exchange) fromCookie(r *http.Request) (key, secret string, ok bool, err error) {
	c, err := r.Cookie(x.cookieName())
	if err != nil {
		return "", "", false, nil
	}
	if err := x.checkOrigin(r); err != nil {
		return "", "", false, err
	}
	key, secret, ok = strings.Cut(c.Value, ":")
	return key, secret, ok, nil
}

// checkOrigin refuses a request that another server's page has made. Where the server answers https, its own page over http is another
// one: on the way that page may have been changed.
func (x *exchange) checkOrigin(r *http.Request) error {
	if x.server.origins.Check(r) != nil || x.scheme == "https" && strings.HasPrefix(r.Header.Get("Origin"), "http://") {
		return errCrossOrigin
	}
	return nil
}

// cookieName is the session's cookie. The one of https has a name that browsers refuse to take over http: no machine on the way can put a
// session of its own there.
func (x *exchange) cookieName() string {
	if x.scheme == "https" {
		return "__Secure-" + sessionCookie
	}
	return sessionCookie
}

// setSession puts a key into the browser's cookie until a moment; zero = as long as browsers keep any.
func (x *exchange) setSession(key, secret string, until time.Time) {
	age := cookieMost
	if !until.IsZero() {
		age = min(age, time.Until(until))
	}
	http.SetCookie(x, x.cookie(key+":"+secret, max(1, int(age.Seconds()))))
}

func (x *exchange) cookie(value string, age int) *http.Cookie {
	return &http.Cookie{Name: x.cookieName(), Value: value, Path: x.server.Prefix() + "/", MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: x.scheme == "https"}
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
	Role   role        `json:"role"`
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

// role is what a helper is at a door.
type role string

// The roles: a steward takes back the own check-ins of the last minute and finds five tickets at most; a supervisor any, and twenty.
const (
	steward    role = "steward"
	supervisor role = "supervisor"
)

// permissions are those of a helper's key.
func (r role) permissions() []auth.Permission {
	if r == supervisor {
		return []auth.Permission{{Resource: record.Checkin.Resource, Method: "*"}}
	}
	return []auth.Permission{{Resource: record.Checkin.Resource, Method: "GET"}, {Resource: record.Checkin.Resource, Method: "POST"}}
}

func roleOf(p auth.Principal) role {
	if p.Supervises() {
		return supervisor
	}
	return steward
}

// beginSession answers POST /door/v1/session/.
func beginSession(x *exchange) error {
	if err := x.checkOrigin(x.request); err != nil {
		return err
	}
	form, _, err := readForm(x, sessionForm)
	if err != nil {
		return err
	}
	ticket, name, key, secret := form.Text("ticket"), strings.TrimSpace(form.Text("name")), form.Text("key"), form.Text("secret")
	switch {
	case ticket != "" && name == "":
		form.Faults.Add("name", fault.Required)
	case ticket == "" && key == "":
		form.Faults.Add("ticket", fault.Required)
	}
	if err := sound(form); err != nil {
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
	if x.caller, err = x.server.Login(x.request, key, secret); err != nil {
		return err
	}
	if _, err := x.store().Door.DoorEvents(x.caller); err != nil {
		return err // a key that serves no door begins no session
	}
	x.setSession(key, secret, until)
	return showSession(x)
}

// showSession answers GET /door/v1/session/: the name of the session, and the events that it may serve.
func showSession(x *exchange) error {
	events, err := x.store().Door.DoorEvents(x.caller)
	if err != nil {
		return err
	}
	v := sessionView{Name: x.caller.Name(), Role: roleOf(x.caller), KeyID: x.caller.Key(), Events: []eventView{}}
	for _, e := range events {
		v.Events = append(v.Events, eventView{e.ID, e.Name, nullable.Time(e.Start), nullable.Time(e.End), e.Open, e.Reentry})
	}
	return x.answer(http.StatusOK, v)
}

// endSession answers DELETE /door/v1/session/. The key stays valid.
func endSession(x *exchange) error {
	if err := x.checkOrigin(x.request); err != nil {
		return err
	}
	http.SetCookie(x, x.cookie("", -1))
	return x.done()
}

// tickets are the door tickets that were shown and not used yet, in memory alone: after a restart the operator shows new ones.
type tickets struct {
	mu   sync.Mutex
	open map[[sha256.Size]byte]ticket
}

// ticket is good once, for a key of one event.
type ticket struct {
	event int64
	role  role
	ends  time.Time
}

const (
	ticketLasts = 12 * time.Hour
	maxTickets  = 1000
)

// show makes a ticket for an event. The text is told this once.
func (t *tickets) show(event int64, as role, now time.Time) (text string, ends time.Time) {
	text, ends = rand.Text(), now.Add(ticketLasts)
	t.mu.Lock()
	defer t.mu.Unlock()
	for hash, old := range t.open {
		if len(t.open) >= maxTickets || now.After(old.ends) {
			delete(t.open, hash)
		}
	}
	if t.open == nil {
		t.open = map[[sha256.Size]byte]ticket{}
	}
	t.open[sha256.Sum256([]byte(text))] = ticket{event, as, ends}
	return text, ends
}

// take uses a ticket up. ok is false for one that is unknown, used or too old.
func (t *tickets) take(text string, now time.Time) (found ticket, ok bool) {
	hash := sha256.Sum256([]byte(text))
	t.mu.Lock()
	defer t.mu.Unlock()
	found, ok = t.open[hash]
	delete(t.open, hash)
	return found, ok && now.Before(found.ends)
}

// redeem gives a helper's phone a key of its own for a ticket. A wrong ticket counts as a failed login.
func redeem(x *exchange, text, name string) (k auth.Key, secret string, err error) {
	store := x.store()
	shown, ok := x.server.tickets.take(text, store.Tables.Now())
	if !ok {
		if err := x.server.failedLogin(x.request, ""); !errors.Is(err, table.ErrBadLogin) {
			return k, "", err
		}
		return k, "", errTicket
	}
	e, err := store.Door.DoorEvent(auth.Operator(), shown.event)
	if err != nil {
		return k, "", err
	}
	ends := e.End.Add(helperLasts)
	if least := store.Tables.Now().Add(helperLeast); ends.Before(least) {
		ends = least
	}
	return store.Keys.AddKey(auth.Operator(), keys.KeySpec{Name: name, Expires: ends,
		Level: auth.Level{Name: auth.EventOf, IDs: []int64{shown.event}}, Permissions: shown.role.permissions()})
}

// errNotServing is returned for a ticket of a door where no server runs that could take it.
var errNotServing = errors.New("phones open a page of the server: start it first, with serve")

// ticketView is a ticket as the operator is given it, with where the server is reached.
type ticketView struct {
	Ticket   string         `json:"ticket"`
	Event    int64          `json:"event"`
	Name     string         `json:"name"`
	Expires  jsontext.Value `json:"expires_at"`
	siteView `json:",inline"`
}

// siteView is where the server is reached. Host is the name that phones in the same network find it by; "" = none.
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

// soon is how long before an event its door is set up.
const soon = 18 * time.Hour

// namedEvent is the event that the operator names, or the only one that is near.
func namedEvent(x *exchange, name string) (door.DoorEvent, error) {
	if name != "" {
		id, ok := record.Event.ParseID(name)
		if !ok {
			return door.DoorEvent{}, table.ErrNotFound
		}
		return x.store().Door.DoorEvent(x.caller, id.Int())
	}
	all, err := x.store().Door.DoorEvents(x.caller)
	if err != nil {
		return door.DoorEvent{}, err
	}
	near := slices.DeleteFunc(slices.Clone(all), func(e door.DoorEvent) bool { return e.Start.After(x.store().Tables.Now().Add(soon)) })
	if len(near) == 0 {
		near = all
	}
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
	return door.DoorEvent{}, &table.Conflict{Reason: "an event is to be named: " + fault.Listed(names)}
}

// controlTicket answers the operator's request for a ticket of a door.
func controlTicket(x *exchange, r *http.Request) error {
	if x.server.config.Address == "" {
		return errNotServing
	}
	e, err := namedEvent(x, r.URL.Query().Get("event"))
	if err != nil {
		return err
	}
	as := steward
	if r.URL.Query().Get("role") == string(supervisor) {
		as = supervisor
	}
	text, ends := x.server.tickets.show(e.ID, as, x.store().Tables.Now())
	return x.answer(http.StatusOK, ticketView{text, e.ID, e.Name, value.Time(ends), x.server.siteView()})
}
