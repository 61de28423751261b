package search

import (
	"bytes"
	"math/bits"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/names"
	"doorward/kv/record"
	"doorward/kv/value"
)

// Ranked is a search for a person at a keyboard: the words of a name in any order, whole, begun, mistyped, spelled or parted otherwise,
// and the last digits of a phone, a number on its own or a whole document number. Every word but a particle counts, and each answers
// another word of the name. The whole may also be the beginning of an address.
type Ranked struct {
	Words  []Typed // that a name must have
	Joints []Joint // pairs of Words that a name may have as one word

	// Digits are what a phone must end with, or a number, a document number or a word of the name be. Of WholePhone digits and more a
	// phone may also be just the last ones, TailDigits at least.
	Digits []string

	// Address is what an address may begin with, folded, in the stead of all else that was typed; "" = none does.
	Address string
}

// Empty reports whether the search is for nothing. It finds no record then.
func (r *Ranked) Empty() bool { return len(r.Words)+len(r.Digits) == 0 }

// An answer's cost counts, from the most important: words that only sound alike, that it is found by its address and not by its
// name, words that are two edits away, those one edit away, words parted otherwise, beginnings, whether the name's first word answers
// the first that was typed, and particles that answer one. Each has room for maxTyped.
const (
	costParticle = 1
	costNotFirst = 1 << 5
	costBegun    = 1 << 6
	costJoined   = 1 << 11
	costOneEdit  = 1 << 16
	costTwoEdits = 1 << 21
	costAddress  = 1 << 26
	costSound    = 1 << 27
)

// forgiven are the edits that are forgiven in a typed word: one in a whole word, one in its beginning, two in a whole word.
type forgiven struct{ One, Begun, Two bool }

// forgivenIn is the rule, by how many letters a word has.
func forgivenIn(word string) forgiven {
	n := names.Letters([]byte(word))
	return forgiven{One: n >= 3, Begun: n >= 4, Two: n >= 8}
}

// Cost reports whether a record of kind k is found, and how well. Less is better: all words whole, then begun, then parted otherwise,
// then with one edit, then with two, then by its address, then words that sound alike, fewer first. Of equals the name is first that
// begins with the first typed word, then the name with fewer other words. Records of one cost are in the order of their ids.
func (r *Ranked) Cost(k *record.Kind, b record.Body) (cost int64, ok bool) {
	if r.Empty() || len(r.Words)+len(r.Digits) > maxTyped {
		return 0, false
	}
	var stack [256]rune
	var ends [MaxWords]int
	m := matching{Ranked: r, name: names.List{Letters: stack[:0], Ends: ends[:0]}}
	at := 0
	for _, f := range k.Ranked {
		if !f.IsName() {
			continue
		}
		var v jsontext.Value
		if v, at = b.Next(f.Name, at); !value.IsNull(v) {
			m.name = names.AppendWords(m.name, value.Content(v))
		}
	}
	sum, more, ok := m.match()
	if !ok && r.beginsAddress(k, b) {
		return costAddress * 64, true
	}
	if !ok {
		sum, more, ok = m.matchAloud()
	}
	if !ok {
		return 0, false
	}
	said, n := r.said(&m.name)
	tails, ok := r.tails(k, b, at, said)
	if !ok {
		return 0, false
	}
	return (sum/costNotFirst*64+int64(min(max(more-n, 0), 63)))*32 + int64(min(tails, 31)), true
}

// leastAddress is how many characters of an address are typed at least.
const leastAddress = 3

// beginsAddress reports whether a record's address begins with what was typed.
func (r *Ranked) beginsAddress(k *record.Kind, b record.Body) bool {
	if r.Address == "" {
		return false
	}
	for _, f := range k.Ranked {
		if _, ok := f.Type.(record.Email); !ok {
			continue
		}
		var stack [256]byte
		if bytes.HasPrefix(names.AppendFold(stack[:0], value.Content(b.Member(f.Name))), []byte(r.Address)) {
			return true
		}
	}
	return false
}

// said has a bit for each typed number that is a word of the name, and tells how many of its words are.
func (r *Ranked) said(name *names.List) (numbers uint64, n int) {
	if len(r.Digits) == 0 {
		return 0, 0
	}
	for j := range name.Ends {
		is := false
		for i, digits := range r.Digits {
			if names.Spells(name.Word(j), digits) {
				numbers |= 1 << i
				is = true
			}
		}
		if is {
			n++
		}
	}
	return numbers, n
}

// cost is how far a word of a name is from what was typed.
func (t *Typed) cost(word []rune) int64 {
	switch {
	case names.Begins(word, t.runes):
		if len(t.runes) == len(word) {
			return 0
		}
		return costBegun
	case t.Full != "" && names.Spells(word, t.Full):
		return 0
	case t.joined != nil && names.Begins(word, t.joined):
		if len(t.joined) == len(word) {
			return costJoined
		}
		return costJoined + costBegun
	case t.One && near(t.runes, word, 1, false):
		return costOneEdit
	case t.Begun && near(t.runes, word, 1, true):
		return costOneEdit + costBegun
	case t.Two && near(t.runes, word, 2, false):
		return costTwoEdits
	}
	return unmatched
}

// tails reports whether each number that was typed is a word of the name, as said tells, the end of a phone, a document number or the
// whole of a number, looking from the member at b's shown run on; n of them are but an end. A single digit is no end and no number.
func (r *Ranked) tails(k *record.Kind, b record.Body, at int, said uint64) (n int, ok bool) {
	if len(r.Digits) == 0 {
		return 0, true
	}
	ends, whole := uint64(0), said // a bit for each number
	for _, f := range k.Ranked {
		if f.Spoken() && !f.Flags.Has(record.Document) {
			continue
		}
		var v jsontext.Value
		v, at = b.Next(f.Name, at)
		var stack [64]byte
		have := names.AppendDigits(stack[:0], v)
		for i, digits := range r.Digits {
			switch {
			case len(digits) < 2:
			case isNumber(f, have, digits):
				whole |= 1 << i
			case isPhone(f) && isEnd(have, digits):
				ends |= 1 << i
			}
		}
	}
	return bits.OnesCount64(ends &^ whole), ends|whole == 1<<len(r.Digits)-1
}

// isNumber reports whether a field with these digits is the whole number that was typed.
func isNumber(f *record.Field, have []byte, typed string) bool {
	switch {
	case f.Flags.Has(record.Document):
		return len(have) > 0 && names.CPF(string(have)) == typed
	case isPhone(f):
		return string(have) == typed || len(typed) >= WholePhone && string(national(have)) == string(national([]byte(typed)))
	}
	return string(have) == typed
}

func isPhone(f *record.Field) bool {
	_, phone := f.Type.(record.Phone)
	return phone
}

// PhoneEnds reports whether a number that was typed is the end of a phone.
func (r *Ranked) PhoneEnds(phone string) bool {
	return slices.ContainsFunc(r.Digits, func(digits string) bool { return phone != "" && len(digits) >= 2 && isEnd([]byte(phone), digits) })
}

// WholePhone is how many digits a typed phone has at least that is taken for a whole one, TailDigits how many of them a stored one
// must have then.
const (
	WholePhone = 8
	TailDigits = 4
)

// isEnd reports whether a phone ends with what was typed, or is, as a door has it, the end of a whole phone that was typed. Of a whole
// one it does not count how it is dialled.
func isEnd(phone []byte, typed string) bool {
	if ends(phone, typed) {
		return true
	}
	return len(typed) >= WholePhone && ends(national(phone), string(national([]byte(typed))))
}

// ends is isEnd of digits that are compared as they are.
func ends(phone []byte, typed string) bool {
	if n := len(typed) - len(phone); n > 0 {
		return len(typed) >= WholePhone && len(phone) >= TailDigits && typed[n:] == string(phone)
	}
	return string(phone[len(phone)-len(typed):]) == typed
}

// national is a Brazilian phone without what is dialled before its area code: 00 and the country's 55, the 0 of a long-distance call
// and the two digits of a carrier behind it. What would not leave a whole phone stays. 55 is an area code too: of ten or eleven digits
// it is no country's.
func national(digits []byte) []byte {
	rest := bytes.TrimPrefix(digits, []byte("00"))
	if local, ok := bytes.CutPrefix(rest, []byte("55")); ok && len(local) >= 10 {
		rest = local
	}
	if local, ok := bytes.CutPrefix(rest, []byte("0")); ok {
		rest = local
		if len(rest) > 11 {
			rest = rest[2:]
		}
	}
	if len(rest) < WholePhone {
		return digits
	}
	return rest
}
