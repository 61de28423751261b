package index

import (
	"encoding/binary"

	bleve "github.com/blevesearch/bleve_index_api"

	"doorward/kv/feed"
	"doorward/kv/record"
	"doorward/kv/value"
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

// newDocument is what is searched of a record.
func newDocument(s *source, r *feed.Replayed) *document {
	grams, digits := &field{name: gramField, cut: cutText}, &field{name: digitField, cut: cutDigits}
	documents, called := &field{name: documentField, cut: cutDocuments, sparse: true}, &nameWords{}
	for _, f := range s.fields {
		switch v := r.Body.Member(f.name); {
		case len(v) == 0 || v[0] == 'n':
		case f.document:
			documents.texts = append(documents.texts, string(v))
		case !f.spoken:
			digits.texts = append(digits.texts, string(v))
		default:
			text := value.Unquote(v)
			grams.texts = append(grams.texts, text)
			if f.words {
				called.texts = append(called.texts, text)
			}
		}
	}
	homes := &field{name: homeField, cut: cutWhole, texts: []string{kindTerm(s.kind), homeTerm(s.kind, r.Home)}}
	id := documentID(s.kind, r.ID)
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
