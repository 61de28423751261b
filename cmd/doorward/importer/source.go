package importer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
)

// Source is a file to import. A table is read twice: once for the plan, once to write its rows.
type Source struct {
	Name  string // as messages name it
	Stdin bool
	Lines bool  // one JSON object a line: there is no plan to show
	Size  int64 // 0 = unknown

	file *os.File
	info os.FileInfo   // of the file when it was opened; nil of one of ours
	temp bool          // file is one of ours
	rest io.ReadCloser // of lines that cannot be read twice
}

// Open opens a file to import; - is stdin.
func Open(name string, stdin io.Reader) (*Source, error) {
	s := &Source{Name: name, Stdin: name == "-"}
	if s.Stdin {
		s.Name = "standard input"
		return s, s.take(io.NopCloser(stdin))
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, errors.Join(err, f.Close())
	case info.IsDir():
		return nil, errors.Join(fmt.Errorf("%s is a folder", name), f.Close())
	case !info.Mode().IsRegular():
		return s, s.take(f)
	}
	s.file, s.info, s.Size = f, info, info.Size()
	head := make([]byte, 256)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, f.Close())
	}
	s.Lines = isLines(head[:n])
	return s, nil
}

// pretixHead begins an export of pretix: JSON, but not of lines.
var pretixHead = regexp.MustCompile(`^\{\s*"event"\s*:\s*\{`)

// isLines tells one JSON object a line from a table.
func isLines(head []byte) bool {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	return len(head) > 0 && head[0] == '{' && !pretixHead.Match(head)
}

// take reads an input that can be read only once: lines as they come, a table into a temporary file.
func (s *Source) take(r io.ReadCloser) error {
	b := bufio.NewReader(r)
	head, _ := b.Peek(256) // the import reports what cannot be read
	if s.Lines = isLines(head); s.Lines {
		s.rest = struct {
			io.Reader
			io.Closer
		}{b, r}
		return nil
	}
	temp, err := os.CreateTemp("", "doorward-import-*")
	if err != nil {
		return err
	}
	_ = os.Remove(temp.Name()) // it is read by its handle: a killed process leaves nothing. Where that cannot be, Close removes it.
	s.file, s.temp = temp, true
	if s.Size, err = io.Copy(temp, b); err != nil {
		s.Close()
	}
	return err
}

// Reader reads the file from its beginning.
func (s *Source) Reader() io.ReadCloser {
	if s.rest != nil {
		return s.rest
	}
	return io.NopCloser(&table{io.NewSectionReader(s.file, 0, s.Size), s})
}

// errChanged is returned at the end of a table that another program has changed: the plan may be of other rows.
var errChanged = errors.New("the file has changed since the import began; import it again once it is saved")

// table reads a source, and sees at its end whether it has changed.
type table struct {
	from *io.SectionReader
	of   *Source
}

// Read reads some more. It returns errChanged in the place of io.EOF.
func (t *table) Read(b []byte) (int, error) {
	n, err := t.from.Read(b)
	if was := t.of.info; errors.Is(err, io.EOF) && was != nil && !t.of.Lines {
		now, fault := t.of.file.Stat()
		if fault != nil || now.Size() != was.Size() || !now.ModTime().Equal(was.ModTime()) {
			return n, errors.Join(fault, errChanged)
		}
	}
	return n, err
}

// Close closes the file, and removes a temporary one.
func (s *Source) Close() {
	if s.file == nil {
		return
	}
	_ = s.file.Close() // it was only read
	if s.temp {
		_ = os.Remove(s.file.Name()) // it holds nothing of its own
	}
}
