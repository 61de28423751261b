package sync

import (
	"compress/gzip"
	"errors"
	"io"

	"doorward/kv"
)

// unpack stores an attachment anew that came compressed, as CouchDB keeps texts: here it is what it was for its author.
func (c *call) unpack(d *incoming, p *part) error {
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.CloseWithError(c.db.Blob(p.SHA256, w)) // never fails
	}()
	blob, err := c.storePacked(r)
	_ = r.Close() // never fails; it ends the writer
	<-done
	if errors.Is(err, errTooLarge) || errors.Is(err, errRatio) || errors.Is(err, errBroken) {
		d.refuse(kv.ErrDocument)
		return nil
	}
	p.Blob = blob
	return err
}

// storePacked stores what a compressed text says.
func (c *call) storePacked(r io.Reader) (kv.Blob, error) {
	raw := &counted{from: r, left: maxBody}
	z, err := gzip.NewReader(raw)
	if err != nil {
		return kv.Blob{}, errBroken
	}
	return c.db.PutBlob(&inflated{plain: z, raw: raw})
}
