package value

import (
	"errors"
	"net/url"
	"strings"
)

// ErrEscape is returned for a query string with a percent sign that two hexadecimal digits do not
// follow.
var ErrEscape = errors.New("a % in the address is not followed by two hexadecimal digits; %25 is the sign itself")

// ParseQuery reads a query string or the body of a form. The values of one name are in the order
// given. Unlike url.ParseQuery it takes a semicolon as a character and leaves nothing out: a bad
// escape is ErrEscape. Bytes that are not UTF-8 become U+FFFD.
func ParseQuery(raw string) (url.Values, error) {
	values := url.Values{}
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		name, text, _ := strings.Cut(pair, "=")
		name, err := unescape(name)
		if err != nil {
			return nil, err
		}
		if text, err = unescape(text); err != nil {
			return nil, err
		}
		values.Add(name, text)
	}
	return values, nil
}

// unescape reads one side of a parameter.
func unescape(s string) (string, error) {
	plain, err := url.QueryUnescape(s)
	if err != nil {
		return "", ErrEscape
	}
	return strings.ToValidUTF8(plain, "\uFFFD"), nil
}
