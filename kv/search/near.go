package search

// near reports whether what was typed is at most so many edits from a word, or, begun, from a beginning of it. An edit is a
// letter more, less or other, or two neighbours swapped; no letter is edited twice.
func near(typed, word []rune, edits int, begun bool) bool {
	if more := len(typed) - len(word); more > edits || !begun && -more > edits {
		return false
	}
	for len(typed) > 0 && len(word) > 0 && typed[0] == word[0] {
		typed, word = typed[1:], word[1:]
	}
	switch {
	case len(typed) == 0, len(word) == 0:
		return true // what is left of the other are edits few enough, or not begun
	case edits == 0:
		return false
	}
	return near(typed[1:], word[1:], edits-1, begun) ||
		near(typed, word[1:], edits-1, begun) ||
		near(typed[1:], word, edits-1, begun) ||
		swapped(typed, word) && near(typed[2:], word[2:], edits-1, begun)
}

// swapped reports whether two texts begin with the same two letters the other way round.
func swapped(a, b []rune) bool {
	return len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0]
}
