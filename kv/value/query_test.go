package value

import (
	"errors"
	"net/url"
	"reflect"
	"testing"
)

func TestParseQuery(t *testing.T) {
	for raw, want := range map[string]url.Values{
		"":                    {},
		"a=1&&b":              {"a": {"1"}, "b": {""}},
		"a=1;b=2":             {"a": {"1;b=2"}},
		"a;b=1":               {"a;b": {"1"}},
		`key="a;b"`:           {"key": {`"a;b"`}},
		"a=%3B":               {"a": {";"}},
		"a=2&b=1&a=1":         {"a": {"2", "1"}, "b": {"1"}},
		"a=x+y%2B":            {"a": {"x y+"}},
		"a=%ff":               {"a": {"\uFFFD"}},
		"a=b=c":               {"a": {"b=c"}},
		"=1":                  {"": {"1"}},
		"a=100%25":            {"a": {"100%"}},
		"since=now;&limit=1;": {"since": {"now;"}, "limit": {"1;"}},
	} {
		if got, err := ParseQuery(raw); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("ParseQuery(%q) = %q, %v, want %q", raw, got, err, want)
		}
	}
	for _, raw := range []string{"a=%zz", "a=100%", "%=1", "a=%4", "a=1&b=%%"} {
		if got, err := ParseQuery(raw); !errors.Is(err, ErrEscape) {
			t.Errorf("ParseQuery(%q) = %q, %v, want ErrEscape", raw, got, err)
		}
	}
}
