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
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doorward/api/load"
	"doorward/kv/auth"
	"doorward/kv/disk"
	"doorward/kv/kvtest/proof"
	"doorward/kv/record"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"
)

// book makes a workbook of one sheet after another, each a list of rows from A1 on; nil rows stay empty.
func book(t testing.TB, from1904 bool, sheets ...[][]any) *bytes.Buffer {
	t.Helper()
	f := excelize.NewFile()
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	check(f.SetWorkbookProps(&excelize.WorkbookPropsOptions{Date1904: &from1904}))
	for i, rows := range sheets {
		name := fmt.Sprintf("Sheet%d", i+1)
		_, err := f.NewSheet(name)
		check(err)
		for j, row := range rows {
			if row != nil {
				check(f.SetSheetRow(name, fmt.Sprintf("A%d", j+1), &row))
			}
		}
	}
	var b bytes.Buffer
	check(f.Write(&b))
	check(f.Close())
	return &b
}

func TestImportOfAWorkbook(t *testing.T) {
	until := time.Date(2026, 12, 31, 19, 30, 0, 0, time.UTC)
	notes := [][]any{{"Observações"}, {"Nada a dizer"}}
	list := [][]any{
		{"Ingressos da Festa"}, nil,
		{"Código", "Nome", "Tipo", "Situação", "Telefone", "Válido até"},
		{"A-1", "Ana Souza", "Adulto", "Pago", 5511999990000, until},
		nil,
		{"A-2", "Bento Dias", "Adulto", "Cancelado", "'+55 11 1", "31/12/2026 19:30"},
		{"A-1", "Caio Reis", "Adulto", "Pago"},
		{"A-3", "Davi Luz", "Adulto", "Pago", "", "amanhã"},
		{"A-4", "#N/A"},
	}
	for _, from1904 := range []bool{false, true} {
		s := congregation(t)
		rep := mustImport(t, s, load.Source{Reader: book(t, from1904, notes, list), Kind: "ticket", Event: 7})
		want := []load.Rejection{
			{Line: 7, Column: "Código", Reason: "the same code stands in line 4"},
			{Line: 8, Column: "Válido até", Reason: rep.Rejected[1].Reason},
			{Line: 9, Column: "Nome", Reason: "an error value of a spreadsheet"},
		}
		if diff := cmp.Diff(want, rep.Rejected); diff != "" || rep.Created != 2 {
			t.Errorf("1904 %v: created %d, rejections differ (-want +got):\n%s", from1904, rep.Created, diff)
		}
		tickets := tickets(t, s)
		for i, phone := range []string{"5511999990000", "+55111"} {
			if got := tickets[i]; got["phone"] != phone || got["valid_until"] != "2026-12-31T19:30:00Z" {
				t.Errorf("1904 %v: ticket %d = %v, want phone %s and the last evening of the year", from1904, i, got, phone)
			}
		}
	}
}

func TestImportOfAWorkbookOfPeople(t *testing.T) {
	s := congregation(t)
	rows := [][]any{{"Nome completo", "Data de nascimento", "Igreja ID", "Batizado", "Sexo", "Tipo sanguíneo"},
		{"Maria Luz", time.Date(1980, 5, 4, 0, 0, 0, 0, time.UTC), 1, "Sim", "F", "O+"}}
	if rep := mustImport(t, s, load.Source{Reader: book(t, false, rows), Kind: "person"}); rep.Created != 1 || len(rep.Warnings) != 0 {
		t.Fatalf("report = %+v, want one person created", rep)
	}
	var got []byte
	err := s.Log.Export(auth.Operator(), record.Person, func(b []byte) error {
		got = bytes.Clone(b)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"full_name":"Maria Luz"`, `"birthday":"1980-05-04"`, `"church_id":1`, `"baptized":true`, `"gender":"female"`, `"blood_type":"o+"`} {
		if !bytes.Contains(got, []byte(want)) {
			t.Errorf("person = %s, want it to hold %s", got, want)
		}
	}
}

func TestImportLeavesNoWorkbookBehind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	mustImport(t, congregation(t), load.Source{Kind: "ticket", Event: 7, Reader: book(t, false, [][]any{{"Código"}, {"A-1"}})})
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 0 {
		t.Errorf("left in the temporary folder: %v, %v", left, err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
}

// TestAnImportKeepsItsFilesBesideTheStore: they hold people, and a killed import cannot remove them. In the store's folder they are found, and
// go with a wipe. The system's own place for temporary files is not there at all.
func TestAnImportKeepsItsFilesBesideTheStore(t *testing.T) {
	large := largeBook(t)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	s := congregation(t)
	work := filepath.Join(s.Tables.Folder.Dir, disk.OwnPrefix+"import-*")
	var during []string
	atWork := func(done, total int64) {
		all, err := filepath.Glob(filepath.Join(work, "*"))
		check(t, err)
		during = all
	}
	rep, err := load.Import(t.Context(), s, auth.Operator(), load.Source{Kind: "ticket", Event: 7, Reader: large, DryRun: true}, atWork)
	if err != nil || rep.Created != largeRows {
		t.Fatalf("import = %d created, %v", rep.Created, err)
	}
	if len(during) < 2 {
		t.Errorf("beside the store were %v, want the workbook and the sheet that it is unpacked to", during)
	}
	if left, err := filepath.Glob(work); err != nil || len(left) > 0 {
		t.Errorf("left beside the store: %v, %v", left, err)
	}
}

const largeRows = 2_000

// largeBook is a workbook whose sheet is unpacked to a file.
func largeBook(t testing.TB) io.Reader {
	t.Helper()
	f := excelize.NewFile()
	w, err := f.NewStreamWriter("Sheet1")
	check(t, err)
	check(t, w.SetRow("A1", []any{"Código", "Nome", "Observação"}))
	remark := make([]byte, 5<<10)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range largeRows {
		for j := range remark {
			remark[j] = byte(r.Uint32())
		}
		check(t, w.SetRow(fmt.Sprintf("A%d", i+2), []any{fmt.Sprintf("F-%06d", i), "Ana Souza", fmt.Sprintf("%x", remark)}))
	}
	check(t, w.Flush())
	var out bytes.Buffer
	check(t, f.Write(&out))
	check(t, f.Close())
	return &out
}

// TestARowThatIsCrossedOutOrHiddenIsRefused: what a person sees of a workbook and no text says keeps a guest out.
func TestARowThatIsCrossedOutOrHiddenIsRefused(t *testing.T) {
	f := excelize.NewFile()
	crossed, err := f.NewStyle(&excelize.Style{Font: &excelize.Font{Strike: true}})
	if err != nil {
		t.Fatal(err)
	}
	bold, err := f.NewStyle(&excelize.Style{Font: &excelize.Font{Bold: true}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, err := range []error{
		f.SetSheetRow("Sheet1", "A1", &[]any{"Código", "Nome", "Mesa"}), f.SetSheetRow("Sheet1", "A2", &[]any{"KX7A1", "Ana", "1"}),
		f.SetSheetRow("Sheet1", "A3", &[]any{"KX7A2", "Bia", "2"}), f.SetSheetRow("Sheet1", "A4", &[]any{"KX7A3", "Caio", "3"}),
		f.SetSheetRow("Sheet1", "A5", &[]any{"KX7A4", "Davi"}),
		f.SetCellStyle("Sheet1", "A2", "B2", bold), f.SetCellStyle("Sheet1", "B3", "B3", crossed), f.SetRowVisible("Sheet1", 4, false),
		f.SetCellStyle("Sheet1", "C5", "C5", crossed), f.Write(&b), f.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s := congregation(t)
	rep := mustImport(t, s, load.Source{Reader: &b, Kind: "ticket", Event: 7})
	if got := tickets(t, s); len(got) != 2 || got[0]["code"] != "KX7A1" || got[1]["code"] != "KX7A4" {
		t.Errorf("tickets = %v, want KX7A1 and KX7A4", got)
	}
	want := []load.Rejection{
		{Line: 3, Column: "Nome", Reason: "it is crossed out in the workbook; say its state in a column, or take the row out"},
		{Line: 4, Column: "Código", Reason: "the row is hidden in the workbook; show it, or take it out"},
	}
	if diff := cmp.Diff(want, rep.Rejected); diff != "" {
		t.Errorf("rejections differ (-want +got):\n%s", diff)
	}
}

// TestAHiddenRowSpeaksForItsOrderAndItsCode: it is refused, and what it says keeps other rows out. A column that is blank in it says nothing.
func TestAHiddenRowSpeaksForItsOrderAndItsCode(t *testing.T) {
	for _, rows := range [][][]any{
		{{"Pedido", "Cancelado", "Código"}, {"P1", "x", "KX7A1"}, {"P1", "", "KX7A2"}, {"P2", "", "KX7A3"}, {"P3", "", "KX7A1"}},
		{{"Pedido", "Status", "Código", "Cupom"}, {"P1", "pago", "KX7A1"}, {"P1", "pago", "KX7A3"}},
		{{"Pedido", "Cancelado", "Código"}, {"P1", "", "KX7A1"}, {"P1", "", "KX7A3"}, {"P2", "x", ""}},
		{{"Pedido", "Status", "Código"}, {"P1", "pago", "KX7A1"}, {"P2", "pago", "KX7A1"}, {"P3", "pago", "KX7A3"}},
	} {
		f, err := excelize.OpenReader(book(t, false, rows))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := errors.Join(f.SetRowVisible("Sheet1", 2, false), f.Write(&b), f.Close()); err != nil {
			t.Fatal(err)
		}
		s := congregation(t)
		rep := mustImport(t, s, load.Source{Reader: &b, Kind: "ticket", Event: 7})
		if got := tickets(t, s); len(got) != 1 || got[0]["code"] != "KX7A3" || len(rep.Rejected) != len(rows)-2 {
			t.Errorf("tickets = %v and %+v, want KX7A3 alone", got, rep)
		}
	}
}

// TestLettersThatAreCrossedOutRefuseTheirRow: a part of a text may have a font of its own, in the texts that cells share and within a cell.
func TestLettersThatAreCrossedOutRefuseTheirRow(t *testing.T) {
	f, err := excelize.OpenReader(book(t, false, [][]any{{"Código", "Nome"}, {"KX7A1", "Ana"}, {"KX7A2", "Bia"}, {"KX7A3", "Caio"}, {"KX7A4", "Bia"}}))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, err := range []error{
		f.SetCellRichText("Sheet1", "B2", []excelize.RichTextRun{{Text: "Ana", Font: &excelize.Font{Bold: true}}}),
		f.SetCellRichText("Sheet1", "B3", []excelize.RichTextRun{{Text: "Bia", Font: &excelize.Font{Strike: true}}}),
		f.SetCellRichText("Sheet1", "B4", []excelize.RichTextRun{{Text: "Caio"}, {Text: " Melo", Font: &excelize.Font{Strike: true}}}),
		f.Write(&b), f.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	struck := `<c t="inlineStr"><is><r><rPr><strike/></rPr><t>A-1</t></r></is></c>`
	for name, c := range map[string]struct {
		book io.Reader
		out  int
	}{"shared": {&b, 2}, "in the cell": {rebook(t, part{sheetPart, sheetStart + "<row>" + struck + "</row><row>" + inline("A-2") + "</row>" + sheetEnd}), 1}} {
		s := congregation(t)
		rep := mustImport(t, s, load.Source{Reader: c.book, Kind: "ticket", Event: 7})
		if len(rep.Rejected) != c.out || !strings.Contains(rep.Rejected[0].Reason, "crossed out") || rep.Rejected[0].Line+rep.Created != map[int]int{2: 5, 1: 3}[c.out] {
			t.Errorf("%s: %+v, want %d refused", name, rep, c.out)
		}
	}
}

// TestAFormulaWithoutItsValueRefusesItsRow: it is no blank cell. A workbook may say so of one formula, by its lack of a value, or of all.
func TestAFormulaWithoutItsValueRefusesItsRow(t *testing.T) {
	const reason = "the value of a formula is not worked out; open the workbook in a spreadsheet program, save it, and import it again"
	header := strings.Replace(sheetStart, "</row>", inline("Cancelado")+"</row>", 1)
	flag := func(cell string) part {
		return part{sheetPart, header + "<row>" + inline("KX7A1") + cell + "</row><row>" + inline("KX7A2") + "</row>" + sheetEnd}
	}
	refused := []load.Rejection{{Line: 2, Column: "Cancelado", Reason: reason}}
	recalculated := part{"xl/workbook.xml", `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheets><sheet name="A" sheetId="1" r:id="rId1" ` +
		`xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"/></sheets><calcPr fullCalcOnLoad="1"/></workbook>`}
	for name, c := range map[string]struct {
		parts   []part
		refused []load.Rejection
		states  map[string]int
	}{
		"no value":                 {[]part{flag("<c><f>1=1</f></c>")}, refused, states(1, 0, 0, 0)},
		"a blank value":            {[]part{flag("<c><f>1=1</f><v/></c>")}, refused, states(1, 0, 0, 0)},
		"yes":                      {[]part{flag(`<c t="b"><f>1=1</f><v>1</v></c>`)}, nil, states(1, 0, 0, 1)},
		"a text of no letters":     {[]part{flag(`<c t="str"><f>""</f><v></v></c>`)}, nil, states(2, 0, 0, 0)},
		"no, which was not worked": {[]part{flag("<c><f>1=1</f><v>0</v></c>"), recalculated}, refused, states(1, 0, 0, 0)},
		"no formula in it":         {[]part{flag(inline("não")), recalculated}, nil, states(2, 0, 0, 0)},
		"a code too": {[]part{{sheetPart, sheetStart + "<row><c><f>X1</f></c></row><row>" + inline("KX7A2") + "</row>" + sheetEnd}},
			[]load.Rejection{{Line: 2, Column: "code", Reason: reason}}, states(1, 0, 0, 0)},
	} {
		s := congregation(t)
		rep := mustImport(t, s, load.Source{Reader: rebook(t, c.parts...), Kind: "ticket", Event: 7})
		got := map[string]int{}
		for _, one := range tickets(t, s) {
			got[one["state"].(string)]++
		}
		if diff := cmp.Diff(c.states, got) + cmp.Diff(c.refused, rep.Rejected); diff != "" {
			t.Errorf("%s: states or rejections differ (-want +got):\n%s", name, diff)
		}
	}
}

// TestATornRowOfAWorkbookKeepsItsOrderOut: what cannot be read in it may say that its order does not get in.
func TestATornRowOfAWorkbookKeepsItsOrderOut(t *testing.T) {
	texts := part{textsPart, `<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>` + strings.Repeat("A", 100<<10) + `</t></si></sst>`}
	header := strings.Replace(sheetStart, "</row>", inline("Cancelado")+inline("Pedido")+"</row>", 1)
	for name, torn := range map[string]string{
		"no value": inline("KX7A1") + "<c><f>1=1</f></c>" + inline("P1"),
		"too long": inline("KX7A1") + inline("x") + inline("P1") + strings.Repeat(`<c t="s"><v>0</v></c>`, 11),
	} {
		rows := header + "<row>" + torn + "</row><row>" + inline("KX7A2") + inline("") + inline("P1") + "</row><row>" + inline("KX7A3") + inline("") + inline("P2") + "</row>"
		s := congregation(t)
		rep := mustImport(t, s, load.Source{Reader: rebook(t, noise(), texts, part{sheetPart, rows + sheetEnd}), Kind: "ticket", Event: 7})
		if got := tickets(t, s); len(got) != 1 || got[0]["code"] != "KX7A3" || len(rep.Rejected) != 2 {
			t.Errorf("%s: tickets = %v and %.600s, want KX7A3 alone", name, got, fmt.Sprint(rep))
		}
	}
}

// TestACommentThatKeepsOutIsRead: what stands at a cell refuses its row, other comments do not.
func TestACommentThatKeepsOutIsRead(t *testing.T) {
	f, err := excelize.OpenReader(book(t, false, [][]any{{"Código", "Nome"}, {"KX7A1", "Ana"}, {"KX7A2", "Bia"}, {"KX7A3", "Caio"}}))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, err := range []error{
		f.AddComment("Sheet1", excelize.Comment{Cell: "B2", Text: "vegetariana"}),
		f.AddComment("Sheet1", excelize.Comment{Cell: "B3", Paragraph: []excelize.RichTextRun{{Text: "Eva: "}, {Text: "cancelou em 3/8"}}}),
		f.Write(&b), f.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s := congregation(t)
	rep := mustImport(t, s, load.Source{Reader: &b, Kind: "ticket", Event: 7})
	if got := tickets(t, s); len(got) != 2 || got[0]["code"] != "KX7A1" || got[1]["code"] != "KX7A3" {
		t.Errorf("tickets = %v, want KX7A1 and KX7A3", got)
	}
	if len(rep.Rejected) != 1 || rep.Rejected[0].Line != 3 || rep.Rejected[0].Column != "Nome" || !strings.Contains(rep.Rejected[0].Reason, "a comment in the workbook") {
		t.Errorf("rejected = %+v, want line 3 for its comment", rep.Rejected)
	}
}

// TestSheetsBesideTheListAreSaid: none is left out without a word, and one of those that do not get in stops the import.
func TestSheetsBesideTheListAreSaid(t *testing.T) {
	list, names := [][]any{{"Código", "Nome"}, {"KX7A1", "Ana"}, {"KX7A2", "Bia"}}, [][]any{{"Bia"}, {"Caio"}}
	s := congregation(t)
	rep := mustImport(t, s, load.Source{Reader: book(t, false, list, names, nil), Kind: "ticket", Event: 7})
	const want = "other sheets with rows were not read: “Sheet2”"
	if rep.Created != 2 || !strings.Contains(strings.Join(rep.Warnings, "\n"), want) {
		t.Errorf("%+v, want a note on Sheet2", rep)
	}
	rep = mustImport(t, congregation(t), load.Source{Reader: renamed(t, book(t, false, list), "Reservas"), Kind: "ticket", Event: 7})
	if rep.Created != 2 || strings.Contains(strings.Join(rep.Warnings, "\n"), "sheets") {
		t.Errorf("a sheet of bookings: %+v, want two tickets", rep)
	}
	for sheet, stops := range map[string]bool{"": true, "Sheet2": false} {
		s := congregation(t)
		src := load.Source{Kind: "ticket", Event: 7, Sheet: sheet, Reader: renamed(t, book(t, false, names, list), "Lista de espera")}
		_, err := load.Import(context.Background(), s, auth.Operator(), src, nil)
		if stopped := err != nil && errors.Is(err, load.ErrSource) && strings.Contains(err.Error(), "the sheet “Lista de espera”"); stopped != stops || stops == (len(tickets(t, s)) == 2) {
			t.Errorf("--sheet %q: error = %v, want that it stops: %t", sheet, err, stops)
		}
	}
}

// TestARowOfSeveralTicketsIsSaid: it comes in as one.
func TestARowOfSeveralTicketsIsSaid(t *testing.T) {
	for file, want := range map[string]bool{"Código;Nome;Qtd\nKX7A1;Ana;1\nKX7A2;Bia;3\n": true, "Código;Nome;Qtd\nKX7A1;Ana;1\nKX7A2;Bia;01\n": false} {
		rep := mustImport(t, congregation(t), load.Source{Reader: strings.NewReader(file), Kind: "ticket", Event: 7})
		const note = "1 row is of more than one ticket by the column “Qtd”"
		if strings.Contains(strings.Join(rep.Warnings, "\n"), note) != want {
			t.Errorf("%q: warnings %q, want %q: %t", file, rep.Warnings, note, want)
		}
	}
}

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

func check(t testing.TB, err error) {
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
