package sheet

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

// Row is one row of a table as its file has it. A row that cannot be read carries a fault and where it lies.
type Row struct {
	Line  int
	Texts []string
	At    int    // the column of the fault
	Fault string // "" = none
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
		return c.read(ln), nil
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
	if ln.Fault != "" {
		return Row{Line: ln.N, At: c.columnAt(ln.Text, strings.IndexRune(ln.Text, '\ufffd')), Fault: ln.Fault}
	}
	if i := strings.IndexByte(ln.Text, 0); i >= 0 {
		return Row{Line: ln.N, At: c.columnAt(ln.Text, i), Fault: "a NUL character"}
	}
	row, open := split(ln.Text, c.Comma)
	row.Line = ln.N
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

// split cuts one row into cells. open tells that its last cell's quote is not closed.
func split(text string, comma byte) (row Row, open bool) {
	row.Texts = make([]string, 0, 1+strings.Count(text, string(comma)))
	for {
		cell, rest, state := cut(text, comma)
		if state == cutStray || state == cutOpen {
			row.At, row.Fault = len(row.Texts), "a quote that neither opens nor closes its cell"
		}
		if state == cutOpen {
			return row, true
		}
		row.Texts = append(row.Texts, cell)
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
