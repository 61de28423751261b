package replicate

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"

	"doorward/kv"
	"doorward/sync/dial"
	"doorward/sync/input"
	"doorward/sync/line"

	"github.com/klauspost/compress/zstd"
)

// What a file can be that no documents are read from, or not all.
var (
	ErrFile    = errors.New("not a file of changes")
	ErrFileCut = errors.New("the file was cut short: what it holds was taken, and the rest is missing")
)

// errServerKind is a document of a file that only a server itself may write.
var errServerKind = &kv.Forbidden{CurrentScopes: []string{}, Reason: "the server alone writes this kind; no file brings it"}

// errOneWay is a file that is asked for what is only for the other way.
var errOneWay = errors.New("a file is either read or written")

// File is a file of lines as a peer: OpenFile reads one, CreateFile writes one. It keeps no checkpoint.
type File struct {
	head  line.Head
	lines *line.Reader  // of a file that is read
	z     *zstd.Encoder // of a file that is written
	out   *line.Writer  // to z
}

// CreateFile begins a file; Finish ends it. It takes all revisions that it is offered, with their attachments' bytes. It takes no
// record of a kind that only servers write: a reader of the file learns of no keys, and OpenFile refuses it. It takes erasures: they name no
// one without the realm's key.
func CreateFile(w io.Writer, h line.Head) (*File, error) {
	h.Format = line.Format
	z := line.Compress(w)
	f := &File{head: h, z: z, out: line.NewWriter(z)}
	return f, errors.Join(f.out.Head(h), z.Flush()) // the head can be read of the shortest piece
}

// Finish writes how far the file goes. A file without that was cut short.
func (f *File) Finish(o Outcome) error {
	return errors.Join(f.out.Foot(o.Last), f.z.Close())
}

// OpenFile begins to read a file: ErrFile.
func OpenFile(r io.Reader) (*File, error) {
	z := line.Decompress(r)
	var first []byte
	one := make([]byte, 1)
	for len(first) < 1<<16 && !bytes.HasSuffix(first, []byte("\n")) {
		if _, err := io.ReadFull(z, one); err != nil {
			return nil, ErrFile
		}
		first = append(first, one[0])
	}
	l, err := line.Parse(input.NewDecoder(bytes.NewReader(first)))
	if err != nil || l.Head == nil || l.Head.Format != line.Format || !isNamed(l.Head) {
		return nil, ErrFile
	}
	f := &File{head: *l.Head, lines: line.NewReader(z)}
	f.lines.Line = 1
	return f, nil
}

// Head is the file's first line.
func (f *File) Head() line.Head { return f.head }

func (f *File) Identify(context.Context) (Identity, error) { return Identity{Head: f.head}, nil }

func (f *File) Checkpoint(context.Context, string) (Checkpoint, error) { return Checkpoint{}, nil }

func (f *File) Keep(context.Context, string, Checkpoint) error { return nil }

func (f *File) Missing(_ context.Context, offers []kv.Revs) ([]kv.MissingRevs, error) {
	missing := make([]kv.MissingRevs, 0, len(offers))
	for _, o := range offers {
		if !OfRecords(f.head.DB) || !isServerKind(o.ID) || isErasure(o.ID) {
			missing = append(missing, kv.MissingRevs{ID: o.ID, Missing: o.Revisions})
		}
	}
	return missing, nil
}

func (f *File) Write(ctx context.Context, revisions []*line.Revision) ([]Denial, error) {
	if f.z == nil {
		return nil, errOneWay
	}
	var upto line.Sequence
	for _, x := range revisions {
		if err := f.out.AddWhole(ctx, x); err != nil {
			return nil, err
		}
		upto = x.Seq
	}
	return nil, f.out.Mark(upto)
}

// Feed reads the file once. If the file was cut, what came before the cut is kept: revisions that come again change nothing. Anyone can
// write a file: a database of records takes none of the records that only servers write from it.
func (f *File) Feed(_ context.Context, w Wish, fn func(*Batch) error) error {
	if f.lines == nil {
		return errOneWay
	}
	g := newBatcher(fn)
	last, err := readLines(f.lines, func(l *line.Line) error {
		if x := l.Revision; x != nil && w.Records && isServerKind(x.ID) && !isErasure(x.ID) {
			g.batch.Denied = append(g.batch.Denied, denial(x, errServerKind))
			l.Revision = nil
		} else if x != nil && len(x.Parts) > 0 {
			x.Content = inLine
		}
		return g.add(l)
	})
	switch {
	case errors.Is(err, dial.ErrCut):
		return errors.Join(ErrFileCut, g.flush())
	case err != nil:
		return err
	}
	g.batch.Upto = last.Last
	return g.flush()
}

// inLine writes the bytes of an attachment that came with its line.
func inLine(_ context.Context, p *line.Part, w io.Writer) error {
	if p.Data == nil {
		return line.ErrStub
	}
	_, err := io.Copy(w, base64.NewDecoder(base64.StdEncoding, bytes.NewReader(bytes.Trim(p.Data, `"`))))
	if err != nil {
		return kv.ErrDocument
	}
	return nil
}

// Read has nothing to add: the feed brings all revisions along.
func (f *File) Read(context.Context, []kv.MissingRevs, func(*line.Revision) error) error { return nil }
