package sync

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"doorward/kv/disk"
	"doorward/sync/input"
)

// How a body of documents is kept until it was read to its end.
const (
	spoolMemory  = 16 << 20 // of a body; the rest lies in a file
	largeUploads = 2        // bodies that have a file, at a time
)

// errUploads says that as many large bodies are being taken as may be.
var errUploads = errors.New("other large requests are being taken")

// spools keeps the bodies of documents.
type spools struct {
	memory int
	most   int64         // bytes of a body
	large  chan struct{} // has one for each body with a file
}

func newSpools() spools {
	return spools{memory: spoolMemory, most: input.MaxPush, large: make(chan struct{}, largeUploads)}
}

// newSpool makes a Spool for the body of a request. It is to be closed.
func newSpool(c *call) *input.Spool {
	return &input.Spool{Memory: c.server.spools.memory, Open: func() (input.File, error) { return openSpoolFile(c) }}
}

// openSpoolFile makes the file of a large body, in the store's folder. It waits for as long as a read of a body may take if there are as many as may be;
// then it returns errUploads.
func openSpoolFile(c *call) (input.File, error) {
	large := c.server.spools.large
	patience, end := context.WithTimeout(c.request.Context(), c.server.idle)
	defer end()
	select {
	case large <- struct{}{}:
	case <-c.server.ended.Done():
		return nil, errClosing
	case <-patience.Done():
		return nil, errUploads
	}
	folder := &c.store().Tables.Folder
	f := &spoolFile{room: folder.Room, free: func() { <-large }}
	err := f.check()
	if err == nil {
		f.file, err = disk.Unnamed(folder.Dir)
	}
	if err != nil {
		f.free()
		return nil, err
	}
	f.to = disk.Throttle(f.file)
	return f, nil
}

// spoolFile is the file of a large body. It has no name.
type spoolFile struct {
	file *os.File
	to   io.Writer
	room *disk.Room
	free func()
}

// check returns an error if the disk has no room for what replication brings in bulk.
func (f *spoolFile) check() error { return f.room.Check(disk.Imports) }

// Write writes while the disk has room.
func (f *spoolFile) Write(p []byte) (int, error) {
	if err := f.check(); err != nil {
		return 0, err
	}
	return f.to.Write(p)
}

// ReadAt reads what was written.
func (f *spoolFile) ReadAt(p []byte, at int64) (int, error) { return f.file.ReadAt(p, at) }

// Close removes the file.
func (f *spoolFile) Close() error {
	defer f.free()
	disk.Unlinked(f.file).Free(true)
	return nil
}

// After a refusal the rest of a body is read for so long and so far, so that the client sees the answer and not that the connection is reset.
const (
	readOnFor  = 5 * time.Second
	readOnUpTo = 256 << 20
	readOnFrom = 256 << 10 // net/http reads what is left up to here
)

// isLargeBody reports whether more of a request's body is to come than net/http reads after an answer.
func isLargeBody(r *http.Request) bool {
	body, ok := r.Body.(*idleBody)
	return ok && !body.ended && (r.ContentLength < 0 || r.ContentLength > readOnFrom)
}

// refuseBody answers with an error while a large body is still coming, and reads on.
func refuseBody(c *call, p problem) {
	rc := http.NewResponseController(c.ResponseWriter)
	_ = rc.EnableFullDuplex() // HTTP/2 needs no such thing, and a recorder in a test has none
	h := c.Header()
	h.Set("Connection", "close")
	_ = c.reply(p.status, p) // two texts can be marshalled
	_ = rc.Flush()           // the client may have left
	c.request.Body.(*idleBody).last = time.Now().Add(readOnFor)
	_, _ = io.CopyN(io.Discard, c.request.Body, readOnUpTo) // as above
}
