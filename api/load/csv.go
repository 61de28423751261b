package load

import (
	"fmt"
	"io"
	"strings"
)

// A quoted field may run over lines, but never farther than this: beyond, its opening quote is taken for a stray one.
const (
	maxJoin      = 100
	maxJoinBytes = 64 << 10
)

// cells is one row of a table as its file has it. A row that cannot be read carries a fault and where it lies.
type cells struct {
	line  int
	texts []string
	at    int    // the column of the fault
	fault string // "" = none
}

// csvRows reads the rows of a delimited file that people made: one broken row is answered as such, with its line, and the
// next row begins on the next line, whatever quotes were left open.
type csvRows struct {
	in    *lines
	comma byte
	width int // how many titles the header has; 0 = not known yet
	full  int // how many columns it has, untitled ones at its end too

	closer io.Closer // nil of a probe
}

func (c *csvRows) close() error { return c.closer.Close() }

// next answers the next row that is not blank, io.EOF after the last.
func (c *csvRows) next() (cells, error) {
	for {
		ln, err := c.in.next()
		if err != nil {
			return cells{}, err
		}
		if ln.fault == "" && c.blank(ln.text) {
			continue
		}
		return c.read(ln), nil
	}
}

// blank tells a line that holds nothing but separators and spaces.
func (c *csvRows) blank(text string) bool {
	for i := 0; i < len(text); i++ {
		if b := text[i]; b != c.comma && b != ' ' && b != '\t' {
			return false
		}
	}
	return true
}

func (c *csvRows) read(ln line) cells {
	if ln.fault != "" {
		return cells{line: ln.n, at: c.columnAt(ln.text, strings.IndexRune(ln.text, '\ufffd')), fault: ln.fault}
	}
	if i := strings.IndexByte(ln.text, 0); i >= 0 {
		return cells{line: ln.n, at: c.columnAt(ln.text, i), fault: "a NUL character"}
	}
	row, open := split(ln.text, c.comma)
	row.line = ln.n
	if row.fault != "" && !open {
		if texts := c.splitLoose(ln.text); texts != nil {
			return cells{line: ln.n, texts: texts}
		}
	}
	if open {
		return c.join(ln, row)
	}
	return c.measure(row)
}

// splitLoose cuts a row in which quotes inside quoted cells are not doubled. It is only sure where every cell is quoted and there
// are as many as the header has.
func (c *csvRows) splitLoose(text string) []string {
	inner, begins := strings.CutPrefix(strings.TrimSpace(text), `"`)
	inner, ends := strings.CutSuffix(inner, `"`)
	if !begins || !ends || c.width < 2 {
		return nil
	}
	texts := strings.Split(inner, `"`+string(c.comma)+`"`)
	if len(texts) != c.width {
		return nil
	}
	return texts
}

// columnAt is the column that byte i of a line lies in, quotes not considered.
func (c *csvRows) columnAt(text string, i int) int {
	return strings.Count(text[:max(i, 0)], string(c.comma))
}

// measure compares a row with the header's width: empty cells beyond it are trailing separators.
func (c *csvRows) measure(row cells) cells {
	if c.width == 0 || row.fault != "" {
		return row
	}
	n := len(row.texts)
	for n > c.width && strings.TrimSpace(row.texts[n-1]) == "" {
		n--
	}
	if n < c.width || n > c.full {
		row.at, row.fault = min(n, c.width), fmt.Sprintf("%d columns where the header has %d", n, c.width)
	}
	row.texts = row.texts[:n]
	return row
}

// join reads on where a quoted field does not end on its line. The lines that follow are put back, and only the first is
// reported, unless all of them together are one whole row and none of them is one by itself.
func (c *csvRows) join(first line, broken cells) cells {
	broken.fault = "a quote is opened and not closed"
	var more []line
	text := first.text
	for len(more) < maxJoin && len(text) < maxJoinBytes {
		ln, err := c.in.next()
		if err != nil {
			break
		}
		more = append(more, ln)
		text += "\n" + ln.text
		row, open := split(text, c.comma)
		if open && ln.fault == "" && !c.whole(ln.text) {
			continue
		}
		row.line = first.n
		if row = c.measure(row); !open && row.fault == "" && !c.strayPair(first.text, ln.text) {
			return row
		}
		break
	}
	c.in.putBack(more)
	return broken
}

// whole tells a line that is a row by itself.
func (c *csvRows) whole(text string) bool {
	row, open := split(text, c.comma)
	return c.width > 1 && !open && c.measure(row).fault == "" && row.fault == ""
}

// strayPair tells two rows with one stray quote each from one row whose only quoted cell runs over lines.
func (c *csvRows) strayPair(first, last string) bool {
	stray := func(text string) bool {
		return strings.Count(text, `"`) == 1 && strings.Count(text, string(c.comma)) == c.width-1
	}
	return c.width > 1 && stray(first) && stray(last)
}

// split cuts one row into cells. open tells that its last cell's quote is not closed.
func split(text string, comma byte) (row cells, open bool) {
	row.texts = make([]string, 0, 1+strings.Count(text, string(comma)))
	for {
		cell, rest, state := cut(text, comma)
		if state == cutStray || state == cutOpen {
			row.at, row.fault = len(row.texts), "a quote that neither opens nor closes its cell"
		}
		if state == cutOpen {
			return row, true
		}
		row.texts = append(row.texts, cell)
		if state != cutMore {
			return row, false
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

// cutQuoted takes a cell off whose opening quote is gone already.
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
