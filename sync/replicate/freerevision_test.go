package replicate_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"doorward/sync/peertest"
	"doorward/sync/replicate"
)

// TestAnyHashIsReplicated: whatever way joins two sites, and in a file.
func TestAnyHashIsReplicated(t *testing.T) {
	t.Parallel()
	filled := func(t *testing.T) *peertest.Site {
		a := peertest.NewSite(t)
		peertest.Bring(a, peertest.Leaf("doc", 2, "x", "a"), peertest.Leaf("doc", 2, "y", "a"), peertest.Leaf("bare", 1, ""), peertest.Leaf("odd", 2, `"é" \ `+"\n", strings.Repeat("0", 32)))
		peertest.Bring(a, `{"_id":"att","_rev":"1-`+"ä ?&"+`","_attachments":{"a":{"content_type":"text/plain","data":"aGVsbG8="}}}`)
		return a
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			a, b := filled(t), peertest.NewSite(t)
			source, target := way.ends(a, b)
			if run := peertest.CopyAll(t, source, target); run.Failures != 0 || run.Written != 5 {
				t.Errorf("run = %+v", run)
			}
			peertest.WantSame(t, a, b)
		})
	}
	t.Run("in a file", func(t *testing.T) {
		a, b := filled(t), peertest.NewSite(t)
		source, err := replicate.OpenFile(bytes.NewReader(exportFile(a, t)))
		if err != nil {
			t.Fatal(err)
		}
		peertest.CopyAll(t, source, b.Local())
		peertest.WantSame(t, a, b)
	})
}

// TestADocumentThatATargetFindsMalformedKeepsNoneBack: a server that refuses a whole request for it is given the others.
func TestADocumentThatATargetFindsMalformedKeepsNoneBack(t *testing.T) {
	t.Parallel()
	a := peertest.NewSite(t)
	for i := range 20 {
		a.Put(fmt.Sprint("doc", i), `{}`)
	}
	lines := unpackedLines(t, exportFile(a, t))
	lines[7] = strings.Replace(lines[7], `"_id":"`, `"_id":"`+strings.Repeat("i", 8<<10), 1)
	for name, config := range map[string]replicate.RemoteConfig{"plainly": peertest.Plainly, "in lines": {}} {
		b := peertest.NewSite(t)
		source, err := replicate.OpenFile(bytes.NewReader(packedLines(t, lines)))
		if err != nil {
			t.Fatal(err)
		}
		out, err := replicate.Run(t.Context(), replicate.Job{Source: source, Target: b.Remote(config), Tries: 1})
		if err != nil || len(out.Denied) != 1 || out.Denied[0].Error != "forbidden" || len(out.Denied[0].ID) <= 8<<10 {
			t.Errorf("%s: %d denied, %v, want the one", name, len(out.Denied), err)
		}
		if info, err := b.Open().Info(); err != nil || info.Docs != 19 {
			t.Errorf("%s: %d documents, %v, want the others", name, info.Docs, err)
		}
	}
}
