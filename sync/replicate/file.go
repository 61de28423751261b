package replicate

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"

	"doorward/kv/access"
	"doorward/kv/docs"
	"doorward/kv/merge"
	"doorward/kv/table"
	"doorward/sync/dial"
	"doorward/sync/input"
	"doorward/sync/line"
	"doorward/sync/transit"
)

// The faults of a file.
var (
	ErrFile    = errors.New("not a file of changes")
	ErrFileCut = errors.New("the file was cut short: what it holds was taken, and the rest is missing")
)

// errServerKind refuses a record in a file of a kind that only a server writes.
var errServerKind = table.Refused(access.NotInFiles.String())

// errOneWay says that a file for writing was asked to read, or the other way round.
var errOneWay = errors.New("a file is either read or written")

// File is a file of lines as a peer: OpenFile reads one, CreateFile writes one. It keeps no checkpoint.
type File struct {
	head  line.Head
	lines *line.Reader  // nil: the file is written
	z     *zstd.Encoder // nil: the file is read
	out   *line.Writer  // to z
}

// CreateFile begins a file; Finish ends it. The file takes all revisions that it is offered, with their attachments' bytes. It takes no
// record of a kind that only servers write, so a reader of the file learns no keys. It takes erasures, because they name a person only for
// those with the realm's key.
func CreateFile(w io.Writer, h line.Head) (*File, error) {
	h.Format = line.Format
	z := line.Compress(w)
	f := &File{head: h, z: z, out: line.NewWriter(z)}
	return f, errors.Join(f.out.Head(h), z.Flush()) // even a file that is cut early has its head
}

// Finish writes the last line. A file without it was cut.
func (f *File) Finish(o Outcome) error {
	return errors.Join(f.out.Foot(o.Last), f.z.Close())
}

// OpenFile begins to read a file. It returns ErrFile if it is not one.
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

// Head returns the first line.
func (f *File) Head() line.Head { return f.head }

// Identify says which database the file is of.
func (f *File) Identify(context.Context) (Identity, error) { return Identity{Head: f.head}, nil }

// Checkpoint returns none.
func (f *File) Checkpoint(context.Context, string) (Checkpoint, error) { return Checkpoint{}, nil }

// Keep does nothing.
func (f *File) Keep(context.Context, string, Checkpoint) error { return nil }

// Missing returns all offers that the file takes.
func (f *File) Missing(_ context.Context, offers []merge.Revs) ([]docs.MissingRevs, error) {
	missing := make([]docs.MissingRevs, 0, len(offers))
	for _, o := range offers {
		if !table.OfRecords(f.head.DB) || inFiles(o.ID) {
			missing = append(missing, docs.MissingRevs{ID: o.ID, Missing: o.Revisions})
		}
	}
	return missing, nil
}

// Write adds revisions and a mark.
func (f *File) Write(ctx context.Context, revisions []*transit.Revision) ([]Denial, error) {
	if f.z == nil {
		return nil, errOneWay
	}
	var upto transit.Sequence
	for _, x := range revisions {
		if err := f.out.AddWhole(ctx, x); err != nil {
			return nil, err
		}
		upto = x.Seq
	}
	return nil, f.out.Mark(upto)
}

// Feed reads the file, once. If the file is cut, it returns ErrFileCut and keeps what came before: revisions that come again change
// nothing. Anyone can write a file, so a database of records takes no record from it that only servers write.
func (f *File) Feed(_ context.Context, w Wish, fn func(*Batch) error) error {
	if f.lines == nil {
		return errOneWay
	}
	g := newBatcher(fn)
	last, err := readLines(f.lines, func(l *line.Line) error {
		if x := l.Revision; x != nil && w.Records && !inFiles(x.ID) {
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
	g.batch.Upto = last
	return g.flush()
}

// inLine writes the bytes of an attachment that came with its line.
func inLine(_ context.Context, p *transit.Part, w io.Writer) error {
	if p.Data == nil {
		return transit.ErrStub
	}
	_, err := io.Copy(w, base64.NewDecoder(base64.StdEncoding, bytes.NewReader(bytes.Trim(p.Data, `"`))))
	if err != nil {
		return merge.ErrDocument
	}
	return nil
}

// Read has nothing to add: the feed brings all revisions along.
func (f *File) Read(context.Context, []docs.MissingRevs, func(*transit.Revision) error) error {
	return nil
}
