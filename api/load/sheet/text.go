package sheet

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// ErrFile is returned where a file's content is at fault.
var ErrFile = errors.New("the file cannot be read so")

// HeadSize is how much of a source is looked at before its format is decided.
const HeadSize = 64 << 10

// maxLine is the longest line that is read; a longer one is a fault of its own and is skipped.
const maxLine = 1 << 20

// faultLong refuses one, and a row of a workbook that holds as much.
const faultLong = "the line is longer than 1 MiB"

// Line is one line of text, decoded, without its end. A line that cannot be text carries a fault instead.
type Line struct {
	N     int // counted from 1
	Text  string
	Fault string
}

// Lines reads text line by line, in UTF-8, UTF-16 or Windows-1252. Lines that were read can be put back.
type Lines struct {
	r      *bufio.Reader
	end    byte // what ends a line
	n      int
	utf8   bool // a character beyond ASCII stood in valid UTF-8: the file is UTF-8
	legacy bool // bytes beyond ASCII stood in invalid UTF-8 first: the file is Windows-1252
	unread []Line
}

// NewLines decides the encoding from the head of r. A UTF-8 file may show its first accent, and a Windows-1252 file its
// first byte beyond ASCII, anywhere: lines decide as they come.
func NewLines(r *bufio.Reader) *Lines {
	head, _ := r.Peek(HeadSize)
	if order, ok := wide(head); ok {
		dec := unicode.UTF16(order, unicode.UseBOM).NewDecoder()
		r = bufio.NewReaderSize(dec.Reader(r), HeadSize)
		head, _ = r.Peek(HeadSize)
	}
	if bytes.HasPrefix(head, []byte("\ufeff")) {
		_, _ = r.Discard(3) // peeked: it is there
		head = head[3:]
	}
	l := &Lines{r: r, end: '\n'}
	if bytes.IndexByte(head, '\n') < 0 && bytes.IndexByte(head, '\r') >= 0 {
		l.end = '\r'
	}
	l.look(cutRune(head))
	return l
}

// wide tells UTF-16 by its mark, or by the zero bytes that Latin text has on every other place.
func wide(head []byte) (unicode.Endianness, bool) {
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
		return unicode.LittleEndian, true
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return unicode.BigEndian, true
	}
	var zeros [2]int
	for i, b := range head {
		if b == 0 {
			zeros[i%2]++
		}
	}
	if zeros[1] > len(head)/4 && zeros[0] == 0 {
		return unicode.LittleEndian, true
	}
	return unicode.BigEndian, zeros[0] > len(head)/4 && zeros[1] == 0
}

// cutRune leaves out a character that the end of the head cuts in two.
func cutRune(head []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(head); i++ {
		if b := head[len(head)-i]; utf8.RuneStart(b) {
			if !utf8.FullRune(head[len(head)-i:]) {
				return head[:len(head)-i]
			}
			break
		}
	}
	return head
}

// look notes what a stretch of bytes says of the encoding; the first that says anything decides. Latin text in Windows-1252
// hardly ever has a character's bytes of UTF-8 in a row.
func (l *Lines) look(b []byte) {
	if l.utf8 || l.legacy || ascii(b) {
		return
	}
	good, bad := 0, 0
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1:
			bad++
		case n > 1:
			good++
		}
		b = b[n:]
	}
	l.utf8 = good >= bad
	l.legacy = !l.utf8
}

func ascii(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Next answers the next line, io.EOF after the last.
func (l *Lines) Next() (Line, error) {
	if n := len(l.unread); n > 0 {
		ln := l.unread[n-1]
		l.unread = l.unread[:n-1]
		return ln, nil
	}
	raw, long, err := l.raw()
	if err != nil {
		return Line{}, err
	}
	l.n++
	if long {
		return Line{N: l.n, Fault: faultLong}, nil
	}
	return l.decode(bytes.TrimSuffix(raw, []byte("\r"))), nil
}

// putBack makes next answer these lines again.
func (l *Lines) putBack(back []Line) {
	for i := len(back) - 1; i >= 0; i-- {
		l.unread = append(l.unread, back[i])
	}
}

// raw reads the bytes up to the end of the line; of one that is too long only that it was.
func (l *Lines) raw() (raw []byte, long bool, err error) {
	for {
		part, err := l.r.ReadSlice(l.end)
		switch {
		case len(raw) == 0 && err == nil:
			return part[:len(part)-1], long, nil
		case len(raw)+len(part) > maxLine:
			raw, long = raw[:0], true
		case !long:
			raw = append(raw, part...)
		}
		switch {
		case err == nil:
			return bytes.TrimSuffix(raw, []byte{l.end}), long, nil
		case errors.Is(err, io.EOF) && (len(raw) > 0 || long):
			return raw, long, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, err
		}
	}
}

func (l *Lines) decode(raw []byte) Line {
	l.look(raw)
	switch {
	case l.legacy:
		text, _ := charmap.Windows1252.NewDecoder().Bytes(raw) // every byte has a character
		return Line{N: l.n, Text: string(text)}
	case !utf8.Valid(raw):
		return Line{N: l.n, Text: strings.ToValidUTF8(string(raw), "\ufffd"), Fault: "bytes that are not UTF-8, in a file that is"}
	}
	return Line{N: l.n, Text: string(raw)}
}
