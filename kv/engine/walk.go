package engine

import (
	"doorward/kv/engine/pages"
	"fmt"
	"os"
)

// Walk looks at a file that cannot be opened, page by page, and tells bad of each page that is damaged, and met of each row as far as sound
// pages lead to it. It trusts nothing that it reads, never maps the file, and takes no lock. reason is what is wrong with the file as a whole;
// "" = nothing. A *BadFile is a file that holds no pages of a store.
func Walk(path string, s *Schema, bad func(page uint64, reason string), met func(Bucket, Row)) (reason string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	h, size, both, err := pages.ReadHead(f)
	switch {
	case err != nil:
		return "", err
	case size != pages.Size:
		return "", &BadFile{Path: path, Reason: "holds no pages of a store"}
	case info.Size() < h.Size():
		reason = cutShort(info.Size(), h)
	case !both:
		reason = "has two heads, of which one cannot be read"
	}
	pages.New(h).All(f, bad, func(name string, key, sealed []byte) {
		if b, known := s.named([]byte(name)); known {
			met(b, Row{key, sealed, b, s})
		}
		if name != string(gatheredBucket) {
			return
		}
		rows, err := unsealGathered(key, sealed)
		if err == nil {
			err = eachRow(rows, func(b Bucket, it item) {
				if !it.deleted() {
					met(b, Row{it.name(), it.sealed(), b, s})
				}
			})
		}
		if err != nil {
			reason = "has rows that wait to be written into their buckets, of which some are damaged"
		}
	})
	return reason, nil
}

// cutShort says that a file is shorter than its head says.
func cutShort(size int64, h pages.Head) string {
	return fmt.Sprintf("has been cut short: it has %d bytes, of %d that it should have", size, h.Size())
}
