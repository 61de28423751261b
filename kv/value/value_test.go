package value_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"doorward/kv/value"
)

// TestStoredForms: rows may be added and must never be changed.
func TestStoredForms(t *testing.T) {
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		got  jsontext.Value
		want string
	}{
		{value.Quote(`João "Zé" \ <&>`), `"João \"Zé\" \\ <&>"`},
		{value.Quote("\x00\n\xff"), "\"\\u0000\\n\ufffd\""},
		{value.Number(-12), `-12`},
		{value.Time(noon), `"2026-05-01T12:00:00Z"`},
		{value.Time(noon.Add(1500 * time.Nanosecond)), `"2026-05-01T12:00:00.000001Z"`},
		{value.Day(noon, time.FixedZone("", 13*3600)), `"2026-05-02"`},
		{value.AppendAmount(nil, -5), `"-0.05"`},
		{value.Texts("a", `"`), `["a","\""]`},
		{value.Compact(jsontext.Value(` { "b" : [ 1.50 , "\u00e9" ] } `)), `{"b":[1.50,"é"]}`},
		{value.AppendCanonical(nil, jsontext.Value(`{"b":{"d":1.50,"c":-0},"a":[{"y":null,"x":true}]}`)), `{"a":[{"x":true,"y":null}],"b":{"c":-0,"d":1.50}}`},
		{value.AppendCanonical(nil, nil), `null`},
	} {
		if string(row.got) != row.want {
			t.Errorf("got %s, want %s", row.got, row.want)
		}
	}
}

// TestAMidnightThatClocksSkipIsTheFirstMomentOfItsDay: west and east of Greenwich.
func TestAMidnightThatClocksSkipIsTheFirstMomentOfItsDay(t *testing.T) {
	for name, day := range map[string]string{"America/Santiago": "2026-09-06", "America/Havana": "2026-03-08", "Africa/Cairo": "2026-04-24", "America/Sao_Paulo": "2026-05-01"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		midnight, _ := value.ParseDate(day)
		want := value.DayStart(midnight, zone)
		if got, ok := value.ParseDateTime(day+"T00:00", zone); !ok || !got.Equal(want) {
			t.Errorf("%s in %s = %v, want %v", day, name, got, want)
		}
		if got, ok := value.ParseDateTime(day+"T00:30", zone); !ok || !got.Equal(want.Add(30*time.Minute)) {
			t.Errorf("%s 00:30 in %s = %v, want half an hour after %v", day, name, got, want)
		}
	}
}

// TestARunReadsItselfBack holds that Find and ReadMember find each member of any run of ours, and that a text reads itself back.
func TestARunReadsItselfBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.String(), 1, 6).Draw(t, "texts")
		var run []byte
		for i, text := range texts {
			if i > 0 {
				run = append(run, ',')
			}
			run = append(run, '"', 'a'+byte(i), '"', ':')
			run = value.AppendQuote(run, text)
		}
		at := 0
		for i, text := range texts {
			name, v, after, ok := value.ReadMember(run, at)
			found, next := value.Find(run, 0, string('a'+rune(i)))
			if !ok || string(name) != `"`+string('a'+rune(i))+`"` || !bytes.Equal(found, v) || next != after {
				t.Fatalf("member %d of %s: %s, %s, Find %s", i, run, name, v, found)
			}
			if got, want := value.Unquote(v), string([]rune(text)); got != want {
				t.Errorf("Unquote(%s) = %q, want %q", v, got, want)
			}
			at = after
		}
		if v, _ := value.Find(run, 0, "z"); v != nil {
			t.Errorf("Find of a name that is not there: %s", v)
		}
		list := slices.Collect(value.Elements(value.Texts(texts...)))
		if len(list) != len(texts) || value.Unquote(list[0]) != string([]rune(texts[0])) {
			t.Errorf("Elements = %s", list)
		}
	})
}

// FuzzRuns holds that no bytes make the readers of a run fail or stand still.
func FuzzRuns(f *testing.F) {
	for _, seed := range []string{`"a":1`, `"a":"\"b\":2","b":3`, `"a`, `\"`, `"a":{"b":[`, `"":`, `,,"b":1`, `[1,[2,"]"]`} {
		f.Add([]byte(seed), "b")
	}
	f.Fuzz(func(t *testing.T, run []byte, name string) {
		value.Find(run, 0, name)
		for i := 0; ; {
			_, _, after, ok := value.ReadMember(run, i)
			if !ok {
				break
			}
			if after <= i {
				t.Fatalf("ReadMember stands still at %d", i)
			}
			i = after
		}
		for range value.Elements(run) {
		}
		value.Cents(run)
		value.Int(run)
		value.HasLongNumber(run)
	})
}

// TestDaysBeginAtATimeOfDay tries the two turns of the clock of a zone that turned at midnight, and of one that turns at night.
func TestDaysBeginAtATimeOfDay(t *testing.T) {
	for _, test := range []struct{ zone, begins, at, want string }{
		{"America/Sao_Paulo", "04:00", "2026-11-23T06:59:59Z", "2026-11-22"},
		{"America/Sao_Paulo", "04:00", "2026-11-23T07:00:00Z", "2026-11-23"},
		{"America/Sao_Paulo", "00:00", "2026-11-23T02:59:59Z", "2026-11-22"},
		{"America/Sao_Paulo", "00:00", "2026-11-23T03:00:00Z", "2026-11-23"},
		{"America/Sao_Paulo", "00:00", "2018-11-04T02:59:59Z", "2018-11-03"}, // the midnight after it is skipped
		{"America/Sao_Paulo", "00:00", "2018-11-04T03:00:00Z", "2018-11-04"},
		{"America/Sao_Paulo", "04:00", "2018-11-04T05:59:59Z", "2018-11-03"},
		{"America/Sao_Paulo", "04:00", "2018-11-04T06:00:00Z", "2018-11-04"},
		{"America/Sao_Paulo", "00:00", "2019-02-17T02:30:00Z", "2019-02-16"}, // 23:30 for the second time
		{"America/Sao_Paulo", "00:00", "2019-02-17T03:00:00Z", "2019-02-17"},
		{"Europe/Lisbon", "04:00", "2026-03-29T02:59:59Z", "2026-03-28"}, // summer time since 01:00
		{"Europe/Lisbon", "04:00", "2026-03-29T03:00:00Z", "2026-03-29"},
		{"Europe/Lisbon", "01:30", "2026-03-29T01:29:59Z", "2026-03-28"}, // 01:30 is skipped: the day begins at 02:30
		{"Europe/Lisbon", "01:30", "2026-03-29T01:30:00Z", "2026-03-29"},
		{"Europe/Lisbon", "04:00", "2026-10-25T03:59:59Z", "2026-10-24"},
		{"Europe/Lisbon", "04:00", "2026-10-25T04:00:00Z", "2026-10-25"},
		{"Europe/Lisbon", "01:30", "2026-10-25T01:29:59Z", "2026-10-24"}, // 01:30 comes twice: the day begins with the second
		{"Europe/Lisbon", "01:30", "2026-10-25T01:30:00Z", "2026-10-25"},
		{"UTC", "23:59", "2026-01-01T12:00:00Z", "2025-12-31"},
		{"UTC", "04:00", "0001-01-01T00:00:00Z", "0000-12-31"},
	} {
		zone, err := time.LoadLocation(test.zone)
		begins, ok := value.ParseTimeOfDay(test.begins)
		at, err2 := time.Parse(time.RFC3339, test.at)
		if err != nil || err2 != nil || !ok || begins.String() != test.begins {
			t.Fatal(test, err, err2, ok, begins)
		}
		if got := begins.DayOf(at, zone); got != test.want {
			t.Errorf("in %s, with days from %s on, %s is on %s, want %s", test.zone, test.begins, test.at, got, test.want)
		}
	}
}
