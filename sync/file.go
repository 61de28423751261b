package sync

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"

	"doorward/kv"

	"github.com/klauspost/compress/zstd"
)

// What a file can be that no documents are read from, or not all.
var (
	ErrFile    = errors.New("not a file of changes")
	ErrFileCut = errors.New("the file was cut short: what it holds was taken, and the rest is missing")
)

// errOfSystem is a document of a file that only a server itself may write.
var errOfSystem = &kv.Forbidden{CurrentScopes: []string{}, Reason: "the server alone writes this kind; no file brings it"}

// FileTarget writes changes to a file, their attachments' bytes too. It keeps no checkpoint: all that it is given is new to it. What
// only servers write themselves stays out: whoever finds the file learns of no keys, and FileSource would not take it. But what was
// erased is told: it tells nobody whom it is about who does not have the realm's key, and nobody else can make one up.
type FileTarget struct {
	head  Head
	z     *zstd.Encoder
	count int
	upto  sequence // of the latest line
}

// NewFileTarget begins a file; Finish ends it.
func NewFileTarget(w io.Writer, h Head) (*FileTarget, error) {
	h.Format = lineFormat
	t := &FileTarget{head: h, z: packLines(w)}
	_, err := t.z.Write(appendJSON(nil, h))
	return t, errors.Join(err, t.z.Flush()) // whose it is can be read of the shortest piece
}

// Head tells whose changes they are.
func (t *FileTarget) Head(context.Context) (Head, error) { return t.head, nil }

// Finish writes how far the file goes. One without that was cut short.
func (t *FileTarget) Finish(o Outcome) error {
	last := o.Last
	if last == nil {
		last = sequence("0")
	}
	_, err := t.z.Write(appendJSON(nil, foot{Last: last, Count: t.count}))
	return errors.Join(err, t.z.Close())
}

func (t *FileTarget) identity(context.Context) (string, error) { return "", nil }

func (t *FileTarget) checkpoint(context.Context, string) (checkpoint, error) {
	return checkpoint{}, nil
}

func (t *FileTarget) keep(context.Context, string, checkpoint) error { return nil }

func (t *FileTarget) missing(_ context.Context, offers []kv.Revs) ([]kv.MissingRevs, error) {
	missing := make([]kv.MissingRevs, 0, len(offers))
	for _, o := range offers {
		if !OfRecords(t.head.DB) || !isOfSystem(o.ID) || isErasure(o.ID) {
			missing = append(missing, kv.MissingRevs{ID: o.ID, Missing: o.Revisions})
		}
	}
	return missing, nil
}

func (t *FileTarget) write(ctx context.Context, replicas []*replica) ([]Denial, error) {
	var b []byte
	for _, x := range replicas {
		seq := x.seq
		if seq == nil {
			seq = sequence("0")
		}
		var err error
		b, err = x.appendLineWith(b[:0], seq, func(dst []byte, p *part) ([]byte, error) { return x.appendContent(ctx, dst, p) })
		if err == nil {
			_, err = t.z.Write(b)
		}
		if err != nil {
			return nil, err
		}
		t.count++
		t.upto = seq
	}
	_, err := t.z.Write(appendJSON(nil, mark{Upto: t.upto, Count: t.count}))
	return nil, err
}

// FileSource reads changes from a file.
type FileSource struct {
	head  Head
	lines *lines
}

// NewFileSource begins to read a file: ErrFile.
func NewFileSource(r io.Reader) (*FileSource, error) {
	z := unpackLines(r)
	var first []byte
	one := make([]byte, 1)
	for len(first) < 1<<16 && !bytes.HasSuffix(first, []byte("\n")) {
		if _, err := io.ReadFull(z, one); err != nil {
			return nil, ErrFile
		}
		first = append(first, one[0])
	}
	l, err := readLine(newDecoder(bytes.NewReader(first)))
	if err != nil || l.head == nil || l.head.Format != lineFormat || !l.head.named() {
		return nil, ErrFile
	}
	s := &FileSource{head: *l.head, lines: newLines(z)}
	s.lines.line = 1
	return s, nil
}

// Head tells whose changes they are.
func (s *FileSource) Head(context.Context) (Head, error) { return s.head, nil }

func (s *FileSource) identity(context.Context) (string, error) { return "", nil }

func (s *FileSource) checkpoint(context.Context, string) (checkpoint, error) {
	return checkpoint{}, nil
}

func (s *FileSource) keep(context.Context, string, checkpoint) error { return nil }

// feed reads the file once. What came before it was cut is kept: revisions that come again change nothing. Anybody can write a
// file: a database of records takes none from it of what nobody writes by hand.
func (s *FileSource) feed(_ context.Context, w wish, fn func(*batch) error) error {
	g := newGathering(fn)
	last, err := readLines(s.lines, func(l *line) error {
		if x := l.replica; x != nil && w.records && isOfSystem(x.id) && !isErasure(x.id) {
			g.batch.denied = append(g.batch.denied, x.deny(errOfSystem))
			l.replica = nil
		} else if x != nil && len(x.parts) > 0 {
			x.content = inLine
		}
		return g.add(l)
	})
	switch {
	case errors.Is(err, errCut):
		return errors.Join(ErrFileCut, g.flush())
	case err != nil:
		return err
	}
	g.batch.upto = last.Last
	return g.flush()
}

// inLine writes the bytes of an attachment that came with its line.
func inLine(_ context.Context, p *part, w io.Writer) error {
	if p.data == nil {
		return errStub
	}
	_, err := io.Copy(w, base64.NewDecoder(base64.StdEncoding, bytes.NewReader(bytes.Trim(p.data, `"`))))
	if err != nil {
		return kv.ErrDocument
	}
	return nil
}

// read is never called: the feed brings all along.
func (s *FileSource) read(context.Context, []kv.MissingRevs, func(*replica) error) error { return nil }
