package names

// Digits are the ASCII digits of a text, as searches compare phones and numbers.
func Digits(s string) string { return string(AppendDigits(nil, []byte(s))) }

// AppendDigits appends the ASCII digits of a text.
func AppendDigits(dst, s []byte) []byte {
	for _, c := range s {
		if '0' <= c && c <= '9' {
			dst = append(dst, c)
		}
	}
	return dst
}
