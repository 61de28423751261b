package record

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/fault"
	"doorward/kv/value"
)

var (
	emailUser = regexp.MustCompile("(?i)^[-!#$%&'*+/=?^_`{}|~0-9a-z]+(\\.[-!#$%&'*+/=?^_`{}|~0-9a-z]+)*$|" +
		`^"([\x01-\x08\x0b\x0c\x0e-\x1f!#-\[\]-\x7f]|\\[\x01-\x09\x0b\x0c\x0e-\x7f])*"$`)
	emailDomain = regexp.MustCompile(`(?i)^([a-z0-9\pL]([a-z0-9\pL\pM-]{0,61}[a-z0-9\pL\pM])?\.)+[a-z0-9\pL-]{1,62}[a-z0-9\pL\pM]$`)
)

// Email is an address by the grammar of Django's validator, its case kept; blank is taken.
type Email struct{ Max int }

func (t Email) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	s, sentence := Text{Max: t.Max}.read(v)
	switch {
	case sentence != "":
		return nil, sentence
	case s != "" && !validEmail(s):
		return nil, fault.Email
	}
	return value.Quote(s), ""
}

func (t Email) schema(d Direction) map[string]any {
	s := Text{Max: t.Max}.schema(Reply)
	if d == Reply {
		s["description"] = "An e-mail address, or blank."
		return s
	}
	s["format"] = "email"
	return s
}

func validEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if at < 1 || !emailUser.MatchString(s[:at]) {
		return false
	}
	domain := s[at+1:]
	if inner, ok := strings.CutPrefix(domain, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		addr, err := netip.ParseAddr(inner)
		return ok && err == nil && addr.Zone() == ""
	}
	return strings.EqualFold(domain, "localhost") || emailDomain.MatchString(domain)
}

// URL is an absolute http or https address, not blank.
type URL struct{ Max int }

func (t URL) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	return readURL(v, t.Max, "http", "https")
}

func (t URL) schema(d Direction) map[string]any {
	s := Text{Max: t.Max}.schema(Reply)
	s["format"] = "uri"
	return s
}

// Photo is the https address of a picture; it is never fetched.
type Photo struct{}

func (Photo) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	return readURL(v, 0, "https")
}

func (Photo) schema(d Direction) map[string]any { return URL{}.schema(d) }

// readURL reads an absolute address with one of the schemes, kept as it is written.
func readURL(v jsontext.Value, limit int, schemes ...string) (jsontext.Value, string) {
	s, sentence := Text{Min: 1, Max: limit}.read(v)
	if sentence != "" {
		return nil, sentence
	}
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || strings.ContainsFunc(s, unicode.IsSpace) {
		return nil, fault.URL
	}
	for _, scheme := range schemes {
		if u.Scheme == scheme {
			return value.Quote(s), ""
		}
	}
	return nil, fault.URL
}
