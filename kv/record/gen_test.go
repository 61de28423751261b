package record_test

import (
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"doorward/kv/record"
	"doorward/kv/value"
)

// anyKind draws a kind; TicketForm too.
func anyKind() *rapid.Generator[*record.Kind] {
	return rapid.SampledFrom(append([]*record.Kind{record.TicketForm}, record.Kinds()...))
}

// anyBody draws a body that Admin takes for a kind: required fields always, others often, in any order, some with the
// spellings of an imported column.
func anyBody(k *record.Kind) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var members []string
		for i := range k.Fields {
			f := &k.Fields[i]
			if !f.Settable(record.Admin) || !f.Flags.Has(record.Required) && rapid.IntRange(0, 2).Draw(t, "given") == 0 {
				continue
			}
			value := anyValue(f.Type).Draw(t, f.Name)
			if f.TakesNull(record.Admin) && rapid.IntRange(0, 7).Draw(t, "null") == 0 {
				value = "null"
			}
			members = append(members, fmt.Sprintf("%q:%s", f.Name, value))
		}
		return "{" + strings.Join(rapid.Permutation(members).Draw(t, "order"), ",") + "}"
	})
}

// anyValue draws a value that a type takes, in one of its spellings.
func anyValue(t record.Type) *rapid.Generator[string] {
	switch t := t.(type) {
	case record.Text:
		return anyText(t.Min, t.Max)
	case record.Phone:
		return anyText(t.Min, t.Max)
	case record.Choice:
		return rapid.Map(rapid.SampledFrom([]string(t)), quoted)
	case record.Integer:
		low, high := t.Min, t.Max
		if low == 0 && high == 0 {
			low, high = -1<<31, 1<<31-1
		}
		return number(rapid.Int64Range(low, high))
	case record.Counted:
		return number(rapid.Int64Range(0, 1<<31-1))
	case record.Ref:
		return number(rapid.Int64Range(1, record.MaxID))
	case record.Refs:
		return rapid.Map(rapid.SliceOfN(number(rapid.Int64Range(1, 9)), 0, 4), listed)
	case record.Texts:
		return rapid.Map(rapid.SliceOfN(anyText(1, 20), 0, 4), listed)
	case record.Hash:
		digits := max(t.Digits, 32*min(1, 1-min(1, t.Digits)))
		return rapid.Map(rapid.StringMatching(fmt.Sprintf("[0-9a-f]{%d}", digits)), quoted)
	case record.Object:
		return anyObject()
	case record.Objects:
		return rapid.Map(rapid.SliceOfN(anyObject(), 0, 3), listed)
	}
	return anySimple(t)
}

func anySimple(t record.Type) *rapid.Generator[string] {
	switch t.(type) {
	case record.Bool:
		return rapid.SampledFrom([]string{"true", "false", "1", "0", `"yes"`, `"No"`, `"T"`, `" off "`})
	case record.Money:
		return rapid.OneOf(
			rapid.Map(rapid.Int64Range(-9_999_999_999, 9_999_999_999), func(n int64) string {
				return quoted(fmt.Sprintf("%s%d.%02d", map[bool]string{true: "-"}[n < 0], abs(n)/100, abs(n)%100))
			}),
			rapid.SampledFrom([]string{"5", "1e2", "-0", `".5"`, `"5."`, `"00012.50"`, "12.5"}))
	case record.Double:
		return rapid.SampledFrom([]string{"1", "-0.25", "1e3", `"12.50"`, "123456789012345678901234567890.5", "1E-7"})
	case record.Date:
		return rapid.Map(anyTime(), func(t time.Time) string { return quoted(t.Format("2006-01-02")) })
	case record.DateTime:
		layouts := rapid.SampledFrom([]string{time.RFC3339Nano, "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04:05.000-0700"})
		return rapid.Custom(func(t *rapid.T) string {
			return quoted(anyTime().Draw(t, "time").Format(layouts.Draw(t, "layout")))
		})
	case record.TimeOfDay:
		return rapid.SampledFrom([]string{`"04:00"`, `"0:00"`, `"23:59:00"`})
	case record.Email:
		return rapid.SampledFrom([]string{`""`, `"ana@example.org"`, `"O'Neil+x@Exämple.com"`, `"a@localhost"`, `"x@[127.0.0.1]"`})
	case record.URL, record.Photo:
		return rapid.SampledFrom([]string{`"https://example.org/a?b=c&d#e"`, `"https://exämple.org/ü"`})
	case record.ULID:
		return rapid.SampledFrom([]string{`"01HZX3Q0000000000000000000"`, `"01hzx3q0000000000000000abc"`})
	}
	panic(fmt.Sprintf("no generator of %T", t))
}

func anyTime() *rapid.Generator[time.Time] {
	return rapid.Map(rapid.Int64Range(-60_000_000_000_000_000, 250_000_000_000_000_000), func(micro int64) time.Time {
		return time.UnixMicro(micro).UTC()
	})
}

// anyText draws a text within limits, with characters that need care.
func anyText(least, most int) *rapid.Generator[string] {
	if most == 0 || most > 40 {
		most = 40
	}
	runes := rapid.RuneFrom([]rune("aZ9 \"\\/<>&\t\n\u2028éçß漢😀\u0301_.,:{}[]"))
	return rapid.Custom(func(t *rapid.T) string {
		s := rapid.StringOfN(runes, least, most, -1).Draw(t, "text")
		if strings.TrimSpace(s) == "" && least > 0 {
			s = "x"
		}
		return quoted(s)
	})
}

func anyObject() *rapid.Generator[string] {
	values := rapid.OneOf(anyText(0, 12), rapid.SampledFrom([]string{
		"null", "true", "1.50", "12345678901234567890", `{"b":{"z":1,"a":[{"y":1,"x":2}]},"a":[]}`, `[1,{"q":"]"}]`,
	}))
	return rapid.Custom(func(t *rapid.T) string {
		names := rapid.SliceOfNDistinct(anyText(1, 8), 0, 5, rapid.ID).Draw(t, "names")
		members := make([]string, len(names))
		for i, name := range names {
			members[i] = name + ": " + values.Draw(t, "value")
		}
		return "{" + strings.Join(members, " , ") + "}"
	})
}

// number draws an integer's spellings.
func number(g *rapid.Generator[int64]) *rapid.Generator[string] {
	forms := rapid.SampledFrom([]string{"%d", `"%d"`, "%d.0", `" %d "`})
	return rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf(forms.Draw(t, "form"), g.Draw(t, "n")) })
}

func listed(elements []string) string { return "[" + strings.Join(elements, " ,") + "]" }

func quoted(s string) string { return string(value.Quote(s)) }

func abs(n int64) int64 { return max(n, -n) }
