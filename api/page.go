package api

import (
	"cmp"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// window of a list (contract.md §5).
const (
	defaultLimit = 10
	maxLimit     = 100
	// farOffset stands for any offset that no list reaches; a limit can be added to it.
	farOffset = math.MaxInt - maxLimit
)

// span is the part of a list that is asked for.
type span struct{ limit, offset int }

// readSpan reads limit and offset; what cannot be read counts as absent.
func readSpan(q query) span {
	s := span{limit: defaultLimit}
	if text, ok := q.last("limit"); ok {
		if n := natural(text); n > 0 {
			s.limit = min(n, maxLimit)
		}
	}
	if text, ok := q.last("offset"); ok {
		s.offset = natural(text)
	}
	return s
}

// natural reads digits, space around them allowed: 0 for anything else, farOffset for more than fits.
func natural(text string) int {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0
	}
	n := 0
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0
		}
		if n > (farOffset-9)/10 {
			n = farOffset
			continue
		}
		n = n*10 + int(c-'0')
	}
	return min(n, farOffset)
}

// listing is a request for a part of a list, and all that it asks by.
type listing struct {
	*exchange
	query query
	span
}

func (x *exchange) listing() listing {
	q := parseQuery(x.request.URL.RawQuery)
	return listing{x, q, readSpan(q)}
}

// replyWith answers with the part that is asked for of a list of so many.
func (l listing) replyWith(views any, count int) error {
	results, err := json.Marshal(views)
	if err != nil {
		return err
	}
	return l.reply(http.StatusOK, append(append(l.appendHead(l.buffer, count), results...), '}'))
}

// within is the part that is asked for of a whole list.
func within[T any](l listing, all []T) []T {
	return all[min(l.offset, len(all)):min(l.offset+l.limit, len(all))]
}

// appendHead begins a list's reply: count, next, previous, and the name of the results, which the caller appends.
func (l listing) appendHead(dst []byte, count int) []byte {
	dst = append(dst, `{"count":`...)
	dst = strconv.AppendInt(dst, int64(count), 10)
	dst = append(dst, `,"next":`...)
	if l.offset+l.limit < count {
		dst = l.appendLink(dst, l.offset+l.limit)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"previous":`...)
	if l.offset > 0 {
		dst = l.appendLink(dst, l.offset-l.limit)
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
	link = l.query.with("limit", strconv.Itoa(l.limit)).with("offset", offset).appendSorted(link)
	dst, err := jsontext.AppendQuote(dst, link)
	if err != nil {
		panic(err) // a link is escaped to ASCII, but for a Host that was judged
	}
	return dst
}

// path is the request's path below the mount, with its slash.
func (x *exchange) path() string {
	return strings.TrimSuffix(strings.TrimPrefix(x.request.URL.Path, x.server.Prefix()), "/") + "/"
}

// address is a path as an absolute URL: below the public URL if there is one, otherwise at the Host that was asked.
func (x *exchange) address(path string) string {
	if base := x.server.base; base != nil {
		return base.Scheme + "://" + base.Host + base.Path + path
	}
	return cmp.Or(x.scheme, "http") + "://" + x.request.Host + path
}
