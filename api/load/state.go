package load

import (
	"slices"
	"strings"

	"doorward/kv/value"
)

// severity orders the states of a ticket: of several that a row says, the last one counts.
var severity = []string{"valid", "unpaid", "blocked", "refunded", "cancelled"}

// stateWords are the words by which people and programs say a ticket's state, in Portuguese, English and Spanish.
var stateWords = alias(
	"valid", "valido|valida|ativo|ativa|active|activo|activa|pago|paga|paid|pagado|pagada|quitado|quitada|confirmado|confirmada|confirmed|"+
		"aprovado|aprovada|approved|aprobado|aprobada|emitido|emitida|issued|ok|complete|completed|completo|concluido|concluida|completado|"+
		"cortesia|gratuito|gratuita|gratis|free|attending|checked in|liberado|liberada|pagamento aprovado|pagamento confirmado|pago aprobado",
	"cancelled", "cancelado|cancelada|canceled|cancelled|cancelacion|anulado|anulada|void|voided|not attending|deleted|transferred|transferido|"+
		"transferida|excluido|excluida|removido|removida|eliminado|eliminada|canceled paid fee|pedido cancelado|inscricao cancelada",
	"refunded", "reembolsado|reembolsada|estornado|estornada|devolvido|devolvida|devuelto|devuelta|refund|refunded|chargeback|charged back|"+
		"pagamento devolvido|pagamento estornado|pagamento reembolsado",
	"unpaid", "pendente|pending|pendiente|aguardando|aguardando pagamento|aguardando aprovacao|nao pago|nao paga|em aberto|awaiting payment|awaiting|"+
		"not paid|unpaid|a pagar|por pagar|no pagado|sin pagar|em analise|in review|under review|en revision|expirado|expirada|expired|vencido|vencida|"+
		"caducado|caducada|recusado|recusada|nao aprovado|nao aprovada|nao autorizado|rejeitado|rejeitada|rechazado|rechazada|refused|declined|rejected|"+
		"failed|inadimplente|atrasado|atrasada|overdue|pending overdue|approval pending|pending approval|pagamento pendente|pago pendiente|"+
		"em disputa|disputed|contestado|contestada|nao confirmado|nao confirmada|unconfirmed|reservado|reservada|reserved|on hold",
	"blocked", "bloqueado|bloqueada|blocked|suspenso|suspensa|suspended|suspendido|inativo|inativa|inactive|inactivo")

// flagTitles are the titles of yes/no columns that say a ticket's state.
var flagTitles = []struct{ state, when, words string }{
	{"cancelled", "true", "cancelado|cancelada|cancelled|canceled|anulado|anulada|cancelado em|cancelled at|canceled at|data de cancelamento|data do cancelamento|cancellation date"},
	{"refunded", "true", "reembolsado|reembolsada|estornado|estornada|refunded|reembolsado em|refunded at|data do reembolso"},
	{"blocked", "true", "bloqueado|bloqueada|blocked"},
	{"unpaid", "false", "pago|paga|paid|pagado|pagada|quitado|quitada"},
}

// decider is a column that decides who gets in.
type decider struct {
	column int
	state  string // what it means when it says so; "" = its cells are states
	when   string // "true", "false" or whenOwed
}

// whenOwed is any amount above zero.
const whenOwed = "an amount"

// decider reads a column of a title that is a flag's as such, any other one as states.
func deciderOf(column int, title string) decider {
	for _, f := range flagTitles {
		if slices.Contains(strings.Split(f.words, "|"), title) {
			return decider{column, f.state, f.when}
		}
	}
	return decider{column: column}
}

// stateOf is the state that a word means, "" where it is not known; own are the words that --states explains.
func stateOf(cell string, own map[string]string) string {
	p := saying(cell)
	if s, ok := own[p]; ok {
		return s
	}
	return stateWords[p]
}

// means is what a cell says of its ticket: the place in severity; not known with -1.
func (d decider) means(cell string, own map[string]string) int {
	p := saying(cell)
	state := stateOf(cell, own)
	if d.when == whenOwed && own[p] == "" {
		return slices.Index(severity, owing(cell))
	}
	if d.state != "" && own[p] == "" {
		switch yes := truthOf(cell); {
		case yes == d.when, d.when == "true" && isDated(cell):
			state = d.state
		case yes != "", p == "" && d.when == "true":
			state = severity[0]
		case isFlagWord(d, p):
			state = d.state
		}
	}
	if state == "" {
		return -1
	}
	return slices.Index(severity, state)
}

// owing is the state of who owes an amount; "" where it is none.
func owing(cell string) string {
	if cell == "" {
		return severity[0]
	}
	switch sign, ok := signOf(cell); {
	case !ok:
		return ""
	case sign > 0:
		return "unpaid"
	}
	return severity[0]
}

// isFlagWord tells a cell that repeats its column's title: “Cancelado” under Cancelado.
func isFlagWord(d decider, word string) bool { return d.when == "true" && stateWords[word] == d.state }

const (
	faultState      = "not a known state; --states 'WORD=valid' says what a word means"
	faultBlankState = "no state; --states '=valid' says what a blank cell means"
)

// state puts a ticket's state into the draft: the strictest that its columns say.
func (t *tableDrafts) state(d *draft, row cells) *Rejection {
	if word, ok := t.cells.states[""]; ok && len(t.ly.deciders) == 0 {
		d.body = appendMember(d.body, nameState, value.Quote(word)) // no column says a state: every cell of it is blank
		return nil
	}
	worst, blank := -1, -1
	for _, by := range t.ly.deciders {
		cell := ""
		if by.column < len(row.texts) {
			cell = clean(row.texts[by.column])
		}
		said := by.means(cell, t.cells.states)
		switch {
		case said >= 0:
			worst = max(worst, said)
		case saying(cell) == "":
			blank = by.column
		case spoiled(cell):
			return &Rejection{row.line, t.ly.column(by.column), "an error value of a spreadsheet"}
		default:
			return &Rejection{row.line, t.ly.column(by.column), faultState}
		}
	}
	if blank >= 0 && worst <= 0 {
		return &Rejection{row.line, t.ly.column(blank), faultBlankState}
	}
	if worst >= 0 {
		d.body = appendMember(d.body, nameState, value.Quote(severity[worst]))
	}
	return nil
}
