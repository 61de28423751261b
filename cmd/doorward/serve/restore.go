package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"doorward/cmd/doorward/archive"
	"doorward/cmd/doorward/control"
	"doorward/cmd/doorward/folder"
	"doorward/kv"
	"doorward/kv/backup"
	"doorward/kv/disk"
	"doorward/kv/table"
	"doorward/kv/value"
)

// restores takes the request to put a restored store in the place of the served one. The request stays open while the server drains, closes
// the store, replaces its file and serves again. Then it is answered.
type restores struct {
	mu      sync.Mutex
	drain   context.CancelFunc // ends what is served now
	pending *restore           // nil = none
}

// restore is one request.
type restore struct {
	folder string   // the work folder of the restored store
	conn   net.Conn // of the command that asks
	done   bool     // the store was replaced, or err says why not
	kept   string   // the file that was replaced
	err    error
}

var (
	errUnderWay = errors.New("another restore is under way")
	errAway     = errors.New("the backup has taken the store's place, but the server has not come back; its log says why")
	errUnmoved  = errors.New("the backup has not taken the store's place, and the server has not come back; its log says why")
)

// begin is called for each store. drain ends serving it.
func (r *restores) begin(drain context.CancelFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drain = drain
}

// before answers requests to restore, and leaves all others to the control handler of the store.
func (r *restores) before(store *kv.Store, commands http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodPost || req.URL.Path != archive.RestorePath {
			commands.ServeHTTP(w, req)
			return
		}
		q, err := value.ParseQuery(req.URL.RawQuery)
		if err == nil {
			err = archive.CheckReplace(store, q.Get("realm"), q.Get("node"))
		}
		if err == nil {
			err = r.take(w, q.Get("folder"))
		}
		if err != nil {
			control.Refuse(w, http.StatusConflict, err)
		}
	})
}

// take keeps a request open and ends what is served. It fails while another request is open.
func (r *restores) take(w http.ResponseWriter, folder string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending != nil || !disk.IsWorkFolder(folder, archive.RestorePurpose) {
		return errUnderWay
	}
	conn, _, err := http.NewResponseController(w).Hijack() // a server that drains does not wait for it
	if err != nil {
		return err
	}
	r.pending = &restore{folder: folder, conn: conn}
	r.drain()
	return nil
}

// replace puts the restored store in the place of the one that was served, and reports whether a request asked for that. Where it fails, for
// one because the command withdrew the restored store, the store before goes on.
func (r *restores) replace(dir string, log *slog.Logger) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pending
	if p == nil {
		return false
	}
	p.done = true
	p.kept, p.err = backup.ReplaceStore(dir, table.Path(filepath.Join(dir, p.folder)), time.Now(), log)
	if errors.Is(p.err, disk.ErrInUse) {
		p.err = folder.Busy(dir)
	}
	if p.err != nil {
		log.Error("the restored store could not take its place; the one before goes on", slog.Any("cause", p.err))
	} else {
		log.Info("a restored store takes its place", slog.String("kept", filepath.Base(p.kept)))
	}
	return true
}

// answer answers the open request, if there is one. after is what went wrong after the store was replaced; nil = nothing. If
// the server failed before it replaced the store, there is no answer, and the command withdraws the restored store.
func (r *restores) answer(after error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pending
	r.pending = nil
	if p == nil {
		return
	}
	defer func() { _ = p.conn.Close() }() // the command may be gone
	switch {
	case !p.done:
		return
	case p.err != nil && after != nil:
		after = errUnmoved
	case p.err != nil:
		after = fmt.Errorf("the store before goes on: %w", p.err)
	}
	if after == nil {
		p.reply(http.StatusOK, archive.Replaced{Kept: p.kept})
		return
	}
	p.reply(http.StatusConflict, control.Failure{Error: control.Problem{Message: after.Error()}})
}

// replyWithin is how long a command may take to read its answer.
const replyWithin = 5 * time.Second

// reply writes the answer to the request's connection.
func (p *restore) reply(status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // the program makes each value that it sends
	}
	resp := &http.Response{StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Close: true, ContentLength: int64(len(b)), Body: io.NopCloser(bytes.NewReader(b))}
	_ = p.conn.SetWriteDeadline(time.Now().Add(replyWithin)) // without one the write may wait
	_ = resp.Write(p.conn)                                   // the command may be gone
}
