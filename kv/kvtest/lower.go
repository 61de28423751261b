package kvtest

// Lower makes the ASCII letters of a text small, where they stand. The race detector leaves it alone: nobody else has the text, and
// to look at each byte of large files takes it minutes.
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
