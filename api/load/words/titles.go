package words

import (
	"fmt"
	"slices"
	"strings"
)

// DidYouMean names the nearest of some names, in words.
func DidYouMean(name string, names []string) string {
	best, at := len(name)+1, -1
	for i, n := range names {
		if d, ok := Near(Plain(name), Plain(n)); ok && d < best || strings.TrimSuffix(name, "s") == n {
			best, at = d, i
		}
	}
	if at < 0 {
		return ""
	}
	return fmt.Sprintf(" (did you mean “%s”?)", names[at])
}

// Ranks are the plain titles under which a field is looked for, the best first. A name with an underscore has
// no other meaning.
func Ranks(field string) (out [][]string) {
	if strings.Contains(field, "_") {
		out = append(out, []string{Plain(field)})
	}
	for _, t := range titles {
		if t.field == field && t.words != "" {
			for rank := range strings.SplitSeq(t.words, ";") {
				out = append(out, strings.Split(rank, "|"))
			}
		}
	}
	if !strings.Contains(field, "_") {
		if len(out) == 0 {
			out = [][]string{nil}
		}
		out[0] = append(out[0], Plain(field))
	}
	return out
}

// Titles are all of them.
func Titles(field string) []string { return slices.Concat(Ranks(field)...) }
