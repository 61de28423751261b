package replicate_test

import (
	"bytes"
	"errors"
	"testing"

	"doorward/sync/peertest"
	"doorward/sync/replicate"
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
