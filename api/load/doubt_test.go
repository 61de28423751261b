package load_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"doorward/api/load"
	"doorward/api/load/columns"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/outcome"
	"doorward/kv/record"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"
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
		"a day that may be that of a bill":  {"Vencimento", names + "Status;Vencimento\n" + rowsOf("Ana;pago;10/10/2026", "Bia;pago;13/10/2026")},
		"who went away":                     {"Desistiu", names + "Desistiu\n" + rowsOf("Ana;", "Bia;x", "Caio;")},
		"a word of another language":        {"Stornierung", "Code;Name;Stornierung\n" + rowsOf("Ana;nein", "Bia;ja", "Caio;nein")},
		"words of access":                   {"Access", "Code;Name;Access\n" + rowsOf("Ana;granted", "Bia;denied", "Caio;granted")},
		"who is archived":                   {"Arquivado", names + "Arquivado\n" + rowsOf("Ana;não", "Bia;sim", "Caio;não")},
		"less than one ticket":              {"Quantidade", names + "Quantidade\n" + rowsOf("Ana;1", "Bia;0", "Caio;1")},
		"how many tickets":                  {"Quantos ingressos?", names + "Quantos ingressos?\n" + rowsOf("Ana;1", "Bia;0", "Caio;2")},
		"none, beside a state":              {"Quantity", "Code;Name;Status;Quantity\n" + rowsOf("Ana;paid;1", "Bia;paid;0", "Caio;paid;1")},
		"no ticket, in JSON":                {"quantity", `{"kind":"ticket","code":"KX7A1","quantity":0}` + "\n"},
		"a debt in JSON":                    {"balance_due", `{"kind":"ticket","code":"KX7A1","balance_due":50}` + "\n"},
		"who is active, in a name of JSON":  {"isActive", `{"kind":"ticket","code":"KX7A1","isActive":false}` + "\n"},
		"a kind of order":                   {"Order Type", "Order #;Attendee #;Ticket Type;Barcode #;Attendee Status;Order Type\n1;2;Adult;KX7A1;Attending;Eventbrite Completed\n1;3;Adult;KX7A2;Attending;Refunded\n"},
		"an order that is paid elsewhere":   {"Order Type", "Order #;Attendee #;Ticket Type;Barcode #;Attendee Status;Order Type\n1;2;Adult;KX7A1;Attending;Free Order\n1;3;Adult;KX7A2;Attending;Pay by Invoice\n"},
		"money that went back, before fees": {"Gross", "Code;Name;Status;Gross\n" + rowsOf("Ann;completed;50.00", "Bob;completed;-50.00", "Cy;completed;50.00")},
		"money that the bank asks back":     {"Disputed Amount", "Code;Name;Status;Disputed Amount\n" + rowsOf("Ann;paid;", "Bob;paid;50.00", "Cy;paid;")},
		"a type that is a refund":           {"Type", "Code;Name;Status;Type\n" + rowsOf("Ann;completed;Express Payment", "Bob;completed;Payment Refund", "Cy;completed;Express Payment")},
		"who wants a refund":                {"Notes", "Code;Name;Notes\n" + rowsOf("Ann;", "Bob;refund requested", "Cy;")},
		"who is active, in JSON":            {"ativo", `{"kind":"ticket","code":"KX7A1","ativo":false}` + "\n"},
		"a part of the price":               {"Valor pago", names + "Valor;Valor pago\n" + rowsOf("Ana;R$ 100,00;100,00", "Bia;R$ 100,00;50,00", "Caio;R$ 100,00;100,00")},
		"the second instalment":             {"2ª parcela", names + "1ª parcela;2ª parcela\n" + rowsOf("Ana;50,00;50,00", "Bia;50,00;", "Caio;50,00;50,00")},
		"the day of an instalment":          {"Parcela 2", names + "Parcela 2\n" + rowsOf("Ana;01/10/2026", "Bia;", "Caio;14/10/2026")},
		"a transaction that one lacks":      {"ID da transação", names + "ID da transação\n" + rowsOf("Ana;E123456", "Bia;", "Caio;E123457")},
		"a receipt that one lacks":          {"Recibo", names + "Recibo\n" + rowsOf("Ana;101", "Bia;", "Caio;102")},
		"what is paid at the door":          {"Forma de pagamento", names + "Forma de pagamento\n" + rowsOf("Ana;PIX", "Bia;Na portaria", "Caio;Cartão")},
		"what each has given":               {"Contribuição", names + "Contribuição\n" + rowsOf("Ana;50", "Bia;", "Caio;50")},
		"how each has paid":                 {"Valor", names + "Valor\n" + rowsOf("Ana;R$ 50,00", "Bia;", "Caio;R$ 50,00")},
		"ticks under a tick":                {"✓", names + "✓\n" + rowsOf("Ana;x", "Bia;", "Caio;x")},
		"ticks under no title":              {"#3", names + "\n" + rowsOf("Ana;x", "Bia;", "Caio;x")},
		"what was checked":                  {"Conferido", names + "Conferido\n" + rowsOf("Ana;x", "Bia;", "Caio;x")},
		"a place that is awaited":           {"Vaga", names + "Vaga\n" + rowsOf("Ana;Garantida", "Bia;Aguardando vaga", "Caio;Garantida")},
		"a type that is paid later":         {"Tipo", names + "Tipo\n" + rowsOf("Ana;Adulto", "Bia;Adulto - pagar na porta", "Caio;Adulto")},
		"a request":                         {"O que deseja?", names + "O que deseja?\n" + rowsOf("Ana;Quero me inscrever", "Bia;Cancelar minha inscrição", "Caio;Quero me inscrever")},
		"who waits":                         {"Espera", names + "Espera\n" + rowsOf("Ana;", "Bia;x", "Caio;")},
		"a group that waits":                {"Grupo", names + "Grupo\n" + rowsOf("Ana;Principal", "Bia;Espera", "Caio;Principal")},
		"a lot that waits":                  {"Lote", names + "Lote\n" + rowsOf("Ana;Lote 1", "Bia;Espera", "Caio;Lote 1")},
		"a debt in a remark":                {"Obs", names + "Obs\n" + rowsOf("Ana;", "Bia;deve R$ 50", "Caio;")},
		"sold on trust":                     {"Obs", names + "Obs\n" + rowsOf("Ana;", "Bia;fiado", "Caio;")},
		"not paid, in short":                {"Obs", names + "Obs\n" + rowsOf("Ana;", "Bia;ñ pg", "Caio;")},
		"the money back":                    {"Obs", names + "Obs\n" + rowsOf("Ana;", "Bia;pediu o dinheiro de volta", "Caio;")},
		"a number that was paid, and none":  {"Valor pago", names + "Valor pago\n" + rowsOf("Ana;50", "Bia;50", "Caio;", "Davi;50")},
		"a number that was received":        {"Valor recebido", names + "Valor recebido\n" + rowsOf("Ana;50", "Bia;50", "Caio;0", "Davi;50")},
		"nothing and a half of the price":   {"Valor pago", names + "Preço;Valor pago\n" + rowsOf("Ana;80;80", "Bia;80;0", "Caio;80;40")},
		"a half of the price":               {"Valor pago", names + "Preço;Valor pago\n" + rowsOf("Ana;80;80", "Bia;80;40", "Caio;80;80")},
		"two prices the other way about":    {"Valor pago", names + "Preço;Valor pago\n" + rowsOf("Ana;50;60", "Bia;60;50", "Caio;50;50")},
		"one of many prices":                {"Valor pago", names + "Preço;Valor pago\n" + numbered(300, func(i int) string { return fmt.Sprintf("Ana;%d,00;%d,00", i+1, i+1) }) + "KX9;Bia;50,00;25,00\n"},
		"a late remark":                     {"Obs", names + "Obs\n" + numbered(5200, func(i int) string { return fmt.Sprintf("Ana;chega às %d h", i) }) + "KX9;Bia;cancelou\n"},
		"a late state":                      {"Obs", names + "Obs\n" + numbered(5200, func(i int) string { return fmt.Sprintf("Ana;mesa nova %d", i) }) + "KX9;Bia;transferido\n"},
		"a late payment of nothing":         {"Valor pago", names + "Valor pago\n" + numbered(5200, func(i int) string { return fmt.Sprintf("Ana;%d,50", i) }) + "KX9;Bia;0,00\n"},
		"parts of instalments":              {"Parcelas", names + "Parcelas\n" + rowsOf("Ana;3/3", "Bia;1/3", "Caio;3/3")},
		"a part in words":                   {"Parcela", names + "Parcela\n" + rowsOf("Ana;3 de 3", "Bia;1 de 3", "Caio;3 de 3")},
		"how many instalments":              {"Parcelas", names + "Parcelas;Total de parcelas\n" + rowsOf("Ana;3;3", "Bia;1;3", "Caio;3;3")},
		"words under no title":              {"#3", names + "\n" + rowsOf("Ana;ok", "Bia;", "Caio;ok")},
		"ways to pay under no title":        {"#3", names + "\n" + rowsOf("Ana;pix", "Bia;", "Caio;dinheiro")},
		"yes and no under an unknown title": {"Sorteado", names + "Sorteado\n" + rowsOf("Ana;sim", "Bia;não", "Caio;sim")},
		"a remark in JSON":                  {"notes", `{"kind":"ticket","code":"KX7A1","notes":"cancelled by phone"}` + "\n"},
		"a check-in that is cancelled":      {"Check-in", names + "Check-in\n" + rowsOf("Ana;Sim", "Bia;Cancelado", "Caio;Não")},
		"who said that she does not come":   {"Presença", names + "Presença\n" + rowsOf("Ana;Confirmada", "Bia;Não confirmada", "Caio;Confirmada")},
		"who gave up":                       {"Presente", names + "Presente\n" + rowsOf("Ana;ok", "Bia;desistiu", "Caio;ok")},
		"a type that is a state":            {"Tipo", names + "Tipo\n" + rowsOf("Ana;Adulto", "Bia;Reservado", "Caio;Adulto")},
		"a type with a state behind it":     {"Tipo", names + "Tipo\n" + rowsOf("Ana;VIP", "Bia;VIP (a confirmar)", "Caio;VIP")},
		"a type of no certainty":            {"Tipo", names + "Tipo\n" + rowsOf("Ana;Free", "Bia;Free (unconfirmed)", "Caio;Free")},
		"ticks and crosses":                 {"Check", "Code;Name;Check\n" + rowsOf("Ana;✓", "Bia;✗", "Caio;✓")},
		"a reason to stay away":             {"Motivo", names + "Motivo\n" + rowsOf("Ana;", "Bia;desistência", "Caio;")},
		"who owes, in the place of a price": {"Total", names + "Total\n" + rowsOf("Ana;50", "Bia;devendo", "Caio;50")},
		"a booking for a time":              {"Reserved until", "Code;Name;Reserved until\n" + rowsOf("Ana;", "Bia;2026-10-01", "Caio;")},
		"a part in advance, in Spain":       {"Señal", "Código;Nombre;Señal\n" + rowsOf("Ana;50", "Bea;25", "Caro;50")},
		"what was paid in advance":          {"Anticipo", "Código;Nombre;Anticipo\n" + rowsOf("Ana;50", "Bea;25", "Caro;50")},
		"a part of the price in advance":    {"Sinal", names + "Preço;Sinal\n" + rowsOf("Ana;80;40", "Bia;80;40", "Caio;80;40")},
		"who does not come":                 {"Vem?", names + "Vem?\n" + rowsOf("Ana;sim", "Bia;não", "Caio;sim")},
		"who is not coming":                 {"Are you coming?", "Code;Name;Are you coming?\n" + rowsOf("Ann;yes", "Bob;no", "Cy;yes")},
		"sentences, each of its own": {"Situação pagto", names + "Situação pagto\n" + rowsOf(func() (all []string) {
			for i := range 300 {
				all = append(all, "Ana;Pendente desde "+strings.Repeat("I", i))
			}
			return all
		}()...)},
	} {
		wantAsked(t, name, c.file, c.column)
	}
}

// TestAPaymentInDoubtIsAskedAbout: so is a debt, money that was given back, and whether a guest comes.
func TestAPaymentInDoubtIsAskedAbout(t *testing.T) {
	const names = "Código;Nome;"
	for name, c := range map[string]struct{ column, file string }{
		"who may not come":                  {"Attending", "Code;Name;Attending\n" + rowsOf("Ann;yes", "Bob;no", "Cy;maybe")},
		"who has not answered":              {"Vai comparecer?", names + "Vai comparecer?\n" + rowsOf("Ana;Sim", "Bia;Talvez", "Caio;")},
		"parts of a price, in words":        {"Valor pago", names + "Valor pago\n" + rowsOf("Ana;tudo", "Bia;metade", "Caio;tudo")},
		"what was given back, in words":     {"Refund amount", "Code;Name;Refund amount\n" + rowsOf("Ann;", "Bob;half", "Cy;")},
		"how it was given back":             {"Forma de reembolso", names + "Forma de reembolso\n" + rowsOf("Ana;", "Bia;Pix", "Caio;-")},
		"no ticket in an order":             {"Quantidade", names + "Quantidade\n" + rowsOf("Ana;1", "Bia;-", "Caio;1")},
		"money that went back, and a dash":  {"Valor", names + "Valor\n" + rowsOf("Ana;50", "Bia;-50", "Caio;50", "Davi;n/a")},
		"a day in the place of a debt":      {"A pagar", names + "A pagar\n" + rowsOf("Ana;", "Bia;2026-10-01", "Caio;")},
		"an open sum, by its day":           {"Em aberto", names + "Em aberto\n" + rowsOf("Ana;", "Bia;2026-10-01", "Caio;")},
		"a quantity in words":               {"Qtd", names + "Qtd\n" + rowsOf("Ana;1", "Bia;nenhum ainda", "Caio;1")},
		"an invoice that is open":           {"Invoice status", "Code;Name;Invoice status\n" + rowsOf("Ann;", "Bob;open", "Cy;")},
		"a guest who does not come":         {"Obs", names + "Obs\n" + rowsOf("Ana;", "Bia;não vem", "Caio;")},
		"money that went back, beside paid": {"Valor", "Code;Name;Status;Valor\n" + rowsOf("Ana;pago;50", "Bia;pago;-50", "Caio;pago;50")},
		"who is pending, beside a state":    {"Pending", "Code;Name;Status;Pending\n" + rowsOf("Ann;paid;no", "Bob;paid;yes", "Cy;paid;no")},
		"who may not enter":                 {"Acesso", "Code;Name;Status;Acesso\n" + rowsOf("Ana;pago;", "Bia;pago;negado", "Caio;pago;")},
		"days on which all are to pay":      {"A pagar", names + "A pagar\n" + rowsOf("Ana;2026-10-01", "Bia;2026-10-02", "Caio;2026-10-03")},
		"days of a workbook":                {"Aprovado em", names + "Aprovado em\n" + rowsOf("Ana;46000", "Bia;46001", "Caio;46002", "Davi;46003")},
		"amounts and a day":                 {"Payment", "Code;Name;Payment\n" + rowsOf("Ann;50", "Bob;2026-10-01", "Cy;50")},
		"a debt that is not known":          {"Saldo", names + "Saldo\n" + rowsOf("Ana;-", "Bia;?", "Caio;-")},
		"a price in words":                  {"Valor", names + "Valor\n" + rowsOf("Ana;50", "Bia;meia", "Caio;50")},
		"a day among amounts of nothing":    {"Payment", "Code;Name;Payment\n" + rowsOf("Ann;0,00", "Bob;2026-10-01", "Cy;0,00")},
		"what a guest lacks":                {"Notes", "Code;Name;Notes\n" + rowsOf("Ann;", "Bob;falta 20", "Cy;")},
		"one word for all":                  {"Valor pago", names + "Valor pago\n" + rowsOf("Ana;metade", "Bia;metade")},
		"an amount that was collected":      {"Collected", "Code;Name;Collected\n" + rowsOf("Ann;50", "Bob;0", "Cy;50")},
		"a refund that is completed":        {"Refund status", "Code;Name;Status;Refund status\n" + rowsOf("Ann;paid;", "Bob;paid;completed", "Cy;paid;")},
		"a cancellation that is approved":   {"Cancelamento", names + "Status;Cancelamento\n" + rowsOf("Ana;pago;", "Bia;pago;aprovado", "Caio;pago;")},
		"who has received it":               {"Quem recebeu", names + "Quem recebeu\n" + rowsOf("Ana;Zé", "Bia;", "Caio;Zé")},
		"a fee that one lacks":              {"Fee", "Code;Name;Fee\n" + rowsOf("Ann;50", "Bob;", "Cy;50")},
		"an offering that one lacks":        {"Ofrenda", names + "Ofrenda\n" + rowsOf("Ana;50", "Bea;", "Caro;50")},
		"a part in advance, in Mexico":      {"Abono", names + "Abono\n" + rowsOf("Ana;50", "Bea;20", "Caro;50")},
		"the number of a cheque":            {"Check no.", "Code;Name;Check no.\n" + rowsOf("Ann;101", "Bob;", "Cy;102")},
		"a month that one lacks":            {"Fev", names + "Jan;Fev\n" + rowsOf("Ana;50;50", "Bia;50;", "Caio;50;50")},
		"a registration that is not done":   {"Inscrição", names + "Inscrição\n" + rowsOf("Ana;Completa", "Bia;Incompleta", "Caio;Completa")},
		"a guest in reserve":                {"List", "Code;Name;List\n" + rowsOf("Ann;Main", "Bob;Reserve", "Cy;Main")},
		"a debt and a day":                  {"Saldo", names + "Saldo\n" + rowsOf("Ana;2026-10-01", "Bia;aberto desde outubro")},
	} {
		wantAsked(t, name, c.file, c.column)
	}
}

// TestAWordThatIsNoWayToPayIsAskedAbout: nothing may be paid by it yet.
func TestAWordThatIsNoWayToPayIsAskedAbout(t *testing.T) {
	for _, title := range []string{"Forma de pagamento", "Forma de pgto", "Payment method", "Método de pago", "Via"} {
		for _, way := range []string{"Invoice", "Offline", "Not yet", "Card failed", "Faturado", "A pagar no local", "Na portaria", "Pix agendado", ""} {
			wantAsked(t, title+": "+way, "Code;Name;"+title+"\n"+rowsOf("Ana;Pix", "Bia;"+way, "Caio;Cartão de crédito 3x"), title)
		}
	}
	wantAsked(t, "all of them", "Code;Payment method\n"+rowsOf("Invoice", "Invoice"), "Payment method")
	importsStates(t, map[string]stateCase{
		"ways to pay": {"Code;Forma de pagamento;Via\n" + rowsOf("Pix;Boleto", "Visa •••• 4242;Cartão", "Transferência bancária;PayPal", "Cortesia;Cash", "à vista em dinheiro;Cheque"), states(5, 0, 0, 0), 0},
		"where":       {"Code;Canal\n" + rowsOf("Online", "Site", "Bilheteria"), states(3, 0, 0, 0), 0},
		"a state":     {"Code;Status;Forma de pagamento\n" + rowsOf("pago;Pix", "pendente;Invoice", "pago;Invoice"), states(2, 1, 0, 0), 0},
		"all paid":    {"Code;Data pgto\n" + rowsOf("13/10/2026", "14/10/2026"), states(2, 0, 0, 0), 0},
	})
}

// wantAsked imports a list of tickets. It wants one question, about a column, and no ticket.
func wantAsked(t *testing.T, name, file, column string) {
	t.Helper()
	s := congregation(t)
	_, err := load.Import(context.Background(), s, auth.Operator(), load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader(file)}, nil)
	var asked columns.Questions
	if !errors.As(err, &asked) || len(asked) != 1 || asked[0].Column != column {
		t.Errorf("%s: error = %v, want a question about %s", name, err, column)
	}
	if n := len(tickets(t, s)); n != 0 {
		t.Errorf("%s: %d tickets were written", name, n)
	}
}

// TestACellThatIsNotBlankMayLackAPayment: each of these cells once left its guest a valid ticket, because only a blank one was seen. It stops the
// import.
func TestACellThatIsNotBlankMayLackAPayment(t *testing.T) {
	nothing := []string{"-", "—", "N/A", "null", "None", "NaN", "undefined", "#N/A", "(blank)", "não", "No", "?", "✗"}
	for title, c := range map[string]struct {
		good string
		bad  []string
	}{
		"Data de pagamento":  {"2026-10-01", append([]string{"0", "0000-00-00", "0000-00-00 00:00:00", "1900-01-00", "1970-01-01", "never", "previsto 20/12", "tbd", "2099-12-05"}, nothing...)},
		"Pago em":            {"13/10/2026", append([]string{"00/00/0000", "amanhã", "05/12/2099"}, nothing...)},
		"Valor pago":         {"R$ 50,00", append([]string{"R$ -", "R$ 0,00", "a combinar", "nada", "metade", "-50"}, nothing...)},
		"Valor":              {"R$ 50,00", append([]string{"R$ -", "a combinar", "nada"}, nothing...)},
		"Forma de pagamento": {"Pix", append([]string{"", "0", "25", "50%", "metade", "amanhã", "negado"}, nothing...)},
		"Recibo":             {"101", append([]string{"não tem", "depois", "Maria", "50%"}, nothing...)},
	} {
		for _, bad := range c.bad {
			wantAsked(t, title+": "+bad, "Código;Nome;"+title+"\n"+rowsOf("Ana;"+c.good, "Bia;"+bad, "Caio;"+c.good), title)
		}
	}
	wantAsked(t, "a receipt that is to come", "Código;Comprovante\n"+rowsOf("https://drive.example/1a", "https://drive.example/2b", "enviarei", "https://drive.example/4d", "https://drive.example/5e"), "Comprovante")
	importsStates(t, map[string]stateCase{
		"free in words":       {"Código;Valor pago\n" + rowsOf("R$ 50,00", "grátis", "cortesia", "isento"), states(4, 0, 0, 0), 0},
		"free by their price": {"Código;Valor\n" + rowsOf("50,00", "0,00", "cortesia"), states(3, 0, 0, 0), 0},
		"nobody has paid yet": {"Código;Forma de pagamento\n" + rowsOf("-", ""), states(2, 0, 0, 0), 0},
		"all have paid":       {"Código;Data de pagamento;Forma de pagamento\n" + rowsOf("13/10/2026;Pix", "14/10/2026;Pix"), states(2, 0, 0, 0), 0},
	})
}

// TestADayOfPaymentToComeIsAPromise, by the order in which the dates of its column are written. It stops the import.
func TestADayOfPaymentToComeIsAPromise(t *testing.T) {
	at := kvtest.NewClock(time.Date(2026, 5, 3, 23, 15, 0, 0, time.UTC))
	for name, c := range map[string]struct {
		file, dates string
		asks        bool
	}{
		"day first":            {"Código;Pago em\n" + rowsOf("25/04/2026", "12/04/2026"), "", false},
		"month first":          {"Code;Paid on\n" + rowsOf("04/25/2026", "12/04/2026"), "", true},
		"in neither order":     {"Code;Paid on\n" + rowsOf("02/04/2026", "12/04/2026"), "", true},
		"by the answer":        {"Code;Paid on\n" + rowsOf("02/04/2026", "12/04/2026"), "dmy", false},
		"today, and tomorrow":  {"Code;Paid at\n" + rowsOf("2026-05-03 23:50", "2026-05-04 00:10"), "", true},
		"an instalment":        {"Código;Parcela 2\n" + rowsOf("25/04/2026", "25/05/2026"), "", true},
		"an expected day":      {"Código;Data prevista de pagamento\n" + rowsOf("25/04/2026", "26/04/2026"), "", true},
		"a day to pay":         {"Código;Vai pagar em\n" + rowsOf("25/04/2026", "26/04/2026"), "", true},
		"beside a state":       {"Código;Status;Pago em\n" + rowsOf("pago;25/04/2026", "pago;25/05/2026"), "", false},
		"a state of no money":  {"Código;Status;Pago em\n" + rowsOf("ativo;25/04/2026", "ativo;25/05/2026"), "", true},
		"the day of the party": {"Código;Data;Pago em\n" + rowsOf("25/05/2026;25/04/2026", "25/05/2026;26/04/2026"), "", false},
	} {
		s := kvtest.OpenConfig(t, kv.Config{Clock: at.Now, Zone: time.UTC})
		mustImport(t, s, load.Source{Reader: strings.NewReader(`{"kind":"event","id":7,"name":"Festa","start_datetime":"2026-05-25T19:30:00Z"}` + "\n")})
		_, err := load.Import(context.Background(), s, auth.Operator(), load.Source{Kind: "ticket", Event: 7, Dates: c.dates, Reader: strings.NewReader(c.file)}, nil)
		if name == "in neither order" && !strings.Contains(fmt.Sprint(err), "--dates dmy") {
			t.Errorf("%s: error = %v, want --dates among its answers", name, err)
		}
		if asks := errors.As(err, new(columns.Questions)); asks != c.asks || len(tickets(t, s)) != map[bool]int{true: 0, false: 2}[asks] {
			t.Errorf("%s: error = %v, want a question: %v", name, err, c.asks)
		}
	}
}

// TestAStateThatDoesNotSpeakOfPaymentAnswersForNone: a ticket may be active, or confirmed, and not be paid.
func TestAStateThatDoesNotSpeakOfPaymentAnswersForNone(t *testing.T) {
	const paid, unpaid = ";13/10/2026", ";"
	for _, word := range []string{"Ativo", "Confirmado", "Emitido", "Valid", "OK"} {
		wantAsked(t, word, "Código;Status;Data de pagamento\n"+rowsOf(word+paid, word+unpaid, "Cancelado"+unpaid, word+paid), "Data de pagamento")
	}
	for title, cell := range map[string][2]string{"Opłacone": {"tak", "nie"}, "Uiszczone": {"tak", "nie"}, "Оплата": {"да", "нет"}, "Pag": {"50", ""}} {
		wantAsked(t, title, "Code;Status;"+title+"\n"+rowsOf("active;"+cell[0], "active;"+cell[1], "cancelled;"+cell[1]), title)
	}
	wantAsked(t, "a way to pay that one lacks", "Código;Status;Pagamento\n"+rowsOf("Confirmada;Pix", "Confirmada;", "Confirmada;Pix"), "Pagamento")
	wantAsked(t, "no state", "Código;Pagamento\n"+rowsOf("Pix", "Pix"), "Pagamento")
	wantAsked(t, "a word that is none", "Código;Status;Pagamento\n"+rowsOf("pago;Pix", "pago;a combinar", "pago;Pix"), "Pagamento")
	wantAsked(t, "some are accredited", "Código;Status;Credenciado\n"+rowsOf("Confirmada;Sim", "Confirmada;Não"), "Credenciado")
	wantAsked(t, "none is accredited", "Código;Credenciado\n"+rowsOf("Não", "Não"), "Credenciado")
	importsStates(t, map[string]stateCase{
		"a state that does": {"Código;Status;Data de pagamento\n" + rowsOf("Confirmado"+paid, "Confirmado"+unpaid, "Pendente"+unpaid), states(2, 1, 0, 0), 0},
		"a title that does": {"Código;Status do pagamento;Data de pagamento\n" + rowsOf("ok"+paid, "ok"+unpaid), states(2, 0, 0, 0), 0},
		"a free ticket":     {"Código;Status;Total Paid\n" + rowsOf("free;0.00", "completed;50.00"), states(2, 0, 0, 0), 0},
		"the same of all":   {"Código;Status;Forma de pagamento\n" + rowsOf("Ativo;Pix", "Ativo;Pix"), states(2, 0, 0, 0), 0},
		"how all have paid": {"Código;Status;Pagamento\n" + rowsOf("Confirmada;Pix", "Confirmada;Cartão de crédito", "Pendente;Pix"), states(2, 1, 0, 0), 0},
		"none is in yet":    {"Código;Status;Credenciado\n" + rowsOf("Confirmada;Não", "Pendente;Não"), states(1, 1, 0, 0), 0},
		"none waits":        {"Code;Status;Lista de espera;Pendente\n" + rowsOf("Confirmada;Não;Não", "Confirmada;Não;Não"), states(2, 0, 0, 0), 0},
		"what guests want":  {"Code;Status;VIP;Sorteado\n" + rowsOf("active;ja;sim", "active;nein;não"), states(2, 0, 0, 0), 0},
	})
}

// TestRemarksThatKeepOut: each of these remarks once left its guest a valid ticket. It stops the import.
func TestRemarksThatKeepOut(t *testing.T) {
	for _, remark := range []string{
		"no va a venir", "no puede ir", "ya no asiste", "no se presentará", "no dejar entrar", "cedió su lugar a Ana", "en su lugar viene Luis", "sin comprobante", "solo reserva", "adeuda 30",
		"kommt leider doch nicht", "zahlt später", "Überweisung fehlt", "nicht einlassen", "gesperrt", "ne viendra pas", "ne vient plus", "pas encore payé", "doit 20 €", "remplacé par Anne", "en attente",
		"non viene più", "da saldare", "sostituito da Anna", "komt toch niet", "vervangen door Anna",
		"did not pay", "didn't pay", "hasn't paid yet", "has never paid", "no payment", "payment failed", "half paid", "paid half", "partly paid", "partial payment", "deposit only",
		"balance due", "still owes", "bounced", "money returned", "pay on arrival", "will pay at door", "pay later", "not coming", "no longer coming", "withdrew", "dropped out",
		"not allowed in", "entry denied", "cancellation requested", "requested cancellation",
		"no ha pagado", "todavía no pagó", "pago parcial", "pagó la mitad", "falta la mitad", "pagará en la puerta", "se dio de baja", "canceló", "anuló", "ya no viene", "solicitó cancelación",
		"não quitou", "boleto não quitado", "pagamento não confirmado", "pix não recebido", "sem pgto", "s/ pagamento", "aguarda pagamento", "pagou metade", "metade paga",
		"estornar", "devolver o dinheiro", "não virá", "cheque voltou", "falta", "no viene", "devolución", "will pay", "cxl", "pays cash at the door",
		"storniert", "noch nicht bezahlt", "hat abgesagt", "kommt nicht", "Geld zurück", "offen", "Warteliste", "zahlt an der Abendkasse",
		"anulowane", "nie zapłacił", "rezygnacja", "odwołane", "nieopłacone", "do zapłaty 50", "zapłaci na miejscu", "lista rezerwowa",
		"annulé", "remboursé le 3/10", "impayé", "n'a pas payé", "liste d'attente", "annullato", "rimborsato", "non ha ancora pagato, da pagare", "in lista d'attesa", "non viene", "non ha versato", "quota non versata", "in attesa", "muss noch zahlen", "noch ausstehend",
		"geannuleerd", "terugbetaald", "nog niet betaald", "wachtlijst", "afgemeld", "komt niet",
		"transferida para Maria", "substituído por João", "vendeu pro João", "sold to Bob", "gave ticket to Bob", "gave her ticket away", "repassou pra Bia", "vendió a Juan", "cedió su entrada a Juan",
		"sem ingresso", "sin entrada", "without ticket", "a receber", "a receber R$ 50", "renunció", "renunció a su plaza", "did not register", "não se inscreveu", "removed", "removed from list", "cancld", "canceld",
		"hasn't settled up", "can't make it", "cannot come", "won't attend", "unable to attend", "ticket given to Maria", "will pay Sunday", "não pode vir", "não poderá ir", "não vai poder",
		"passou a vaga pra Maria", "falta acertar", "acerta domingo", "paga domingo", "no puede venir", "no podrá asistir", "paga el domingo",
		"pago parcialmente", "falta metade", "pagou só o sinal", "paga na hora", "o resto no dia", "cheque sem fundo", "cancelamento solicitado", "pediu cancelamento",
		"pediu devolução", "pediu o dinheiro", "vai depositar", "pix não identificado", "comprovante não enviado", "aguarda comprovante", "resta 20", "faltou 10", "restante na entrada",
		"acertar com o tesoureiro", "só pagou a entrada", "pagou 1ª parcela", "parcela em atraso", "pagará no dia", "paga no domingo", "paga metade", "cobrar na entrada", "conferir pix", "em débito",
		"não vai", "ausente", "fila", "excedente", "se houver vaga", "só reserva", "duplicado", "inscrição dupla", "só no domingo", "outra data", "trocou para o dia 6", "remarcado",
		"vaga cedida", "passou para a irmã", "transf. p/ Maria", "trocou com a Bia", "substituída pela Bia", "doou para a Maria", "not yet paid", "pay at gate", "bal. due", "balance 20", "wait-listed",
		"hold", "check payment", "Sunday only", "moved to Sunday", "given to Bia", "swapped with Bia", "debe", "pagará al llegar", "falta abonar", "solo señal", "cedido a su hermana",
		"pago?", "pgto?", "pagou?", "isento?", "50% pago", "pago 50%", "partial", "half", "em parte", "pagou 25", "pagou R$ 25,00 no pix", "paid 25", "ingresso da Bia", "o ingresso é da Bia", "no lugar: Bia",
		"krank", "ist krank", "absent", "doente", "Anzahlung geleistet", "angezahlt", "reserviert", "faleceu", "deceased",
		"deve", "ainda falta", "still owes", "saldo 50", "parcialmente", "pagar",
	} {
		wantAsked(t, remark, "Code;Name;Notes\n"+rowsOf("Ana;vegetarian", "Bia;"+remark, "Caio;chega tarde"), "Notes")
	}
	importsStates(t, map[string]stateCase{
		"what guests do not eat": {"Code;Name;Notes\n" + rowsOf("Ana;no come gluten", "Bia;no puede comer nueces", "Caio;não come carne, pago", "Davi;no nuts, paid cash", "Eva;isst kein Fleisch", "Gil;ne mange pas de viande",
			"Hugo;non mangia carne", "Iara;eet geen vlees", "Joel;não tem carro, vem de ônibus", "Lia;não participou no ano passado", "Max;verträgt nicht viel Lärm"), states(11, 0, 0, 0), 0},
		"remarks of another matter": {"Code;Name;Notes\n" + rowsOf("João Cancelo;vegetariano", "Bia;half vegetarian", "Caio;pago em dinheiro", "Davi;li a política de cancelamento",
			"Eva;chega depois", "Gil;vem no dia 12", "Hugo;vai receber os convidados", "Iara;sin entrada de sopa", "Joel;gave a talk", "Eva Renuncio;",
			"Lia;não pode comer glúten", "Max;can't eat nuts", "Nina;100% pago", "Oto;tem desconto de 50%", "Pia;alergia a amendoim?", "Rui;no lugar da frente", "Sara;pago 13/10/2026", "Téo;pagou dia 5"), states(18, 0, 0, 0), 0},
		"a word with a cross": {"Code;Name;Status\n" + rowsOf("Ana;pago", "Bia;pago ❌", "Caio;✅ pago", "Davi;❌ cancelado"), states(2, 0, 0, 1), 1},
		"a yes with a cross":  {"Code;Name;Pago\n" + rowsOf("Ana;sim", "Bia;sim ❌", "Caio;não ❌"), states(1, 1, 0, 0), 1},
		"a word with a sign": {"Code;Status\n" + rowsOf("pago", "pago!", "(Pago)", "¡pagado!", "✓ pago", "~~pago~~", "PAGO*", "!pago", "½ pago", "≠ pago", "p\u0336a\u0336g\u0336o\u0336",
			"pago (ver obs)", "pago 50%", "cancelado*", "pago", "pago", "pago"), states(8, 0, 0, 1), 8},
		"a yes with a sign":        {"Code;Pago\n" + rowsOf("sim", "sim!", "~~sim~~", "x*"), states(2, 0, 0, 0), 2},
		"a no with a sign":         {"Code;Cancelado\n" + rowsOf("não", "~~não~~", "não*", "não"), states(2, 0, 0, 0), 2},
		"an order in process":      {"Code;Order Status\n" + rowsOf("Completed", "Processing", "Completed"), states(2, 0, 0, 0), 1}, // paid, or to be paid on delivery
		"a test order":             {"Code;Name;Status;Test order\n" + rowsOf("Ana;paid;no", "Bia;paid;yes", "Caio;paid;no"), states(2, 0, 1, 0), 0},
		"paid, as the state says":  {"Code;Status;Notes\n" + rowsOf("paid;pagou 50", "paid;vegetariana", "paid;chega tarde"), states(3, 0, 0, 0), 0},
		"what the ticket is for":   {"Code;Item\n" + rowsOf("Ingresso da Festa", "Ingresso da Festa"), states(2, 0, 0, 0), 0},
		"questions beside a state": {"Code;Status;Vem?\n" + rowsOf("paid;sim", "paid;não", "paid;talvez"), states(3, 0, 0, 0), 0},
		"a question beside states": {"Code;Status;Vem?\n" + rowsOf("confirmed;sim", "confirmed;não", "confirmed;talvez"), states(3, 0, 0, 0), 0},
		"what guests are asked":    {"Code;Vem de ônibus?;Vai ao almoço?\n" + rowsOf("sim;não", "não;sim"), states(2, 0, 0, 0), 0},
		"the price in advance":     {"Code;Preço;Sinal\n" + rowsOf("50;50", "80;80"), states(2, 0, 0, 0), 0},
		"one sum in advance":       {"Code;Sinal\n" + rowsOf("50", "50"), states(2, 0, 0, 0), 0},
	})
}

// TestATicketOfAnotherDayIsAskedAbout: one guest of a list has a ticket for another event, day or session. It stops the import.
func TestATicketOfAnotherDayIsAskedAbout(t *testing.T) {
	for title, cell := range map[string][2]string{
		"Evento": {"Festa", "Retiro"}, "Event name": {"Festa", "Retiro"}, "Event start date": {"2026-12-05", "2026-12-06"}, "Data do evento": {"05/12/2026", "06/12/2026"}, "Dia": {"Sábado", "Domingo"},
		"Sessão": {"19h", "21h"}, "Time slot": {"19:00", "21:00"}, "Culto": {"Sábado 19h", "Domingo 9h"}, "Turno": {"Manhã", "Noite"}, "Qual dia?": {"Sábado", "Domingo"},
		"Data": {"05/12/2026 19:30", "06/12/2026 19:30"}, "Date/Time": {"12/25/26 7:30 PM", "12/26/26 7:30 PM"}, "When": {"Sat, Dec 5, 2026", "Sun, Dec 6, 2026"},
		"Opção": {"Culto das 9h", "Culto das 18h"}, "Pacote": {"Sáb 05/12", "Dom 06/12"}, "Escolha": {"Domingo, manhã", "Domingo, noite"}, "Em que dia você vem?": {"5 de dezembro", "6 de dezembro"},
		"Início": {"2026-12-05T19:30:00-03:00", "2026-12-06T19:30:00-03:00"}, "Turma": {"1º culto", "2º culto"}, "Categoria": {"Adulto 05/12", "Adulto 06/12"}, "Modalidade": {"Sessão 15h", "Sessão 19h"},
		"Setor": {"Ingresso do dia 1", "Ingresso do dia 2"},
		"Tipo":  {"Sábado", "Domingo"}, "Ingresso": {"Dia 5/12", "Dia 6/12"}, "Ticket type": {"Adult", "Adult, Sunday only"}, "Lote": {"Quinta-feira", "Sexta-feira"},
	} {
		wantAsked(t, title, "Código;Nome;Status;"+title+"\n"+rowsOf("Ana;pago;"+cell[0], "Bia;pago;"+cell[1], "Caio;pago;"+cell[0]), title)
	}
	importsStates(t, map[string]stateCase{
		"one event":           {"Código;Evento;Dia;Tipo\n" + rowsOf("Festa;Sábado;Sábado", "Festa;Sábado;Sábado"), states(2, 0, 0, 0), 0},
		"when they were sold": {"Código;Data;Lote\n" + rowsOf("01/10/2026;Lote 1 (até o dia 10)", "02/11/2026;Lote 2 (até dia 20)"), states(2, 0, 0, 0), 0},
		"when, in words":      {"Code;When;Data\n" + rowsOf("Oct 14, 2026, 10:22 AM;14/10/2026", "Nov 13, 2026, 1:10 PM;20/11/2026"), states(2, 0, 0, 0), 0},
		"in which sale":       {"Código;Lote\n" + rowsOf("Lote 1 (até 05/12)", "Lote 2 (até 20/12)", "Lote 3 (do dia 21 ao dia 30)"), states(3, 0, 0, 0), 0},
		"days of other matters": {"Código;Aniversário;Chegada;Célula;Endereço;Tamanho;Melhor hora para contato;Disponibilidade;Obs\n" + rowsOf("05/12;sexta à noite;terça;Rua 7 de Setembro;8/10;9h;domingo;",
			"06/11;sábado;quinta;Av. 15 de Novembro;P;19h;sábado;sai domingo cedo", "07/03;sábado;quinta;Rua 13 de Maio;M;19h;domingo;"), states(3, 0, 0, 0), 0},
		"rows of seats": {"Código;Setor\n" + rowsOf("Segunda fila", "Quarta fila"), states(2, 0, 0, 0), 0},
		"ways to pay":   {"Código;Forma de pagamento\n" + rowsOf("Débito", "Pix"), states(2, 0, 0, 0), 0},
	})
	s := congregation(t)
	src := load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader("Código;Situação;Dia\n" + rowsOf("pago;Sábado", "pago;Domingo", "pendente;Sábado")),
		Map: map[string]string{"state": "Dia"}, States: map[string]string{"Sábado": "valid", "Domingo": "blocked"}}
	rep, err := load.Import(context.Background(), s, auth.Operator(), src, nil)
	if err != nil || rep.States["valid"] != 1 || rep.States["blocked"] != 1 || rep.States["unpaid"] != 1 {
		t.Errorf("with an answer the states are %v (%v), want one valid, one blocked and one unpaid", rep.States, err)
	}
}

// TestColumnsOfOtherLanguages: a column that no word here can read, and that tells guests apart, may say who has paid. It stops the import.
func TestColumnsOfOtherLanguages(t *testing.T) {
	for title, cell := range map[string][2]string{
		"付款状态": {"已付款", "未付款"}, "支払い": {"済", ""}, "결제상태": {"완료", "취소"}, "Оплата": {"Да", "Нет"}, "Πληρωμή": {"ναι", "όχι"}, "الدفع": {"مدفوع", "غير مدفوع"},
		"Opłacone": {"tak", "nie"}, "Eingetroffen": {"ja", "nein"}, "Ödendi": {"evet", "hayır"}, "Zaplaceno": {"ano", "ne"}, "Fizetve": {"igen", "nem"}, "Suoritettu": {"kyllä", "ei"},
	} {
		wantAsked(t, title, "Code;Name;"+title+"\n"+rowsOf("Ana;"+cell[0], "Bia;"+cell[1], "Caio;"+cell[0]), title)
	}
	for title, head := range map[string]string{
		"Nom": "Code;Nom;État", "Prénom": "Code;Prénom;Encaissé le", "Nachname": "Code;Nachname;Offener Betrag", "Voornaam": "Code;Voornaam;Geannuleerd op",
		"Cognome": "Code;Cognome;Versato", "Navn": "Code;Navn;Kvittering", "Nimi": "Code;Nimi;Kuitti", "Jina": "Code;Jina;Risiti", "Für wen": "Code;Für wen;Rückmeldung",
		"Einlass": "Code;Name;Einlass", "Rückmeldung": "Code;Name;Rückmeldung", "Iscrizione": "Code;Name;Iscrizione", "Versamento": "Code;Name;Versamento", "Encaissé": "Code;Name;Encaissé",
	} {
		wantAsked(t, head, head+"\n"+rowsOf("Ana;50", "Bia;", "Caio;50"), title)
	}
	for title, cell := range map[string][2]string{
		"Đã trả": {"có", "chưa"}, "Đã trả?": {"có", "chưa"}, "Thanh toán": {"rồi", "chưa"}, "Imelipwa": {"ndiyo", "bado"}, "Bayad": {"oo", "hindi"}, "Bayaran": {"sudah", "belum"}, "Tasutud?": {"jah", "ei"},
		"Makstud": {"makstud", "maksmata"}, "Color": {"green", "red"}, "Marca": {"1", ""}, "Mark": {"🙂", "🙁"}, "Sign": {"+", "-"}, "Semáforo": {"🟢", "🔴"}, "Letra": {"A", "B"},
	} {
		wantAsked(t, title, "Code;Name;"+title+"\n"+rowsOf("Ana;"+cell[0], "Bia;"+cell[1], "Caio;"+cell[0]), title)
	}
	wantAsked(t, "an amount that one lacks", "Code;付款金额\n"+numbered(30, func(i int) string { return fmt.Sprintf("%d.50", 50+i) })+"KX9;\n", "付款金额")
	importsStates(t, map[string]stateCase{
		"a state beside it":     {"Code;Status;城市\n" + rowsOf("paid;上海", "paid;北京"), states(2, 0, 0, 0), 0},
		"each of its own":       {"Code;姓名\n" + numbered(30, func(i int) string { return "王" + strings.Repeat("芳", i) }), states(30, 0, 0, 0), 0},
		"the same of all":       {"Code;城市\n" + rowsOf("上海", "上海"), states(2, 0, 0, 0), 0},
		"who has paid":          {"Code;Bezahlt am;Data wpłaty\n" + rowsOf("1.10.2026;1.10.2026", "2.10.2026;2.10.2026"), states(2, 0, 0, 0), 0},
		"no remark":             {"Code;Uwagi\n" + rowsOf("brak", "wegetarianin"), states(2, 0, 0, 0), 0},
		"a Latin name of a day": {"Code;Tag\n" + rowsOf("Sa", "So"), states(2, 0, 0, 0), 0},
		"what Tito tells":       {"Code;Void Status;Discount Status;Tags;Order Discount Code\n" + rowsOf(";;;", ";Discount;speaker;EARLY", ";Discount;;EARLY"), states(3, 0, 0, 0), 0},
		"colours beside states": {"Code;Status;Color\n" + rowsOf("active;green", "active;red", "active;green"), states(3, 0, 0, 0), 0},
		"usual matters": {"Code;Tamanho;Mesa;Igreja;Cidade;Sexo;Faixa etária;Lote;Portão;Fila;Company;Job title;Dietary requirements;Track;Channel;How did you hear of us?;Como soube da festa?\n" +
			rowsOf("P;1;Sede;Rio;M;18-25;1;A;F;Acme;Dev;none;Web;Web;ad;site", "M;2;Norte;Niterói;F;26-35;2;B;G;Foo;CTO;vegan;Ops;Door;friend;amigo", "M;1;Sede;Rio;M;18-25;1;A;F;Acme;Dev;none;Web;Web;ad;site"), states(3, 0, 0, 0), 0},
		"words that are known": {"Code;Nom;Status\n" + rowsOf("Ana;paid", "Bia;pending"), states(1, 1, 0, 0), 0},
	})
}

// TestTitlesThatSpeakOfAdmission: under each of these titles a word in one row of three keeps the guest out, or stops the import.
func TestTitlesThatSpeakOfAdmission(t *testing.T) {
	for title, cell := range map[string][2]string{
		"Payed": {"yes", "no"}, "hasPaid": {"true", "false"}, "isActive": {"true", "false"}, "Comprovou": {"x", ""}, "Pix": {"ok", ""},
		"Baixa": {"01/10/2026", ""}, "Baixado": {"sim", "não"}, "Depósito": {"01/10/2026", ""}, "Financeiro": {"OK", "Falta"},
		"Tesouraria": {"recebido", "falta receber"}, "Valor devido": {"0", "50"}, "Unpaid amount": {"0.00", "12.00"}, "Open amount": {"0", "12"},
		"Em atraso": {"", "sim"}, "Atrasado": {"", "30 dias"}, "Dias em atraso": {"0", "30"}, "Cobrar": {"", "50"}, "Cobrança": {"", "50,00"},
		"Admit": {"Y", "N"}, "Can enter": {"Y", "N"}, "Pode entrar": {"Sim", "Não"}, "Entra?": {"Sim", "Não"}, "Credenciado": {"Sim", "Não"},
		"Vetado": {"", "x"}, "Blacklist": {"", "x"}, "Lista negra": {"", "sim"}, "Fraude": {"", "sim"}, "Suspeito": {"", "sim"},
		"Contestação": {"", "sim"}, "Voided at": {"", "2026-01-01"}, "Apagado": {"", "sim"}, "Perdeu o prazo": {"", "x"}, "Setor": {"Pista", "Reembolso"},
		"Parcelas": {"ok", ""}, "Prestações": {"50", ""}, "Mensalidades": {"ok", ""}, "Cuotas": {"1", ""}, "Instalments": {"2", ""}, "Recibos": {"12", ""}, "Receipts": {"12", ""},
		"Transações": {"a1b2", ""}, "Inválido": {"Não", "Sim"}, "Invalid": {"No", "Yes"}, "Invalidado": {"Não", "Sim"}, "Inactivo": {"No", "Sí"}, "Anulación": {"", "Sí"},
		"Fecha de anulación": {"", "2026-10-01"}, "Baja": {"", "x"}, "Dado de baja": {"No", "Sí"}, "Impago": {"No", "Sí"}, "Moroso": {"No", "Sí"}, "Adimplente": {"Sim", "Não"},
		"Excedente": {"Não", "Sim"}, "Posição na fila": {"", "1"}, "Na fila": {"Não", "Sim"},
		"Zahlungsstatus": {"bezahlt", "offen"}, "Bestellstatus": {"bezahlt", "storniert"}, "Ticketstatus": {"gültig", "storniert"}, "Betaalstatus": {"betaald", "open"},
		"Paymentstatus": {"done", "open"}, "Betaald": {"ja", "nee"}, "Gesperrt": {"Nein", "Ja"}, "Warteliste": {"Nein", "Ja"}, "Ungültig": {"Nein", "Ja"}, "Erstattet": {"Nein", "Ja"},
		"Remboursé": {"non", "oui"}, "Liste d'attente": {"non", "oui"}, "Lista d'attesa": {"no", "sì"}, "Zahlungseingang": {"01.10.2026", ""},
		"Sit.": {"P", "C"}, "St": {"P", "C"}, "Réglé": {"oui", "non"}, "NF": {"12", ""}, "Nota fiscal": {"12", ""}, "Reserva": {"Não", "Sim"}, "Inscrito": {"Sim", "Não"},
		"Fila": {"", "1"}, "Transferido para": {"", "Beto"}, "Trocado por": {"", "X1"}, "Substituído por": {"", "X1"}, "Replaced by": {"", "X1"}, "Duplicado": {"", "sim"},
		"Sinal": {"50", ""}, "Comprov.": {"ok", ""}, "Check #": {"101", ""}, "Seña": {"100", ""}, "Transferencia": {"ok", ""},
		"Betrag": {"50,00", ""}, "Eingang": {"1.10.2026", ""}, "Überweisung": {"ok", ""}, "Anmeldung": {"bestätigt", "abgesagt"}, "Stand": {"fest", "Warteliste"},
		"Wpłata": {"50", ""}, "Opłata": {"50", ""}, "Data wpłaty": {"1.10.2026", ""}, "Przelew": {"tak", "brak"}, "Płatność": {"gotówka", "brak"}, "Lista": {"główna", "rezerwowa"},
		"Observação": {"", "não deixar entrar"}, "Notes": {"", "do not admit"}, "Obs.": {"", "pix não caiu"}, "Alerta": {"", "Não liberar"},
		"Test order": {"No", "Yes"}, "testmode": {"false", "true"}, "Livemode": {"true", "false"}, "Mode": {"live", "test"}, "Ambiente": {"produção", "teste"}, "Teste": {"", "x"}, "Remark": {"", "TEST ORDER"},
		"Order": {"1001", "1002 CANCELLED"}, "Pedido": {"1001", "1002 (não pago)"}, "Telefone": {"11999990001", "não pagou"},
	} {
		s := congregation(t)
		file := "code;name;" + title + "\nKX7A1;Ana;" + cell[0] + "\nKX7A2;Bia;" + cell[1] + "\nKX7A3;Caio;" + cell[0] + "\n"
		_, err := load.Import(context.Background(), s, auth.Operator(), load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader(file)}, nil)
		if err != nil && !errors.Is(err, load.ErrSource) {
			t.Errorf("%s: error = %v, want a question", title, err)
		}
		for _, one := range tickets(t, s) {
			if one["code"] == "KX7A2" && one["state"] == "valid" {
				t.Errorf("%s: %q comes in", title, cell[1])
			}
		}
	}
}

// TestSomeColumnsDecideBesideAState: a good column of states does not answer for what another one says.
func TestSomeColumnsDecideBesideAState(t *testing.T) {
	for _, title := range []string{"Inválido", "Invalid", "Invalidado", "Inactivo", "Anulación", "Baja", "Impago", "Moroso", "Excedente", "Na fila"} {
		s := congregation(t)
		file := "code;name;Status;" + title + "\nKX7A1;Ana;pago;Não\nKX7A2;Bia;pago;Sim\n"
		_, err := load.Import(context.Background(), s, auth.Operator(), load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader(file)}, nil)
		if !errors.Is(err, load.ErrSource) || len(tickets(t, s)) != 0 {
			t.Errorf("%s: error = %v, want a question", title, err)
		}
	}
}

// TestARemarkInAKnownExportRefusesItsRow, and no other row. --ignore of the column lets it in.
func TestARemarkInAKnownExportRefusesItsRow(t *testing.T) {
	remarks := []string{"", "cancelled by phone", "", "desistiu, devolver o dinheiro", "não pagou", "", ""}
	for system, c := range map[string]struct{ column, head, row string }{
		"pretix-checkin":   {"Comment", "Order code;Attendee name;Product;Paid;Secret;Comment\n", "A%[1]d;Ana;Adulto;Yes;secret0000000000000000000000000%[1]d;%[2]s\n"},
		"pretix-positions": {"Order comment", "Order code;Attendee name;Product;Status;Ticket secret;Order comment\n", "A%[1]d;Ana;Adulto;paid;secret0000000000000000000000000%[1]d;%[2]s\n"},
		"sympla":           {"Observação interna", "Nº ingresso;Nome;Tipo de ingresso;Nº pedido;Estado de pagamento;Observação interna\n", "ABCDEFGHIJ%[1]d;Ana;Inteira;P%[1]d;Aprovado;%[2]s\n"},
		"eventbrite":       {"Notes", "Order #;Attendee #;Ticket Type;Barcode #;Attendee Status;Notes\n", "P%[1]d;%[1]d;GA;1001100110011001%[1]d;Attending;%[2]s\n"},
	} {
		file := c.head
		for i, remark := range remarks {
			file += fmt.Sprintf(c.row, i, remark)
		}
		s := congregation(t)
		rep := mustImport(t, s, load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader(file)})
		if rep.Source != system || rep.Created != 4 || len(rep.Rejected) != 3 || len(tickets(t, s)) != 4 {
			t.Errorf("%s: %+v, want three rows refused", system, rep)
		}
		for _, r := range rep.Rejected {
			if r.Column != c.column || !strings.Contains(r.Reason, "a remark may say that the ticket is cancelled") {
				t.Errorf("%s: refused %+v, want it for its remark", system, r)
			}
		}
		rep = mustImport(t, s, load.Source{Kind: "ticket", Event: 7, Ignore: []string{c.column}, Reader: strings.NewReader(file)})
		if rep.Created != 3 || rep.Unchanged != 4 {
			t.Errorf("%s with --ignore: %+v, want the other three created", system, rep)
		}
	}
}

// numbered makes rows, each with a code of its own in front.
func numbered(n int, row func(i int) string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "KX7%06d;%s\n", i, row(i))
	}
	return b.String()
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

// TestTheFirstRowOfAnOrderSpeaksForTheOthers: an export may say of an order in its first row alone that it is cancelled, or not paid. A further row
// of it with a blank cell is refused.
func TestTheFirstRowOfAnOrderSpeaksForTheOthers(t *testing.T) {
	head := func(title string) string { return "Pedido;" + title + ";Código\n" }
	importsStates(t, map[string]stateCase{
		"a tick, and no order behind it": {head("Cancelado") + "P1;;KX7A1\n;;KX7A2\nP2;x;KX7A3\n;;KX7A4\nP3;;KX7A5\n", states(3, 0, 0, 1), 1},
		"the order in each row":          {head("Cancelado em") + "P1;;KX7A1\nP1;;KX7A2\nP2;13/10/2026;KX7A3\nP2;;KX7A4\nP2;;KX7A5\n", states(2, 0, 0, 1), 2},
		"an amount that is owed, or n/a": {head("Saldo devedor") + "P1;0;KX7A1\nP1;n/a;KX7A2\nP2;50;KX7A3\nP2;n/a;KX7A4\nP3;50;KX7A5\nP3;não;KX7A6\n", states(3, 2, 0, 0), 1},
		"an amount that is owed":         {head("Saldo devedor") + "P1;0;KX7A1\nP1;;KX7A2\nP2;50;KX7A3\nP2;;KX7A4\n", states(2, 1, 0, 0), 1},
		"a first row without a code":     {head("Cancelado") + "P1;x;\nP1;;KX7A1\nP2;;\nP2;;KX7A2\n", states(1, 0, 0, 0), 3},
		"each row says it":               {head("Cancelado") + "P1;sim;KX7A1\nP1;não;KX7A2\nP2;não;KX7A3\n", states(2, 0, 0, 1), 0},
		"a later row":                    {head("Cancelado") + "P1;;KX7A1\nP1;x;KX7A2\nP1;;KX7A3\n", states(2, 0, 0, 1), 0},
		"rows that lie apart":            {head("Cancelado") + "P1;x;KX7A1\nP2;;KX7A2\nP1;;KX7A3\nP2;;KX7A4\n", states(2, 0, 0, 1), 1},
		"a first row that is refused":    {head("Cancelado") + "P1;x;KX7A1;over\nP1;;KX7A2\nP2;;KX7A3\nP3;x;KX7A4\n", states(1, 0, 0, 1), 2},
		"a word that is not known":       {head("Cancelado") + "P1;parte;KX7A1\nP1;;KX7A2\nP2;x;KX7A3\nP3;;KX7A4\n", states(1, 0, 0, 1), 2},
		"the only tick, in a torn row":   {head("Cancelado") + "P1;x;KX7A1;over\nP1;;KX7A2\n;;KX7A3\nP2;;KX7A4\n", states(1, 0, 0, 0), 3},
		"a torn row, and its order":      {"Nome;" + head("Cancelado") + "Souza; Ana;P1;x;KX7A1\nBia;P2;;KX7A2\nCaio;P1;;KX7A3\n", states(1, 0, 0, 0), 2},
		"a quote that tears a row":       {head("Cancelado") + "\"P\"1;x;KX7A1\nP2;;KX7A2\n\"P3;x;KX7A3\nP3;;KX7A4\n", states(1, 0, 0, 0), 3},
		"bytes that are no text":         {head("Cancelado") + "P1;;KX7A1;\nPé;x;KX7A2\xff\nPé;;KX7A3\n", states(1, 0, 0, 0), 2},
		"a row of more than a line":      {head("Cancelado") + "P1;x;" + strings.Repeat("K", 1<<20) + "\nP1;;KX7A2\nP2;;KX7A3\nP1;;KX7A4\n", states(1, 0, 0, 0), 3},
		"a torn row of states in each":   {head("Status") + "P1;cancelado;KX7A1;over\nP1;pago;KX7A2\n", states(1, 0, 0, 0), 1},
		"an order in other capitals":     {head("Cancelado") + "A-17;x;KX7A1\na-17;;KX7A2\n", states(0, 0, 0, 1), 1},
		"a code of a torn row":           {"Código;Status\n" + "KX7A1;cancelado;over\nKX7A1;pago\nKX7A2;pago\n", states(1, 0, 0, 0), 2},
		"a torn line of totals":          {"Pedido;Código;Status;Obs.\n1;KX7A1;pago;\n2;KX7A2;pago;\nTotal;2\n", states(2, 0, 0, 0), 1},
		"a torn subtotal":                {head("Cancelado") + "P1;;KX7A1\nSubtotal;1\n;;KX7A2\nP2;x;KX7A3\n", states(2, 0, 0, 1), 1},
		"a code like a torn total":       {"Código;Nome;Mesa\n1;Ana;1\n2;Bia;1\nTotal;2\n", states(2, 0, 0, 0), 1},
	})
	s := congregation(t)
	src := load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader(head("Cancelado") + "P1;x;KX7A1\nP1;;KX7A2\n")}
	rep := mustImport(t, s, src)
	want := []load.Rejection{{Line: 3, Column: "Cancelado", Reason: "blank, and line 2, the first of its order, says that it does not get in; " +
		"say it in each row, or --states '=valid' if a blank cell means that its ticket gets in"}}
	if diff := cmp.Diff(want, rep.Rejected); diff != "" {
		t.Errorf("rejections differ (-want +got):\n%s", diff)
	}
	src.Reader, src.States = strings.NewReader(head("Cancelado")+"P1;x;KX7A1\nP1;;KX7A2\n"), map[string]string{"": "valid"}
	if rep := mustImport(t, s, src); rep.Created != 1 || rep.Unchanged != 1 {
		t.Errorf("with --states: %+v, want the other one created", rep)
	}
	s = congregation(t)
	rep = mustImport(t, s, load.Source{Kind: "ticket", Event: 7, OnlyTypes: []string{"Adulto"}, Reader: strings.NewReader("Pedido;Cancelado;Tipo;Código\n" +
		"P1;x;Camiseta;KX7A1\nP1;;Adulto;KX7A2\nP2;;Adulto;KX7A3\n")})
	if rep.Created != 1 || len(rep.Rejected) != 1 || rep.Rejected[0].Line != 3 || rep.LeftOut != 1 {
		t.Errorf("after a row that is left out: %+v, want line 3 refused", rep)
	}
}

// TestACodeWithAndWithoutANoteIsRefused: one row sells a ticket, and another one of the same code says in its name that it was cancelled.
func TestACodeWithAndWithoutANoteIsRefused(t *testing.T) {
	importsStates(t, map[string]stateCase{
		"the note behind":  {"Código;Nome\n" + "KX7A1;Ana\nKX7A2;Bia\nKX7A2;Bia (cancelada)\nKX7A3;Caio\n", states(2, 0, 0, 0), 2},
		"the note before":  {"Código;Nome;Status\n" + "KX7A1;Ana;pago\nKX7A2;Bia (cancelada);pago\nKX7A2;Bia;pago\nKX7A3;Caio;pago\n", states(2, 0, 0, 0), 2},
		"in lines of JSON": {`{"kind":"ticket","code":"KX7A1","holder_name":"Ana"}` + "\n" + `{"kind":"ticket","code":"KX7A2","holder_name":"Bia (cancelada)"}`, states(1, 0, 0, 0), 1},
		"with its own state": {`{"kind":"ticket","code":"KX7A1","holder_name":"Ana"}` + "\n" + `{"kind":"ticket","code":"KX7A2","holder_name":"Bia (cancelada)","state":"cancelled"}`,
			states(1, 0, 0, 1), 0},
	})
}

// TestALineWithoutAStateIsRefused among lines that say valid: no blank cell gets in either. A line that names its record leaves the state as it is.
func TestALineWithoutAStateIsRefused(t *testing.T) {
	line := func(members string) string { return `{"kind":"ticket","event_id":7,` + members + "}\n" }
	file := line(`"code":"KX7A1"`) + line(`"code":"KX7A2","state":"Pago"`) + line(`"code":"KX7A3","state":null`)
	importsStates(t, map[string]stateCase{
		"one says it":     {file, states(1, 0, 0, 0), 2},
		"an empty word":   {line(`"code":"KX7A1","state":""`) + line(`"code":"KX7A2","state":"paid"`), states(1, 0, 0, 0), 1},
		"out by one line": {line(`"code":"KX7A1"`) + line(`"code":"KX7A2","state":"cancelled"`), states(1, 0, 0, 1), 0},
		"none says it":    {line(`"code":"KX7A1"`) + line(`"code":"KX7A2"`), states(2, 0, 0, 0), 0},
		"one is unpaid":   {line(`"code":"KX7A1"`) + line(`"code":"KX7A2","state":"unpaid"`), states(1, 1, 0, 0), 0},
		"one is refunded": {line(`"code":"KX7A1"`) + line(`"code":"KX7A2","state":"estornado"`) + line(`"code":"KX7A3","state":"cancelled"`), map[string]int{"valid": 1, "refunded": 1, "cancelled": 1}, 0},
	})
	s := congregation(t)
	rep := mustImport(t, s, load.Source{Kind: "ticket", States: map[string]string{"": "blocked"}, Reader: strings.NewReader(file)})
	if rep.Created != 2 || tickets(t, s)[0]["state"] != "blocked" {
		t.Errorf("with --states: %+v and %v, want the first one blocked", rep, tickets(t, s))
	}
	rep = mustImport(t, s, load.Source{Kind: "ticket", Reader: strings.NewReader(line(`"id":1,"holder_name":"Ana"`) + line(`"code":"KX7A2","state":"valid"`))})
	if rep.Updated != 1 || rep.Unchanged != 1 || tickets(t, s)[0]["state"] != "blocked" {
		t.Errorf("with an id: %+v and %v, want the first one as it was", rep, tickets(t, s))
	}
}

// TestALineWithoutAStateIsTold: a file that names a state for tickets alone that do not get in lets the others in, and a note tells how many.
func TestALineWithoutAStateIsTold(t *testing.T) {
	const file = `{"kind":"ticket","event_id":7,"code":"KX7A1"}` + "\n" + `{"kind":"ticket","event_id":7,"code":"KX7A2","state":"cancelled"}` + "\n"
	for states, want := range map[string]string{"": "1 line says no state and may be taken as valid", "valid": ""} {
		src := load.Source{Kind: "ticket", Reader: strings.NewReader(file)}
		if states != "" {
			src.States = map[string]string{"": states}
		}
		said := strings.Join(mustImport(t, congregation(t), src).Warnings, "\n")
		if strings.Contains(said, "says no state") != (want != "") || !strings.Contains(said, want) {
			t.Errorf("--states '=%s': notes are %q, want %q", states, said, want)
		}
	}
}

// TestTwoLinesOfACodeAreCompared: of a code that one line sells and another one keeps out neither line comes in, whichever is the first.
func TestTwoLinesOfACodeAreCompared(t *testing.T) {
	const sold, other = `"code":"KX7A1","state":"valid"`, `"code":"KX7A2","state":"valid"`
	for name, second := range map[string]string{
		"cancelled": `"code":"KX7A1","state":"cancelado"`, "another form": `"code":"kx7-a1","state":"refunded"`, "no known word": `"code":"KX7A1","state":"levitando"`,
		"no state": `"code":"KX7A1"`, "a note": `"code":"KX7A1","holder_name":"Ana (cancelada)"`,
	} {
		for _, lines := range [][]string{{sold, second, other}, {second, other, sold}} {
			s := congregation(t)
			file := `{"kind":"ticket","event_id":7,` + strings.Join(lines, "}\n"+`{"kind":"ticket","event_id":7,`) + "}\n"
			rep := mustImport(t, s, load.Source{Kind: "ticket", Reader: strings.NewReader(file)})
			if got := tickets(t, s); len(got) != 1 || got[0]["code"] != "KX7A2" || len(rep.Rejected) != 2 {
				t.Errorf("%s: tickets = %v and %+v, want KX7A2 alone", name, got, rep.Rejected)
			}
		}
	}
}

// TestACodeInTwoFormsIsOneCode: capitals, spaces and hyphens make no other code, so a code of two states is refused in each of its forms.
func TestACodeInTwoFormsIsOneCode(t *testing.T) {
	for _, other := range []string{"kx7a1", "KX7-A1", "KX7 A1", "ＫＸ７Ａ１"} {
		s := congregation(t)
		mustImport(t, s, load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader("Código;Nome;Status\n" +
			"KX7A1;Ana;pago\nKX7A2;Bia;pago\n" + other + ";Ana;reembolsado\n")})
		if got := tickets(t, s); len(got) != 1 || got[0]["code"] != "KX7A2" {
			t.Errorf("KX7A1 and %s: tickets = %v, want KX7A2 alone", other, got)
		}
	}
}

// TestACodeInAnotherFormIsNoFurtherTicket: a later list that writes the codes in another form would leave a cancelled guest a valid ticket, and
// let a guest in twice.
func TestACodeInAnotherFormIsNoFurtherTicket(t *testing.T) {
	for _, forms := range [][2]string{{"K7QP2M9D4RSX1ABC", "k7qp2m9d4rsx1abc"}, {"K7QP-2M9D-4RSX-1ABC", "K7QP2M9D4RSX1ABC"}, {"k7qp2m9d4rsx1abc", "K7qp2m9d4rsx1abc"}} {
		s := congregation(t)
		mustImport(t, s, load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader("Código;Status\n" + forms[0] + ";pago\n")})
		rep := mustImport(t, s, load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader("Código;Status\n" + forms[1] + ";cancelado\n")})
		if len(rep.Rejected) != 1 || !strings.Contains(rep.Rejected[0].Reason, "in other capitals, spaces or hyphens") || len(tickets(t, s)) != 1 {
			t.Errorf("%s: %+v, want it refused", forms, rep)
		}
	}
	importsStates(t, map[string]stateCase{"short codes": {"Código;Status\naB3x;pago\nAb3X;pago\nKX7A1;pago\nKX7A2;pago\n", states(4, 0, 0, 0), 0}})
}

// TestACodeWithoutItsZerosIsNoFurtherTicket: a spreadsheet cuts the zeros off a code of digits, and a program writes it with decimals. A later list
// of such codes would leave a cancelled guest a valid ticket.
func TestACodeWithoutItsZerosIsNoFurtherTicket(t *testing.T) {
	for _, forms := range [][2]string{{"00123456", "123456"}, {"123456", "00123456"}, {"0012345678901", "12345678901"}, {"000123", "123"}, {"12345678", "12345678.0"}, {"12345678", "12345678,0"}} {
		s := congregation(t)
		mustImport(t, s, load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader("Código;Status\n" + forms[0] + ";pago\n")})
		rep := mustImport(t, s, load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader("Código;Status\n" + forms[1] + ";cancelado\n")})
		if len(rep.Rejected) != 1 || len(tickets(t, s)) != 1 {
			t.Errorf("%s: %+v, want it refused", forms, rep)
		}
		both := "Código;Status\n" + forms[0] + ";pago\nKX7A2;pago\n" + forms[1] + ";reembolsado\n"
		if rep := mustImport(t, congregation(t), load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader(both)}); rep.Created != 1 {
			t.Errorf("%s in one list: %+v, want both refused", forms, rep)
		}
	}
	importsStates(t, map[string]stateCase{"codes of their own": {"Código;Status\n001;pago\n2;pago\n12345678;pago\n87654321;pago\n00000000;pago\n", states(5, 0, 0, 0), 0}})
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

// TestAnUndoStandsAgainstTheFile: a file that tells again, by whatever key, what staff have undone since checks no guest in. What it tells of a
// moment after the undo is another check-in.
func TestAnUndoStandsAgainstTheFile(t *testing.T) {
	s := congregation(t)
	admin := kvtest.Login(t, s, "denomination", "*:*")
	told := func(p auth.Principal, at string) load.Report {
		t.Helper()
		src := load.Source{Kind: "ticket", Event: 7, Checkins: true, Reader: strings.NewReader("Code;Checked in\nKX7A;" + at + "\nKX7B;" + at + "\n")}
		rep, err := load.Import(context.Background(), s, p, src, nil)
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	admitted := func() map[outcome.Outcome]int {
		t.Helper()
		st, err := s.Door.Status(auth.Operator(), 7)
		if err != nil {
			t.Fatal(err)
		}
		return st.Outcomes
	}
	const before = "2025-12-11 19:30"
	if rep := told(auth.Operator(), before); rep.Admitted != 2 {
		t.Fatalf("%+v, want two checked in", rep)
	}
	st, err := s.Door.Status(auth.Operator(), 7)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Door.Undo(auth.Operator(), door.Undoing{Event: 7, CheckinID: st.Recent[0].ID}); err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]auth.Principal{"the same key": auth.Operator(), "another key": admin} {
		for _, at := range []string{before, "2025-12-11 19:45", "yes"} {
			rep := told(p, at)
			said := strings.Join(rep.Warnings, "\n")
			if rep.Admitted != 0 || rep.Unchanged != 2 || !strings.Contains(said, "1 ticket was used already, as the file says; what was undone here stays undone") {
				t.Errorf("%s, %s: %+v, want none checked in, and one that stays undone", name, at, rep)
			}
			if got := admitted(); got[outcome.Admitted] != 1 || got[outcome.Undone] != 1 || got[outcome.AlreadyAdmitted] != 0 {
				t.Errorf("%s, %s: %v, want one admitted and one undone", name, at, got)
			}
		}
	}
	after := today.Add(time.Hour).Format("2006-01-02 15:04")
	if rep := told(admin, after); rep.Admitted != 1 || admitted()[outcome.Admitted] != 2 {
		t.Errorf("%+v, want the one checked in that came after the undo", rep)
	}
	if rep := told(admin, before); rep.Admitted != 0 || strings.Contains(strings.Join(rep.Warnings, "\n"), "undone") {
		t.Errorf("%+v, want the answers of before", rep)
	}
}

// TestAnUndoStandsWhicheverCheckInItTookBack: that of a file whose moments lie ahead of the clock, or that of a door which came before the file.
func TestAnUndoStandsWhicheverCheckInItTookBack(t *testing.T) {
	now := today
	for name, c := range map[string]struct {
		at   time.Time
		door string // where the guest came in before the file told it; "" = nowhere
	}{
		"a moment ahead": {at: now.Add(2 * time.Hour)},
		"a door":         {at: now.Add(-time.Hour), door: "north"},
	} {
		t.Run(name, func(t *testing.T) {
			s := congregation(t)
			src := load.Source{Kind: "ticket", Event: 7}
			told := func(checkins bool) load.Report {
				t.Helper()
				src.Checkins, src.Reader = checkins, strings.NewReader("Code;Checked in\nKX7A;"+c.at.Format("2006-01-02 15:04")+"\n")
				return mustImport(t, s, src)
			}
			told(false)
			if c.door == "" {
				told(true)
			}
			in, err := s.Door.CheckIn(auth.Operator(), door.Attempt{Event: 7, Code: "KX7A", Door: c.door})
			if err != nil {
				t.Fatal(err)
			}
			told(true)
			if _, err := s.Door.Undo(auth.Operator(), door.Undoing{Event: 7, CheckinID: in.CheckinID}); err != nil {
				t.Fatal(err)
			}
			if rep := told(true); rep.Admitted != 0 {
				t.Errorf("%+v, want none checked in", rep)
			}
			if st, err := s.Door.Status(auth.Operator(), 7); err != nil || st.Outcomes[outcome.Admitted] != 0 {
				t.Errorf("%v, %v, want none admitted", st.Outcomes, err)
			}
		})
	}
}

// TestAFileTellsEachDayOfAnEvent: at an event that admits a ticket once each day, the next day's file checks it in for that day, and the same file again
// for none. An undo of today does not stand against another day.
func TestAFileTellsEachDayOfAnEvent(t *testing.T) {
	s := congregation(t)
	mustImport(t, s, load.Source{Reader: strings.NewReader(`{"kind":"event","id":9,"name":"Retiro","start_datetime":"2025-12-11T19:30:00Z","list_rule":"daily"}` + "\n")})
	mustImport(t, s, load.Source{Kind: "ticket", Event: 9, Reader: strings.NewReader("Code\nKX7A\n")})
	today, err := s.Door.CheckIn(auth.Operator(), door.Attempt{Event: 9, Code: "KX7A", Door: "north"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Door.Undo(auth.Operator(), door.Undoing{Event: 9, CheckinID: today.CheckinID}); err != nil {
		t.Fatal(err)
	}
	for _, day := range []struct {
		at   string
		want int
	}{{"2025-12-11 19:30", 1}, {"2025-12-12 19:40", 1}, {"2025-12-12 19:40", 0}} {
		src := load.Source{Kind: "ticket", Event: 9, Checkins: true, Reader: strings.NewReader("Code;Checked in\nKX7A;" + day.at + "\n")}
		if rep := mustImport(t, s, src); rep.Admitted != day.want {
			t.Errorf("%s: %d checked in, want %d", day.at, rep.Admitted, day.want)
		}
	}
}

// TestAFileIsToldAgainOnAnotherDay: at an event that admits a ticket once each day, a line is the same entry on the next day too, where its moment lay ahead
// of the clock over midnight, or where it has none and its check-in was undone.
func TestAFileIsToldAgainOnAnotherDay(t *testing.T) {
	clock := kvtest.NewClock(time.Date(2026, 5, 3, 23, 15, 0, 0, time.UTC))
	s, err := kv.Open(kv.Config{Dir: t.TempDir(), Clock: clock.Now, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	mustImport(t, s, load.Source{Reader: strings.NewReader(`{"kind":"event","id":9,"name":"Retiro","start_datetime":"2026-05-03T19:30:00Z","list_rule":"daily"}` + "\n")})
	told := func(line string) int {
		t.Helper()
		return mustImport(t, s, load.Source{Kind: "ticket", Event: 9, Checkins: true, Reader: strings.NewReader("Code;Checked in\n" + line + "\n")}).Admitted
	}
	const ahead, bare = "KX7A;2026-05-04 00:10", "KX7B;yes"
	if n := told(ahead) + told(bare); n != 2 {
		t.Fatalf("%d checked in, want 2", n)
	}
	st, err := s.Door.Status(auth.Operator(), 9)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Door.Undo(auth.Operator(), door.Undoing{Event: 9, CheckinID: st.Recent[0].ID}); err != nil {
		t.Fatal(err)
	}
	clock.Move(9 * time.Hour)
	for _, line := range []string{ahead, bare} {
		if n := told(line); n != 0 {
			t.Errorf("%s: %d checked in on the next day, want 0", line, n)
		}
	}
}

// TestAHeadingOverRowsMayDecide: where no column says a state, a line that says it of what stands below stops the import.
func TestAHeadingOverRowsMayDecide(t *testing.T) {
	for name, file := range map[string]string{
		"between the rows": "Código;Nome;Mesa\n" + rowsOf("Ana;1", "Bia;2") + "LISTA DE ESPERA;;\nKX9A;Caio;3\n",
		"above the header": "Ingressos cancelados;;\nCódigo;Nome;Mesa\n" + rowsOf("Ana;1", "Bia;2"),
		"over two columns": "Inscrição;;Pagamento;\nCódigo;Nome;Data;Banco\n" + rowsOf("Ana;10/10/2026;Itaú", "Bia;;"),
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

// TestALineBetweenTheRowsMayDecide: it is the only words of its row, whatever number stands beside it, in any of the words for states. It
// stops the import where no column says a state, or where the columns let in a row below it.
func TestALineBetweenTheRowsMayDecide(t *testing.T) {
	const head, state = "Código;Nome;Mesa\n", "Código;Nome;Status\n"
	two, last := rowsOf("Ana;1", "Bia;2"), "KX9A;Caio;3\n"
	paid, lastPaid := rowsOf("Ana;pago", "Bia;pago"), "KX9A;Caio;pago\n"
	for name, file := range map[string]string{
		"a state of many":             head + two + "Expirados;;\n" + last,
		"payments that are awaited":   head + two + "AGUARDANDO PAGAMENTO;;\n" + last,
		"a line without separators":   head + two + "LISTA DE ESPERA\n" + last,
		"in another column":           head + two + ";Não pagos (1);\n" + last,
		"how many":                    head + two + "Cancelados;1;\n" + last,
		"the number of a row":         "Nº;Nome;Código\n1;Ana;KX7A\n2;LISTA DE ESPERA;\n3;Caio;KX9A\n",
		"it where the code is":        head + two + "3;LISTA DE ESPERA;\n" + last,
		"the titles once more":        head + two + "Reservas;Nome;Mesa\n" + last,
		"after those that get in":     head + "PAGOS;;\n" + two + "PENDENTES;;\n" + last,
		"a state beside it":           state + paid + "DESISTENTES;;\n" + lastPaid,
		"another day":                 head + two + "DOMINGO;;\n" + last,
		"a date":                      head + two + "Dia 06/12;;\n" + last,
		"what is pending":             head + two + "Pendências;;\n" + last,
		"a second list":               head + two + "Lista B;;\n" + last,
		"a second list, in English":   head + two + ";Second list;\n" + last,
		"a further call":              head + two + "2ª chamada;;\n" + last,
		"a further call, in words":    "Nome;Código\nAna;KX7A\nSegunda chamada;\nCaio;KX9A\n",
		"those who stand in":          head + two + "Suplentes;;\n" + last,
		"a column of what is blocked": "Código;Nome;Bloqueado\n" + rowsOf("Ana;não") + "NÃO PAGOS;;\nKX9A;Caio;não\n",
	} {
		s := congregation(t)
		_, err := load.Import(context.Background(), s, auth.Operator(), load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader(file)}, nil)
		if !errors.Is(err, load.ErrSource) || !strings.Contains(err.Error(), "says “") || len(tickets(t, s)) != 0 {
			t.Errorf("%s: error = %v, want a question about the line", name, err)
		}
	}
	importsStates(t, map[string]stateCase{
		"a state beside each row": {state + "CONFIRMADOS;;\n" + paid + "PENDENTES;;\nKX9A;Caio;pendente\nPAGOS;;\nKX9B;Davi;pago\n", states(3, 1, 0, 0), 3},
		"a number at the end":     {state + paid + "Cancelados: 0;;\n", states(2, 0, 0, 0), 1},
		"an event on another day": {"Evento transferido para 12/12;;\n" + head + two, states(2, 0, 0, 0), 0},
		"those that get in":       {head + "CONFIRMADOS;;\n" + two, states(2, 0, 0, 0), 1},
		"the first list":          {head + "Lista A;;\n" + two + "1ª chamada;;\n" + last, states(3, 0, 0, 0), 2},
		"a table":                 {head + "Mesa de honra;Eva;1\n" + two, states(3, 0, 0, 0), 0},
		"words for a code":        {head + two + "CANCELADO;Eva;3\n" + last, states(3, 0, 0, 0), 1},
		"a word for a code":       {head + two + "Palco;;\n" + last, states(3, 0, 0, 0), 1},
		"a guest without a code":  {"Nº;Nome;Código\n1;Ana;KX7A\n2;Domingo Sá;\n3;Caio;KX9A\n", states(2, 0, 0, 0), 1},
		"totals of two columns":   {"Código;Nome;Qtd;Valor\nKX7A;Ana;1;50\nKX8A;Bia;1;50\nTotal geral;;2;100\nSoma;;2;100\n", states(2, 0, 0, 0), 2},
		"words of no state":       {head + two + "MESA 4;;\n;Equipe de apoio;\nAmigos da banda;;\n" + last, states(3, 0, 0, 0), 3},
		"codes with blanks":       {head + two + "KX9 A1;;\n", states(3, 0, 0, 0), 0},
		"a guest by that name":    {head + two + "KX9Z;Reserva;3\n", states(3, 0, 0, 0), 0},
	})
}

// TestAListThatIsNotOneStops: its rows are laid out in more than one way, and some would be left out or read under other titles.
func TestAListThatIsNotOneStops(t *testing.T) {
	const a, b, c = "KX7QP2M9D4RSX1", "KX7QP2M9D4RSX2", "KX7QP2M9D4RSX3"
	people := "Ana Souza;ana@example.org;11 91234-5678\nNome;E-mail;Telefone\nBia Lima;bia@example.org;11 91234-5679\n"
	for name, one := range map[string]struct{ kind, file, want string }{
		"sorted with its header":   {"ticket", a + ";Ana;pago\n" + b + ";Bia;cancelado\nCódigo;Nome;Status\n" + c + ";Caio;pago\n", "line 1 stands above the header in line 3"},
		"of two columns":           {"ticket", "Ana;" + a + "\nNome;Código\nBia;" + b + "\n", "line 1 stands above the header in line 2"},
		"people, sorted":           {"person", people, "line 1 stands above the header in line 2"},
		"a list in another order":  {"ticket", "Código;Nome;Mesa\n" + a + ";Ana;1\nNome;Mesa;Código\nBia;2;" + b + "\n", "line 3 is a header again"},
		"a list with other titles": {"ticket", "Código;Nome;Telefone\n" + a + ";Ana;1\nCódigo;Nome;Celular\n" + b + ";Bia;2\n", "line 3 is a header again"},
		"two lists side by side":   {"ticket", "PAGOS;;;LISTA DE ESPERA;\nCódigo;Nome;;Código;Nome\n" + a + ";Ana;;" + b + ";Bia\n;;;" + c + ";Caio\n", "line 3 has two codes, in “Código#1” and “Código#2”"},
	} {
		s := congregation(t)
		src := load.Source{Kind: one.kind, Reader: strings.NewReader(one.file)}
		if one.kind == "ticket" {
			src.Event = 7
		}
		_, err := load.Import(context.Background(), s, auth.Operator(), src, nil)
		if !errors.Is(err, load.ErrSource) || !strings.Contains(err.Error(), one.want) || len(tickets(t, s)) != 0 || count(t, s, record.Person) != 1 {
			t.Errorf("%s: error = %v, want one that says %q", name, err, one.want)
		}
	}
	importsStates(t, map[string]stateCase{
		"lines above the header":    {"Evento;Festa;;\nGerado em;01/12/2026;19:30;\nVendidos;120;Valor;1200\n\nCódigo;Nome;Mesa;Valor\n" + rowsOf("Ana;1;50"), states(1, 0, 0, 0), 0},
		"a year above two columns":  {"Ano;2026\nNome;Código\nAna;" + a + "\n", states(1, 0, 0, 0), 0},
		"titles over groups":        {"Ingresso;;Contato\nCódigo;Nome;Telefone\n" + a + ";Ana;1\n", states(1, 0, 0, 0), 0},
		"the same code twice":       {"Código;Nome;Código\n" + a + ";Ana;" + a + "\n" + b + ";Bia;\n;Caio;" + c + "\n", states(3, 0, 0, 0), 0},
		"a guest of a title's name": {"Código;Nome;Mesa\n" + a + ";Mesa;1\n", states(1, 0, 0, 0), 0},
	})
}

// TestAMergedLineBetweenTheRowsStops: a workbook has it over all columns.
func TestAMergedLineBetweenTheRowsStops(t *testing.T) {
	f, err := excelize.OpenReader(book(t, false, [][]any{{"Código", "Nome"}, {"KX7A", "Ana"}, {"LISTA DE ESPERA"}, {"KX9A", "Caio"}}))
	if err != nil {
		t.Fatal(err)
	}
	var merged bytes.Buffer
	for _, err := range []error{f.MergeCell("Sheet1", "A3", "B3"), f.Write(&merged), f.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s := congregation(t)
	_, err = load.Import(context.Background(), s, auth.Operator(), load.Source{Kind: "ticket", Event: 7, Reader: &merged}, nil)
	if !errors.Is(err, load.ErrSource) || len(tickets(t, s)) != 0 {
		t.Errorf("error = %v, want that the line stops the import", err)
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
	importsStates(t, map[string]stateCase{
		"ticks of who cancelled":     {"Código;Cancelado\n" + rowsOf("", "✓", "-"), states(2, 0, 0, 1), 0},
		"ticks of who is blocked":    {"Código;Bloqueado\n" + rowsOf("não", "✔️", "☐"), states(2, 0, 1, 0), 0},
		"crosses":                    {"Código;Cancelado\n" + rowsOf("não", "✗", "não"), states(2, 0, 0, 0), 1},
		"ticks of who paid":          {"Código;Pago\n" + rowsOf("✅", "☐", "✅"), states(2, 1, 0, 0), 0},
		"sí":                         {"Código;Cancelado\n" + rowsOf("No", "Sí", "No"), states(2, 0, 0, 1), 0},
		"what is still to be paid":   {"Código;A pagar\n" + rowsOf("50,00", "50,00", "0,00"), states(1, 2, 0, 0), 0},
		"a day as a workbook has it": {"Código;Cancelado em\n" + rowsOf("", "46250.5", ""), states(2, 0, 0, 1), 0},
		"names that say it":          {"Código;Nome\n" + rowsOf("Ana (pendente)", "Bia - NÃO PAGO", "Caio (lista de espera)", "Eva - cancelou", "Davi"), states(1, 0, 0, 0), 4},
		"notes behind names": {"Código;Nome\n" + rowsOf("Ana (canc.)", "Bia - pend.", "Caio (espera)", "Davi - aguardando pagamento", "Eva (expirado)", "Fabio ❌", "Gil [não]", "Hugo - a confirmar",
			"Iara (Reis)", "João - Sede", "Ana-Maria Espera", "Lia Pendleton"), states(4, 0, 0, 0), 8},
		"what only sounds like payment":   {"Código;Nome;Cartão SUS;Total de filhos;Precisa de recibo?;Como soube da reserva?;Observação\n" + rowsOf("Ana;898001160660761;2;sim;amigos;deve chegar às 9", "Bia;;;;;", "Caio;898001160660762;1;;site;sem glúten"), states(3, 0, 0, 0), 0},
		"answers and numbers":             {"Código;Nº de confirmação;Precisa de acessibilidade?;Deseja receber novidades?\n" + rowsOf("9381;sim;não", "9382;não;sim", "9383;não;não", "9384;não;não"), states(4, 0, 0, 0), 0},
		"a title with a hidden character": {"Código;Canc\u200belado\n" + rowsOf("não", "sim", "não"), states(2, 0, 0, 1), 0},
		"a code that lost its digits":     {"Código;Status\n1.23457e+12;pago\n1,23457E+12;pago\nKX7A;pago\nKX7B;pago\nKX7C;pago\n", states(3, 0, 0, 0), 2},
		"a Spanish list":                  {"Código secreto del ticket;Código postal;Nombre del asistente;Válido hasta\nKX7A;1000;Ana;31/12/2026\nKX7B;1001;Bea;31/12/2026\n", states(2, 0, 0, 0), 0},
		"prices that are paid":            {"Código;Preço;Valor pago;Recibo;Forma de pagamento\n" + rowsOf("R$ 50,00;50;1;Pix", "R$ 60,00;60;2;Boleto"), states(2, 0, 0, 0), 0},
		"a state beside what is paid":     {"Código;Preço;Valor pago;Parcela;Forma de pagamento;Status\n" + rowsOf("50,00;40,00;1;Pix;pago", "60,00;60,00;;No local;pago"), states(2, 0, 0, 0), 0},
		"a dinner":                        {"Código;Tipo\n" + rowsOf("Jantar individual", "Jantar casal"), states(2, 0, 0, 0), 0},
	})
}
