package load_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"doorward/api/load"
	"doorward/api/load/columns"
	"doorward/kv/auth"
)

// TestImportLetsNoDoubtfulRowIn: each of these lists once came in with every ticket valid. Now it stops, and the named column is the one
// in doubt.
func TestImportLetsNoDoubtfulRowIn(t *testing.T) {
	const names = "Código;Nome;"
	for name, c := range map[string]struct{ column, file string }{
		"ticks of who has paid":             {"Pagou?", names + "Pagou?\n" + rowsOf("Ana;✓", "Bia;", "Caio;✓")},
		"a column without a title":          {"#3", "Código;Nome;\n" + rowsOf("Ana;", "Bia;CANCELADO", "Caio;")},
		"few that are out, unknown title":   {"Andamento", names + "Andamento\n" + rowsOf("Ana;Inscrito", "Bia;Inscrito", "Caio;Inscrito", "Davi;Pendente")},
		"one remark":                        {"Observações", names + "Observações\n" + rowsOf("Ana;vegetariana", "Bia;cancelado em 3/8 a pedido", "Caio;chega tarde")},
		"means of payment, one pending":     {"Forma de pagamento", names + "Forma de pagamento\n" + rowsOf("Ana;Pix", "Bia;Pix", "Caio;Pendente")},
		"short words for paid":              {"Pgto", names + "Pgto\n" + rowsOf("Ana;S", "Bia;N", "Caio;S")},
		"shorter ones":                      {"PG", names + "PG\n" + rowsOf("Ana;sim", "Bia;não", "Caio;sim")},
		"a fee that is paid":                {"Taxa paga", names + "Taxa paga\n" + rowsOf("Ana;Sim", "Bia;Não", "Caio;Sim")},
		"an invoice that is paid":           {"Invoice paid", "Code;Name;Invoice paid\n" + rowsOf("Ana;Yes", "Bia;No", "Caio;Yes")},
		"what was paid":                     {"Pago (R$)", names + "Pago (R$)\n" + rowsOf("Ana;50,00", "Bia;0,00", "Caio;50,00")},
		"what was given back":               {"Valor", names + "Valor\n" + rowsOf("Ana;50,00", "Bia;-50,00", "Caio;50,00")},
		"refunds":                           {"Refunded amount", "Code;Name;Refunded amount\n" + rowsOf("Ana;0.00", "Bia;50.00", "Caio;0.00")},
		"a balance that may be either":      {"Saldo", names + "Saldo\n" + rowsOf("Ana;0,00", "Bia;-50,00", "Caio;0,00")},
		"instalments":                       {"Parcelas pagas", names + "Parcelas pagas\n" + rowsOf("Ana;3/3", "Bia;1/3", "Caio;3/3")},
		"numbers for states":                {"Cód. situação", names + "Cód. situação\n" + rowsOf("Ana;3", "Bia;4", "Caio;3")},
		"initials that are places too":      {"Estado do pedido", names + "Estado do pedido\n" + rowsOf("Ana;PA", "Bia;PE", "Caio;PA")},
		"a state beside a city":             {"Estado do ingresso", "Código;Nome;Cidade;Estado do ingresso\n" + rowsOf("Ana;Rio;Etapa 1", "Bia;Rio;Etapa 2", "Caio;Rio;Etapa 1")},
		"a block does not speak of payment": {"Data de pagamento", names + "Bloqueado;Data de pagamento\n" + rowsOf("Ana;não;03/08/2026", "Bia;não;", "Caio;não;14/08/2026")},
		"a waiting list as a type":          {"Tipo de ingresso", names + "Tipo de ingresso\n" + rowsOf("Ana;Adulto", "Bia;Lista de espera", "Caio;Adulto")},
		"a shirt that names somebody":       {"Produto", names + "Produto\n" + rowsOf("Ana;Adulto", "Bia;Camiseta", "Caio;Adulto")},
		"a product that names nobody":       {"Produto", names + "Produto\n" + rowsOf("Ana;Adulto", ";Boné", "Caio;Adulto")},
		"a second category":                 {"Categoria", names + "Tipo de ingresso;Categoria\n" + rowsOf("Ana;Adulto;Ativo", "Bia;Adulto;Cancelado", "Caio;Adulto;Ativo")},
		"a second validity":                 {"Validade", names + "Válido até;Validade\n" + rowsOf("Ana;;13/01/2020", "Bia;;14/01/2020", "Caio;31/12/2026;")},
		"something is pending":              {"Pendência financeira", names + "Pendência financeira\n" + rowsOf("Ana;não", "Bia;sim", "Caio;não")},
		"a place in the queue":              {"Posição na fila de espera", names + "Posição na fila de espera\n" + rowsOf("Ana;", "Bia;103", "Caio;")},
		"who went away":                     {"Desistiu", names + "Desistiu\n" + rowsOf("Ana;", "Bia;x", "Caio;")},
		"a word of another language":        {"Stornierung", "Code;Name;Stornierung\n" + rowsOf("Ana;nein", "Bia;ja", "Caio;nein")},
		"words of access":                   {"Access", "Code;Name;Access\n" + rowsOf("Ana;granted", "Bia;denied", "Caio;granted")},
		"a debt in JSON":                    {"balance_due", `{"kind":"ticket","code":"KX7A1","balance_due":50}` + "\n"},
		"who is active, in JSON":            {"ativo", `{"kind":"ticket","code":"KX7A1","ativo":false}` + "\n"},
		"sentences, each of its own": {"Situação pagto", names + "Situação pagto\n" + rowsOf(func() (all []string) {
			for i := range 300 {
				all = append(all, "Ana;Pendente desde "+strings.Repeat("I", i))
			}
			return all
		}()...)},
	} {
		s := congregation(t)
		_, err := load.Import(context.Background(), s, auth.Operator(), load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader(c.file)}, nil)
		var asked columns.Questions
		if !errors.As(err, &asked) || len(asked) != 1 || asked[0].Column != c.column {
			t.Errorf("%s: error = %v, want a question about %s", name, err, c.column)
		}
		if n := len(tickets(t, s)); n != 0 {
			t.Errorf("%s: %d tickets were written", name, n)
		}
	}
}

// TestACodeOfTwoStatesIsRefused: of a code that was paid in one row and given back in another neither row comes in.
func TestACodeOfTwoStatesIsRefused(t *testing.T) {
	s := congregation(t)
	rep := mustImport(t, s, load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader("Código;Nome;Status\n" +
		"KX7A1;Ana;pago\nKX7A2;Bia;pago\nKX7\u200bA1;Ana;reembolsado\nKX7A3;Caio;pago\nKX7A3;Caio;pago\n")})
	if got := tickets(t, s); len(got) != 2 || got[0]["code"] != "KX7A2" || got[1]["code"] != "KX7A3" {
		t.Errorf("tickets = %v, want KX7A2 and KX7A3", got)
	}
	if len(rep.Reasons) != 2 || rep.Reasons[0].Count != 2 || rep.Reasons[0].Reason != "the same code stands in several lines, with different states" {
		t.Errorf("reasons = %+v, want two lines of one code with different states", rep.Reasons)
	}
}

// TestAShopsListWithoutStatesIsSaid: what the shop's own list would tell is missing, and every ticket is taken as valid.
func TestAShopsListWithoutStatesIsSaid(t *testing.T) {
	s := congregation(t)
	rep := mustImport(t, s, load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader("Nº ingresso;Nome;Tipo de ingresso;Nº pedido;Cupom de Desconto\n4F00XK00TQABCDE;Ana;Inteira;7A;\n")})
	if !strings.Contains(strings.Join(rep.Warnings, "\n"), "leaves out who has paid") {
		t.Errorf("warnings = %v, want one about the states that are missing", rep.Warnings)
	}
}

// TestWhenSomebodyCameInHasOneReading: with --checkins a day that may be a month is asked about.
func TestWhenSomebodyCameInHasOneReading(t *testing.T) {
	s := congregation(t)
	src := load.Source{Kind: "ticket", Event: 7, Checkins: true}
	const file = "Code;Checked in\nKX7A;11/12/2026 19:30\n"
	src.Reader = strings.NewReader(file)
	_, err := load.Import(context.Background(), s, auth.Operator(), src, nil)
	var asked columns.Questions
	if !errors.As(err, &asked) || asked[0].Column != "Checked in" || len(tickets(t, s)) != 0 {
		t.Fatalf("error = %v, want a question about Checked in", err)
	}
	src.Reader, src.Dates = strings.NewReader(file), "mdy"
	if rep := mustImport(t, s, src); rep.Admitted != 1 {
		t.Errorf("%+v, want one checked in", rep)
	}
}

// TestAHeadingOverRowsMayDecide: where no column says a state, a line that says it of what stands below stops the import.
func TestAHeadingOverRowsMayDecide(t *testing.T) {
	for name, file := range map[string]string{
		"between the rows": "Código;Nome;Mesa\n" + rowsOf("Ana;1", "Bia;2") + "LISTA DE ESPERA;;\nKX9A;Caio;3\n",
		"above the header": "Ingressos cancelados;;\nCódigo;Nome;Mesa\n" + rowsOf("Ana;1", "Bia;2"),
	} {
		s := congregation(t)
		src := load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader(file)}
		_, err := load.Import(context.Background(), s, auth.Operator(), src, nil)
		if !errors.Is(err, load.ErrSource) || !strings.Contains(err.Error(), "and no column says who gets in") || len(tickets(t, s)) != 0 {
			t.Errorf("%s: error = %v, want a question about the heading", name, err)
		}
		src.Reader, src.States = strings.NewReader(file), map[string]string{"": "unpaid"}
		mustImport(t, s, src)
		for _, one := range tickets(t, s) {
			if one["state"] != "unpaid" {
				t.Errorf("%s: with --states '=unpaid' a ticket is %s", name, one["state"])
			}
		}
	}
	s := congregation(t)
	book := book(t, false, [][]any{{"Código", "Nome"}, {"A-1", "Ana"}})
	_, err := load.Import(context.Background(), s, auth.Operator(), load.Source{Kind: "ticket", Event: 7, Reader: renamed(t, book, "Cancelados")}, nil)
	if !errors.Is(err, load.ErrSource) || !strings.Contains(err.Error(), "“Cancelados”") {
		t.Errorf("a sheet's name: error = %v, want a question about it", err)
	}
	rep := mustImport(t, s, load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader("Ingressos cancelados: 1\nCódigo;Status\nA-1;pago\n")})
	if rep.Created != 1 {
		t.Errorf("with a column of states: %+v, want one created", rep)
	}
}

func renamed(t *testing.T, b *bytes.Buffer, name string) *bytes.Buffer {
	t.Helper()
	f, err := excelize.OpenReader(b)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, err := range []error{f.SetSheetName("Sheet1", name), f.Write(&out), f.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return &out
}

// TestImportReadsSigns: ticks, debts and words for the same thing, without a question.
func TestImportReadsSigns(t *testing.T) {
	for name, c := range map[string]struct {
		file   string
		states map[string]int
		reject int
	}{
		"ticks of who cancelled":          {"Código;Cancelado\n" + rowsOf("", "✓", "-"), states(2, 0, 0, 1), 0},
		"ticks of who is blocked":         {"Código;Bloqueado\n" + rowsOf("não", "✔️", "☐"), states(2, 0, 1, 0), 0},
		"crosses":                         {"Código;Cancelado\n" + rowsOf("não", "✗", "não"), states(2, 0, 0, 0), 1},
		"ticks of who paid":               {"Código;Pago\n" + rowsOf("✅", "☐", "✅"), states(2, 1, 0, 0), 0},
		"sí":                              {"Código;Cancelado\n" + rowsOf("No", "Sí", "No"), states(2, 0, 0, 1), 0},
		"what is still to be paid":        {"Código;A pagar\n" + rowsOf("50,00", "50,00", "0,00"), states(1, 2, 0, 0), 0},
		"a day as a workbook has it":      {"Código;Cancelado em\n" + rowsOf("", "46250.5", ""), states(2, 0, 0, 1), 0},
		"names that say it":               {"Código;Nome\n" + rowsOf("Ana (pendente)", "Bia - NÃO PAGO", "Caio (lista de espera)", "Eva - cancelou", "Davi"), states(1, 0, 0, 0), 4},
		"answers and numbers":             {"Código;Nº de confirmação;Precisa de acessibilidade?;Deseja receber novidades?\n" + rowsOf("9381;sim;não", "9382;não;sim", "9383;não;não", "9384;não;não"), states(4, 0, 0, 0), 0},
		"a title with a hidden character": {"Código;Canc\u200belado\n" + rowsOf("não", "sim", "não"), states(2, 0, 0, 1), 0},
		"a code that lost its digits":     {"Código;Status\n1.23457e+12;pago\n1,23457E+12;pago\nKX7A;pago\nKX7B;pago\nKX7C;pago\n", states(3, 0, 0, 0), 2},
		"a Spanish list":                  {"Código secreto del ticket;Código postal;Nombre del asistente;Válido hasta\nKX7A;1000;Ana;31/12/2026\nKX7B;1001;Bea;31/12/2026\n", states(2, 0, 0, 0), 0},
		"a dinner":                        {"Código;Tipo\n" + rowsOf("Jantar individual", "Jantar casal"), states(2, 0, 0, 0), 0},
	} {
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
