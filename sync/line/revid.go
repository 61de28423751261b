package line

import (
	"doorward/kv/record"

	"github.com/go-json-experiment/json/jsontext"
)

// RevisionTexts returns revisions as texts.
func RevisionTexts(revs []record.Revision) []string {
	list := make([]string, len(revs))
	for i, rev := range revs {
		list[i] = rev.String()
	}
	return list
}

// ParseRevisions reads revisions. It leaves out texts that are none.
func ParseRevisions(texts []string) []record.Revision {
	revs := make([]record.Revision, 0, len(texts))
	for _, text := range texts {
		if rev, ok := record.ParseFreeRevision(text); ok && text != "" {
			revs = append(revs, rev)
		}
	}
	return revs
}

// AppendRevision appends a revision as a JSON text.
func AppendRevision(dst []byte, rev record.Revision) []byte {
	return appendHash(dst, rev, rev.String())
}

// appendHash appends the text of a revision. It needs no escapes if the hash is hex digits; in a free database it may be any text.
func appendHash(dst []byte, rev record.Revision, text string) []byte {
	if rev.Text == "" {
		return append(append(append(dst, '"'), text...), '"')
	}
	dst, _ = jsontext.AppendQuote(dst, text) // it is UTF-8
	return dst
}
