package venue

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"doorward/sync/dial"
	"doorward/sync/handshake"
)

// listen asks the centre to say when it has other keys than those of a mark, while the link holds. A centre that does not know the
// question tells its keys at the next handshake.
func (x *copies) listen(ctx context.Context, mark string) {
	var err error
	for mark != "" && err == nil {
		var told handshake.KeyMark
		asked := x.ask(ctx, question{method: http.MethodGet, path: "_hello", query: url.Values{"keys": {mark}}}, &told)
		var refused *dial.Refusal
		switch {
		case errors.As(asked, &refused) && !dial.Transient(asked):
			return
		case asked != nil:
			err = dial.Rest(ctx, longestPause)
			continue
		case told.Keys != mark:
			mark = told.Keys
			signal(x.rekeyed)
		}
		err = dial.Rest(ctx, helloSoon/10) // a centre that answers at once is not asked without end
	}
}
