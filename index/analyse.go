package index

import (
	"bytes"

	bleve "github.com/blevesearch/bleve_index_api"
	"github.com/go-json-experiment/json/jsontext"

	"doorward/kv/record"
)

// gram is how many bytes in a row are one term.
const gram = 3

// padding follows each text, so that its last one and two bytes begin a gram as all others do: what is shorter than a gram
// is found by the grams that begin with it.
const padding = "\x00\x00"

// cutWhole takes each text as one term.
func cutWhole(terms bleve.TokenFrequencies, texts []string) {
	for _, text := range texts {
		terms[text] = once
	}
}

// cutText takes the grams of folded texts.
func cutText(terms bleve.TokenFrequencies, texts []string) {
	for _, text := range texts {
		cutGrams(terms, record.Fold(text))
	}
}

// cutDigits takes the grams of the digits of texts.
func cutDigits(terms bleve.TokenFrequencies, texts []string) {
	for _, text := range texts {
		cutGrams(terms, digitsOf(text))
	}
}

func cutGrams(terms bleve.TokenFrequencies, text string) {
	padded := text + padding
	for i := range len(text) {
		terms[padded[i:i+gram]] = once
	}
}

// mostWords is how many words of a name are looked at where answers are ranked.
const mostWords = 32

// crowded is a term of names with more words than that: no word that was typed is this.
const crowded = "\x00"

// nameWords are the words of a record's names.
func nameWords(texts []string) (words []string) {
	for _, text := range texts {
		words = append(words, record.Words(text)...)
	}
	return words
}

// cutWords takes the words of names.
func cutWords(terms bleve.TokenFrequencies, texts []string) {
	words := nameWords(texts)
	for _, word := range words {
		terms[word] = once
	}
	if len(words) > mostWords {
		terms[crowded] = once
	}
}

// cutShape takes what ranks names of the same words: the first one, and how many there are.
func cutShape(terms bleve.TokenFrequencies, texts []string) {
	words := nameWords(texts)
	if len(words) > 0 {
		terms[words[0]] = once
	}
	n := 0
	for _, word := range words[:min(len(words), mostWords)] {
		if !record.Particle(word) {
			n++
		}
	}
	terms[countTerm(n)] = once
}

// countTerm is what names of so many words have, particles not counted: no word is this.
func countTerm(n int) string { return string([]byte{0, byte(n)}) }

// digitsOf are the ASCII digits of a text.
func digitsOf(text string) string {
	digits := make([]byte, 0, len(text))
	for _, c := range []byte(text) {
		if '0' <= c && c <= '9' {
			digits = append(digits, c)
		}
	}
	return string(digits)
}

// content is what a stored string says. What is no string says nothing.
func content(v jsontext.Value) string {
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return string(v[1 : len(v)-1])
	}
	text, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return ""
	}
	return string(text)
}
