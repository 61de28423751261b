package load_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"doorward/api/load"
	"doorward/kv/auth"
	"doorward/kv/record"
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
