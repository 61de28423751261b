package api

import (
	"cmp"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/language"

	"doorward/api/phone"
	"doorward/api/web"
	"doorward/kv/record"
	"doorward/kv/value"
)

// The console is the page for the people at the laptop. It shows a key what the key may see of its events, and the codes that let phones in.

// loginPage answers GET /login: it asks for a key. Its script begins the session as the door's page does.
func loginPage(x *exchange) error {
	return sendPage(x, func(w io.Writer, in language.Tag) error {
		return x.server.pages.Login(w, web.Page{Base: x.server.Prefix()}, in)
	})
}

// consolePage answers GET / to a browser: the console, or without a session the way to /login. Other clients find no such path.
func consolePage(x *exchange) error {
	if !asksForPage(x.request) {
		return cmp.Or(x.authenticate(x.request), errNoRoute)
	}
	if !strings.HasSuffix(x.request.URL.Path, "/") {
		return lead(x, "/") // the session's cookie is for what lies below
	}
	if _, err := x.request.Cookie(session{x}.cookieName()); err != nil {
		return lead(x, "/login")
	}
	if err := x.authenticate(x.request); err != nil && explain(err).status == http.StatusUnauthorized {
		return lead(x, "/login")
	} else if err := cmp.Or(err, x.ration()); err != nil { // without a caller there is no rate
		return err
	}
	c, err := phone.Console(overviewOf(x, x.server.pages.Language(x.request).String()))
	if err != nil {
		return err
	}
	c.Base = x.server.Prefix()
	return sendPage(x, func(w io.Writer, in language.Tag) error { return x.server.pages.Console(w, c, in) })
}

// asksForPage tells whether a browser asks for a page to show.
func asksForPage(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html") && len(r.Header["Authorization"]) == 0
}

// lead sends a browser to another page of the server, in the language that the address asks for.
func lead(x *exchange, path string) error {
	if in := x.request.URL.Query().Get("language"); in != "" {
		path += "?" + url.Values{"language": {in}}.Encode()
	}
	x.Header().Set("Location", x.server.Prefix()+path)
	x.WriteHeader(http.StatusSeeOther)
	return nil
}

// invitationForm names the door that a phone is let in at.
var invitationForm = record.Form("invitation_form",
	record.Field{Name: "event", Type: record.Integer{Min: 1, Max: record.MaxID}, Flags: record.Required},
	record.Field{Name: "role", Type: record.Choice{string(phone.Steward), string(phone.Supervisor)}, Flags: record.Required},
)

// invitation lets one phone in. The ticket stands behind the # of the addresses, which browsers send to no server.
type invitation struct {
	URLs    []string       `json:"urls"`
	Alone   bool           `json:"alone"` // only this machine reaches the server
	Expires jsontext.Value `json:"expires_at"`
	QR      web.QR         `json:"qr"` // of the first address
}

// invite answers POST /door/ticket: an address that opens the door's page on one phone.
func invite(x *exchange) error {
	form, _, err := readForm(x, invitationForm)
	if err != nil {
		return err
	}
	if err := sound(form); err != nil {
		return err
	}
	id, _ := form.Value("event")
	event, err := parseID(record.Event, string(id))
	if err != nil {
		return err
	}
	e, err := x.store().Door.DoorEvent(x.caller, event.Int())
	if err != nil {
		return err
	}
	text, ends, err := x.server.tickets.Show(x.store(), x.caller, e, phone.Role(form.Text("role")))
	if err != nil {
		return err
	}
	v := invitation{Expires: value.Time(ends)}
	v.URLs, v.Alone = reached(x, "/door#"+text)
	if v.QR, err = web.Draw(v.URLs[0]); err != nil {
		return err
	}
	return x.answer(http.StatusOK, v)
}

// reached are the addresses at which phones open a page; where the server was not told, the one that the request came by.
func reached(x *exchange, path string) (urls []string, alone bool) {
	if told := x.server.config.Local.Reached; told != nil {
		return told(path)
	}
	return []string{x.scheme + "://" + x.request.Host + x.server.Prefix() + path}, false
}
