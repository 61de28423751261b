package kv_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/docs"
	"doorward/kv/merge"
	"doorward/kv/rev"
	"doorward/kv/table"
)

func stored(t testing.TB, s *kv.Store, content string) merge.Blob {
	t.Helper()
	b, err := of(s).PutBlob(strings.NewReader(content))
	if err != nil {
		t.Fatalf("put blob: %v", err)
	}
	return b
}

// content is what a blob holds, and whether it is there.
func content(t testing.TB, s *kv.Store, b merge.Blob) (string, bool) {
	t.Helper()
	var got bytes.Buffer
	err := of(s).Blob(b.SHA256, &got)
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		t.Fatalf("read blob: %v", err)
	}
	return got.String(), err == nil
}

func randomText(size int) string {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(size)}).Read(b) // never fails
	return string(b)
}

func TestABlobIsWhatWasPut(t *testing.T) {
	t.Parallel()
	s := withNotes(t)
	for _, size := range []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 1<<20 - 1, 1 << 20, 3<<20 + 5} {
		want := randomText(size)
		for range 2 { // the second time it is there
			b := stored(t, s, want)
			if got, ok := content(t, s, b); got != want || !ok || b.Length != int64(size) {
				t.Errorf("a blob of %d bytes = %d bytes, %v, %+v", size, len(got), ok, b)
			}
		}
	}
	if b := stored(t, s, "hello"); b.Digest() != "md5-XUFAKrxLKna5cZ2REBfFkg==" {
		t.Errorf("digest = %s", b.Digest())
	}
	healthy(t, s)
}

func TestABlobThatIsPutAgainTakesNoRoom(t *testing.T) {
	t.Parallel()
	s, _ := opened(t) // its clock stands still, so the blob is as loose as before
	newNotes(t, s)
	var rows [2]int
	for i := range rows {
		stored(t, s, randomText(3<<20))
		r, err := s.Files.Verify(auth.Operator(), nil)
		if err != nil || r.Damaged != 0 {
			t.Fatalf("Verify = %+v, %v", r, err)
		}
		rows[i] = r.Rows
	}
	if rows[0] != rows[1] {
		t.Errorf("the store has %d rows, then %d", rows[0], rows[1])
	}
}

func TestAnAttachmentIsPartOfItsRevision(t *testing.T) {
	t.Parallel()
	s := withNotes(t)
	a, b := stored(t, s, "aaa"), stored(t, s, "bbb")
	first := noted(t, s, "doc", `{}`, merge.Attachment{Name: "x", Type: "text/plain", Blob: merge.Blob{SHA256: a.SHA256}})
	doc, err := of(s).Read("doc", docs.Ask{})
	want := merge.Attachment{Name: "x", Type: "text/plain", RevPos: 1, Blob: a}
	if err != nil || len(doc.Revisions[0].Attachments) != 1 || doc.Revisions[0].Attachments[0] != want {
		t.Fatalf("Read = %+v, %v, want %+v", doc, err, want)
	}
	hash := rev.Next(rev.ID{}, false, []byte(`{"_attachments":{"x":"9834876dcfb05cb167a5c24953eba58c4ac89b1adf57f28f2f9d09af107ee8f0"}}`))
	if first != hash {
		t.Errorf("revision %s, want %s", first, hash)
	}
	noted(t, s, "doc", `{"n":1}`, merge.Attachment{Name: "y", Blob: b}, doc.Revisions[0].Attachments[0])
	doc, err = of(s).Read("doc", docs.Ask{})
	if got := doc.Revisions[0].Attachments; err != nil || len(got) != 2 || got[0] != want || got[1].RevPos != 2 {
		t.Errorf("Read = %+v, %v", got, err)
	}
	healthy(t, s)
}

func TestABlobThatNothingNeedsGoes(t *testing.T) {
	t.Parallel()
	s, clock := opened(t)
	newNotes(t, s)
	kept, dropped, unused := stored(t, s, randomText(100_000)), stored(t, s, "dropped"), stored(t, s, randomText(20<<20))
	noted(t, s, "doc", `{}`, merge.Attachment{Name: "kept", Blob: kept}, merge.Attachment{Name: "dropped", Blob: dropped})
	for _, size := range []int{2 << 20, 5, 64 << 10} {
		for _, failed := range []error{errCutOff, io.ErrUnexpectedEOF} { // as net/http says it of a body that is cut short
			broken := io.MultiReader(strings.NewReader(randomText(size)), iotest.ErrReader(failed))
			if _, err := of(s).PutBlob(broken); !errors.Is(err, failed) {
				t.Fatalf("PutBlob of content that breaks off after %d bytes = %v", size, err)
			}
		}
	}
	rev := noted(t, s, "doc", `{"n":0}`, merge.Attachment{Name: "kept", Blob: kept})
	for n := range 12 { // the first revision's body goes
		rev = noted(t, s, "doc", `{"n":`+strings.Repeat("1", n+1)+`}`, merge.Attachment{Name: "kept", Blob: kept})
	}
	for _, b := range []merge.Blob{kept, dropped, unused} {
		if _, ok := content(t, s, b); !ok {
			t.Errorf("a blob of %d bytes is gone within the hour", b.Length)
		}
	}
	clock.Move(59 * time.Minute)
	stored(t, s, "dropped") // again: it shall be there for an hour from now
	clock.Move(2 * time.Minute)
	for range 20 {
		rev = noted(t, s, "other", `{"n":"`+rev.String()+`"}`)
	}
	for b, want := range map[merge.Blob]bool{kept: true, dropped: true, unused: false} {
		if _, ok := content(t, s, b); ok != want {
			t.Errorf("a blob of %d bytes is there: %v, want %v", b.Length, ok, want)
		}
	}
	clock.Move(time.Hour)
	noted(t, s, "other", `{}`)
	if _, ok := content(t, s, dropped); ok {
		t.Error("the dropped blob is still there")
	}
	r, err := s.Files.Verify(auth.Operator(), nil)
	if err != nil || r.Damaged != 0 || r.Rows > 100 {
		t.Errorf("Verify = %+v, %v, want no chunks of what is gone", r, err)
	}
}

var errCutOff = errors.New("cut off")
