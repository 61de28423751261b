package record

import (
	"regexp"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"
)

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
	d, _, fault := readDecimal(v)
	switch {
	case fault != "":
		return nil, fault
	case -d.Exponent() > maxPlaces:
		return nil, TextPlaces
	case !d.IsZero() && d.NumDigits()+int(d.Exponent()) > maxWhole:
		return nil, TextWhole
	case d.IsZero():
		return jsontext.Value(`"0.00"`), ""
	}
	return Quote(d.StringFixed(maxPlaces)), ""
}

func (Money) schema(d Direction) map[string]any {
	if d == Reply {
		return map[string]any{"type": "string", "format": "decimal", "pattern": `^-?\d{1,8}\.\d{2}$`}
	}
	return map[string]any{"type": []string{"string", "number"}, "format": "decimal"}
}

// readDecimal reads a decimal's number or text after looking at its length and exponent.
func readDecimal(v jsontext.Value) (d decimal.Decimal, text, fault string) {
	text, ok := plain(v)
	switch {
	case !ok:
		return d, "", TextNotNumber
	case len(text) > maxDecimal:
		return d, "", TextTooLong
	case !decimalText.MatchString(text):
		return d, "", TextNotNumber
	}
	d, err := decimal.NewFromString(text)
	if err != nil {
		return d, "", TextNotNumber
	}
	return d, text, ""
}

// Double is a number within float64's range, kept as the text it was given in.
type Double struct{}

func (Double) parse(v jsontext.Value, _ *time.Location) (jsontext.Value, string) {
	d, text, fault := readDecimal(v)
	if fault != "" {
		return nil, fault
	}
	if size := d.NumDigits() + int(d.Exponent()); size > maxDouble || size < -maxDouble {
		if !d.IsZero() {
			return nil, TextNotNumber
		}
		return jsontext.Value("0"), ""
	}
	if v.Kind() == '0' {
		return jsontext.Value(text).Clone(), ""
	}
	return jsontext.Value(d.String()), ""
}

func (Double) schema(d Direction) map[string]any {
	if d == Reply {
		return map[string]any{"type": "number", "format": "double"}
	}
	return map[string]any{"type": []string{"number", "string"}, "format": "double"}
}

// cents reads a stored amount: "12.50" is 1250.
func cents(v jsontext.Value) int64 {
	var n int64
	negative := false
	for _, c := range v {
		switch {
		case '0' <= c && c <= '9':
			n = n*10 + int64(c-'0')
		case c == '-':
			negative = true
		}
	}
	if negative {
		return -n
	}
	return n
}

// appendAmount appends an amount of cents as a stored amount is written.
func appendAmount(dst []byte, cents int64) []byte {
	dst = append(dst, '"')
	if cents < 0 {
		dst, cents = append(dst, '-'), -cents
	}
	dst = strconv.AppendInt(dst, cents/100, 10)
	return append(dst, '.', byte('0'+cents/10%10), byte('0'+cents%10), '"')
}
