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
