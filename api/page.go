package api

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"doorward/api/query"
	"doorward/kv/desk"
	"doorward/kv/fault"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// listing is a request for a part of a list, with its query.
type listing struct {
	*exchange
	query query.Query
	query.Span
}

func (x *exchange) listing() listing {
	q := query.Parse(x.request.URL.RawQuery)
	return listing{x, q, query.ReadSpan(q)}
}

// replyWith answers with the views of one page of a list. count is the length of the whole list.
func (l listing) replyWith(views any, count int) error {
	results, err := json.Marshal(views)
	if err != nil {
		return err
	}
	return l.reply(http.StatusOK, append(append(l.appendHead(l.buffer, count), results...), '}'))
}

// where reads the conditions that the query sets by some filters.
func (l listing) where(filters []query.Filter) ([]desk.Where, fault.ByField) {
	return query.Conditions(filters, l.query, l.store().Tables.Clock.Zone())
}

// replyEach answers with a view of each record of one page of a list. count is the length of the whole list.
func replyEach[T, V any](l listing, page []T, count int, view func(*T) V) error {
	views := make([]V, len(page))
	for i := range page {
		views[i] = view(&page[i])
	}
	return l.replyWith(views, count)
}

// within returns the page of a whole list that the request asks for.
func within[T any](l listing, all []T) []T {
	return all[min(l.Offset, len(all)):min(l.Offset+l.Limit, len(all))]
}

// appendHead begins a list's reply: count, next, previous, and the name of the results, which the caller appends.
func (l listing) appendHead(dst []byte, count int) []byte {
	dst = append(dst, `{"count":`...)
	dst = strconv.AppendInt(dst, int64(count), 10)
	dst = append(dst, `,"next":`...)
	if l.Offset+l.Limit < count {
		dst = l.appendLink(dst, l.Offset+l.Limit)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"previous":`...)
	if l.Offset > 0 {
		dst = l.appendLink(dst, l.Offset-l.Limit)
	} else {
		dst = append(dst, "null"...)
	}
	return append(dst, `,"results":`...)
}

// appendLink appends the address of the list's part that begins at an offset, as a JSON string.
func (l listing) appendLink(dst []byte, at int) []byte {
	offset := ""
	if at > 0 {
		offset = strconv.Itoa(at)
	}
	link := append([]byte(l.address(l.path())), '?')
	link = l.query.With("limit", strconv.Itoa(l.Limit)).With("offset", offset).AppendSorted(link)
	dst, err := jsontext.AppendQuote(dst, link)
	if err != nil {
		panic(err) // a link is ASCII, and its Host was checked before
	}
	return dst
}

// path returns the request's path below the mount, with a slash at its end.
func (x *exchange) path() string {
	return strings.TrimSuffix(strings.TrimPrefix(x.request.URL.Path, x.server.Prefix()), "/") + "/"
}

// address returns the absolute URL of a path: below the public URL if there is one, else at the Host of the request.
func (x *exchange) address(path string) string {
	if base := x.server.base; base != nil {
		return base.Scheme + "://" + base.Host + base.Path + path
	}
	return cmp.Or(x.scheme, "http") + "://" + x.request.Host + path
}
