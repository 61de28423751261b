package sync

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"doorward/kv/value"
	"doorward/sync/input"
)

// A session is a signed cookie that names a key and an end. It is valid below /sync alone and for pages of this server alone, and ends
// with the key or this process.
const (
	sessionCookie = "AuthSession"
	sessionSpan   = time.Hour
)

// sessionKey returns the key of a session: errAnonymous if there is none, errOrigin for a page of another server.
func (s *Server) sessionKey(r *http.Request) (string, error) {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil || cookie.Value == "" {
		return "", errAnonymous
	}
	key, good := s.openCookie(cookie.Value)
	if !good {
		return "", errAnonymous
	}
	if !sameOrigin(r) {
		return "", errOrigin
	}
	return key, nil
}

// sameOrigin tells whether no page of another server made the request.
func sameOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, r.Host)
}

// cookieValue signs a key and the end of its session.
func (s *Server) cookieValue(key string, ends time.Time) string {
	text := strconv.FormatInt(ends.Unix(), 16) + ":" + key
	return base64.RawURLEncoding.EncodeToString(append([]byte(text), s.sign(text)...))
}

func (s *Server) sign(text string) []byte {
	mac := hmac.New(sha256.New, s.secret[:])
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// openCookie reads a signed cookie; good tells that it is valid.
func (s *Server) openCookie(value string) (key string, good bool) {
	b, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || len(b) < sha256.Size {
		return "", false
	}
	cut := len(b) - sha256.Size
	text := string(b[:cut])
	if !hmac.Equal(b[cut:], s.sign(text)) {
		return "", false
	}
	at, key, _ := strings.Cut(text, ":")
	ends, err := strconv.ParseInt(at, 16, 64)
	return key, err == nil && s.config.Clock().Before(time.Unix(ends, 0))
}

func setCookie(c *call, value string, age int) {
	http.SetCookie(c.ResponseWriter, &http.Cookie{
		Name: sessionCookie, Value: value, Path: c.server.config.Prefix + "/sync", MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: byHTTPS(c),
	})
}

// byHTTPS tells whether the client uses https, also through a trusted proxy.
func byHTTPS(c *call) bool { return c.request.TLS != nil || c.request.URL.Scheme == "https" }

// userContext is the caller in CouchDB's form.
type userContext struct {
	Name  *string  `json:"name"`
	Roles []string `json:"roles"`
}

func showSession(c *call) error {
	if err := c.authenticate(); err != nil && !errors.Is(err, errAnonymous) {
		return err
	}
	by, user := "", userContext{Roles: []string{}}
	if key, _, given := c.request.BasicAuth(); given {
		by, user.Name = "default", &key
	} else if c.session != "" {
		by, user.Name = "cookie", &c.session
		setCookie(c, c.server.cookieValue(c.session, c.server.config.Clock().Add(sessionSpan)), int(sessionSpan.Seconds()))
	}
	type info struct {
		Handlers      []string `json:"authentication_handlers"`
		Authenticated string   `json:"authenticated,omitempty"`
	}
	return c.reply(http.StatusOK, struct {
		OK   bool        `json:"ok"`
		User userContext `json:"userCtx"`
		Info info        `json:"info"`
	}{true, user, info{[]string{"cookie", "default"}, by}})
}

// maxLogin is the largest body of a login.
const maxLogin = 4 << 10

func beginSession(c *call) error {
	if !sameOrigin(c.request) {
		return errOrigin
	}
	name, password, err := readLogin(c)
	if err != nil {
		return err
	}
	if _, err := c.server.config.Gate.Login(c.request, name, password); err != nil {
		return err
	}
	setCookie(c, c.server.cookieValue(name, c.server.config.Clock().Add(sessionSpan)), int(sessionSpan.Seconds()))
	return c.reply(http.StatusOK, struct {
		OK    bool     `json:"ok"`
		Name  string   `json:"name"`
		Roles []string `json:"roles"`
	}{true, name, []string{}})
}

// readLogin reads a login: a form or JSON. IBM's clients call the name username, as CouchDB allows.
func readLogin(c *call) (name, password string, err error) {
	body := http.MaxBytesReader(c.ResponseWriter, c.request.Body, maxLogin)
	if isJSON(c.request.Header) {
		var in struct{ Name, Username, Password string }
		if err := json.NewDecoder(body).Decode(&in); err != nil {
			return "", "", input.ErrJSON
		}
		return cmp.Or(in.Username, in.Name), in.Password, nil
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return "", "", input.ErrBroken
	}
	form, err := value.ParseQuery(string(text))
	if err != nil {
		return "", "", input.ErrBroken
	}
	return cmp.Or(form.Get("username"), form.Get("name")), form.Get("password"), nil
}

func endSession(c *call) error {
	if !sameOrigin(c.request) {
		return errOrigin
	}
	setCookie(c, "", -1)
	return c.reply(http.StatusOK, ok)
}
