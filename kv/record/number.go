package record

import (
	"math"
	"regexp"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"

	"doorward/kv/fault"
	"doorward/kv/value"
)

// Integer is an integer from Min to Max; both zero: of 32 bits.
type Integer struct{ Min, Max int64 }

func (t Integer) bounds() (low, high int64) {
	if t == (Integer{}) {
		return math.MinInt32, math.MaxInt32
	}
	return t.Min, t.Max
}

func (t Integer) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	n, ok := value.ReadInteger(v)
	low, high := t.bounds()
	switch {
	case !ok:
		return nil, fault.NotInteger
	case n > high:
		return nil, fault.AtMost(high)
	case n < low:
		return nil, fault.AtLeast(low)
	}
	return value.Number(n), ""
}

func (t Integer) schema(d Direction) map[string]any {
	low, high := t.bounds()
	return alsoTaken(d, "string", map[string]any{"type": "integer", "minimum": low, "maximum": high})
}

// Bool is true or false, or one of the words for them.
type Bool struct{}

func (Bool) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	var b, ok bool
	switch v.Kind() {
	case 't', 'f':
		b, ok = v[0] == 't', true
	case '"', '0':
		s, _ := value.Plain(v)
		b, ok = value.ParseBool(s)
	}
	switch {
	case !ok:
		return nil, fault.NotBool
	case b:
		return jsontext.Value("true"), ""
	}
	return jsontext.Value("false"), ""
}

func (Bool) schema(d Direction) map[string]any {
	if d == Reply {
		return map[string]any{"type": "boolean"}
	}
	return map[string]any{"type": []string{"boolean", "string", "integer"}}
}

const (
	maxDecimal = 1000 // characters of a decimal, looked at before the decimal library sees it
	maxWhole   = 8    // digits of an amount before the decimal point
	maxPlaces  = 2    // digits of an amount after it
	maxDouble  = 308  // decimal digits of the largest float64
)

// decimalText is what may be given as a decimal: its exponent is bounded too.
var decimalText = regexp.MustCompile(`^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?$`)

// Money is an amount with two places, stored as a string.
type Money struct{}

func (Money) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	d, _, sentence := readDecimal(v)
	switch {
	case sentence != "":
		return nil, sentence
	case -d.Exponent() > maxPlaces:
		return nil, fault.Places
	case !d.IsZero() && d.NumDigits()+int(d.Exponent()) > maxWhole:
		return nil, fault.Whole
	case d.IsZero():
		return jsontext.Value(`"0.00"`), ""
	}
	return value.Quote(d.StringFixed(maxPlaces)), ""
}

func (Money) schema(d Direction) map[string]any {
	if d == Reply {
		return map[string]any{"type": "string", "format": "decimal", "pattern": `^-?\d{1,8}\.\d{2}$`}
	}
	return map[string]any{"type": []string{"string", "number"}, "format": "decimal"}
}

// readDecimal reads a decimal's number or text after looking at its length and exponent.
func readDecimal(v jsontext.Value) (d decimal.Decimal, text, sentence string) {
	text, ok := value.Plain(v)
	switch {
	case !ok:
		return d, "", fault.NotNumber
	case len(text) > maxDecimal:
		return d, "", fault.TooLarge
	case !decimalText.MatchString(text):
		return d, "", fault.NotNumber
	}
	d, err := decimal.NewFromString(text)
	if err != nil {
		return d, "", fault.NotNumber
	}
	return d, text, ""
}

// Double is a number within float64's range, kept as the text it was given in.
type Double struct{}

func (Double) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	d, text, sentence := readDecimal(v)
	if sentence != "" {
		return nil, sentence
	}
	if size := d.NumDigits() + int(d.Exponent()); size > maxDouble || size < -maxDouble {
		if !d.IsZero() {
			return nil, fault.NotNumber
		}
		return jsontext.Value("0"), ""
	}
	if v.Kind() == '0' {
		return jsontext.Value(text).Clone(), ""
	}
	return jsontext.Value(d.String()), ""
}

func (Double) schema(d Direction) map[string]any {
	return alsoTaken(d, "string", map[string]any{"type": "number", "format": "double"})
}
