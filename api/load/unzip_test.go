package load_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"doorward/api/load"
	"doorward/kv/auth"
	"doorward/kv/kvtest/proof"
)

const (
	sheetStart = `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>code</t></is></c></row>`
	sheetEnd   = `</sheetData></worksheet>`
	sheetPart  = "xl/worksheets/sheet1.xml"
	textsPart  = "xl/sharedStrings.xml"
)

// part is one part of a workbook, or what is put beside it.
type part struct{ name, text string }

// rebook puts parts into a workbook, in the place of those that it has.
func rebook(t *testing.T, parts ...part) *bytes.Buffer {
	t.Helper()
	plain := book(t, false, [][]any{{"code"}, {"A-1"}}).Bytes()
	from, err := zip.NewReader(bytes.NewReader(plain), int64(len(plain)))
	if err != nil {
		t.Fatal(err)
	}
	replaced := map[string]bool{}
	for _, p := range parts {
		replaced[p.name] = true
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range from.File {
		if !replaced[f.Name] {
			check(t, z.Copy(f))
		}
	}
	for _, p := range parts {
		w, err := z.Create(p.name)
		check(t, err)
		_, err = io.WriteString(w, p.text)
		check(t, err)
	}
	check(t, z.Close())
	return &out
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// noise does not shrink, so that beside it everything else shrinks as little as it should.
func noise() part {
	b := make([]byte, 1<<20)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return part{"xl/media/image1.png", string(b)}
}

func inline(text string) string { return `<c t="inlineStr"><is><t>` + text + `</t></is></c>` }

// Each of these is a small file that would be read into very much memory.
func TestAWorkbookThatUnpacksToTooMuchIsRefused(t *testing.T) {
	proof.Unraced(t)
	sheet := func(rows string) part { return part{sheetPart, sheetStart + rows + sheetEnd} }
	texts := func(items string) part { return part{textsPart, `<sst>` + items + `</sst>`} }
	long, s := strings.Repeat("A", 200<<10), congregation(t)
	for name, c := range map[string]struct {
		parts []part
		why   string
	}{
		"one long cell":           {[]part{sheet("<row>" + inline(strings.Repeat("A", 8<<20)) + "</row>")}, "unpacks to far more"},
		"a cell beside noise":     {[]part{noise(), sheet("<row>" + inline(long) + "</row>")}, "a cell in line 2 is longer than 128 KiB"},
		"a token without end":     {[]part{noise(), sheet("<!--" + strings.Repeat("A", 3<<20) + "-->")}, "a single value in line 1 is longer than 1024 KiB"},
		"rows within a cell":      {[]part{noise(), sheet("<row>" + inline(strings.Repeat("<row/>", 40<<10)) + "</row>")}, "a cell in line 2 is"},
		"a long row":              {[]part{noise(), sheet("<row>" + strings.Repeat(`<c r="A2"/>`, 100<<10) + "</row>")}, "a row in line 2 is longer than 1024 KiB"},
		"cells behind the row":    {[]part{noise(), sheet("<row/>" + strings.Repeat(`<c r="A2"/>`, 100<<10))}, "a row in line 2 is longer than 1024 KiB"},
		"many cells":              {[]part{noise(), sheet("<row>" + strings.Repeat(`<c><v>1</v></c>`, 1001) + "</row>")}, "line 2 has more than 1,000 columns"},
		"a long text":             {[]part{noise(), texts("<si><t>" + long + "</t></si>")}, "a cell is longer than 128 KiB"},
		"texts within a text":     {[]part{noise(), texts("<si>" + strings.Repeat("<si/>", 40<<10) + "</si>")}, "a cell is longer than 128 KiB"},
		"a text of many parts":    {[]part{noise(), texts("<si>" + strings.Repeat("<r><t>A</t></r>", 10<<10) + "</si>")}, "a cell is longer than 128 KiB"},
		"many texts":              {[]part{noise(), texts(strings.Repeat("<si/>", 2<<20+1))}, "too many texts"},
		"depth":                   {[]part{noise(), sheet(strings.Repeat("<a>", 101))}, "too deep"},
		"a large part":            {[]part{noise(), {"xl/styles2.xml", strings.Repeat(" ", 8<<20+1)}}, "larger than 8 MiB"},
		"many parts in memory":    {append(many(9, "xl/other%d.xml", strings.Repeat(" ", 8<<20)), noise()), "too much beside its list"},
		"many parts":              {many(20_000, "xl/other%d.xml", ""), "too many parts"},
		"another way of writing":  {[]part{{sheetPart, `<?xml version="1.0" encoding="iso-2022-jp"?>` + sheetStart + sheetEnd}}, "no readable workbook"},
		"a sheet that is cut off": {[]part{{sheetPart, sheetStart}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load.Import(context.Background(), s, auth.Operator(), load.Source{Reader: rebook(t, c.parts...), Kind: "ticket", Event: 7}, nil)
			if c.why == "" {
				if err != nil {
					t.Errorf("import: %v", err)
				}
				return
			}
			if !errors.Is(err, load.ErrSource) || !strings.Contains(err.Error(), c.why) || len(err.Error()) > 200 {
				t.Errorf("import = %v, want one sentence with: %s", err, c.why)
			}
		})
	}
}

func many(n int, name, text string) (out []part) {
	for i := range n {
		out = append(out, part{fmt.Sprintf(name, i), text})
	}
	return out
}

// Whoever unpacks a part gives it the room that it asks for beforehand.
func TestAWorkbookThatLiesAboutItsSizesIsRefused(t *testing.T) {
	for _, size := range []uint64{1 << 63, 1<<64 - 1, 100 << 20} {
		var out bytes.Buffer
		z := zip.NewWriter(&out)
		w, err := z.CreateRaw(&zip.FileHeader{Name: sheetPart, CRC32: crc32.ChecksumIEEE(nil), UncompressedSize64: size})
		check(t, err)
		_, err = w.Write(nil)
		check(t, err)
		n := noise()
		w, err = z.Create(n.name)
		check(t, err)
		_, err = io.WriteString(w, n.text)
		check(t, err)
		check(t, z.Close())
		_, err = load.Import(context.Background(), congregation(t), auth.Operator(), load.Source{Reader: &out, Kind: "ticket", Event: 7}, nil)
		if !errors.Is(err, load.ErrSource) {
			t.Errorf("a size of %d: import = %v, want it refused", size, err)
		}
	}
}

// A row may name the same long text in every cell.
func TestARowOfAWorkbookIsNoLongerThanALine(t *testing.T) {
	texts := part{textsPart, `<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>` + strings.Repeat("A", 100<<10) + `</t></si></sst>`}
	rows := sheetStart + "<row>" + strings.Repeat(`<c t="s"><v>0</v></c>`, 11) + "</row><row>" + inline("A-1") + "</row>" + sheetEnd
	rep := mustImport(t, congregation(t), load.Source{Reader: rebook(t, noise(), texts, part{sheetPart, rows}), Kind: "ticket", Event: 7})
	if len(rep.Rejected) != 1 || rep.Rejected[0].Line != 2 || rep.Rejected[0].Reason != "the line is longer than 1 MiB" || rep.Created != 1 {
		t.Errorf("report = %.300s, want line 2 refused and the next one read", fmt.Sprint(rep))
	}
}

// ending is a context that ends when it has been asked so many times, as one does while a workbook is read.
type ending struct {
	context.Context
	left int
}

var errNobodyWaits = errors.New("nobody waits")

func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		return errNobodyWaits
	}
	return nil
}

func TestAWorkbookIsReadAsLongAsSomebodyWaits(t *testing.T) {
	rows := [][]any{{"code"}}
	for i := range 5000 {
		rows = append(rows, []any{fmt.Sprintf("A-%d", i)})
	}
	b, s := book(t, false, rows).Bytes(), congregation(t)
	huge := rebook(t, noise(), part{sheetPart, sheetStart + strings.Repeat("<a>", 101)}).Bytes()
	for name, c := range map[string]struct {
		book  []byte
		after int
	}{"before its limits are looked at": {huge, 1}, "among its rows": {b, 3000}} {
		src := load.Source{Reader: bytes.NewReader(c.book), Kind: "ticket", Event: 7, DryRun: true}
		if _, err := load.Import(&ending{context.Background(), c.after}, s, auth.Operator(), src, nil); !errors.Is(err, errNobodyWaits) {
			t.Errorf("%s: import = %v, want %v", name, err, errNobodyWaits)
		}
	}
}

func TestAWorkbookOfFiftyThousandRowsIsRead(t *testing.T) {
	proof.Unraced(t)
	const n = 50_000
	f := excelize.NewFile()
	w, err := f.NewStreamWriter("Sheet1")
	check(t, err)
	check(t, w.SetRow("A1", []any{"Código", "Nome"}))
	for i := range n {
		check(t, w.SetRow(fmt.Sprintf("A%d", i+2), []any{fmt.Sprintf("F-%06d", i), "Ana Souza"}))
	}
	check(t, w.Flush())
	var out bytes.Buffer
	check(t, f.Write(&out))
	check(t, f.Close())
	rep := mustImport(t, congregation(t), load.Source{Reader: &out, Kind: "ticket", Event: 7, DryRun: true})
	if rep.Created != n || len(rep.Rejected) > 0 {
		t.Errorf("created %d, rejected %d, want all of %d created", rep.Created, len(rep.Rejected), n)
	}
}
