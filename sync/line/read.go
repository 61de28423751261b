package line

import (
	"bytes"
	"encoding/json"
	"strconv"

	"doorward/kv/rev"
	"doorward/sync/input"
	"doorward/sync/transit"

	"github.com/go-json-experiment/json/jsontext"
)

// Parse reads the line that comes next. It returns ErrJSON if there is none.
func Parse(dec *jsontext.Decoder) (l Line, err error) {
	d := &transit.Parsed{}
	var doc jsontext.Value
	var who transit.Author
	var scopes []string
	err = input.EachMember(dec, func(name string) (err error) {
		switch name {
		case "revs":
			d.Path, err = readPath(dec)
			return err
		case "author":
			return readAuthor(dec, &who)
		case "scopes":
			scopes, err = input.Texts(dec)
			return err
		}
		v, err := dec.ReadValue()
		switch {
		case err != nil:
		case name == "doc":
			doc = v.Clone()
		default:
			err = l.special(name, v)
		}
		return input.Wrap(err)
	})
	if err != nil || l.Seq == nil || l.Removed != "" || doc == nil {
		return l, err
	}
	if l.Revision, err = readDocument(d, doc); l.Revision != nil {
		l.Revision.Author, l.Revision.Scopes = who, scopes
	}
	return l, err
}

// readDocument reads the document of a line. A document as AppendLine writes it is split, and its body is not decoded here.
func readDocument(d *transit.Parsed, doc jsontext.Value) (*transit.Revision, error) {
	if x := split(d, doc); x != nil {
		return x, nil
	}
	d.Body = []byte{'{'}
	dec := input.NewDecoder(bytes.NewReader(doc))
	err := input.EachMember(dec, func(name string) error { return d.ReadMember(dec, name) })
	if err != nil {
		return nil, err
	}
	return d.Revision(), nil
}

// split splits a document that AppendLine has written, without attachments. It returns nil for any other.
func split(d *transit.Parsed, doc []byte) *transit.Revision {
	rest, ok := bytes.CutPrefix(doc, []byte(`{"_id":"`))
	end := bytes.IndexByte(rest, '"')
	if !ok || end < 0 || len(d.Path) == 0 || bytes.IndexByte(rest[:end], '\\') >= 0 {
		return nil
	}
	x := &transit.Revision{ID: string(rest[:end]), Path: d.Path}
	if rest, ok = bytes.CutPrefix(rest[end+1:], transit.AppendRev([]byte(`,"_rev":`), x.Rev())); !ok {
		return nil
	}
	if next, deleted := bytes.CutPrefix(rest, []byte(`,"_deleted":true`)); deleted {
		x.Deleted, rest = true, next
	}
	switch {
	case x.ID == "" || bytes.HasPrefix(rest, []byte(`,"_`)):
		return nil
	case rest[0] == ',':
		rest[0] = '{'
		x.Body = rest
		return x
	case rest[0] == '}':
		x.Body = []byte("{}")
		return x
	}
	return nil
}

// readPath reads a list of revisions. It returns nil if one of them cannot be read.
func readPath(dec *jsontext.Decoder) (path []rev.ID, err error) {
	bad := false
	err = input.EachItem(dec, func() error {
		t, err := dec.ReadToken()
		if err != nil {
			return input.Wrap(err)
		}
		revision, ok := rev.ParseFree(t.String())
		bad = bad || !ok || revision == (rev.ID{})
		path = append(path, revision)
		return nil
	})
	if bad {
		path = nil
	}
	return path, err
}

// readAuthor reads an author. It ignores members of later versions.
func readAuthor(dec *jsontext.Decoder, a *transit.Author) error {
	return input.EachMember(dec, func(name string) (err error) {
		if name == "fields" {
			a.Fields, err = input.Texts(dec)
			return err
		}
		v, err := dec.ReadValue()
		if err != nil {
			return input.Wrap(err)
		}
		switch name {
		case "at":
			a.At, _ = strconv.ParseInt(string(v), 10, 64) // 0 = not known
		case "key":
			a.Key, _ = strconv.ParseInt(string(v), 10, 64) // as above
		case "node":
			text, _ := jsontext.AppendUnquote(nil, v) // as above
			a.Node = string(text)
		}
		return nil
	})
}

// special reads a small member.
func (l *Line) special(name string, v jsontext.Value) error {
	switch name {
	case "seq":
		l.Seq = transit.Sequence(v.Clone())
		return nil
	case "removed":
		return json.Unmarshal(v, &l.Removed)
	case "format":
		l.Head = &Head{}
		return json.Unmarshal(v, &l.Head.Format)
	case "last_seq":
		l.foot = &Foot{Last: transit.Sequence(v.Clone())}
		return nil
	case "upto":
		l.Mark = &Mark{Upto: transit.Sequence(v.Clone())}
		return nil
	case "count":
		return json.Unmarshal(v, &l.count)
	}
	if l.Head == nil {
		return nil
	}
	to := map[string]any{"realm": &l.Head.Realm, "node": &l.Head.Node, "epoch": &l.Head.Epoch, "db": &l.Head.DB, "since": &l.Head.Since}[name]
	if to == nil {
		return nil
	}
	return json.Unmarshal(v, to)
}
