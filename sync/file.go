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

// errOneWay is a file that is asked for what is only for the other way.
var errOneWay = errors.New("a file is either read or written")

// File is a file of lines as a peer: OpenFile reads one, CreateFile writes one. It keeps no checkpoint.
type File struct {
	head  Head
	lines *lines        // of a file that is read
	z     *zstd.Encoder // of a file that is written
	count int
	upto  sequence // of the latest line
}

// CreateFile begins a file; Finish ends it. It takes all revisions that it is offered, with their attachments' bytes. It takes no
// record of a kind that only servers write: a reader of the file learns of no keys, and OpenFile refuses it. It takes erasures: they name no
// one without the realm's key.
func CreateFile(w io.Writer, h Head) (*File, error) {
	h.Format = lineFormat
	f := &File{head: h, z: packLines(w)}
	_, err := f.z.Write(appendJSON(nil, h))
	return f, errors.Join(err, f.z.Flush()) // the head can be read of the shortest piece
}

// Finish writes how far the file goes. A file without that was cut short.
func (f *File) Finish(o Outcome) error {
	last := o.Last
	if last == nil {
		last = sequence("0")
	}
	_, err := f.z.Write(appendJSON(nil, foot{Last: last, Count: f.count}))
	return errors.Join(err, f.z.Close())
}

// OpenFile begins to read a file: ErrFile.
func OpenFile(r io.Reader) (*File, error) {
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
	if err != nil || l.head == nil || l.head.Format != lineFormat || !isNamed(l.head) {
		return nil, ErrFile
	}
	f := &File{head: *l.head, lines: newLines(z)}
	f.lines.line = 1
	return f, nil
}

// Head is the file's first line.
func (f *File) Head() Head { return f.head }

func (f *File) Identify(context.Context) (Identity, error) { return Identity{Head: f.head}, nil }

func (f *File) checkpoint(context.Context, string) (checkpoint, error) { return checkpoint{}, nil }

func (f *File) keep(context.Context, string, checkpoint) error { return nil }

func (f *File) missing(_ context.Context, offers []kv.Revs) ([]kv.MissingRevs, error) {
	missing := make([]kv.MissingRevs, 0, len(offers))
	for _, o := range offers {
		if !OfRecords(f.head.DB) || !isOfSystem(o.ID) || isErasure(o.ID) {
			missing = append(missing, kv.MissingRevs{ID: o.ID, Missing: o.Revisions})
		}
	}
	return missing, nil
}

func (f *File) write(ctx context.Context, replicas []*replica) ([]Denial, error) {
	if f.z == nil {
		return nil, errOneWay
	}
	var b []byte
	for _, x := range replicas {
		seq := x.seq
		if seq == nil {
			seq = sequence("0")
		}
		var err error
		b, err = x.appendLineWith(b[:0], seq, func(dst []byte, p *part) ([]byte, error) { return x.appendContent(ctx, dst, p) })
		if err == nil {
			_, err = f.z.Write(b)
		}
		if err != nil {
			return nil, err
		}
		f.count++
		f.upto = seq
	}
	_, err := f.z.Write(appendJSON(nil, mark{Upto: f.upto, Count: f.count}))
	return nil, err
}

// feed reads the file once. If the file was cut, what came before the cut is kept: revisions that come again change nothing. Anyone can
// write a file: a database of records takes none of the records that only servers write from it.
func (f *File) feed(_ context.Context, w wish, fn func(*batch) error) error {
	if f.lines == nil {
		return errOneWay
	}
	g := newGathering(fn)
	last, err := readLines(f.lines, func(l *line) error {
		if x := l.replica; x != nil && w.records && isOfSystem(x.id) && !isErasure(x.id) {
			g.batch.denied = append(g.batch.denied, denial(x, errOfSystem))
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

// read has nothing to add: the feed brings all revisions along.
func (f *File) read(context.Context, []kv.MissingRevs, func(*replica) error) error { return nil }
