package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"doorward/kv/names"
)

// Typed is a word that was typed, in the forms in which a name may have it; all are folded.
type Typed struct {
	Text   string
	Full   string  // of an abbreviation the word that it is short for
	Sound  string  // "" where it has too few letters to be compared by its sound
	Joined string  // it and the particle typed before it, as one word; "" where there is none
	Parted []Parts // all ways to part it into two words
	forgiven
	runes  []rune
	joined []rune // of Joined
	first  rune   // of Sound
}

// Parts are two words that were typed as one, and their sounds.
type Parts struct{ Text, Sound [2]string }

// Joint is two words, typed one behind the other, that a name may have as one.
type Joint struct {
	First int // of these two words; the other is the next one
	Text  string
	Sound string
	runes []rune // of Text
	first rune   // of Sound
}

// How many letters a word has that is compared with two words; of longer ones the ways to part them would be too many.
const (
	leastJoined = 4
	mostJoined  = 32
)

// newTyped is a word in all its forms, behind a particle or "".
func newTyped(word, particle string) Typed {
	t := Typed{Text: word, forgiven: forgivenIn(word), runes: []rune(word)}
	t.Full = names.LongForm(t.runes)
	if names.Letters([]byte(word)) >= names.SoundLetters {
		t.Sound, t.first = names.SoundOf(t.runes), names.FirstSound(t.runes)
	}
	if particle != "" {
		t.Joined = particle + word
		t.joined = []rune(t.Joined)
	}
	if n := len(t.runes); n >= leastJoined && n <= mostJoined {
		t.Parted = make([]Parts, 0, n-1)
		for i, at := 1, 0; i < n; i++ {
			at += utf8.RuneLen(t.runes[i-1])
			sounds := [2]string{names.SoundOf(t.runes[:i]), names.SoundOf(t.runes[i:])}
			t.Parted = append(t.Parted, Parts{[2]string{word[:at], word[at:]}, sounds})
		}
	}
	return t
}

func newJoint(first int, text string) Joint {
	runes := []rune(text)
	return Joint{first, text, names.SoundOf(runes), runes, names.FirstSound(runes)}
}

// piece is a word as it was typed, before it is decided which ones count.
type piece struct {
	word     string
	particle bool
	begins   bool // a number or nothing stands before it
}

// pieces are what was typed, taken apart.
type pieces struct {
	words   []piece
	numbers []string // of two digits and more
	single  []string
	number  []byte // the one that has been begun
	begins  bool
}

// end ends the number that has been begun, if there is one.
func (p *pieces) end() {
	switch len(p.number) {
	case 0:
	case 1:
		p.single = append(p.single, string(p.number))
	default:
		p.numbers = append(p.numbers, string(p.number))
	}
	p.number = nil
}

// takeApart takes the words and numbers of what was typed, which comes folded and split at spaces, commas and quotes.
func takeApart(parts []string) (p pieces) {
	p.begins = true
	for _, part := range parts {
		if !strings.ContainsFunc(part, unicode.IsLetter) {
			p.number = names.AppendDigits(p.number, []byte(part))
			p.begins = true
			continue
		}
		p.end()
		for _, word := range strings.FieldsFunc(part, names.IsBetween) {
			if word = strings.ReplaceAll(word, "'", ""); word != "" {
				p.words = append(p.words, piece{word, names.IsParticle(word), p.begins})
				p.begins = false
			}
		}
	}
	p.end()
	return p
}

// ParseRanked takes what was typed apart into Words; what has no letters counts by its digits, side by side as one number.
// A particle is a word like others, and a single digit a number, where nothing else was typed. What has letters and no blank may
// also be the beginning of an address.
func ParseRanked(q string) *Ranked {
	parts := strings.FieldsFunc(names.Fold(string(names.Written([]byte(q)))), func(c rune) bool { return c == ',' || c == '"' || unicode.IsSpace(c) })
	p := takeApart(parts)
	r := &Ranked{Digits: p.numbers}
	if !slices.ContainsFunc(p.words, func(w piece) bool { return !w.particle }) && len(p.numbers) == 0 {
		for i := range p.words {
			p.words[i].particle = false
		}
		r.Digits = p.single
	}
	r.addWords(p.words)
	if len(parts) == 1 && len(r.Words) > 0 && len(parts[0]) >= leastAddress {
		r.Address = parts[0]
	}
	return r
}

// addWords takes the words that count, and what they are together with the word before them.
func (r *Ranked) addWords(pieces []piece) {
	for i, p := range pieces {
		if p.particle {
			continue
		}
		particle := ""
		if i > 0 && !p.begins {
			switch before := pieces[i-1]; {
			case before.particle:
				particle = before.word
			case len(before.word)+len(p.word) >= leastJoined:
				r.Joints = append(r.Joints, newJoint(len(r.Words)-1, before.word+p.word))
			}
		}
		r.Words = append(r.Words, newTyped(p.word, particle))
	}
}
