package index

import (
	"slices"

	bleve "github.com/blevesearch/bleve_index_api"

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
		cutGrams(terms, record.Digits(text))
	}
}

func cutGrams(terms bleve.TokenFrequencies, text string) {
	padded := text + padding
	for i := range len(text) {
		terms[padded[i:i+gram]] = once
	}
}

// crowded is a term of names with more words than that: no word that was typed is this.
const crowded = "\x00"

// nameWords are the words of a record's names.
func nameWords(texts []string) (words []string) {
	for _, text := range texts {
		words = append(words, record.Words(text)...)
	}
	return words
}

// cutDocuments takes the whole numbers of documents.
func cutDocuments(terms bleve.TokenFrequencies, texts []string) {
	for _, text := range texts {
		if digits := record.Digits(text); digits != "" {
			terms[record.CPF(digits)] = once
		}
	}
}

// cutSounds takes the sounds of the words of names.
func cutSounds(terms bleve.TokenFrequencies, texts []string) {
	for _, word := range nameWords(texts) {
		if sound := record.Sound(word); sound != "" {
			terms[sound] = once
		}
	}
}

// cutWritten takes the words of names as they are written, those that are not what cutWords takes.
func cutWritten(terms bleve.TokenFrequencies, texts []string) {
	words := nameWords(texts)
	for _, text := range texts {
		for _, word := range record.WrittenWords(text) {
			if !slices.Contains(words, word) {
				terms[word] = once
			}
		}
	}
}

// cutWords takes the words of names.
func cutWords(terms bleve.TokenFrequencies, texts []string) {
	words := nameWords(texts)
	for _, word := range words {
		terms[word] = once
	}
	if len(words) > record.MaxWords {
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
	for _, word := range words[:min(len(words), record.MaxWords)] {
		if !record.Particle(word) {
			n++
		}
	}
	terms[countTerm(n)] = once
}

// countTerm is what names of so many words have, particles not counted: no word is this.
func countTerm(n int) string { return string([]byte{0, byte(n)}) }
