package record

import (
	"bytes"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// Search is a people search as contract.md §6 promises it: every term must match, in any searched field.
type Search struct{ terms []term }

// term is one word or phrase that was typed. With letters it is looked for in names and addresses, without in the digits
// of phones and numbers; with neither it matches nothing.
type term struct {
	folded []byte
	digits []byte
	spoken bool // has letters
}

// ParseSearch splits what was typed on spaces and commas, "quoted phrases" kept. A search without terms matches everything.
func ParseSearch(q string) *Search {
	s := &Search{}
	for q != "" {
		if rest, quoted := strings.CutPrefix(q, `"`); quoted {
			phrase, after, _ := strings.Cut(rest, `"`)
			s.add(phrase)
			q = after
			continue
		}
		end := strings.IndexFunc(q, func(r rune) bool { return r == ',' || r == '"' || unicode.IsSpace(r) })
		switch end {
		case -1:
			s.add(q)
			q = ""
		case 0:
			q = strings.TrimLeftFunc(q, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
		default:
			s.add(q[:end])
			q = q[end:]
		}
	}
	return s
}

// add takes one term; a blank phrase is none.
func (s *Search) add(text string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	t := term{folded: bytes.TrimSpace(appendFold(nil, []byte(text)))}
	t.spoken = bytes.ContainsFunc(t.folded, unicode.IsLetter)
	if !t.spoken {
		t.digits = appendDigits(nil, t.folded)
	}
	s.terms = append(s.terms, t)
}

// Empty tells a search without terms.
func (s *Search) Empty() bool { return len(s.terms) == 0 }

// Terms are what is searched for, folded; for a follower that keeps an index of its own.
func (s *Search) Terms() []string {
	out := make([]string, len(s.terms))
	for i, t := range s.terms {
		out[i] = string(t.folded)
	}
	return out
}

// Matches tells whether a record of kind k matches.
func (s *Search) Matches(k *Kind, b Body) bool {
	if len(s.terms) > 64 {
		return s.matchesMany(k, b)
	}
	missing := uint64(1)<<len(s.terms) - 1 // one bit for each term that no field has matched
	at := 0
	for _, i := range k.searched {
		if missing == 0 {
			return true
		}
		f := &k.Fields[i]
		v, after := find(b.Shown, at, f.Name)
		if v == nil {
			v = b.Member(f.Name)
		} else {
			at = after
		}
		if !isNull(v) {
			missing = s.strike(missing, f.Type, v)
		}
	}
	return missing == 0
}

// matchesMany is Matches for more terms than a word has bits.
func (s *Search) matchesMany(k *Kind, b Body) bool {
	for terms := s.terms; len(terms) > 0; {
		n := min(len(terms), 64)
		if !(&Search{terms[:n]}).Matches(k, b) {
			return false
		}
		terms = terms[n:]
	}
	return true
}

// strike takes out the terms that one field's value matches.
func (s *Search) strike(missing uint64, t Type, v jsontext.Value) uint64 {
	var stack [512]byte
	var text []byte
	spoken := false
	switch t.(type) {
	case Phone, Integer:
		text = appendDigits(stack[:0], v)
	default:
		text, spoken = appendFold(stack[:0], content(v)), true
	}
	_, whole := t.(Integer)
	for i, term := range s.terms {
		switch {
		case term.spoken != spoken:
		case spoken && bytes.Contains(text, term.folded),
			!spoken && len(term.digits) > 0 && !whole && bytes.Contains(text, term.digits),
			!spoken && whole && bytes.Equal(text, term.digits):
			missing &^= 1 << i
		}
	}
	return missing
}

// content is what stands between a stored string's quotes, decoded.
func content(v jsontext.Value) []byte {
	if bytes.IndexByte(v, '\\') < 0 {
		return v[1 : len(v)-1]
	}
	return []byte(unquote(v))
}

// appendDigits appends the ASCII digits of a text.
func appendDigits(dst, s []byte) []byte {
	for _, c := range s {
		if '0' <= c && c <= '9' {
			dst = append(dst, c)
		}
	}
	return dst
}
