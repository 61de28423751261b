package value

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Cents reads a stored amount: "12.50" is 1250.
func Cents(v jsontext.Value) int64 {
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

// AppendAmount appends an amount of cents as a stored amount is written.
func AppendAmount(dst []byte, cents int64) []byte {
	dst = append(dst, '"')
	if cents < 0 {
		dst, cents = append(dst, '-'), -cents
	}
	dst = strconv.AppendInt(dst, cents/100, 10)
	return append(dst, '.', byte('0'+cents/10%10), byte('0'+cents%10), '"')
}
