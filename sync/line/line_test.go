package line_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/sync/line"
	"doorward/sync/transit"
)

// TestAReaderReadsWhatAWriterWrites: heads, revisions, what was removed, marks and the last line, with counts that are right.
func TestAReaderReadsWhatAWriterWrites(t *testing.T) {
	t.Parallel()
	revision, ok := rev.ParseFree("1-" + strings.Repeat("0a", 16))
	if !ok {
		t.Fatal("no revision")
	}
	plain := &transit.Revision{ID: "plain", Path: []rev.ID{revision}, Body: []byte(`{"n":1}`), Seq: transit.SequenceOf("7-E")}
	whole := &transit.Revision{ID: "whole", Path: []rev.ID{revision}, Body: []byte(`{}`), Deleted: true, Author: transit.Author{At: 5, Key: 3, Node: "N", Fields: []string{"n"}}}
	whole.Parts = []transit.Part{{Attachment: merge.Attachment{Name: "a.txt", Type: "text/plain"}}}
	whole.Content = func(_ context.Context, _ *transit.Part, w io.Writer) error {
		_, err := io.WriteString(w, "bytes")
		return err
	}
	var text bytes.Buffer
	w := line.NewWriter(&text)
	if err := w.Head(line.Head{DB: "notes"}); err != nil {
		t.Fatal(err)
	}
	w.Add(plain)
	w.Remove("gone", transit.SequenceOf("8-E"))
	if err := w.Mark(transit.SequenceOf("8-E")); err != nil {
		t.Fatal(err)
	}
	if err := w.AddWhole(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	if err := w.Foot(transit.SequenceOf("9-E")); err != nil {
		t.Fatal(err)
	}
	var read []string
	foot, err := line.NewReader(&text).Each(func(l *line.Line) error {
		switch {
		case l.Mark != nil:
			read = append(read, "mark "+string(l.Mark))
		case l.Removed != "":
			read = append(read, "removed "+l.Removed)
		default:
			x := l.Revision
			read = append(read, x.ID+" "+x.Rev().String()+" "+string(x.Body)+" "+strings.Join(x.Author.Fields, ","))
			for i := range x.Parts {
				read = append(read, x.Parts[i].Name+" "+string(x.Parts[i].Data))
			}
		}
		return nil
	})
	want := []string{"plain " + revision.String() + ` {"n":1} `, "removed gone", `mark "8-E"`, "whole " + revision.String() + " {} n", `a.txt "Ynl0ZXM="`}
	if err != nil || string(foot) != `"9-E"` || strings.Join(read, "\n") != strings.Join(want, "\n") {
		t.Errorf("the lines read as %q up to %s, %v, want %q", read, foot, err, want)
	}
}

// whole is a line with all that one can have and be cut.
var (
	cutRev = "2-" + strings.Repeat("0a", 16)
	whole  = fmt.Sprintf(`{"seq":"7-01J","doc":{"_id":"person:0000000000000001","_rev":%[1]q,"a":{"b":[1,-2,null]},"é":"née"},"revs":[%[1]q,"1-%032d"],`+
		`"author":{"at":1700000000000000,"key":3,"node":"01J","fields":["a","b"]},"scopes":["church-1","reference"]}`+"\n", cutRev, 5)
)

// FuzzALineIsCutAsItIsRead holds the quick way against the long one: what it cuts is what that reads.
func FuzzALineIsCutAsItIsRead(f *testing.F) {
	for _, change := range [][2]string{{}, {`"a":{"b":[1,-2,null]},"é":"née"`, `"_deleted":true`}, {`,"a":{"b":[1,-2,null]},"é":"née"`, ``},
		{`,"a":{"b":[1,-2,null]},"é":"née"`, `,`}, {`,"a"`, `"a"`}, {`"a"`, `"_attachments"`}, {`"a"`, `"_deleted":true,"a"`}, {`"a"`, `"_deleted":false,"a"`},
		{`"é"`, `"\u00e9"`}, {`"é"`, `"a"`}, {`"person:`, `"é:`}, {`"person:0000000000000001"`, `""`}, {`"7-01J"`, `7`}, {`1700000000000000`, `-1`},
		{`1700000000000000`, `017`}, {`1700000000000000`, `1e3`}, {`1700000000000000`, `9999999999999999999`}, {`"key":3`, `"key":null`}, {`,"fields":["a","b"]`, ``},
		{`,"fields":["a","b"]`, `,"fields":[]`}, {`["church-1","reference"]`, `["church-1",]`}, {`["church-1","reference"]`, `[1]`}, {`"revs":["2`, `"revs":["3`},
		{`"revs":["2-0a`, `"revs":["2-0A`}, {`"scopes"`, `"later"`}, {"}\n", "}"}, {"}\n", "} \n"}, {"}\n", "}}\n"}} {
		f.Add([]byte(strings.Replace(whole, change[0], change[1], 1)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if cut, read, ok := line.CutAndRead(text); ok && cut != read {
			t.Errorf("%q is cut as\n%s\nand read as\n%s", text, cut, read)
		}
	})
}

// TestOurLinesAreCut: those of a document without attachments.
func TestOurLinesAreCut(t *testing.T) {
	t.Parallel()
	for _, text := range []string{whole, strings.Replace(whole, `,"a":{"b":[1,-2,null]},"é":"née"`, `,"_deleted":true`, 1),
		strings.Replace(whole, `,"scopes":["church-1","reference"]`, "", 1)} {
		if _, _, ok := line.CutAndRead([]byte(text)); !ok {
			t.Errorf("%s is not cut", text)
		}
	}
}
