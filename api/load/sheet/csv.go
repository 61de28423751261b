package sheet

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// A quoted field may run over lines, but never farther than this: beyond, its opening quote is taken for a stray one.
const (
	maxJoin      = 100
	maxJoinBytes = 64 << 10
)

// Row is one row of a table as its file has it. A row that cannot be read carries a fault and where it lies.
type Row struct {
	Line  int
	Texts []string
	At    int    // the column of the fault
	Fault string // "" = none
	Torn  bool   // its cells may not stand under their titles, or are not all there
}

// CSV reads the rows of a delimited file that people made: one broken row is answered with its line and a fault, and the
// next row begins on the next line, whatever quotes were left open.
type CSV struct {
	In    *Lines
	Comma byte
	Width int // how many titles the header has; 0 = not known yet
	Full  int // how many columns it has, untitled ones at its end too

	Closer io.Closer // nil of a probe
}

// Close closes what the rows are read from.
func (c *CSV) Close() error { return c.Closer.Close() }

// Next answers the next row that is not blank, io.EOF after the last.
func (c *CSV) Next() (Row, error) {
	for {
		ln, err := c.In.Next()
		if err != nil {
			return Row{}, err
		}
		if ln.Fault == "" && c.blank(ln.Text) {
			continue
		}
		row := c.read(ln)
		row.Torn = row.Fault != ""
		return row, nil
	}
}

// blank tells a line that holds nothing but separators and spaces.
func (c *CSV) blank(text string) bool {
	for i := 0; i < len(text); i++ {
		if b := text[i]; b != c.Comma && b != ' ' && b != '\t' {
			return false
		}
	}
	return true
}

func (c *CSV) read(ln Line) Row {
	row, open := split(ln.Text, c.Comma)
	row.Line = ln.N
	switch nul := strings.IndexByte(ln.Text, 0); {
	case ln.Fault != "":
		row.At, row.Fault = c.columnAt(ln.Text, strings.IndexRune(ln.Text, '\ufffd')), ln.Fault
		return row
	case nul >= 0:
		row.At, row.Fault = c.columnAt(ln.Text, nul), "a NUL character"
		return row
	}
	if row.Fault != "" && !open {
		if texts := c.splitLoose(ln.Text); texts != nil {
			return Row{Line: ln.N, Texts: texts}
		}
	}
	if open {
		return c.join(ln, row)
	}
	return c.measure(row)
}

// splitLoose cuts a row in which quotes inside quoted cells are not doubled. It is only sure where every cell is quoted and there
// are as many as the header has.
func (c *CSV) splitLoose(text string) []string {
	inner, begins := strings.CutPrefix(strings.TrimSpace(text), `"`)
	inner, ends := strings.CutSuffix(inner, `"`)
	if !begins || !ends || c.Width < 2 {
		return nil
	}
	texts := strings.Split(inner, `"`+string(c.Comma)+`"`)
	if len(texts) != c.Width {
		return nil
	}
	return texts
}

// columnAt is the column that byte i of a line lies in, quotes not considered.
func (c *CSV) columnAt(text string, i int) int {
	return strings.Count(text[:max(i, 0)], string(c.Comma))
}

// measure compares a row with the header's width: empty cells beyond it are trailing separators.
func (c *CSV) measure(row Row) Row {
	if c.Width == 0 || row.Fault != "" {
		return row
	}
	n := len(row.Texts)
	for n > c.Width && strings.TrimSpace(row.Texts[n-1]) == "" {
		n--
	}
	if n < c.Width || n > c.Full {
		row.At, row.Fault = min(n, c.Width), fmt.Sprintf("%d columns where the header has %d", n, c.Width)
	}
	row.Texts = row.Texts[:n]
	return row
}

// join reads on where a quoted field does not end on its line. The lines that follow are put back, and only the first is
// reported, unless all of them together are one whole row and none of them is one by itself.
func (c *CSV) join(first Line, broken Row) Row {
	broken.Fault = "a quote is opened and not closed"
	var more []Line
	text := first.Text
	for len(more) < maxJoin && len(text) < maxJoinBytes {
		ln, err := c.In.Next()
		if err != nil {
			break
		}
		more = append(more, ln)
		text += "\n" + ln.Text
		row, open := split(text, c.Comma)
		if open && ln.Fault == "" && !c.whole(ln.Text) {
			continue
		}
		row.Line = first.N
		if row = c.measure(row); !open && row.Fault == "" && !c.strayPair(first.Text, ln.Text) {
			return row
		}
		break
	}
	c.In.putBack(more)
	return broken
}

// whole tells a line that is a row by itself.
func (c *CSV) whole(text string) bool {
	row, open := split(text, c.Comma)
	return c.Width > 1 && !open && c.measure(row).Fault == "" && row.Fault == ""
}

// strayPair tells two rows with one stray quote each from one row with a quoted cell over several lines.
func (c *CSV) strayPair(first, last string) bool {
	stray := func(text string) bool {
		return strings.Count(text, `"`) == 1 && strings.Count(text, string(c.Comma)) == c.Width-1
	}
	return c.Width > 1 && stray(first) && stray(last)
}

// split cuts one row into cells, at every separator behind a quote that is at fault. open tells that its last cell's quote is not closed.
func split(text string, comma byte) (row Row, open bool) {
	row.Texts = make([]string, 0, 1+strings.Count(text, string(comma)))
	for {
		cell, rest, state := cut(text, comma)
		if state == cutStray || state == cutOpen {
			row.At, row.Fault = len(row.Texts), "a quote that neither opens nor closes its cell"
			row.Texts = append(row.Texts, strings.Split(strings.ReplaceAll(text, `"`, ""), string(comma))...)
		}
		if row.Fault == "" {
			row.Texts = append(row.Texts, cell)
		}
		if state != cutMore {
			return row, state == cutOpen
		}
		text = rest
	}
}

// cutState is how a cell ended.
type cutState byte

const (
	cutMore  cutState = iota // at a separator
	cutLast                  // at the end of the row
	cutOpen                  // inside quotes
	cutStray                 // at a quote that does not belong
)

// cut takes the first cell off a row.
func cut(text string, comma byte) (cell, rest string, state cutState) {
	if s := strings.TrimLeft(text, " "); strings.HasPrefix(s, `"`) {
		return cutQuoted(s[1:], comma)
	}
	cell, rest, more := strings.Cut(text, string(comma))
	switch {
	case strings.Contains(cell, `"`):
		return "", "", cutStray
	case more:
		return cell, rest, cutMore
	}
	return cell, "", cutLast
}

// cutQuoted takes a quoted cell off. Its opening quote is taken off already.
func cutQuoted(text string, comma byte) (cell, rest string, state cutState) {
	var b strings.Builder
	for {
		part, after, found := strings.Cut(text, `"`)
		if !found {
			return "", "", cutOpen
		}
		b.WriteString(part)
		if strings.HasPrefix(after, `"`) {
			b.WriteByte('"')
			text = after[1:]
			continue
		}
		after = strings.TrimLeft(after, " ")
		switch {
		case after == "":
			return b.String(), "", cutLast
		case after[0] == comma:
			return b.String(), after[1:], cutMore
		}
		return "", "", cutStray
	}
}

// ErrFile is returned where a file's content is at fault.
var ErrFile = errors.New("the file cannot be read so")

// HeadSize is how much of a source is looked at before its format is decided.
const HeadSize = 64 << 10

// maxLine is the longest line that is read; a longer one is a fault of its own and is skipped. A record may have 1 MiB. Its line in an export
// has the names of the records besides that it refers to.
const maxLine = 1<<20 + 64<<10

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
	err    error // of a line that is garbled: no further one is read
}

// garbled matches what no text in Windows-1252 has, and what comes of other encodings that are read so.
var garbled = regexp.MustCompile(strings.Join([]string{
	`[\x{80}-\x{9f}\x{fffd}]`, // control characters
	`\pL[‚„†‡ˆ‰‹›˜“”™¡¢£¤¥§¨©¬®¯±²³¶¸¹¼½¾¿×÷ƒµ]+\pL`, `\pL{3}[³‚]`, `(?:^|\PL)[£¯¶]\pL`, // signs within a word, at its end and at its start: DOS, old Macs, Poland
	`\p{Ll}[ŠŽŒŸÆ]`, `Ÿ\p{Ll}`, // capitals behind small letters: Poland
	`[øØìÌùÙèÈ]\pL*[áíýšž]`, `[áíýšžÁÍÝ]\pL*[øìùè]`, `ì\pL`, // two accents in a word: the Czech lands
	`[À-ÖØ-öø-ÿ]{4}`, // letters with accents in a row: other scripts
}, "|"))

// isGarbled tells a text that garbled matches. Most texts have the usual letters alone, and are not looked at more closely.
func isGarbled(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf && !strings.ContainsRune(usualLetters, r) }) && garbled.MatchString(text)
}

// usualLetters are those of Portuguese, Spanish and German: none of them alone shows another encoding.
const usualLetters = "áàâãçéêíóôõúüñäößÁÀÂÃÇÉÊÍÓÔÕÚÜÑÄÖ"

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
	if l.err != nil {
		return Line{}, l.err
	}
	raw, long, err := l.raw()
	if err != nil {
		return Line{}, err
	}
	l.n++
	if long {
		return Line{N: l.n, Fault: faultLong}, nil
	}
	ln := l.decode(bytes.TrimSuffix(raw, []byte("\r")))
	if l.legacy && isGarbled(ln.Text) {
		l.err = fmt.Errorf("%w: line %d is neither UTF-8 nor Windows-1252, as files of DOS, of old Macs and of other regions are: open the list in the program that made it, "+
			"and save it as .xlsx or as CSV in UTF-8 (“CSV UTF-8” in Excel)", ErrFile, l.n)
		return Line{}, l.err
	}
	return ln, nil
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
