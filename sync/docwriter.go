package sync

import (
	"encoding/base64"
	"slices"

	"doorward/kv/docs"
	"doorward/kv/merge"
	"doorward/kv/rev"
)

// show says what an answer has of a document beside its body.
type show struct {
	revs, revsInfo                   bool
	conflicts, deletedConflicts, seq bool
	attachments                      bool     // with their bytes
	since                            []rev.ID // leaves out attachments that one of these has
	follow                           bool     // the bytes follow in parts of their own
}

// showOf reads a show from the parameters of a request.
func showOf(q *query) show {
	meta := q.flag("meta")
	return show{
		revs: q.flag("revs"), revsInfo: q.flag("revs_info") || meta,
		conflicts: q.flag("conflicts") || meta, deletedConflicts: q.flag("deleted_conflicts") || meta, seq: q.flag("local_seq"),
		attachments: q.flag("attachments"), since: q.revisions("atts_since"),
	}
}

// document writes one revision of a document.
func (s *stream) document(doc *docs.Doc, r *docs.DocRevision, w show) {
	s.text(`{"_id":`)
	s.quoted(doc.ID)
	s.text(`,"_rev":`)
	s.revision(r.Revision)
	if r.Deleted {
		s.text(`,"_deleted":true`)
	}
	if w.revs {
		s.revisions(doc.Tree.Path(r.Revision))
	}
	if w.revsInfo {
		s.revsInfo(&doc.Tree, r.Revision)
	}
	if w.conflicts {
		s.revisionList(`,"_conflicts":`, doc.Tree.Conflicts())
	}
	if w.deletedConflicts {
		s.revisionList(`,"_deleted_conflicts":`, doc.Tree.DeletedConflicts())
	}
	if w.seq {
		s.text(`,"_local_seq":"` + s.call.server.config.Store.Tables.Epochs.SeqText(doc.Seq) + `"`)
	}
	s.attachments(doc, r, w)
	if len(r.Body) > len("{}") {
		s.text(",")
		_, _ = s.Write(r.Body[1:]) // the stream keeps the error
	} else {
		s.text("}")
	}
	s.call.server.metrics.sent.Inc()
}

// revisions writes a path as _revisions.
func (s *stream) revisions(path []rev.ID) {
	if len(path) == 0 {
		return // the tree was pruned since
	}
	s.text(`,"_revisions":{"start":`)
	s.number(int64(path[0].Generation))
	s.text(`,"ids":[`)
	for i, rev := range path {
		if i > 0 {
			s.text(",")
		}
		s.quoted(rev.HashText())
	}
	s.text("]}")
}

func (s *stream) revsInfo(tree *rev.Tree, of rev.ID) {
	s.text(`,"_revs_info":[`)
	for i, rev := range tree.Path(of) {
		if i > 0 {
			s.text(",")
		}
		status := "missing"
		switch n := tree.Find(rev); {
		case n.Deleted && n.Held:
			status = "deleted"
		case n.Held:
			status = "available"
		}
		s.text(`{"rev":`)
		s.revision(rev)
		s.text(`,"status":"` + status + `"}`)
	}
	s.text("]")
}

// revisionList writes a list of revisions, unless it is empty.
func (s *stream) revisionList(member string, nodes []rev.Node) {
	for i, n := range nodes {
		if i == 0 {
			s.text(member + "[")
		} else {
			s.text(",")
		}
		s.revision(n.Revision)
	}
	if len(nodes) > 0 {
		s.text("]")
	}
}

// attachments writes the attachments of a revision.
func (s *stream) attachments(doc *docs.Doc, r *docs.DocRevision, w show) {
	known := w.knownGeneration(doc, r.Revision)
	for i, a := range r.Attachments {
		if i == 0 {
			s.text(`,"_attachments":{`)
		} else {
			s.text(",")
		}
		s.quoted(a.Name)
		s.text(`:{"content_type":`)
		s.quoted(a.Type)
		s.text(`,"revpos":`)
		s.number(int64(a.RevPos))
		s.text(`,"digest":"` + a.Digest() + `"`)
		switch {
		case !w.attachments || a.RevPos <= known:
			writeLength(s, a)
			s.text(`,"stub":true}`)
		case w.follow:
			writeLength(s, a)
			s.text(`,"follows":true}`)
		default:
			s.text(`,"data":"`)
			s.base64(a)
			s.text(`"}`)
		}
	}
	if len(r.Attachments) > 0 {
		s.text("}")
	}
}

func writeLength(s *stream, a merge.Attachment) {
	s.text(`,"length":`)
	s.number(a.Length)
}

// knownGeneration returns the generation up to which a client has all attachments, by its atts_since.
func (w show) knownGeneration(doc *docs.Doc, rev rev.ID) (generation uint64) {
	if len(w.since) == 0 {
		return 0
	}
	for _, r := range doc.Tree.Path(rev) {
		if slices.Contains(w.since, r) {
			return r.Generation
		}
	}
	return 0
}

// base64 writes an attachment's bytes.
func (s *stream) base64(a merge.Attachment) {
	enc := base64.NewEncoder(base64.StdEncoding, s)
	if err := s.call.db.Blob(a.SHA256, enc); err != nil {
		s.keep(0, err)
		return
	}
	s.keep(0, enc.Close())
}
