package replicate

import (
	"errors"

	"doorward/kv"
	"doorward/sync/input"
	"doorward/sync/line"

	"github.com/go-json-experiment/json/jsontext"
)

func (d *Denial) readMember(dec *jsontext.Decoder, name string) error {
	v, err := dec.ReadValue()
	if err != nil || v.Kind() != '"' {
		d.Kept = d.Kept || name == "kept" && v.Kind() == 't'
		return input.Wrap(err)
	}
	b, _ := jsontext.AppendUnquote(nil, v) // it was read as a text
	switch name {
	case "id":
		d.ID = string(b)
	case "rev":
		d.Rev = string(b)
	case "error":
		d.Error = string(b)
	case "reason":
		d.Reason = string(b)
	}
	return nil
}

// Denial is a revision that the target refuses.
type Denial struct {
	ID     string `json:"id"`
	Rev    string `json:"rev,omitempty"`
	Error  string `json:"error"`
	Reason string `json:"reason"`
	Kept   bool   `json:"kept,omitzero"` // the target keeps it for its staff
}

// denial makes the denial of a revision.
func denial(r *line.Revision, err error) Denial {
	return Denial{ID: r.ID, Rev: r.Rev().String(), Error: "forbidden", Reason: Reason(err)}
}

// reasons say why a revision is refused. The first match counts.
var reasons = []struct {
	err  error
	text string
}{
	{kv.ErrConflict, "Document update conflict."},
	{line.ErrStub, "A stub of an attachment that is not there."},
	{kv.ErrNoBlob, "A stub of an attachment that is not there."},
	{line.ErrLength, "An attachment is not as long as its document says."},
	{kv.ErrDocumentID, "A document's id is a text of 1 to 8192 bytes. Only reserved ids begin with an underscore."},
	{kv.ErrRevision, "Invalid rev format"},
	{input.ErrTooLarge, "The request's body is too large."},
	{kv.ErrTooLarge, "The document is too large."},
}

// Reason says why a revision is refused. It returns "" for any other error.
func Reason(err error) string {
	var forbidden *kv.Forbidden
	if errors.As(err, &forbidden) {
		return forbidden.Error()
	}
	for _, r := range reasons {
		if errors.Is(err, r.err) {
			return r.text
		}
	}
	if errors.Is(err, kv.ErrDocument) {
		return err.Error()
	}
	return ""
}
