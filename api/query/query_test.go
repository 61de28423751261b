package query

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"doorward/kv/value"

	"pgregory.net/rapid"
)

// A link prints its query so that reading it again gives the same parameters, ordered by name.
func TestQueryOfALinkReadsAsItWasMeant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Query
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			q = append(q, parameter{rapid.StringN(1, 4, -1).Draw(t, "name"), rapid.String().Draw(t, "value")})
		}
		printed := string(q.AppendSorted(nil))
		again, err := Parse(printed)
		want := slices.Clone(q)
		slices.SortStableFunc(want, func(a, b parameter) int { return strings.Compare(a.name, b.name) })
		if err != nil || !slices.Equal(again, want) {
			t.Fatalf("parseQuery(%q) = %v, %v, want %v", printed, again, err, want)
		}
		if twice := string(again.AppendSorted(nil)); twice != printed {
			t.Fatalf("printed again: %q, first %q", twice, printed)
		}
	})
}

func TestQueryIsReadAsTheFrameworkReadsIt(t *testing.T) {
	for raw, want := range map[string]Query{
		"": nil, "a=1&&b": {{"a", "1"}, {"b", ""}}, "a=1;b=2": {{"a", "1;b=2"}}, "b=2&a=3&b=1": {{"a", "3"}, {"b", "2"}, {"b", "1"}}, "a=x+y%2B": {{"a", "x y+"}},
		"a=%ff": {{"a", "\uFFFD"}}, "a=b=c": {{"a", "b=c"}}, "=1": {{"", "1"}},
	} {
		if got, err := Parse(raw); err != nil || !slices.Equal(got, want) {
			t.Errorf("parseQuery(%q) = %q, %v, want %q", raw, got, err, want)
		}
	}
	if got, err := Parse("a=%zz"); !errors.Is(err, value.ErrEscape) {
		t.Errorf("parseQuery of a bad escape = %q, %v", got, err)
	}
}

// placeOf loads a zone by its name.
func placeOf(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// A date alone is the whole of the local day, wherever clocks are moved about its midnight.
func TestFilterDatesAreWholeLocalDays(t *testing.T) {
	for _, c := range []struct{ name, zone, day, from, to string }{
		{"an ordinary day", "America/Sao_Paulo", "2024-05-01", "2024-05-01T03:00:00Z", "2024-05-02T02:59:59.999999Z"},
		{"no midnight, south", "America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z", "2018-11-05T01:59:59.999999Z"},
		{"the day before", "America/Sao_Paulo", "2018-11-03", "2018-11-03T03:00:00Z", "2018-11-04T02:59:59.999999Z"},
		{"no midnight", "America/Asuncion", "2023-10-01", "2023-10-01T04:00:00Z", "2023-10-02T02:59:59.999999Z"},
		{"no midnight, north", "America/Havana", "2023-03-12", "2023-03-12T05:00:00Z", "2023-03-13T03:59:59.999999Z"},
		{"midnight twice", "America/Havana", "2023-11-05", "2023-11-05T04:00:00Z", "2023-11-06T04:59:59.999999Z"},
		{"its last hour twice", "America/Sao_Paulo", "2018-02-17", "2018-02-17T02:00:00Z", "2018-02-18T02:59:59.999999Z"},
		{"a day that never was", "Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00Z", "2011-12-30T09:59:59.999999Z"},
		{"no rules", "UTC", "9999-12-31", "9999-12-31T00:00:00Z", "9999-12-31T23:59:59.999999Z"},
		{"the first day", "Asia/Manila", "0001-01-01", "0001-01-01T15:56:08Z", "0001-01-02T15:56:07.999999Z"},
	} {
		zone := placeOf(t, c.zone)
		for _, end := range []bool{false, true} {
			want := c.from
			if end {
				want = c.to
			}
			got, ok := moment(c.day, end, zone)
			if at := got.UTC().Format(time.RFC3339Nano); !ok || at != want {
				t.Errorf("%s: moment(%s, %v, %s) = %s, want %s", c.name, c.day, end, c.zone, at, want)
			}
		}
	}
}

// A day begins where the local date becomes its own, and ends just before the next one begins.
func TestFilterDaysFollowEachOther(t *testing.T) {
	zones := []*time.Location{time.UTC, time.FixedZone("X", 14*3600)}
	for _, name := range []string{"America/Sao_Paulo", "America/Havana", "Asia/Beirut", "Africa/Cairo", "Australia/Lord_Howe", "Europe/Lisbon"} {
		zones = append(zones, placeOf(t, name))
	}
	for _, zone := range zones {
		for day := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2040; day = day.AddDate(0, 0, 1) {
			text := day.Format(time.DateOnly)
			from, _ := moment(text, false, zone)
			to, _ := moment(text, true, zone)
			after, _ := moment(day.AddDate(0, 0, 1).Format(time.DateOnly), false, zone)
			if got := from.In(zone).Format(time.DateOnly); got != text {
				t.Fatalf("%s in %s begins on %s", text, zone, got)
			}
			if got := from.Add(-time.Microsecond).In(zone).Format(time.DateOnly); got >= text {
				t.Fatalf("%s in %s begins before %s", text, zone, from)
			}
			if !to.Add(time.Microsecond).Equal(after) {
				t.Fatalf("%s in %s ends at %s, the next begins at %s", text, zone, to, after)
			}
		}
	}
}

func TestNaturalReadsDigitsOnly(t *testing.T) {
	for text, want := range map[string]int{
		"7": 7, " 7 ": 7, "007": 7, "": 0, "-7": 0, "7.0": 0, "x": 0, "+7": 0, "1_0": 0, fmt.Sprint(farOffset): farOffset,
		"9223372036854775807": farOffset, "99999999999999999999": farOffset, "12345678901234567890123": farOffset,
	} {
		if got := natural(text); got != want {
			t.Errorf("natural(%q) = %d, want %d", text, got, want)
		}
	}
}
