package sync_test

import (
	"bytes"
	"errors"
	"testing"

	"doorward/sync/replicate"
)

func TestAFileHoldsAllThatADatabaseHolds(t *testing.T) {
	t.Parallel()
	a, b := newSite(t), newSite(t)
	a.fill(2100)
	text := a.export(t)
	source, err := replicate.OpenFile(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if head := source.Head(); head.DB != "notes" || head.Realm != a.store.Realm() || head.Epoch != a.store.Epoch() {
		t.Errorf("head = %+v, %v", head, err)
	}
	copyAll(t, source, b.here())
	wantSame(t, a, b)
}

// export writes the notes into a file.
func (s *site) export(t testing.TB) []byte {
	t.Helper()
	var text bytes.Buffer
	says, err := s.there(replicate.RemoteConfig{}).Identify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	target, err := replicate.CreateFile(&text, says.Head)
	if err != nil {
		t.Fatal(err)
	}
	out, err := replicate.Run(t.Context(), replicate.Job{Source: s.there(replicate.RemoteConfig{}), Target: target})
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
	a := newSite(t)
	a.fill(4000)
	text := a.export(t)
	kept := 0
	for _, n := range []int{0, 1, len(text) / 3, len(text) / 2, len(text) - 1} {
		b := newSite(t)
		source, err := replicate.OpenFile(bytes.NewReader(text[:n]))
		if err != nil {
			if n > 100 || !errors.Is(err, replicate.ErrFile) {
				t.Errorf("cut at %d: %v", n, err)
			}
			continue
		}
		out, err := replicate.Run(t.Context(), replicate.Job{Source: source, Target: b.here()})
		if !errors.Is(err, replicate.ErrFileCut) || out.OK {
			t.Errorf("cut at %d: %+v, %v", n, out, err)
		}
		if written := out.History[0].Written; written < kept || written != len(b.content()) && written != len(b.content())+1 {
			t.Errorf("cut at %d: %d written, %d there, %d before", n, written, len(b.content()), kept)
		}
		kept = out.History[0].Written
	}
	if kept == 0 {
		t.Error("nothing of a file that was cut has been kept")
	}
}
