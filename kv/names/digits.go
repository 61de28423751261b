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

// IsCPF tells a number of Brazil's register of persons, in its eleven digits: the last two are check digits over the others
// (Receita Federal). Eleven equal digits pass that check, but no person has them.
func IsCPF(digits string) bool {
	if len(digits) != 11 {
		return false
	}
	same := true
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return false
		}
		same = same && digits[i] == digits[0]
	}
	return !same && digits[9] == checkDigit(digits[:9]) && digits[10] == checkDigit(digits[:10])
}

// CPF are a number's digits as the register has them: eleven, the zeros at its beginning being what a spreadsheet has dropped.
func CPF(digits string) string {
	if n := len(digits); n < 11 {
		return "00000000000"[n:] + digits
	}
	return digits
}

func checkDigit(digits string) byte {
	sum := 0
	for i := range len(digits) {
		sum += int(digits[i]-'0') * (len(digits) + 1 - i)
	}
	if rest := sum % 11; rest > 1 {
		return '0' + byte(11-rest)
	}
	return '0'
}
