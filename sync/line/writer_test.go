package line_test

import (
	"bytes"
	"context"
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
			read = append(read, "mark "+string(l.Mark.Upto))
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
	if err != nil || string(foot.Last) != `"9-E"` || strings.Join(read, "\n") != strings.Join(want, "\n") {
		t.Errorf("the lines read as %q up to %s, %v, want %q", read, foot.Last, err, want)
	}
}
