package search

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/names"
	"doorward/kv/record"
	"doorward/kv/value"
)

// Terms is a people search as contract.md §6 promises it: every term must match, in any searched field.
type Terms struct{ terms []term }

// term is one word or phrase that was typed. With letters it is looked for in names and addresses, without in the digits
// of phones and numbers; with neither it matches nothing.
type term struct {
	folded    []byte
	digits    []byte
	spoken    bool   // has letters
	phrase    bool   // was quoted
	forgiving []rune // folded, where one edit is forgiven in names
}

// Parse splits what was typed on spaces and commas, "quoted phrases" kept. A search without terms matches everything. A term that is repeated
// counts once.
func Parse(q string) *Terms {
	s, seen := &Terms{}, map[string]bool{}
	for q != "" {
		if rest, quoted := strings.CutPrefix(q, `"`); quoted {
			phrase, after, _ := strings.Cut(rest, `"`)
			s.add(phrase, true, seen)
			q = after
			continue
		}
		end := strings.IndexFunc(q, func(r rune) bool { return r == ',' || r == '"' || unicode.IsSpace(r) })
		switch end {
		case -1:
			s.add(q, false, seen)
			q = ""
		case 0:
			q = strings.TrimLeftFunc(q, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
		default:
			s.add(q[:end], false, seen)
			q = q[end:]
		}
	}
	return s
}

// add takes one term, if it is not among those seen; a blank phrase is none.
func (s *Terms) add(text string, phrase bool, seen map[string]bool) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	t := term{folded: bytes.TrimSpace(names.AppendFold(nil, []byte(text))), phrase: phrase}
	key := strconv.FormatBool(phrase) + string(t.folded)
	if seen[key] {
		return
	}
	seen[key] = true
	t.spoken = bytes.ContainsFunc(t.folded, unicode.IsLetter)
	if !t.spoken {
		t.digits = names.AppendDigits(nil, t.folded)
	}
	s.terms = append(s.terms, t)
}

// Empty tells a search without terms.
func (s *Terms) Empty() bool { return len(s.terms) == 0 }

// Fuzzy is the search that forgives one edit in each unquoted word of at least four letters, in names: the term matches also
// where a word of the name, or a beginning of one, is a letter more, less or other away from it, or two neighbours swapped.
func (s *Terms) Fuzzy() *Terms {
	f := &Terms{slices.Clone(s.terms)}
	for i := range f.terms {
		t := &f.terms[i]
		if t.spoken && !t.phrase && names.IsWord(t.folded) && forgivenIn(string(t.folded)).Begun {
			t.forgiving = []rune(string(t.folded))
		}
	}
	return f
}

// Part is one term of a search, for a follower that keeps an index of its own.
type Part struct {
	Text      string // folded; "" where it has no letters
	Digits    string // of a term without letters; with neither it matches nothing
	Phrase    bool   // it was quoted
	Forgiving bool   // one edit is forgiven in names
}

// Parts are what is searched for.
func (s *Terms) Parts() []Part {
	parts := make([]Part, len(s.terms))
	for i, t := range s.terms {
		parts[i] = Part{Digits: string(t.digits), Phrase: t.phrase, Forgiving: t.forgiving != nil}
		if t.spoken {
			parts[i].Text = string(t.folded)
		}
	}
	return parts
}

// Matches reports whether a record of kind k matches.
func (s *Terms) Matches(k *record.Kind, b record.Body) bool {
	var stack [8]*term
	missing := stack[:0] // the terms that no field has matched
	for i := range s.terms {
		missing = append(missing, &s.terms[i])
	}
	at := 0
	for _, f := range k.Searched {
		spoken := f.Spoken()
		if !slices.ContainsFunc(missing, func(t *term) bool { return t.spoken == spoken }) {
			continue
		}
		var v jsontext.Value
		if v, at = b.Next(f.Name, at); !value.IsNull(v) {
			missing = unfound(missing, f, v)
		}
	}
	return len(missing) == 0
}

// unfound leaves of some terms those that one field's value does not match.
func unfound(terms []*term, f *record.Field, v jsontext.Value) []*term {
	var stack [512]byte
	if !f.Spoken() {
		digits := names.AppendDigits(stack[:0], v)
		_, whole := f.Type.(record.Integer)
		return slices.DeleteFunc(terms, func(t *term) bool { return !t.spoken && t.inDigits(digits, whole) })
	}
	text := names.AppendFold(stack[:0], value.Content(v))
	terms = slices.DeleteFunc(terms, func(t *term) bool { return t.spoken && bytes.Contains(text, t.folded) })
	if f.IsName() && slices.ContainsFunc(terms, func(t *term) bool { return t.forgiving != nil }) {
		return notNearly(terms, text)
	}
	return terms
}

// notNearly leaves of some terms those that a name does not have with one edit forgiven.
func notNearly(terms []*term, folded []byte) []*term {
	var letters [256]rune
	var ends [MaxWords]int
	name := names.AppendWritten(names.List{Letters: letters[:0], Ends: ends[:0]}, folded)
	return slices.DeleteFunc(terms, func(t *term) bool {
		for j := range name.Ends {
			if t.forgiving != nil && near(t.forgiving, name.Word(j), 1, true) {
				return true
			}
		}
		return false
	})
}

// inDigits reports whether a term occurs in a field's digits, or, of a number, is the whole of it.
func (t *term) inDigits(digits []byte, whole bool) bool {
	if whole {
		return bytes.Equal(digits, t.digits)
	}
	return len(t.digits) > 0 && bytes.Contains(digits, t.digits)
}
