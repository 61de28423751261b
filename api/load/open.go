package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// drafts is a file being read, row by row: a draft, or why a row is none; io.EOF after the last.
type drafts interface {
	next() (draft, *Rejection, error)
	ignored() []string
}

// open decides by the content what a source is.
func open(ctx context.Context, src *Source) (drafts, func() error, error) {
	r := bufio.NewReaderSize(src.Reader, headSize)
	head, err := r.Peek(headSize)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, nil, fmt.Errorf("read the file: %w", err)
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return openWorkbook(ctx, r, src)
	case bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0")):
		return nil, nil, fmt.Errorf("%w: it is a workbook of the old kind (.xls); save it as .xlsx or CSV", ErrSource)
	}
	in := newLines(r)
	switch in.firstByte() {
	case 0:
		return nil, nil, fmt.Errorf("%w: it is empty", ErrSource)
	case '{':
		d, err := newNDJSON(in, src)
		return d, noClose, err
	case '[':
		return nil, nil, fmt.Errorf("%w: it is one JSON array; one object a line is read (NDJSON)", ErrSource)
	}
	d, err := openCSV(in, src)
	return d, noClose, err
}

func noClose() error { return nil }

// firstByte is the first byte of the text that is no white space; 0 where the head has none.
func (l *lines) firstByte() byte {
	head, _ := l.r.Peek(headSize)
	if t := bytes.TrimLeft(head, " \t\r\n"); len(t) > 0 {
		return t[0]
	}
	return 0
}

// probe reads the head of the text without taking it.
func (l *lines) probe() *lines {
	head, err := l.r.Peek(headSize)
	if cut := bytes.LastIndexByte(head, l.end); err == nil && cut >= 0 {
		head = head[:cut+1] // the last line may be cut short
	}
	return &lines{r: bufio.NewReader(bytes.NewReader(head)), end: l.end, utf8: l.utf8, legacy: l.legacy}
}

// tabular is the form of a table's rows, which cannot name their kind themselves.
func tabular(src *Source) (form, error) {
	if src.Kind == "" {
		return form{}, fmt.Errorf("%w: the file is a table: say with --kind what its rows are", ErrUsage)
	}
	f, err := formOf(src.Kind)
	if err != nil {
		return form{}, err
	}
	for field := range src.Map {
		if !f.has(field) {
			return form{}, fmt.Errorf("%w: --map %s=…: kind %s has no such field%s", ErrUsage, field, src.Kind, didYouMean(field, f.known()))
		}
	}
	return f, nil
}

// openCSV finds the separator and the header: of comma, semicolon and tab the one that makes a row name the most fields.
func openCSV(in *lines, src *Source) (drafts, error) {
	f, err := tabular(src)
	if err != nil {
		return nil, err
	}
	var best *layout
	var comma byte
	var tops [][]cells
	for _, c := range separators(in) {
		top := top(&csvRows{in: in.probe(), comma: c})
		ly := findHeader(top, f, src)
		if ly != nil && (best == nil || len(ly.feeds) > len(best.feeds)) {
			best, comma = ly, c
		}
		tops = append(tops, top)
	}
	if best == nil {
		return nil, headless(tops, f)
	}
	if err := best.check(src); err != nil {
		return nil, err
	}
	rows := &csvRows{in: in, comma: comma}
	if err := skipTo(rows, best.line); err != nil {
		return nil, err
	}
	rows.width, rows.full = len(best.titles), best.full
	return &tableDrafts{rows: rows, ly: best, cells: cellReader{words: map[string]string{}}}, nil
}

// headless is the fault of a file in which no separator gives a header: that of the one which comes closest.
func headless(tops [][]cells, f form) (fault *HeaderError) {
	for _, top := range tops {
		if e := noHeader(top, f); fault == nil || len(e.Near) > len(fault.Near) {
			fault = e
		}
	}
	return fault
}

// separators are those to try: all, or the one that the first line names as spreadsheets do ("sep=;").
func separators(in *lines) []byte {
	if ln, err := in.probe().next(); err == nil {
		if sep, ok := strings.CutPrefix(ln.text, "sep="); ok && len(sep) == 1 {
			return []byte(sep)
		}
	}
	return []byte{',', ';', '\t'}
}

// top reads the rows that the header is looked for in.
func top(t table) (out []cells) {
	for len(out) < headerRows {
		row, err := t.next()
		if err != nil {
			break
		}
		out = append(out, row)
	}
	return out
}

// skipTo reads up to the header.
func skipTo(t table, line int) error {
	for {
		row, err := t.next()
		if err != nil || row.line == line {
			return err
		}
	}
}
