package load_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"doorward/api/load"
	"doorward/api/load/columns"
	"doorward/kv/auth"
)

// rowsOf repeats rows, each with a code of its own in front.
func rowsOf(cells ...string) string {
	var b strings.Builder
	for i, c := range cells {
		b.WriteString("KX7" + strings.Repeat("Q", i%5) + string(rune('A'+i%26)) + string(rune('A'+i/26)) + ";" + c + "\n")
	}
	return b.String()
}

// asked is a ticket list that must not be written as it is, what the import asks, and what becomes of it with an answer.
type asked struct {
	file   string
	want   string
	answer func(src *load.Source)
	states map[string]int
	reject int
}

func byMap(field, column string) func(*load.Source) {
	return func(src *load.Source) { src.Map = map[string]string{field: column} }
}

func ignoring(column string) func(*load.Source) {
	return func(src *load.Source) { src.Ignore = []string{column} }
}

// TestImportAsksWhatMayDecideWhoGetsIn: nothing is written before the answer, and the answer that the question names decides.
func TestImportAsksWhatMayDecideWhoGetsIn(t *testing.T) {
	for name, c := range map[string]asked{
		"a state under a title that nobody knows": {file: "Código;Andamento\n" + rowsOf("Aprovado", "Aprovado", "Em análise", "Cancelado"),
			want:   "the column “Andamento” may decide who gets in and is not understood: Aprovado 2, Cancelado 1, Em análise 1; say --map 'state=Andamento' or --ignore 'Andamento'",
			answer: byMap("state", "Andamento"), states: states(2, 1, 0, 1)},
		"words that are not known under one": {file: "Código;Fase\n" + rowsOf("Pagamento a conferir", "Pagamento a conferir", "Pagou", "Pagamento recusado pelo banco"),
			want: "the column “Fase” may decide who gets in", answer: ignoring("Fase"), states: states(4, 0, 0, 0)},
		"a state whose words are not known": {file: "Código;Situação\n" + rowsOf("Etapa 1", "Etapa 2", "Etapa 2"),
			want:   "the column “Situação” may decide who gets in and is not understood: Etapa 2 2, Etapa 1 1; say --map 'state=Situação' --states 'Etapa 2=…,Etapa 1=…'",
			answer: func(src *load.Source) { src.States = map[string]string{"Etapa 1": "unpaid", "Etapa 2": "valid"} }, states: states(2, 1, 0, 0)},
		"yes or no, of what is not clear": {file: "Código;Entrada liberada?\n" + rowsOf("Sim", "Não"),
			want: "the column “Entrada liberada?” may decide", answer: ignoring("Entrada liberada?"), states: states(2, 0, 0, 0)},
		"a date of payment that some lack": {file: "Código;Data de pagamento\n" + rowsOf("13/08/2026", "", "14/08/2026"),
			want: "the column “Data de pagamento” may decide", answer: ignoring("Data de pagamento"), states: states(3, 0, 0, 0)},
		"a validity under another title": {file: "Código;Expira\n" + rowsOf("13/08/2026", "14/08/2026"),
			want: "the column “Expira” may decide", answer: byMap("valid_until", "Expira"), states: states(2, 0, 0, 0)},
		"a day on which a ticket ends, or a bill": {file: "Código;Vencimento\n" + rowsOf("13/08/2026", "14/08/2026"),
			want: "say --map 'valid_until=Vencimento' or --ignore 'Vencimento'", answer: byMap("valid_until", "Vencimento"), states: states(2, 0, 0, 0)},
		"the marks of who has paid": {file: "Código;Quem pagou\n" + rowsOf("x", "x", ""),
			want: "the column “Quem pagou” may decide", answer: ignoring("Quem pagou"), states: states(3, 0, 0, 0)},
		"a waiting list": {file: "Código;Lista de espera\n" + rowsOf("não", "sim"),
			want: "the column “Lista de espera” may decide", answer: func(src *load.Source) {
				src.Map, src.States = map[string]string{"state": "Lista de espera"}, map[string]string{"não": "valid", "sim": "blocked"}
			}, states: states(1, 0, 1, 0)},
		"who is active": {file: "Código;Ativo\n" + rowsOf("S", "N"),
			want: "the column “Ativo” may decide", answer: func(src *load.Source) {
				src.Map, src.States = map[string]string{"state": "Ativo"}, map[string]string{"S": "valid", "N": "cancelled"}
			}, states: states(1, 0, 0, 1)},
		"who may come in": {file: "Código;Entrada proibida\n" + rowsOf("", "sim"),
			want: "the column “Entrada proibida” may decide", answer: func(src *load.Source) {
				src.Map, src.States = map[string]string{"state": "Entrada proibida"}, map[string]string{"": "valid", "sim": "blocked"}
			}, states: states(1, 0, 1, 0)},
		"what was paid, and nothing by some": {file: "Código;Valor pago\n" + rowsOf("100,00", "0,00", ""),
			want: "the column “Valor pago” may decide", answer: ignoring("Valor pago"), states: states(3, 0, 0, 0)},
		"a language that is not known": {file: "Code;Statut\n" + rowsOf("Payé", "Annulé"),
			want: "the column “Statut” may decide", answer: func(src *load.Source) {
				src.States = map[string]string{"Payé": "valid", "Annulé": "cancelled"}
				src.Map = map[string]string{"state": "Statut"}
			}, states: states(1, 0, 0, 1)},
		"a list in a language that is not known": {file: "Code;Prénom;État;Ville\n" + rowsOf("Ana;Validé;Lyon", "Bia;Refusé;Nice"),
			want: "the column “Prénom” has a title in a language of which no words for states are known here, and no column that is understood says who has paid; " +
				"say --map 'state=COLUMN' --states 'WORD=valid,OTHER=unpaid' if a column does or --states '=valid' if all rows get in",
			answer: func(src *load.Source) {
				src.States = map[string]string{"Validé": "valid", "Refusé": "cancelled"}
				src.Map = map[string]string{"state": "État"}
			}, states: states(1, 0, 0, 1)},
		"a list in another language without states": {file: "Code;Prénom;Ville\n" + rowsOf("Ana;Lyon", "Bia;Nice"),
			want: "the column “Prénom” has a title in a language", answer: func(src *load.Source) { src.States = map[string]string{"": "valid"} }, states: states(2, 0, 0, 0)},
		"a type that keeps somebody out": {file: "Código;Tipo\n" + rowsOf("Adulto", "Adulto (cancelado)"),
			want:   "the column “Tipo” names types that may be no admissions: Adulto 1, Adulto (cancelado) 1; say --only-type 'Adulto' to leave",
			answer: func(src *load.Source) { src.OnlyTypes = []string{"Adulto"} }, states: states(1, 0, 0, 0)},
		"a member of JSON": {file: `{"kind":"ticket","code":"KX7A","payment_status":"pending"}` + "\n" + `{"kind":"ticket","code":"KX7B","payment_status":"paid"}`,
			want: "the column “payment_status” may decide who gets in and is not understood: paid 1, pending 1", answer: byMap("state", "payment_status"), states: states(1, 1, 0, 0)},
		"a day that may be a month": {file: "Código;Válido até\n" + rowsOf("05/06/2026", "07/06/2026"),
			want: "“05/06/2026” is 5 June 2026 or 6 May 2026; say --dates dmy or --dates mdy", answer: func(src *load.Source) { src.Dates = "dmy" }, states: states(2, 0, 0, 0)},
		"two orders of dates in one column": {file: "Código;Válido até\n" + rowsOf("25/06/2026", "06/25/2026"),
			want: "holds dates of two orders", answer: func(src *load.Source) { src.Dates = "dmy" }, states: states(1, 0, 0, 0), reject: 1},
	} {
		t.Run(name, func(t *testing.T) { c.check(t) })
	}
}

func (c asked) check(t *testing.T) {
	s := congregation(t)
	src := load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader(c.file)}
	_, err := load.Import(context.Background(), s, auth.Operator(), src, nil)
	if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, load.ErrSource) {
		t.Fatalf("error = %v, want %q", err, c.want)
	}
	if n := len(tickets(t, s)); n != 0 {
		t.Fatalf("%d tickets were written", n)
	}
	c.answer(&src)
	src.Reader = strings.NewReader(c.file)
	rep := mustImport(t, s, src)
	got := map[string]int{}
	for _, one := range tickets(t, s) {
		got[one["state"].(string)]++
	}
	if diff := cmp.Diff(c.states, got); diff != "" || len(rep.Rejected) != c.reject {
		t.Errorf("states differ (-want +got):\n%s%+v", diff, rep)
	}
}

// stateCase is a list of tickets, how many of them have each state once they are imported, and how many rows are refused.
type stateCase struct {
	file   string
	states map[string]int
	reject int
}

// importsStates imports each list into a store of its own.
func importsStates(t *testing.T, cases map[string]stateCase) {
	t.Helper()
	for name, c := range cases {
		s := congregation(t)
		rep, err := load.Import(context.Background(), s, auth.Operator(), load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader(c.file)}, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := map[string]int{}
		for _, one := range tickets(t, s) {
			got[one["state"].(string)]++
		}
		if diff := cmp.Diff(c.states, got); diff != "" || len(rep.Rejected) != c.reject {
			t.Errorf("%s: states differ (-want +got):\n%s%+v", name, diff, rep)
		}
	}
}

// TestImportUnderstandsStates without asking: by titles and values together, the strictest of several columns.
func TestImportUnderstandsStates(t *testing.T) {
	importsStates(t, map[string]stateCase{
		"the state of an address beside it": {"Código;Estado;Cidade;Status\n" + rowsOf("RJ;Rio;pago", "SP;Santos;pendente", ";;cancelado"), states(1, 1, 0, 1), 0},
		"an address abroad":                 {"Code;City;State;Country;Status\n" + rowsOf("Austin;Texas;US;paid", "Reno;Nevada;US;expired"), states(1, 1, 0, 0), 0},
		"paid and blocked":                  {"Código;Status;Bloqueado;Pago\n" + rowsOf("ok;não;sim", "ok;sim;sim", "ok;não;não", "ok;;sim"), states(2, 1, 1, 0), 0},
		"a free event of Eventbrite":        {"Order #;Attendee #;Ticket Type;Total Paid;Fees Paid;Attendee Status;Barcode #\n1;11;GA;0;0;Attending;KX7A1\n2;12;GA;0;0;Deleted;KX7A2\n", states(1, 0, 0, 1), 0},
		"one word that is not known":        {"Código;Status\n" + rowsOf("pago", "pago", "levitando", "pago"), states(3, 0, 0, 0), 1},
		"one blank state":                   {"Código;Status\n" + rowsOf("pago", "", "pago"), states(2, 0, 0, 0), 1},
		"marks in Pago":                     {"Código;Pago\n" + rowsOf("x", "", "x"), states(2, 0, 0, 0), 1},
		"Spanish":                           {"Código;Nombre;Estado\n" + rowsOf("Ana;pagado", "Bea;pendiente", "Caro;anulado", "Dina;bloqueado"), states(1, 1, 1, 1), 0},
		"the day of a cancellation":         {"Código;Cancelado em\n" + rowsOf("", "13/08/2026"), states(1, 0, 0, 1), 0},
		"prices and means of payment":       {"Código;Preço;Forma de pagamento;Valor\n" + rowsOf("50,00;Pix;50.00", "0,00;Boleto;0.00"), states(2, 0, 0, 0), 0},
		"what was paid, and a state":        {"Código;Total Paid;Status\n" + rowsOf("50.00;paid", "0.00;free"), states(2, 0, 0, 0), 0},
		"what is owed":                      {"Código;Valor em aberto\n" + rowsOf("R$ 0,00", "R$ 1.250,00", ""), states(2, 1, 0, 0), 0},
		"what is left to pay":               {"Código;Resta\n" + rowsOf("0", "50"), states(1, 1, 0, 0), 0},
		"what is owed, in dollars":          {"Code;Balance due\n" + rowsOf("$0.00", "$50.00"), states(1, 1, 0, 0), 0},
		"what is owed, or a dash":           {"Código;Saldo\n" + rowsOf("-", "50", "R$ -", "n/a"), states(3, 1, 0, 0), 0},
		"what is owed, or that it is paid":  {"Code;Balance due\n" + rowsOf("paid", "50", "20"), states(1, 2, 0, 0), 0},
		"what is owed, or is to be said":    {"Código;Saldo\n" + rowsOf("0", "50", "a definir"), states(1, 1, 0, 0), 1},
		"a discount below zero":             {"Code;Status;Discount amount\n" + rowsOf("paid;-5", "paid;0"), states(2, 0, 0, 0), 0},
		"a day on which something is due":   {"Code;Due date\n" + rowsOf("2026-10-01", "2026-10-02"), states(2, 0, 0, 0), 0},
		"a name that says it":               {"Código;Nome\n" + rowsOf("Ana Souza", "Bia Luz (CANCELADA)"), states(1, 0, 0, 0), 1},
		"an answer and a table":             {"Código;O que você espera?;Mesa;VIP\n" + rowsOf("não;1;sim", "sim;2;não"), states(2, 0, 0, 0), 0},
		"bars between the cells":            {"Código|Nome|Status\nKX7A1|Ana|pago\nKX7A2|Bia|cancelado\n", states(1, 0, 0, 1), 0},
		"apostrophes around the cells":      {"'Código';'Nome'\n'KX7A1';'Ana'\n'42';'Bia'\nKX7A3;'Caio'\nKX7A4;'-\nKX7A5;Davi d'\n'KX7A6';Eva\n", states(2, 0, 0, 0), 4},
		"a state that no row has":           {"Código;Nome;Status\n" + rowsOf("Ana;", "Bia;"), states(0, 0, 0, 0), 2},
		"a payment that no row has":         {"Código;Pago;Cidade\n" + rowsOf(";Rio", ";Santos"), states(0, 0, 0, 0), 2},
		"one of two states, in no row":      {"Código;Status;Status do pagamento\n" + rowsOf("pago;", "pendente;"), states(1, 1, 0, 0), 0},
		"the state of an address, blank":    {"Código;Cidade;Estado\n" + rowsOf("Rio;", "Santos;"), states(2, 0, 0, 0), 0},
		"a word with a question":            {"Código;Status\n" + rowsOf("pago", "pago?", "pago"), states(2, 0, 0, 0), 1},
		"what is left, in Spanish":          {"Código;Señal;Resto\n" + rowsOf("20;0", "20;30,00", "20;0"), states(2, 1, 0, 0), 0},
		"a refund that is done":             {"Código;Status;Reembolsado\n" + rowsOf("pago;não", "pago;ok", "pago;não", "pago;concluído", "pago;sim", "pago;não"), map[string]int{"valid": 3, "refunded": 1}, 2},
		"who owes, and how much":            {"Código;Deve\n" + rowsOf("50,00", "", "0,00"), states(2, 1, 0, 0), 0},
		"how many":                          {"Código;Quantidade\n" + rowsOf("1", "2"), states(2, 0, 0, 0), 0},
		"who came in":                       {"Código;Check-in;Status\n" + rowsOf("Sim;pago", "Não;pendente"), states(1, 1, 0, 0), 0},
	})
}

// TestImportTakesNoOtherColumnForTheCode: a coupon, a price, an order number, an address or a check-in is none.
func TestImportTakesNoOtherColumnForTheCode(t *testing.T) {
	for name, file := range map[string]string{
		"a coupon":          "Voucher;Nome\nIRMAOS10;Ana\n;Bia\n;Caio\n;Davi\n",
		"a coupon as code":  "Código;Nome\nIRMAOS10;Ana\nIRMAOS10;Bia\nIRMAOS10;Caio\n",
		"mostly blank":      "Código;Nome\nA-1;Ana\n;Bia\n;Caio\n;Davi\n",
		"prices":            "Código;Nome\n50,00;Ana\n60,00;Bia\n70,00;Caio\n",
		"sentences":         "Código;Nome\nsem código ainda;Ana\nfalta pagar;Bia\n",
		"an order's number": "Nº pedido;Nome\n7ABC1;Ana\n7ABC2;Bia\n",
	} {
		s := congregation(t)
		_, err := load.Import(context.Background(), s, auth.Operator(), load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader(file)}, nil)
		if header := new(columns.HeaderError); !errors.As(err, &header) || len(tickets(t, s)) != 0 {
			t.Errorf("%s: error = %v, want that no column holds codes", name, err)
		}
	}
}

// hostile are files that are no lists, or lists that nobody can read rightly.
func hostile(t *testing.T) map[string]struct {
	file []byte
	want string
} {
	wide := utf16.Encode([]rune("Rua;Bairro\nA;B\n"))
	b := make([]byte, 0, 2*len(wide))
	for _, u := range wide {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	merged := mergedBook(t)
	sheets := book(t, false, [][]any{{"Código", "Nome"}, {"A-1", "Ana"}}, [][]any{{"Código", "Nome"}, {"B-1", "Bia"}}).Bytes()
	return map[string]struct {
		file []byte
		want string
	}{
		"UTF-16 of something else": {b, "no header in the first 50 rows names a column of kind ticket"},
		"unbalanced quotes":        {[]byte("\"Código;Nome\nA-1;Ana\n"), "no header in the first 50 rows"},
		"100,000 columns":          {[]byte(strings.Repeat("c;", 100_000) + "\n"), "up to 1000 are read"},
		"binary":                   {bytes.Repeat([]byte{1, 2, 3, 250, 0, 7, 9, 200}, 500), "it is no text; a list is wanted"},
		"empty":                    {nil, "it is empty"},
		"a store":                  {make([]byte, 4096), "it is no text; a list is wanted"},
		"UTF-32":                   {[]byte("\xff\xfe\x00\x00c\x00\x00\x00"), "it is no text; a list is wanted"},
		"blank":                    {[]byte(" \n\t\r\n"), "it is empty"},
		"a web page":               {[]byte("<html><table><tr><td>Código</td></tr></table></html>"), "it is a web page or XML"},
		"a document":               {[]byte("%PDF-1.7\n"), "it is a document or a picture"},
		"a text with fonts":        {[]byte("{\\rtf1\\ansi Ana}\n"), "it is a document or a picture"},
		"an old workbook":          {[]byte("\xd0\xcf\x11\xe0\xa1\xb1"), "of the old kind (.xls), or one with a password"},
		"merged cells":             {merged, "the cells B2 to B3 of sheet “Sheet1” are merged; each row needs cells of its own"},
		"two sheets":               {sheets, "the workbook has 2 sheets with such a list, “Sheet1”, “Sheet2”: say which with --sheet 'Sheet1'"},
		"Polish in Windows-1250":   {[]byte("Code;Name\nA-1;Ana\nA-2;Pawe\xb3\n"), "line 3 is neither UTF-8 nor Windows-1252"},
		"JSON in Windows-1250":     {[]byte(strings.Repeat(`{"kind":"ticket","code":"A-1"}`+"\n", 3000) + `{"kind":"ticket","code":"A-2","holder_name":"Pawe` + "\xb3\"}\n"), "line 3001 is neither UTF-8 nor Windows-1252"},
		"other columns":            {wideRows(1_200), "too many rows have other columns than the header in line 1"},
		"titles of DOS":            {[]byte("C\xa2digo;Nome\nA-1;Ana\n"), "line 1 is neither UTF-8 nor Windows-1252"},
		"another zip archive":      {otherArchive(t), "it is a zip archive, and no Excel workbook (.xlsx) lies in it"},
		"UTF-32, the other way":    {[]byte("\x00\x00\xfe\xff\x00\x00\x00c"), "it is no text; a list is wanted"},
		"DIF":                      {[]byte("TABLE\r\n0,1\r\n\"EXCEL\"\r\nDATA\r\n0,0\r\n\"\"\r\n-1,0\r\nBOT\r\n1,0\r\n\"Code\"\r\n1,0\r\n\"A-1\"\r\n"), "it is a spreadsheet of an old kind"},
		"DIF of LibreOffice":       {[]byte("TABLE\n0,1\n\"\"\nDATA\n0,0\n\"\"\n-1,0\nBOT\n1,0\n\"Code\"\n1,0\n\"A-1\"\n"), "it is a spreadsheet of an old kind"},
		"SYLK":                     {[]byte("ID;PWXL;N;E\nC;Y1;X1;K\"Code\"\nC;Y2;X1;K\"A-1\"\nE\n"), "it is a spreadsheet of an old kind"},
		"a cut workbook":           {sheets[:len(sheets)/2], "no readable workbook"},
		"two titles for the code":  {[]byte("Código;Localizador\nA-1;B-1\n"), "two columns for code, “Código” and “Localizador”"},
		"pretix, cut":              {[]byte(`{"event":{"name":"Festa","orders":[`), "it begins as pretix's JSON export and is none that can be read"},
	}
}

func otherArchive(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range map[string]string{"mimetype": "application/vnd.oasis.opendocument.spreadsheet", "content.xml": "<a/>"} {
		w, err := z.Create(name)
		check(t, err)
		_, err = io.WriteString(w, text)
		check(t, err)
	}
	check(t, z.Close())
	return b.Bytes()
}

func mergedBook(t *testing.T) []byte {
	t.Helper()
	f := excelize.NewFile()
	var b bytes.Buffer
	for _, err := range []error{
		f.SetSheetRow("Sheet1", "A1", &[]any{"Código", "Status"}), f.SetSheetRow("Sheet1", "A2", &[]any{"A-1", "Cancelado"}), f.SetSheetRow("Sheet1", "A3", &[]any{"A-2"}),
		f.MergeCell("Sheet1", "B2", "B3"), f.Write(&b), f.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// wideRows are rows with 901 columns, below a header of two.
func wideRows(count int) []byte {
	b := bytes.NewBufferString("code;name\nA-1;Ana\n")
	for row := range count {
		for column := range 900 {
			fmt.Fprintf(b, "%x;", row*900+column)
		}
		b.WriteString("\n")
	}
	return b.Bytes()
}

// TestHostileFilesEndInASentence, and nothing of them is written.
func TestHostileFilesEndInASentence(t *testing.T) {
	for name, c := range hostile(t) {
		s := congregation(t)
		_, err := load.Import(context.Background(), s, auth.Operator(), load.Source{Kind: "ticket", Event: 7, Reader: bytes.NewReader(c.file)}, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, load.ErrSource) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error = %v, want %q", name, err, c.want)
		}
		if n := len(tickets(t, s)); n != 0 {
			t.Errorf("%s: %d tickets were written", name, n)
		}
	}
}

// TestImportOfFormulas: what a spreadsheet puts around a number is taken off, a formula is refused.
func TestImportOfFormulas(t *testing.T) {
	s := congregation(t)
	rep := mustImport(t, s, load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader("Código;Nome\n\"=\"\"00042\"\"\";Ana\n=1+1;Bia\nA-3;\"=HYPERLINK(\"\"x\"\")\"\n")})
	if len(rep.Rejected) != 2 || rep.Rejected[0].Reason != "a formula, where its value is wanted" {
		t.Errorf("rejected = %+v, want two formulas", rep.Rejected)
	}
	if got := tickets(t, s); len(got) != 1 || got[0]["code"] != "00042" {
		t.Errorf("tickets = %v, want the one with 00042", got)
	}
}
