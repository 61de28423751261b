package load_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
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
