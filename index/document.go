package index

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"doorward/kv/feed"
	"doorward/kv/names"
	"doorward/kv/record"
	"doorward/kv/search"
	"doorward/kv/value"

	bleve "github.com/blevesearch/bleve_index_api"
)

// The fields of a document.
const (
	idField       = "_id"
	homeField     = "h" // the kind, and the kind with the church or event
	gramField     = "g" // three bytes in a row of the folded spoken texts
	digitField    = "d" // three digits in a row of phones and numbers
	documentField = "c" // the whole digits of documents
	wordField     = "w" // the folded words of names
	writtenField  = "v" // words of names as they are written, where that is otherwise
	soundField    = "s" // the sounds of the words of names
	shapeField    = "n" // the first word of a name, and how many it has
)

// document is a record as bleve sees it.
type document struct {
	id     string
	fields []*field
}

// newDocument is what is searched of a record. Of a Document all digits are looked for, and nothing else. Terms with letters are looked for in
// what is spoken, and words in names; all else is looked for by its digits.
func newDocument(r *feed.Replayed) *document {
	grams, digits := &field{name: gramField, cut: cutText}, &field{name: digitField, cut: cutDigits}
	documents, called := &field{name: documentField, cut: cutDocuments, sparse: true}, &nameWords{}
	for _, f := range r.Kind.Ranked {
		switch v := r.Body.Member(f.Name); {
		case len(v) == 0 || v[0] == 'n':
		case f.Flags.Has(record.Document):
			documents.texts = append(documents.texts, string(v))
		case !f.Spoken():
			digits.texts = append(digits.texts, string(v))
		default:
			text := value.Unquote(v)
			grams.texts = append(grams.texts, text)
			if f.IsName() {
				called.texts = append(called.texts, text)
			}
		}
	}
	homes := &field{name: homeField, cut: cutWhole, texts: []string{kindTerm(r.Kind), homeTerm(r.Kind, r.Home)}}
	id := documentID(r.Kind, r.ID)
	return &document{id, []*field{named(id), homes, grams, digits, documents, called.field(wordField, called.cutWords),
		called.field(writtenField, called.cutWritten), called.field(soundField, called.cutSounds), called.field(shapeField, called.cutShape)}}
}

// documentID is a record's id within the index: its kind's number and its key.
func documentID(k *record.Kind, id record.ID) string {
	return string(k.AppendID([]byte{k.Number}, id))
}

// parseID reads what documentID wrote; ok is false for a document that is no record.
func parseID(id []byte) (k *record.Kind, rid record.ID, ok bool) {
	if len(id) == 0 {
		return nil, record.ID{}, false
	}
	if k, ok = record.ByNumber(id[0]); !ok {
		return nil, record.ID{}, false
	}
	rid, ok = k.KeyID(id[1:])
	return k, rid, ok
}

// kindTerm is what all documents of a kind have.
func kindTerm(k *record.Kind) string { return string([]byte{k.Number}) }

// homeTerm is what the documents of one church or event have.
func homeTerm(k *record.Kind, home int64) string {
	return string(binary.BigEndian.AppendUint64([]byte{k.Number}, uint64(home)))
}

// named is the field that bleve knows a document by.
func named(id string) *field {
	return &field{name: idField, texts: []string{id}, cut: cutWhole, options: bleve.StoreField}
}

func (d *document) ID() string                                 { return d.id }
func (d *document) Size() int                                  { return 1024 }
func (d *document) VisitComposite(bleve.CompositeFieldVisitor) {}
func (d *document) HasComposite() bool                         { return false }
func (d *document) NumPlainTextBytes() uint64                  { return 0 }
func (d *document) AddIDField()                                {}
func (d *document) StoredFieldsBytes() uint64                  { return uint64(len(d.id)) }
func (d *document) Indexed() bool                              { return true }
func (d *document) VisitFields(visit bleve.FieldVisitor) {
	for _, f := range d.fields {
		visit(f)
	}
}

// cutter takes the terms of texts.
type cutter func(terms bleve.TokenFrequencies, texts []string)

// field is one field of a document, analysed by bleve's own workers.
type field struct {
	name    string
	texts   []string
	cut     cutter
	sparse  bool // it has a term for each word, not for each byte
	options bleve.FieldIndexingOptions
	terms   bleve.TokenFrequencies
}

// once is how often every term occurs: postings then hold no frequencies and no norms.
var once = new(bleve.TokenFreq)

func (f *field) Analyze() {
	n := 0
	for _, text := range f.texts {
		n += len(text)
	}
	if f.sparse {
		n /= 8
	}
	f.terms = make(bleve.TokenFrequencies, min(n, 128))
	f.cut(f.terms, f.texts)
}

func (f *field) Name() string             { return f.name }
func (f *field) ArrayPositions() []uint64 { return nil }
func (f *field) EncodedFieldType() byte   { return 't' }
func (f *field) Options() bleve.FieldIndexingOptions {
	return f.options | bleve.IndexField | bleve.SkipFreqNorm
}
func (f *field) AnalyzedLength() int                              { return 0 }
func (f *field) AnalyzedTokenFrequencies() bleve.TokenFrequencies { return f.terms }
func (f *field) NumPlainTextBytes() uint64                        { return 0 }
func (f *field) Value() []byte                                    { return []byte(f.texts[0]) }

// analysis is the version of what this file makes of a text, and of how documents lie in the folder. Raising it rebuilds
// every index.
const analysis = 2

// indexed are the kinds that searches read.
func indexed() []*record.Kind {
	return slices.DeleteFunc(slices.Clone(record.Kinds()), func(k *record.Kind) bool { return len(k.Ranked) == 0 })
}

// fingerprint names the folder of an index over some kinds: another mapping is another folder.
func fingerprint(kinds []*record.Kind) string {
	h := sha256.New()
	fmt.Fprintln(h, analysis)
	for _, k := range kinds {
		fmt.Fprintln(h, k.Number, k.Name)
		for _, f := range k.Ranked {
			fmt.Fprintf(h, "%s %v %v %v\n", f.Name, f.Spoken(), f.IsName(), f.Flags.Has(record.Document))
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

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
