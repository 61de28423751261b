package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// drafts is a file being read, row by row: a draft, or why a row is none; io.EOF after the last.
type drafts interface {
	next() (draft, *Rejection, error)
	ignored() []string
	close() error
}

// file is a source whose columns are decided; it can be read more than once.
type file interface {
	drafts() (drafts, error)
	plan(rep *Report) // says how it is read
	close() error
}

// open decides by the content what a source is.
func open(ctx context.Context, sp *spool, src *Source) (file, error) {
	r, closer, err := sp.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = closer.Close() }() // it was only read
	head, err := r.Peek(headSize)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("read the file: %w", err)
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return openWorkbook(ctx, sp, src)
	case bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0")):
		return nil, fmt.Errorf("%w: it is a workbook of the old kind (.xls), or one with a password; save it as .xlsx or CSV, without one", ErrSource)
	case bytes.HasPrefix(head, []byte("%PDF")), bytes.HasPrefix(head, []byte("\x89PNG")), bytes.HasPrefix(head, []byte("\xff\xd8\xff")):
		return nil, fmt.Errorf("%w: it is a document or a picture; a list is wanted, as CSV, XLSX or NDJSON", ErrSource)
	}
	in := newLines(r)
	switch in.firstByte() {
	case '<':
		return nil, fmt.Errorf("%w: it is a web page or XML, whatever its name says; open it in a spreadsheet and save it as .xlsx or CSV", ErrSource)
	case 0:
		return nil, fmt.Errorf("%w: it is empty", ErrSource)
	case '{':
		if isPretix(head) {
			return openPretix(ctx, sp, src)
		}
		return openNDJSON(ctx, sp, src)
	case '[':
		return nil, fmt.Errorf("%w: it is one JSON array; one object a line is read (NDJSON)", ErrSource)
	}
	if isBinary(head) {
		return nil, fmt.Errorf("%w: it is no text; a list is wanted, as CSV, XLSX or NDJSON", ErrSource)
	}
	return openCSV(ctx, sp, in, src)
}

// isBinary tells bytes that stand in no text of any encoding that is read.
func isBinary(head []byte) bool {
	if _, ok := wide(head); ok {
		return false
	}
	odd := 0
	for _, b := range head {
		if b < ' ' && b != '\n' && b != '\r' && b != '\t' && b != '\f' {
			odd++
		}
	}
	return odd > len(head)/20
}

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

// tabular is the form of a table's rows. Only a table that export wrote names their kind.
func tabular(src *Source, own func() string) (form, error) {
	if src.Kind == "" {
		src.Kind = own()
	}
	if src.Kind == "" {
		return form{}, fmt.Errorf("%w: the file is a table: say with --kind what its rows are", ErrUsage)
	}
	f, err := formOf(src.Kind)
	if err != nil {
		return form{}, err
	}
	for _, field := range sortedKeys(src.Map) {
		if !f.has(field) {
			return form{}, fmt.Errorf("%w: --map %s=…: kind %s has no such field%s", ErrUsage, field, src.Kind, didYouMean(field, f.known()))
		}
	}
	return f, nil
}

// openCSV finds the separator and the header: of comma, semicolon and tab the one that makes a row name the most fields.
func openCSV(ctx context.Context, sp *spool, in *lines, src *Source) (file, error) {
	f, err := tabular(src, func() string { return ownKind(top(&csvRows{in: in.probe(), comma: ','})) })
	if err != nil {
		return nil, err
	}
	var best *layout
	var comma byte
	var tops [][]cells
	for _, c := range separators(in) {
		top := top(&csvRows{in: in.probe(), comma: c})
		if wide := slices.MaxFunc(append(top, cells{}), func(a, b cells) int { return len(a.texts) - len(b.texts) }); len(wide.texts) > maxColumns {
			return nil, tooWide(wide.line, len(wide.texts))
		}
		ly := findHeader(top, f, src)
		if ly != nil && (best == nil || ly.named() > best.named()) {
			best, comma = ly, c
		}
		tops = append(tops, top)
	}
	if best == nil {
		return nil, headless(tops, f)
	}
	return newTableFile(ctx, src, best, func(ly *layout) (table, error) {
		r, closer, err := sp.open()
		if err != nil {
			return nil, err
		}
		rows := &csvRows{in: newLines(r), comma: comma, closer: closer}
		if err := skipTo(rows, ly.line); err != nil {
			return nil, errors.Join(err, closer.Close())
		}
		rows.width, rows.full = len(trimRight(ly.header.texts)), ly.full
		return rows, nil
	})
}

// maxColumns is how many columns a list may have.
const maxColumns = 1000

func tooWide(line, columns int) error {
	return fmt.Errorf("%w: line %d has %d columns; up to %d are read", ErrSource, line, columns, maxColumns)
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
