package api

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// window of a list (contract.md §5).
const (
	defaultLimit = 10
	maxLimit     = 100
	// farOffset stands for any offset that no list reaches; a limit can be added to it.
	farOffset = math.MaxInt64 - maxLimit
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

// appendHead begins a list's reply: count, next, previous, and the name of the results, which the caller appends.
func appendHead(dst []byte, x *exchange, q query, s span, count int) []byte {
	dst = append(dst, `{"count":`...)
	dst = strconv.AppendInt(dst, int64(count), 10)
	dst = append(dst, `,"next":`...)
	if s.offset+s.limit < count {
		dst = appendLink(dst, x, q, span{s.limit, s.offset + s.limit})
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"previous":`...)
	if s.offset > 0 {
		dst = appendLink(dst, x, q, span{s.limit, s.offset - s.limit})
	} else {
		dst = append(dst, "null"...)
	}
	return append(dst, `,"results":`...)
}

// appendLink appends the address of another part of the list that was asked for, as a JSON string.
func appendLink(dst []byte, x *exchange, q query, s span) []byte {
	offset := ""
	if s.offset > 0 {
		offset = strconv.Itoa(s.offset)
	}
	link := append([]byte(x.address(x.path())), '?')
	link = q.with("limit", strconv.Itoa(s.limit)).with("offset", offset).appendSorted(link)
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
	if x.request.TLS != nil {
		return "https://" + x.request.Host + path
	}
	return "http://" + x.request.Host + path
}
