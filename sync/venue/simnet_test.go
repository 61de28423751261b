package venue_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"doorward/sync/peertest"
)

// fate is what the network does to an exchange.
type fate string

const (
	calm       fate = "nothing breaks"
	lostAsk    fate = "a request is lost"
	halfAsk    fate = "half of a request comes"
	lostReply  fate = "an answer is lost"
	halfReply  fate = "half of an answer comes"
	twice      fate = "a request comes twice"
	busy       fate = "the centre is overloaded"
	slow       fate = "a request takes long"
	parted     fate = "the link goes down"
	killHere   fate = "the laptop is killed"
	killThere  fate = "the centre is killed"
	exchanges       = 24 // of a round that a drawn place may lie in
	slowTravel      = 20 * time.Second
)

var fates = []fate{calm, calm, calm, calm, lostAsk, halfAsk, lostReply, halfReply, twice, busy, slow, parted, killHere, killThere}

// errLink is a link that is down.
var errLink = errors.New("the link is down")

// wire is a laptop's link to the centre for one round. What happens is drawn: at one exchange, or from it on.
type wire struct {
	world *world
	from  *node
	fate  fate
	at    int // counted from 1
	made  int
	down  bool
}

// RoundTrip makes an exchange.
func (l *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	l.made++
	ask, err := io.ReadAll(orEmpty(r.Body))
	if err != nil {
		return nil, err
	}
	f := calm
	if l.made == l.at {
		f = l.fate
	}
	if l.down || f == lostAsk || f == parted {
		l.down = l.down || f == parted
		return nil, errLink
	}
	switch f {
	case killHere, killThere:
		l.down = true
		if f == killThere {
			l.carry(r, ask[:len(ask)/2], len(ask) < 2) // the centre had begun
		}
		l.killed(f)
		return nil, errLink
	case slow:
		time.Sleep(slowTravel)
	case busy:
		w := httptest.NewRecorder()
		w.WriteHeader(http.StatusServiceUnavailable)
		return w.Result(), nil
	case twice:
		l.carry(r, ask, true)
	case halfAsk:
		l.carry(r, ask[:len(ask)/2], len(ask) == 0)
		return nil, errLink
	}
	resp, whole := l.carry(r, ask, true)
	if f == lostReply {
		return nil, errLink
	}
	if body, _ := io.ReadAll(resp.Body); f == halfReply || !whole { // a recorder's body has no errors
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:len(body)/2]), peertest.Broken{}))
	} else {
		resp.Body = io.NopCloser(bytes.NewReader(body))
	}
	return resp, nil
}

// killed keeps what the disk of one side holds now: it goes on from there.
func (l *wire) killed(f fate) {
	n := l.from
	if f == killThere {
		n = l.world.centre
	}
	n.crashed = n.disk()
}

// carry has the centre answer a request, of which all has come or only a part. whole is false where the answer breaks off.
func (l *wire) carry(r *http.Request, ask []byte, all bool) (resp *http.Response, whole bool) {
	body := io.Reader(bytes.NewReader(ask))
	if !all {
		body = io.MultiReader(body, peertest.Broken{})
	}
	in := r.Clone(r.Context())
	in.Body, in.RequestURI = io.NopCloser(body), r.URL.RequestURI()
	w := httptest.NewRecorder()
	defer func() {
		if found := recover(); found != nil {
			if found != http.ErrAbortHandler { //nolint:errorlint // it is what net/http compares with
				panic(found)
			}
			resp, whole = w.Result(), false
		}
	}()
	l.world.centre.server.ServeHTTP(w, in)
	return w.Result(), true
}

func orEmpty(body io.Reader) io.Reader {
	if body == nil {
		return bytes.NewReader(nil)
	}
	return body
}
