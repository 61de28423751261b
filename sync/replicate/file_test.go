package replicate_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/erase"
	"doorward/kv/kvtest"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/table"
	"doorward/sync/dial"
	"doorward/sync/line"
	"doorward/sync/peertest"
	"doorward/sync/replicate"

	"github.com/klauspost/compress/zstd"
)

func TestAFileHoldsAllThatADatabaseHolds(t *testing.T) {
	t.Parallel()
	a, b := peertest.NewSite(t), peertest.NewSite(t)
	a.Fill(2100)
	text := exportFile(a, t)
	source, err := replicate.OpenFile(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if head := source.Head(); head.DB != "notes" || head.Realm != a.Store.Tables.Identity.Realm() || head.Epoch != a.Store.Tables.Epochs.Present() {
		t.Errorf("head = %+v, %v", head, err)
	}
	peertest.CopyAll(t, source, b.Local())
	peertest.WantSame(t, a, b)
}

// exportFile writes the notes into a file.
func exportFile(s *peertest.Site, t testing.TB) []byte {
	t.Helper()
	var text bytes.Buffer
	says, err := s.Remote(replicate.RemoteConfig{}).Identify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	target, err := replicate.CreateFile(&text, says.Head)
	if err != nil {
		t.Fatal(err)
	}
	out, err := replicate.Run(t.Context(), replicate.Job{Source: s.Remote(replicate.RemoteConfig{}), Target: target})
	if err == nil {
		err = target.Finish(out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

func TestAFileThatIsCutIsNoticed(t *testing.T) {
	t.Parallel()
	a := peertest.NewSite(t)
	a.Fill(4000)
	text := exportFile(a, t)
	kept := 0
	for _, n := range []int{0, 1, len(text) / 3, len(text) / 2, len(text) - 1} {
		b := peertest.NewSite(t)
		source, err := replicate.OpenFile(bytes.NewReader(text[:n]))
		if err != nil {
			if n > 100 || !errors.Is(err, replicate.ErrFile) {
				t.Errorf("cut at %d: %v", n, err)
			}
			continue
		}
		out, err := replicate.Run(t.Context(), replicate.Job{Source: source, Target: b.Local()})
		if !errors.Is(err, replicate.ErrFileCut) || out.OK {
			t.Errorf("cut at %d: %+v, %v", n, out, err)
		}
		if written := out.History[0].Written; written < kept || written != len(b.Content()) && written != len(b.Content())+1 {
			t.Errorf("cut at %d: %d written, %d there, %d before", n, written, len(b.Content()), kept)
		}
		kept = out.History[0].Written
	}
	if kept == 0 {
		t.Error("nothing of a file that was cut has been kept")
	}
}

// spoilt is a way in which lines are not what they should be, and the line that tells. lines are the first, those of ten documents,
// the mark and the last.
var spoilt = map[string]struct {
	spoil func(lines []string) []string
	line  int
}{
	"a line in the middle is missing": {func(l []string) []string { return slices.Delete(l, 4, 5) }, 11},
	"a line comes twice":              {func(l []string) []string { return slices.Insert(l, 4, l[4]) }, 13},
	"a revision cannot be read": {func(l []string) []string {
		l[4] = `{"seq":"5-x","doc":{"_id":"x","_rev":"one"}}` + "\n"
		return l
	}, 5},
	"a line is no JSON":            {func(l []string) []string { l[6] = "{\"seq\":,}\n"; return l }, 7},
	"a line has no document":       {func(l []string) []string { l[6] = `{"seq":"5-x"}` + "\n"; return l }, 7},
	"lines follow the last":        {func(l []string) []string { return append(l, l[4]) }, 14},
	"the last says another number": {func(l []string) []string { l[12] = strings.Replace(l[12], `"count":10`, `"count":11`, 1); return l }, 13},
}

// unpackedLines are the lines of a file.
func unpackedLines(t testing.TB, text []byte) []string {
	t.Helper()
	z, err := zstd.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(strings.Lines(string(b)))
}

func packedLines(t testing.TB, lines []string) []byte {
	t.Helper()
	var text bytes.Buffer
	z, err := zstd.NewWriter(&text)
	if err == nil {
		_, err = io.WriteString(z, strings.Join(lines, ""))
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// TestAFileWithSpoiltLinesIsRefused: with the line that tells, and nothing of it is taken.
func TestAFileWithSpoiltLinesIsRefused(t *testing.T) {
	t.Parallel()
	a := peertest.NewSite(t)
	for i := range 10 {
		a.Put(fmt.Sprintf("doc%d", i), `{"n":1}`)
	}
	text := exportFile(a, t)
	for name, test := range spoilt {
		t.Run(name, func(t *testing.T) {
			b := peertest.NewSite(t)
			source, err := replicate.OpenFile(bytes.NewReader(packedLines(t, test.spoil(unpackedLines(t, text)))))
			if err != nil {
				t.Fatal(err)
			}
			out, err := replicate.Run(t.Context(), replicate.Job{Source: source, Target: b.Local()})
			wantWrong(t, out, err, test.line)
			if n := len(b.Content()); n != 0 {
				t.Errorf("%d documents were taken", n)
			}
		})
	}
}

func wantWrong(t testing.TB, out replicate.Outcome, err error, number int) {
	t.Helper()
	var wrong *line.Error
	if !errors.As(err, &wrong) || wrong.Line != number || out.OK || errors.Is(err, replicate.ErrFileCut) {
		t.Errorf("Replicate = %+v, %v, want line %d to be wrong", out, err, number)
	}
}

// TestAFeedWithSpoiltLinesIsTakenAnew: the place does not move past them, and the next exchange brings all.
func TestAFeedWithSpoiltLinesIsTakenAnew(t *testing.T) {
	t.Parallel()
	for name, test := range spoilt {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := peertest.NewSite(t), peertest.NewSite(t)
			for i := range 10 {
				a.Put(fmt.Sprintf("doc%d", i), `{"n":1}`)
			}
			job := replicate.Job{Source: a.Remote(replicate.RemoteConfig{Config: dial.Config{Client: &http.Client{Transport: spoiling(t, test.spoil)}}}), Target: b.Local(), Tries: 1}
			out, err := replicate.Run(t.Context(), job)
			wantWrong(t, out, err, test.line)
			peertest.CopyAll(t, a.Remote(replicate.RemoteConfig{}), b.Local())
			peertest.WantSame(t, a, b)
		})
	}
}

// TestAPlaceStaysBeforeALineThatIsMissing: of a long feed what a mark says to be whole is noted, and no more.
func TestAPlaceStaysBeforeALineThatIsMissing(t *testing.T) {
	t.Parallel()
	a, b := peertest.NewSite(t), peertest.NewSite(t)
	a.Fill(9000)
	lose := func(l []string) []string { return slices.Delete(l, 6000, 6001) }
	job := replicate.Job{Source: a.Remote(replicate.RemoteConfig{Config: dial.Config{Client: &http.Client{Transport: spoiling(t, lose)}}}), Target: b.Local(), Tries: 1, Note: 1}
	out, err := replicate.Run(t.Context(), job)
	var wrong *line.Error
	if !errors.As(err, &wrong) || out.Last == nil {
		t.Errorf("Replicate = %+v, %v, want a line that is wrong, and a place before it", out, err)
	}
	if n := len(b.Content()); n < 4000 || n > 6000 {
		t.Errorf("%d documents were taken, want those before the mark", n)
	}
	peertest.CopyAll(t, a.Remote(replicate.RemoteConfig{}), b.Local())
	peertest.WantSame(t, a, b)
}

// spoiling changes the lines that a feed brings.
func spoiling(t testing.TB, spoil func([]string) []string) http.RoundTripper {
	return peertest.Trip(func(r *http.Request) (*http.Response, error) {
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil || r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/_feed") {
			return resp, err
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(packedLines(t, spoil(unpackedLines(t, text)))))
		return resp, err
	})
}

// TestSpoiltLinesAreNotPushed: a server says which line is wrong.
func TestSpoiltLinesAreNotPushed(t *testing.T) {
	t.Parallel()
	a := peertest.NewSite(t)
	a.Put("doc", `{}`)
	lines := unpackedLines(t, exportFile(a, t))
	for name, l := range map[string][]string{"one too few": {lines[0], lines[3]}, "one too many": append(slices.Clone(lines), lines[1])} {
		b := peertest.NewSite(t)
		got := b.Want(400, "POST", "/notes/_feed", string(packedLines(t, l)), "Content-Type", "application/x-ndjson", "Content-Encoding", "zstd")
		if !strings.Contains(got.Body, "line ") {
			t.Errorf("%s: %s, want the line", name, got.Body)
		}
	}
}

// TestADocumentThatNoneMayBeIsDeniedWhole: a member with a name of the protocol, or too many bytes, is not cut off a revision.
func TestADocumentThatNoneMayBeIsDeniedWhole(t *testing.T) {
	t.Parallel()
	a, b := peertest.NewSite(t), peertest.NewSite(t)
	a.Put("doc", `{}`)
	lines := unpackedLines(t, exportFile(a, t))
	noise := make([]byte, 3<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	half := hex.EncodeToString(noise) + strings.Repeat("x", 1<<20)
	for name, members := range map[string]string{"a name of the protocol": `"x":1,"_foo":2`, "too many bytes": `"x":"` + half + `","y":"` + half + `"`} {
		l := slices.Clone(lines)
		l[1] = regexp.MustCompile(`"_rev":"[^"]*"`).ReplaceAllString(l[1], "$0,"+members)
		got := b.Want(201, "POST", "/notes/_feed", string(packedLines(t, l)), "Content-Type", "application/x-ndjson", "Content-Encoding", "zstd")
		if !strings.Contains(got.Body, `"id":"doc"`) {
			t.Errorf("%s: %s, want a denial", name, got.Body)
		}
		b.Want(404, "GET", "/notes/doc", "")
	}
}

// TestNoFileBringsAKey: whoever writes a file is not the operator, though the operator takes it.
func TestNoFileBringsAKey(t *testing.T) {
	t.Parallel()
	a, b := peertest.NewSite(t), peertest.NewSite(t)
	kvtest.Create(t, a.Store, record.Event, `{"name":"Sunday","start_datetime":"2030-01-01T19:00:00Z"}`)
	kvtest.Key(t, a.Store, "denomination", "*:*")
	own, err := replicate.OpenLocal(a.Store, auth.Operator(), "records")
	if err != nil {
		t.Fatal(err)
	}
	says, err := own.Identify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	head := says.Head
	head.Realm = b.Store.Tables.Identity.Realm()
	var text bytes.Buffer
	target, err := replicate.CreateFile(&text, head)
	if err != nil {
		t.Fatal(err)
	}
	out, err := replicate.Run(t.Context(), replicate.Job{Source: &relabelled{own, head}, Target: target})
	if err = errors.Join(err, target.Finish(out)); err != nil {
		t.Fatal(err)
	}
	lines := unpackedLines(t, text.Bytes())
	if all := strings.Join(lines, ""); strings.Contains(all, "api_key") {
		t.Errorf("the file holds a key: %s", all)
	}
	forged := strings.NewReplacer(`"event:0000000000000001"`, `"api_key:0000000000000009"`).Replace(lines[1])
	if forged == lines[1] {
		t.Fatalf("the first line is %s", lines[1])
	}
	lines[1] = forged
	for _, name := range []string{"records", "notes"} {
		lines[0] = strings.Replace(lines[0], `"records"`, `"`+name+`"`, 1)
		source, err := replicate.OpenFile(bytes.NewReader(packedLines(t, lines)))
		if err != nil {
			t.Fatal(err)
		}
		into, err := replicate.OpenLocal(b.Store, auth.Operator(), "records")
		if err != nil {
			t.Fatal(err)
		}
		out, err := replicate.Run(t.Context(), replicate.Job{Source: source, Target: into})
		if err != nil || len(out.Denied) != 1 || out.Denied[0].ID != "api_key:0000000000000009" || out.Denied[0].Error != "forbidden" {
			t.Errorf("a forged key in a file of %s: %+v, %v, want it refused alone", name, out, err)
		}
	}
}

// relabelled is a database that says it is another's.
type relabelled struct {
	*replicate.Local
	head line.Head
}

// Identify tells whose it says it is.
func (r *relabelled) Identify(context.Context) (replicate.Identity, error) {
	return replicate.Identity{Head: r.head}, nil
}

// TestAFileTellsWhatWasErased: a store that a file fills cannot tell whom that is about, so it has to be written anew in any case; once
// it learns the realm's key it knows.
func TestAFileTellsWhatWasErased(t *testing.T) {
	t.Parallel()
	centre, away := kvtest.Open(t), kvtest.Open(t)
	kvtest.Create(t, centre, record.Church, `{"name":"Central"}`)
	id := kvtest.Create(t, centre, record.Person, `{"full_name":"Ana Souza","church_id":1}`)
	doc := record.Person.DocID(record.Int(id))
	own, err := centre.Docs.Database(auth.Operator(), "church-1")
	if err != nil {
		t.Fatal(err)
	}
	was, err := own.Read(doc, docs.Ask{})
	if err != nil {
		t.Fatal(err)
	}
	first := was.Revisions[0].Revision
	if err := away.Laptop.Join(auth.Operator(), table.Upstream{Node: centre.Tables.Identity.Node()}, office.Credential{Realm: centre.Tables.Identity.Realm()}); err != nil {
		t.Fatal(err)
	}
	carried(t, centre, away)
	if _, err := centre.Erasures.Erase(auth.Operator(), record.Person, record.Int(id)); err != nil {
		t.Fatal(err)
	}
	carried(t, centre, away)
	if err := away.Erasures.Recall.Carry(auth.Operator(), []erase.Erasure{{Kind: record.Membership}}); err != nil { // which carries out what came before
		t.Fatal(err)
	}
	if due, _, err := away.Erasures.Uncompacted(); err != nil || due != 2 {
		t.Errorf("due = %d, %v, want both: nobody knows here whether they were of anything", due, err)
	}
	there, err := away.Docs.Database(auth.Operator(), "church-1")
	if err != nil {
		t.Fatal(err)
	}
	if knowsErased(t, there, doc, first) {
		t.Error("without the key it knows who was erased")
	}
	key, err := centre.Laptop.CodeKey(auth.Operator())
	if err == nil {
		err = away.Laptop.Join(auth.Operator(), table.Upstream{Node: centre.Tables.Identity.Node()}, office.Credential{Realm: centre.Tables.Identity.Realm(), CodeKey: key})
	}
	if err != nil {
		t.Fatal(err)
	}
	if !knowsErased(t, there, doc, first) {
		t.Error("with the key it does not know who was erased")
	}
	if none, err := centre.Laptop.CodeKey(kvtest.Login(t, centre, "denomination", "*:*")); !errors.Is(err, auth.ErrForbidden) {
		t.Errorf("CodeKey for a key = %d bytes, %v, want forbidden", len(none), err)
	}
}

// carried brings all records of a store to another by a file.
func carried(t testing.TB, from, to *kv.Store) {
	t.Helper()
	source, err := replicate.OpenLocal(from, auth.Operator(), "records")
	if err != nil {
		t.Fatal(err)
	}
	says, err := source.Identify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	target, err := replicate.CreateFile(&text, says.Head)
	if err != nil {
		t.Fatal(err)
	}
	out, err := replicate.Run(t.Context(), replicate.Job{Source: source, Target: target})
	if err = errors.Join(err, target.Finish(out)); err != nil {
		t.Fatal(err)
	}
	file, err := replicate.OpenFile(&text)
	if err != nil {
		t.Fatal(err)
	}
	into, err := replicate.OpenLocal(to, auth.Operator(), "records")
	if err != nil {
		t.Fatal(err)
	}
	if out, err = replicate.Run(t.Context(), replicate.Job{Source: file, Target: into}); err != nil || len(out.Denied) > 0 {
		t.Fatalf("from the file: %+v, %v", out, err)
	}
}

// knowsErased tells that a store knows who was erased: what it answers of the first revision says nothing of the person either way.
func knowsErased(t *testing.T, db *docs.Database, doc string, first rev.ID) bool {
	t.Helper()
	d, err := db.Read(doc, docs.Ask{Revisions: []rev.ID{first}})
	if errors.Is(err, table.ErrNotFound) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	if body := d.Revisions[0].Body; bytes.Contains(body, []byte("Ana")) {
		t.Errorf("the first revision is %s", body)
	}
	return d.Revisions[0].Deleted
}
