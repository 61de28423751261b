package overview

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// tongue is the language of an overview's sentences: what it says for each English text. Where it says nothing the English text stays.
type tongue map[string]string

//go:embed tongue.*.json
var catalogues embed.FS

// tongues are the languages besides English.
var tongues = map[string]tongue{"pt-BR": read("pt-BR")}

// read reads a language's catalogue. It panics if there is none, which a test of any overview sees.
func read(language string) (t tongue) {
	text, err := catalogues.ReadFile("tongue." + language + ".json")
	if err = cmp.Or(err, json.Unmarshal(text, &t)); err != nil {
		panic(err)
	}
	return t
}

// say is a sentence, or a part of one.
func (t tongue) say(format string, args ...any) string {
	if said, ok := t[format]; ok {
		return fmt.Sprintf(said, args...)
	}
	return fmt.Sprintf(format, args...)
}

// word is a text without arguments.
func (t tongue) word(text string) string {
	if said, ok := t[text]; ok {
		return said
	}
	return text
}

// words are several of them.
func (t tongue) words(texts []string) string {
	var all []string
	for _, text := range texts {
		all = append(all, t.word(text))
	}
	return strings.Join(all, ", ")
}

// many is a number of something, of which the plural ends in s.
func (t tongue) many(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + t.word(what)
}

func (t tongue) are(n int) string {
	if n == 1 {
		return t.word("is")
	}
	return t.word("are")
}

// lasting is Lasting in this language.
func (t tongue) lasting(d time.Duration) string {
	number, unit, _ := strings.Cut(Lasting(d), " ")
	return number + " " + t.word(unit)
}

// aside is where a clock is against this one, which is so far ahead of it.
func (t tongue) aside(ahead time.Duration) string {
	if ahead > 0 {
		return t.say("%s behind", t.lasting(ahead))
	}
	return t.say("%s ahead of", t.lasting(ahead))
}

// ago says how long ago a moment was.
func (s needs) ago(at time.Time) string { return s.lasting(s.now.Sub(at)) }

// oldest says how old the oldest of some changes is.
func (s needs) oldest(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return s.say(" (the oldest %s old)", s.ago(at))
}

// ends says when something ends or has ended.
func (s needs) ends(at time.Time) string {
	if left := at.Sub(s.now); left > 0 {
		return s.say("ends in %s", s.lasting(left))
	}
	return s.say("has ended %s ago", s.ago(at))
}

// Lasting is a time as people say it, in English.
func Lasting(d time.Duration) string {
	in := func(unit time.Duration, name string) string {
		return strconv.FormatInt(int64(d.Round(unit)/unit), 10) + " " + name
	}
	switch d = d.Abs(); {
	case d < 2*time.Minute:
		return in(time.Second, "s")
	case d < 2*time.Hour:
		return in(time.Minute, "min")
	case d < 48*time.Hour:
		return in(time.Hour, "h")
	}
	return in(24*time.Hour, "days")
}
