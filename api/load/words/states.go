package words

// Severity orders the states of a ticket: of several that a row says, the last one counts.
var Severity = []string{"valid", "unpaid", "blocked", "refunded", "cancelled"}

// StateWords are the words by which people and programs say a ticket's state, in Portuguese, English and Spanish.
var StateWords = alias(
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

// FlagTitles are the titles of yes/no columns that say a ticket's state.
var FlagTitles = []struct{ State, When, Words string }{
	{"cancelled", "true", "cancelado|cancelada|cancelled|canceled|anulado|anulada|cancelado em|cancelled at|canceled at|data de cancelamento|data do cancelamento|cancellation date"},
	{"refunded", "true", "reembolsado|reembolsada|estornado|estornada|refunded|reembolsado em|refunded at|data do reembolso"},
	{"blocked", "true", "bloqueado|bloqueada|blocked"},
	{"unpaid", "false", "pago|paga|paid|pagado|pagada|quitado|quitada"},
}

// StateOf is the state that a word means, "" where it is not known; own are the words that --states explains.
func StateOf(cell string, own map[string]string) string {
	p := Saying(cell)
	if s, ok := own[p]; ok {
		return s
	}
	return StateWords[p]
}
