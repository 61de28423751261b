package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
)

// source is what is imported. A table is read twice: to show how it is understood, and to write it.
type source struct {
	name  string
	stdin bool
	lines bool   // one JSON object a line, in which nothing is to be understood
	size  int64  // 0 = unknown
	start []byte // all of a small file
	file  *os.File
	temp  bool          // file is one of ours
	rest  io.ReadCloser // of lines that cannot be read twice
}

// smallFile is the size up to which a file is kept in memory.
const smallFile = 4 << 20

// source opens what is imported.
func (m *Main) source(name string) (*source, error) {
	s := &source{name: name, stdin: name == "-"}
	if s.stdin {
		s.name = "standard input"
		return s, s.take(io.NopCloser(m.Stdin))
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
	s.file, s.size = f, info.Size()
	if s.size <= smallFile {
		s.start = make([]byte, s.size)
		if _, err := f.ReadAt(s.start, 0); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	head := make([]byte, 256)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, f.Close())
	}
	s.lines = isLines(head[:n])
	return s, nil
}

// pretixHead begins an export of pretix: JSON, but not of lines.
var pretixHead = regexp.MustCompile(`^\{\s*"event"\s*:\s*\{`)

// isLines tells one JSON object a line from a table.
func isLines(head []byte) bool {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	return len(head) > 0 && head[0] == '{' && !pretixHead.Match(head)
}

// take takes what cannot be read twice: lines as they come, a table into a temporary file.
func (s *source) take(r io.ReadCloser) error {
	b := bufio.NewReader(r)
	head, _ := b.Peek(256) // what cannot be read is said when it is
	if s.lines = isLines(head); s.lines {
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
	s.file, s.temp = temp, true
	if s.size, err = io.Copy(temp, b); err != nil {
		s.close()
	}
	return err
}

// open reads it from the beginning.
func (s *source) open() (io.ReadCloser, error) {
	if s.rest != nil {
		return s.rest, nil
	}
	return io.NopCloser(io.NewSectionReader(s.file, 0, s.size)), nil
}

func (s *source) close() {
	if s.file == nil {
		return
	}
	_ = s.file.Close() // it was only read
	if s.temp {
		_ = os.Remove(s.file.Name()) // nothing is lost with it
	}
}
