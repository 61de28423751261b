package kvtest

// Lower makes the ASCII letters of a text small, in place. The race detector skips it: only the caller has the text, and checking each
// byte of large files takes minutes.
//
//go:norace
func Lower(text []byte) []byte {
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			text[i] = c + 'a' - 'A'
		}
	}
	return text
}
