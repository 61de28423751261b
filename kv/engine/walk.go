package engine

import (
	"errors"
	"fmt"
	"os"
)

// Findings are told of what Walk meets. Row's error is ErrCorrupt where the row's checksum fails; the value is nil then.
type Findings struct {
	Page func(id uint64, reason string)
	Row  func(b Bucket, key, value []byte, err error)
}

// Walk looks at a file that cannot be opened, page by page, and tells of each page that is damaged, and of each row as far as sound pages lead to
// it. It trusts nothing that it reads, never maps the file, and takes no lock. reason is what is wrong with the file as a whole; "" = nothing.
// A *BadFile is a file that holds no pages of a store.
func Walk(path string, s *Schema, f Findings) (reason string, err error) {
	w, reason, err := openPages(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = w.file.Close() }() // it was only read
	w.bad = f.Page
	w.row = func(name string, key, sealed []byte) {
		if b, known := s.named([]byte(name)); known {
			value, err := s.unseal(b, key, sealed)
			f.Row(b, key, value, err)
		}
	}
	_, err = w.from(w.root)
	return reason, err
}

// openPages opens a file to walk its pages, and says what is wrong with the file as a whole; "" = nothing.
func openPages(path string) (w *pageWalk, reason string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	h, size, both, err := readHead(f)
	info, failed := f.Stat()
	if err = errors.Join(err, failed); err == nil && size != pageSize {
		err = &BadFile{Path: path, Reason: "holds no pages of a store"}
	}
	if err != nil {
		return nil, "", errors.Join(err, f.Close())
	}
	switch {
	case info.Size() < int64(h.pages)*pageSize:
		reason = fmt.Sprintf("has been cut short: it has %d bytes, of %d that it should have", info.Size(), int64(h.pages)*pageSize)
	case !both:
		reason = "has two heads, of which one cannot be read"
	}
	return &pageWalk{file: f, pages: h.pages, root: h.root}, reason, nil
}
