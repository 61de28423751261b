package api

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/language"

	"doorward/api/phone"
	"doorward/api/web"
	"doorward/kv/record"
	"doorward/kv/value"
)

// pageHeaders sets the headers of our own pages and of their files.
func pageHeaders(h http.Header, media string) {
	h.Set("Content-Type", media)
	guardPage(h, web.Policy)
}

// guardPage sets the headers that every page has besides its type.
func guardPage(h http.Header, policy string) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Permissions-Policy", "camera=(self), microphone=(), geolocation=()")
}

// language is the language of the page that a request is for.
func (x *exchange) language() language.Tag {
	return x.server.pages.Language(x.query.Value("language"), x.request.Header.Get("Accept-Language"))
}

// sendPage answers with a page in the language of its reader.
func sendPage(x *exchange, name string, data any) error {
	in := x.language()
	var page bytes.Buffer
	if err := x.server.pages.Write(&page, name, data, in); err != nil {
		return err
	}
	x.Header().Set("Content-Language", in.String())
	x.Header().Add("Vary", "Accept-Language")
	pageHeaders(x.Header(), "text/html; charset=utf-8")
	return sendPacked(x, page.Bytes(), func() []byte { return web.Pack(page.Bytes()) })
}

// sendPacked writes a body, with gzip if the browser takes it.
func sendPacked(x *exchange, body []byte, pack func() []byte) error {
	h := x.Header()
	h.Add("Vary", "Accept-Encoding")
	if value.AcceptsGzip(x.request.Header.Values("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		body = pack()
	}
	return sendWhole(x, body)
}

// sendWhole writes a body and says how long it is.
func sendWhole(w http.ResponseWriter, body []byte) error {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, err := w.Write(body)
	return unlessGone(err)
}

// pageRoute answers a page that shows nothing of the store: /door, the page for helpers at a door; /door/help, the sheet for helpers; and
// /login, which asks for a key, and begins the session as the door's page does.
func pageRoute(name string) func(*exchange) error {
	return func(x *exchange) error {
		return sendPage(x, name, web.Page{Base: x.server.Prefix(), Trust: len(x.server.config.Local.Authority) > 0})
	}
}

// assetRoute answers the files beside the pages. A browser asks each time whether they have changed, because the server may run another
// version by now.
func assetRoute(assets map[string]web.Asset) func(*exchange) error {
	return func(x *exchange) error {
		a, ok := assets[x.request.PathValue(asterisk)]
		if !ok {
			return errNoRoute
		}
		h := x.Header()
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", a.ETag)
		if x.request.Header.Get("If-None-Match") == a.ETag {
			x.WriteHeader(http.StatusNotModified)
			return nil
		}
		pageHeaders(h, a.Media)
		h.Set("Service-Worker-Allowed", x.server.Prefix()+"/door") // the one that keeps the page lies here
		return sendPacked(x, a.Body, func() []byte { return a.Packed })
	}
}

// The console is the page for the people at the laptop. It shows a key what the key may see of its events, and the codes that let phones in.

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
	} else if err := cmp.Or(err, x.server.Admit(x, x.caller)); err != nil { // without a caller there is no rate
		return err
	}
	c, err := phone.Console(overviewOf(x, x.language().String()))
	if err != nil {
		return err
	}
	c.Base = x.server.Prefix()
	return sendPage(x, "console.html", c)
}

// asksForPage tells whether a browser asks for a page to show.
func asksForPage(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html") && len(r.Header["Authorization"]) == 0
}

// lead sends a browser to another page of the server, in the language that the address asks for.
func lead(x *exchange, path string) error {
	if in := x.query.Value("language"); in != "" {
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
	if err := form.Faults.Err(); err != nil {
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

// A phone that has installed the certificate of the server's own authority opens the door's page over https, where browsers allow the camera.
// The server answers the page and the file over http too, because a phone that does not trust the authority yet cannot use https.

// The names under which a phone gets the certificate, alone or, for an iPhone, in a profile: Safari of iOS 26.5 saves a certificate as a
// page. By the media type the phone offers to install it.
const (
	authorityFile  = "doorward.crt"
	authorityMedia = "application/x-x509-ca-cert"
	profileFile    = "doorward.mobileconfig"
	profileMedia   = "application/x-apple-aspen-config"
)

// authority is the certificate of the server's own authority, which is no secret: errNoRoute without one.
func (x *exchange) authority() (*x509.Certificate, error) {
	der := x.server.config.Local.Authority
	if len(der) == 0 {
		return nil, errNoRoute
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("the local authority: %w", err)
	}
	return cert, nil
}

// trustPage answers GET /door/trust: how a phone learns to trust the server. Without an authority there is no such page.
func trustPage(x *exchange) error {
	cert, err := x.authority()
	if err != nil {
		return err
	}
	base := x.server.Prefix()
	return sendPage(x, "trust.html", web.Trust{
		Base: base, Name: cert.Subject.CommonName, Fingerprint: fmt.Sprintf("% X", sha256.Sum256(cert.Raw)), Secure: "https://" + x.request.Host + base + "/door",
	})
}

// trustFile answers GET /door/trust/doorward.crt.
func trustFile(x *exchange) error {
	cert, err := x.authority()
	if err != nil {
		return err
	}
	x.Header().Set("Content-Disposition", `attachment; filename="`+authorityFile+`"`)
	return sendAuthority(x, authorityMedia, cert.Raw)
}

// trustProfile answers GET /door/trust/doorward.mobileconfig.
func trustProfile(x *exchange) error {
	cert, err := x.authority()
	if err != nil {
		return err
	}
	file, err := web.Profile(cert.Subject.CommonName, cert.Raw)
	if err != nil {
		return err
	}
	return sendAuthority(x, profileMedia, file)
}

func sendAuthority(x *exchange, media string, file []byte) error {
	x.Header().Set("Cache-Control", "no-cache")
	pageHeaders(x.Header(), media)
	return sendWhole(x, file)
}
