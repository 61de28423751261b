package sync

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/oklog/ulid/v2"

	"doorward/kv"
	"doorward/kv/rev"
)

// readLine reads the line that comes next: errJSON where there is none.
func readLine(dec *jsontext.Decoder) (l line, err error) {
	d := &incoming{}
	var doc jsontext.Value
	var who author
	var scopes []string
	err = eachMember(dec, func(name string) (err error) {
		switch name {
		case "revs":
			d.path, err = readPath(dec)
			return err
		case "author":
			return who.read(dec)
		case "scopes":
			scopes, err = texts(dec)
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
		return badBody(err)
	})
	if err != nil || l.seq == nil || l.removed != "" || doc == nil {
		return l, err
	}
	if l.replica, err = d.document(doc); l.replica != nil {
		l.replica.author, l.replica.scopes = who, scopes
	}
	return l, err
}

// document reads the document of a line. One as we write it is cut behind what says who it is, and decoded by nobody but the store.
func (d *incoming) document(doc jsontext.Value) (*replica, error) {
	if x := d.cut(doc); x != nil {
		return x, nil
	}
	d.body = []byte{'{'}
	dec := newDecoder(bytes.NewReader(doc))
	err := eachMember(dec, func(name string) error { return d.readMember(dec, name) })
	if err != nil {
		return nil, err
	}
	return d.replica(), nil
}

// cut cuts a document that begins as appendLine lets it begin, and has no attachments; nil for any other.
func (d *incoming) cut(doc []byte) *replica {
	rest, ok := bytes.CutPrefix(doc, []byte(`{"_id":"`))
	end := bytes.IndexByte(rest, '"')
	if !ok || end < 0 || len(d.path) == 0 || bytes.IndexByte(rest[:end], '\\') >= 0 {
		return nil
	}
	x := &replica{id: string(rest[:end]), path: d.path}
	if rest, ok = bytes.CutPrefix(rest[end+1:], appendRevision([]byte(`,"_rev":`), x.rev())); !ok {
		return nil
	}
	if next, deleted := bytes.CutPrefix(rest, []byte(`,"_deleted":true`)); deleted {
		x.deleted, rest = true, next
	}
	switch {
	case x.id == "" || bytes.HasPrefix(rest, []byte(`,"_`)):
		return nil
	case rest[0] == ',':
		rest[0] = '{'
		x.body = rest
		return x
	case rest[0] == '}':
		x.body = []byte("{}")
		return x
	}
	return nil
}

// readPath reads a path of revisions; nil where one is none.
func readPath(dec *jsontext.Decoder) (path []rev.ID, err error) {
	bad := false
	err = eachItem(dec, func() error {
		t, err := dec.ReadToken()
		if err != nil {
			return badBody(err)
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

// read reads an author. Members of other versions are passed over.
func (a *author) read(dec *jsontext.Decoder) error {
	return eachMember(dec, func(name string) (err error) {
		if name == "fields" {
			a.Fields, err = texts(dec)
			return err
		}
		v, err := dec.ReadValue()
		if err != nil {
			return badBody(err)
		}
		switch name {
		case "at":
			a.At, _ = strconv.ParseInt(string(v), 10, 64) // what is no number is not known
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
func (l *line) special(name string, v jsontext.Value) error {
	switch name {
	case "seq":
		l.seq = sequence(v.Clone())
		return nil
	case "removed":
		return json.Unmarshal(v, &l.removed)
	case "format":
		l.head = &Head{}
		return json.Unmarshal(v, &l.head.Format)
	case "last_seq":
		l.foot = &foot{Last: sequence(v.Clone())}
		return nil
	case "upto":
		l.mark = &mark{Upto: sequence(v.Clone())}
		return nil
	case "count":
		return json.Unmarshal(v, &l.count)
	}
	if l.head == nil {
		return nil
	}
	to := map[string]any{"realm": &l.head.Realm, "node": &l.head.Node, "epoch": &l.head.Epoch, "db": &l.head.DB, "since": &l.head.Since}[name]
	if to == nil {
		return nil
	}
	return json.Unmarshal(v, to)
}

// known is the author as the store knows it.
func (a *author) known() (k kv.Author) {
	if a.At != 0 {
		k.At = time.UnixMicro(a.At)
	}
	k.Key, k.Fields = a.Key, a.Fields
	k.Node, _ = ulid.ParseStrict(a.Node) // what is none is nobody's
	return k
}
