package index

import (
	"slices"

	bleve "github.com/blevesearch/bleve_index_api"

	"doorward/kv/names"
	"doorward/kv/search"
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
		cutGrams(terms, names.Fold(text))
	}
}

// cutDigits takes the grams of the digits of texts.
func cutDigits(terms bleve.TokenFrequencies, texts []string) {
	for _, text := range texts {
		cutGrams(terms, names.Digits(text))
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

// cutDocuments takes the whole numbers of documents.
func cutDocuments(terms bleve.TokenFrequencies, texts []string) {
	for _, text := range texts {
		if digits := names.Digits(text); digits != "" {
			terms[names.CPF(digits)] = once
		}
	}
}

// nameWords are the names of a record, and their words once one of the fields has asked for them: bleve analyses all fields of a document
// on one goroutine.
type nameWords struct {
	texts []string
	words []string
}

// field is a field of terms that are taken from the words of the names.
func (n *nameWords) field(name string, cut cutter) *field {
	return &field{name: name, texts: n.texts, cut: cut, sparse: true}
}

// split answers the words of the names.
func (n *nameWords) split() []string {
	if n.words == nil {
		for _, text := range n.texts {
			n.words = append(n.words, names.Words(text)...)
		}
	}
	return n.words
}

// cutWords takes the words of names.
func (n *nameWords) cutWords(terms bleve.TokenFrequencies, _ []string) {
	words := n.split()
	for _, word := range words {
		terms[word] = once
	}
	if len(words) > search.MaxWords {
		terms[crowded] = once
	}
}

// cutWritten takes the words of names as they are written, those that are not what cutWords takes.
func (n *nameWords) cutWritten(terms bleve.TokenFrequencies, _ []string) {
	words := n.split()
	for _, text := range n.texts {
		for _, word := range names.WrittenWords(text) {
			if !slices.Contains(words, word) {
				terms[word] = once
			}
		}
	}
}

// cutSounds takes the sounds of the words of names.
func (n *nameWords) cutSounds(terms bleve.TokenFrequencies, _ []string) {
	for _, word := range n.split() {
		if sound := names.Sound(word); sound != "" {
			terms[sound] = once
		}
	}
}

// cutShape takes what ranks names of the same words: the first one, and how many there are.
func (n *nameWords) cutShape(terms bleve.TokenFrequencies, _ []string) {
	words := n.split()
	if len(words) > 0 {
		terms[words[0]] = once
	}
	many := 0
	for _, word := range words[:min(len(words), search.MaxWords)] {
		if !names.IsParticle(word) {
			many++
		}
	}
	terms[countTerm(many)] = once
}

// countTerm is what names of so many words have, particles not counted: no word is this.
func countTerm(n int) string { return string([]byte{0, byte(n)}) }
