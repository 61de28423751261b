package words

import (
	"slices"
	"strings"
	"unicode"
)

// Severity orders the states of a ticket: of several that a row says, the last one counts.
var Severity = []string{"valid", "unpaid", "blocked", "refunded", "cancelled"}

// StateWords are the words by which people and programs say a ticket's state, in Portuguese, English and Spanish.
var StateWords = alias(
	"valid", "valido|valida|ativo|ativa|active|activo|activa|pago|paga|paid|pagado|pagada|quitado|quitada|confirmado|confirmada|confirmed|"+
		"aprovado|aprovada|approved|aprobado|aprobada|emitido|emitida|issued|ok|complete|completed|completo|concluido|concluida|completado|"+
		"cortesia|gratuito|gratuita|gratis|free|isento|isenta|attending|checked in|not checked in|liberado|liberada|pagamento aprovado|pagamento confirmado|pago aprobado",
	"cancelled", "cancelado|cancelada|canceled|cancelled|cancelacion|anulado|anulada|void|voided|not attending|deleted|transferred|transferido|"+
		"transferida|excluido|excluida|removido|removida|removed|eliminado|eliminada|canceled paid fee|withdrawn|pedido cancelado|inscricao cancelada",
	"refunded", "reembolsado|reembolsada|reembolso|estornado|estornada|estorno|devolvido|devolvida|devuelto|devuelta|refund|refunded|chargeback|charged back|"+
		"pagamento devolvido|pagamento estornado|pagamento reembolsado",
	"unpaid", "pendente|pending|pendiente|aguardando|aguardando pagamento|aguardando aprovacao|nao pago|nao paga|em aberto|awaiting payment|awaiting|"+
		"not paid|unpaid|a pagar|por pagar|no pagado|sin pagar|em analise|in review|under review|en revision|expirado|expirada|expired|vencido|vencida|"+
		"caducado|caducada|recusado|recusada|nao aprovado|nao aprovada|nao autorizado|rejeitado|rejeitada|rechazado|rechazada|refused|declined|rejected|"+
		"failed|inadimplente|atrasado|atrasada|overdue|pending overdue|approval pending|pending approval|pagamento pendente|pago pendiente|"+
		"em disputa|disputed|contestado|contestada|nao confirmado|nao confirmada|unconfirmed|reservado|reservada|reserved|reserva|reserve|on hold|"+
		"incompleto|incompleta|incomplete|nao efetivado|nao efetivada|nao concluido|nao concluida",
	"blocked", "bloqueado|bloqueada|blocked|suspenso|suspensa|suspended|suspendido|inativo|inativa|inactive|inactivo|test|teste|prueba|sandbox|"+testTitles)

// testTitles say that an order was made to try a shop: nothing was paid.
const testTitles = "testmode|test mode|test order|test ticket|modo teste|modo de teste|pedido teste|pedido de teste|ingresso teste|ingresso de teste|modo de prueba|pedido de prueba"

// FlagTitles are the titles of yes/no columns that say a ticket's state.
var FlagTitles = []struct{ State, When, Words string }{
	{"cancelled", "true", "cancelado|cancelada|cancelled|canceled|anulado|anulada|voided|voided at|cancelado em|cancelled at|canceled at|data de cancelamento|data do cancelamento|cancellation date|void|is void|void status|is cancelled|is canceled"},
	{"refunded", "true", "reembolsado|reembolsada|estornado|estornada|refunded|reembolsado em|refunded at|data do reembolso|is refunded"},
	{"blocked", "true", "bloqueado|bloqueada|blocked|is test|is test order|" + testTitles},
	{"blocked", "false", "livemode|live mode"},
	{"unpaid", "false", "pago|paga|paid|pagado|pagada|quitado|quitada|is paid"},
}

// StateOf is the state that a word means, "" where it is not known; own are the words that --states explains.
func StateOf(cell string, own map[string]string) string {
	p := Saying(cell)
	if s, ok := own[p]; ok {
		return s
	}
	if s := StateWords[p]; s == "" || Refuses(s) || !hasSign(cell) {
		return s
	}
	return "" // pago ❌
}

// Refuses tells a state by which a ticket does not get in.
func Refuses(state string) bool { return state != "" && state != Severity[0] }

// Beginnings of words in titles that speak of admission, and words beside them that show another matter.
var (
	TellingTitles = slices.Concat(payTitles, refundTitles, strings.Fields("status situac estado state quitad quitou quitac bloque block cancel anul "+
		"conferid valid vencid vencim vencto vigen caduc expir aprov approv aprob confirm pending liberad inadimpl autoriz suspen desist recus "+
		"rejeit rechaz reject revog revok negad eliminad removid removed banid penden pendient efetivad compensad recebid abonad cobrad storn annul bezahl "+
		"payed admit credenciad vetad blacklist fraud suspeit contestac apagad atras overdue replac substitu transferid transferred trocad duplic voided deposit cobr "+
		"invalid inactiv inativ impag moros adimpl exceden comprov anulow rezygn potwierdz odwoł płatno "+
		"betaal gesperr wartelist wachtlijst ungultig attente attesa zahlung paiement"))
	tellingWords = strings.Fields("ativo ativa ativado ativada active activo activa enabled habilitado habilitada inativo inativa inactive disabled " +
		"waitlist waitlisted test teste prueba sandbox deleted excluido excluida void permitido permitida proibido proibida allowed denied barrado banned comprovante archived arquivado arquivada " +
		"baixa baixado baixada tesouraria financeiro comprovou pix entra statut stato zustand bezahlt storniert paye annule pagato annullato regle reglee pag pg pgt sit situ stat sts st ok conf rsvp settled cleared received baja transferencia uberweisung przelew")
	debtWords = strings.Fields("aberto devedor debito debitos divida dividas due owed owes owing balance outstanding saldo saldos pendente pendentes adeudado " +
		"deuda deudas faltante falta resta resto restante restam remaining devendo deve devem devido devida cobrar offen")
	debtPhrases    = []string{"a pagar", "a receber", "por pagar", "por cobrar", "to pay", "em atraso", "open amount", "unpaid amount"}
	waitingPhrases = []string{"lista de espera", "fila de espera", "waiting list", "wait list", "em espera"}
	tellingPhrases = slices.Concat(waitingPhrases, []string{"na fila", "em dia", "al dia", "pode entrar", "can enter", "may enter", "lista negra", "perdeu o prazo",
		"reservado ate", "reserva ate", "pagar ate", "reserved until", "hold until", "pay by", "pay until"})
	refundTitles = strings.Fields("refund reembols estorn devol devuel chargeback disput erstatt rembours rimbors")
	mailTitles   = strings.Fields("mail email correo")
	otherMatters = strings.Fields("discount civil marital endereco address direccion fatura invoice billing home work shipping entrega metodo forma meio method provider " +
		"gateway valor total amount taxa fee fees preco price precio currency moeda mail email cupom coupon voucher processing uf natal birth")
	PlaceTitles  = strings.Fields("cidade city ciudad pais country cep zip postal bairro endereco address municipio logradouro rua street")
	dayTitles    = strings.Fields("data date fecha")
	DateTitles   = append(strings.Fields("em at on"), dayTitles...)
	AmountTitles = strings.Fields("valor total amount monto importe preco price precio gross net bruto liquido neto")
	cutTitles    = strings.Fields("desconto descuento discount fee fees taxa taxas tax taxes")
	CountTitles  = strings.Fields("quantidade quantity qtd qtde qty cantidad ingressos tickets convites")
	payTitles    = strings.Fields("pagament pagad pagto pgto pgmt payment pago paga paid bezahl opłac zapłac wpłat")
)

// tellingValues are the beginnings of words in cells that speak of admission.
var tellingValues = strings.Fields("pago paga pagad pagament paid unpaid pend cancel anulad reembols refund estorn devolv devuel bloque block expir aprov approv aprob " +
	"confirm recus rechaz declin negad denied granted aguard await inadimpl quitad chargeback liberad void")

var telling = lexiconOf(nil, tellingValues)

// Telling tells a text in plain form that speaks of admission, whatever its column is called.
func Telling(text string) bool { return telling.in(text) }

// Places are the states of Brazil: what a column of an address holds.
var Places = strings.Fields("ac al ap am ba ce df es go ma mt ms mg pa pb pr pe pi rj rn rs ro rr sc sp se to")

// Begins tells whether a word of a text begins with one of some stems.
func Begins(text string, stems []string) bool {
	for word := range strings.FieldsSeq(text) {
		if slices.ContainsFunc(stems, func(stem string) bool { return strings.HasPrefix(word, stem) }) {
			return true
		}
	}
	return false
}

// lexicon has words, phrases and beginnings of words, by their first letters: every cell of a file is looked up in it.
type lexicon map[string][]lexeme

// lexeme is one of them. The beginning of a word may have any letters behind it.
type lexeme struct {
	text  string
	stems bool
}

// lexicalKey is how many bytes of a word its place in a lexicon is known by. No word of one is shorter than it needs to be: n pg.
const lexicalKey = 3

func lexiconOf(whole, stems []string) lexicon {
	l := lexicon{}
	for _, text := range whole {
		l[firstBytes(text)] = append(l[firstBytes(text)], lexeme{text, false})
	}
	for _, text := range stems {
		l[firstBytes(text)] = append(l[firstBytes(text)], lexeme{text, true})
	}
	return l
}

func firstBytes(text string) string { return text[:min(len(text), lexicalKey)] }

// in tells whether a text in plain form has any of them.
func (l lexicon) in(text string) bool {
	for text != "" {
		for _, one := range l[firstBytes(text)] {
			if rest, ok := strings.CutPrefix(text, one.text); ok && (one.stems || rest == "" || rest[0] == ' ') {
				return true
			}
		}
		_, text, _ = strings.Cut(text, " ")
	}
	return false
}

// HasWord tells whether a text has one of some words.
func HasWord(text string, words []string) bool {
	return slices.ContainsFunc(strings.Fields(text), func(w string) bool { return slices.Contains(words, w) })
}

// Words and phrases that refuse admission, wherever they stand.
var (
	notAdmitted = strings.Fields("cancelado cancelada cancelados canceladas cancelled canceled anulado anulada anulados anuladas estornado estornada estornados " +
		"reembolsado reembolsada reembolsados refunded refund unpaid bloqueado bloqueada bloqueados blocked pendente pendentes pending pendiente pendientes waitlist waitlisted " +
		"inadimplente inadimplentes suspenso suspensa banido banida cancelou cancelar desistiu desistente desistentes reembolso estorno fiado canc cancel pend bloq reemb desist awaiting expirado expirada recusado recusada vencido vencida " +
		"cancld canceld cancled cancl cancelld cncld cancelda canselado canselada renunciou " +
		"desistencia devendo unconfirmed declined expired refused chargeback estornou devolvido devolvida bounced withdrew anulo estornar reembolsar calote devolucao devolucion cxl withdrawn revoked iou " +
		"storniert stornierte stornierung abgesagt abgemeldet unbezahlt erstattet ruckerstattung warteliste " +
		"anulowane anulowany anulowana anulowano odwołane odwołany odwołana nieopłacone nieopłacony nieopłacona rezygnacja zrezygnował zrezygnowała " +
		"annule annulee annules annulees rembourse remboursee remboursement impaye impayee annullato annullata annullati rimborsato rimborsata rimborso " +
		"geannuleerd terugbetaald wachtlijst afgemeld afgezegd geblokkeerd adeuda adeudan moroso morosa zahlt fehlt gesperrt ungultig hausverbot stattdessen weitergegeben " +
		"anzahlung angezahlt paie paiera acompte interdit interdite doublon doppione dubbel doppelt doppelte bloccato bloccata")
	waitingAlone = []string{"espera", "na espera", "na fila", "suplente", "suplentes", "standby", "stand by", "waiting", "cancelo", "a confirmar", "por confirmar", "to be confirmed",
		"falta", "negado", "negada", "acesso negado", "denied", "access denied", "barrado", "barrada", "offen", "zwrot", "rezerwowa", "rezerwowy", "a receber", "sin entrada", "renuncio", "nao vai poder", "nao podera"} // a whole text; João Cancelo is a name
	remarksAlone = []string{"nao vai", "ausente", "fila", "excedente", "excedentes", "l espera", "en espera", "hold", "segurar", "confirmar", "tbc", "agendado", "promessa", "duvida", "invalid", "invalido", "invalida",
		"pagar", "cobrar", "acertar", "abonar", "em debito", "divida", "devedor", "devolver", "sinal", "so sinal", "deu entrada", "a cuenta", "pagara", "duplicado",
		"krank", "erkrankt", "absent", "absente", "abwesend", "verhindert", "malade", "sick", "ill", "doente", "enfermo", "enferma", "reserviert", "falecido", "falecida", "faleceu",
		"fallecido", "fallecida", "fallecio", "deceased", "verstorben", "duplicada", "duplicate", "repetido", "repetida", "inscricao duplicada", "inscricao dupla", "impossibilitado", "impossibilitada"} // a whole remark, which as a title may be of another matter
	notAdmittedPhrases = slices.Concat(waitingPhrases, []string{"lista espera", "nao pago", "nao paga", "nao pagou", "nao pagos", "nao pagas", "nao pagaram", "faltam pagar",
		"not paid", "no pago", "no pagado", "sin pagar", "a pagar", "por pagar", "falta pagar", "faltou pagar", "falta receber", "em analise", "em aberto",
		"vai pagar", "vou pagar", "pagar na porta", "pagar na portaria", "pagar na entrada", "pagar na hora", "pagar no dia", "pagar no local", "pay at the door", "nao deixar entrar", "nao pode entrar", "nao entra", "nao liberar",
		"dinheiro de volta", "money back", "nao vai mais", "nao vem", "nao ira mais", "n pago", "n paga", "n pagou", "n pg", "nao pg", "nao admitir", "do not admit", "not admitted", "do not let in", "no entry", "deny entry", "nao caiu",
		"nao quitou", "nao quitado", "nao quitada", "nao confirmado", "nao confirmada", "nao confirmou", "nao recebido", "nao recebida", "sem pagamento", "sem pgto", "sem pagar", "s pagamento",
		"paga na hora", "paga na porta", "paga na portaria", "paga na entrada", "paga no dia", "paga no local", "resto no dia",
		"resto na porta", "resto na portaria", "sem fundo", "sem fundos", "cancelamento solicitado", "solicitou cancelamento", "pediu cancelamento", "pedido de cancelamento", "pagou metade",
		"metade paga", "metade pago", "falta metade", "falta a metade", "pago parcial", "pago parcialmente", "parcialmente pago", "parcialmente paga", "pagamento parcial", "so sinal", "so o sinal",
		"did not pay", "didn t pay", "didnt pay", "hasn t paid", "hasnt paid", "haven t paid", "never paid", "no payment", "without payment", "payment failed", "half paid", "paid half",
		"partly paid", "partially paid", "part paid", "partial payment", "deposit only", "only deposit", "balance due", "still owes", "still owe", "money returned", "pay on arrival", "pay at door",
		"pay on site", "pay on the day", "pay later", "not coming", "no longer coming", "dropped out", "not allowed in", "entry denied", "cancellation requested", "requested cancellation",
		"no ha pagado", "no han pagado", "sin pago", "pago la mitad", "mitad pagada", "falta la mitad", "pagara en la puerta", "paga en la puerta", "pagar en la puerta", "pagara en la entrada",
		"paga en la entrada", "pagar en la entrada", "de baja", "ya no viene", "ya no va", "cancelacion solicitada", "solicito cancelacion", "pidio cancelacion",
		"nao vira", "nao comparecera", "pg nao", "cheque voltou", "devolver dinheiro", "devolver o dinheiro", "devolver valor", "devolver o valor", "no viene", "no vendra", "no asistira",
		"will pay", "pays cash", "pays at", "no show", "nicht bezahlt", "kommt nicht", "geld zuruck", "abendkasse", "zahlt vor ort", "lista rezerwowa", "nie zapłacił", "nie zapłaciła",
		"nie zapłacono", "nie zapłacone", "nie opłacone", "do zapłaty", "zapłaci na miejscu", "nie przyjdzie",
		"liste d attente", "pas paye", "non paye", "reste a payer", "ne vient pas", "lista d attesa", "non pagato", "non ha pagato", "da pagare", "non viene", "non versato", "non versata", "non ha versato", "da versare", "in attesa", "muss noch zahlen", "noch ausstehend",
		"niet betaald", "nog betalen", "komt niet", "ist krank", "krank geworden", "krank gemeldet", "est malade",
		"sem ingresso", "no ticket", "without ticket", "a receber r", // R$
		"did not register", "didn t register", "not registered", "nao se inscreveu", "nao inscrito", "nao inscrita", "nao inscritos", "no se inscribio", "renuncio a", "no inscrito", "no inscrita",
		"hasn t settled", "not settled", "can t make it", "cannot make it", "cannot come", "can t come", "cannot attend", "can t attend", "won t attend", "won t come", "will not attend",
		"will not come", "unable to attend", "unable to come", "ticket given to", "pay sunday", "pays sunday", "nao pode vir", "nao podera vir", "nao podera ir", "nao vai poder ir",
		"nao vai poder vir", "nao vai poder participar", "nao conseguira ir", "nao conseguira vir", "passou a vaga", "falta acertar", "vai acertar", "acerta domingo", "paga domingo",
		"paga sabado", "paga amanha", "paga depois", "no puede venir", "no podra venir", "no podra ir", "no puede asistir", "no podra asistir", "paga el domingo", "paga manana",
		"pediu o dinheiro", "pediu dinheiro", "vai depositar", "vai transferir", "vai fazer o pix", "vai fazer pix", "vai mandar o pix", "vai mandar pix", "pix agendado", "pix errado", "valor errado",
		"nao identificado", "nao identificada", "nao localizado", "nao localizada", "comprovante nao", "sem comprovante", "falta comprovante", "falta o comprovante", "enviar comprovante",
		"mandar comprovante", "restante na", "restante no", "resto na entrada", "acerto na", "acerta na", "acertar na", "acertar no", "acertar com",
		"falta acerto", "falta o acerto", "so reserva", "pre reserva", "sem vaga", "houver vaga", "sobrar vaga", "so pagou", "pagou so", "pagou a menos", "pagou menos",
		"pagou sinal", "pagou o sinal", "deu sinal", "pagou 1 parcela", "pagou a 1 parcela", "em atraso", "p pagar", "pagara no", "pagara na", "pagara em", "pagara depois", "pagara al", "pagara el",
		"paga no domingo", "paga no sabado", "paga metade", "cobrar na", "cobrar no", "cobrar r", "receber na", "receber no", "conferir pagamento", "verificar pagamento", "conferir pix", "verificar pix",
		"nao quer mais", "so domingo", "so no domingo", "so sabado", "so no sabado", "apenas domingo", "apenas no domingo", "apenas sabado", "apenas no sabado", "outra data", "outro dia",
		"mudou para o dia", "mudou para dia", "mudou para domingo", "mudou para sabado", "trocou para o dia", "trocou para dia", "trocou para domingo", "trocou para sabado", "remarcado", "remarcada",
		"remarcou", "not yet paid", "to pay", "pay at", "bal due", "wait listed", "no longer attending", "won t be there", "do not release", "check payment", "with treasurer", "sunday only", "only sunday",
		"saturday only", "only saturday", "other date", "another date", "moved to sunday", "moved to saturday", "rebooked", "por abonar", "falta abonar", "solo senal", "solo la senal", "paga al llegar",
		"solo domingo", "solo el domingo", "solo sabado", "solo el sabado", "otra fecha",
		"solo reserva", "sin comprobante", "falta comprobante", "falta el comprobante", "prohibida la entrada", "entrada prohibida", "transferencia no", "noch offen", "betrag offen", "nur anzahlung",
		"nur reserviert", "unter vorbehalt", "lastschrift geplatzt", "reserve seulement", "a payer", "en attente", "a rembourser", "sans provision", "en double", "da saldare", "manca il saldo", "da rimborsare", "aan de deur",
		"removed from", "removido da lista", "removida da lista", "retirado da lista", "retirada da lista", "removidos da lista", "retirados da lista"})
	outs     = lexiconOf(slices.Concat(notAdmitted, notAdmittedPhrases), strings.Fields("aguard abgesag nachruck rucklast restbetrag annulat desist disdett disdic"))
	passedOn = lexiconOf([]string{"transferido para", "transferida para", "transferido a", "transferida a", "transferred to", "transferiu para", "substituido por", "substituida por",
		"sustituido por", "sustituida por", "replaced by", "vendeu pro", "vendeu pra", "vendeu para", "vendido para", "vendida para", "vendeu o ingresso", "vendio a", "vendio su entrada",
		"sold to", "sold ticket", "sold his ticket", "sold her ticket", "gave ticket", "gave the ticket", "gave his ticket", "gave her ticket", "gave their ticket", "deu o ingresso",
		"cedeu o ingresso", "passou o ingresso", "repassou o ingresso", "repassou para", "repassou pra", "repassou pro", "repassado para", "cedio su entrada", "dio su entrada",
		"passou para", "passou pra", "passou pro", "vaga cedida", "cedeu a vaga", "vaga transferida", "cedido a", "cedida a", "cedido para", "cedida para", "transf p", "transf para", "trocou com",
		"trocou o nome", "nome trocado", "vai no lugar", "em seu lugar", "no seu lugar", "substituido pelo", "substituida pela", "doou para", "doou pra", "doado para", "doada para", "gave to", "given to",
		"swapped with", "se lo paso a", "cedio su", "cedio el", "cedio la", "paso su entrada", "cambio por", "en su lugar", "ersatz fur", "ersatz durch", "ersetzt durch", "a donne sa place",
		"remplace par", "remplacee par", "billet cede", "place cedee", "vervangen door", "sostituito da", "sostituita da"}, nil)
	owingWords = strings.Fields("deve devem devendo debe owes owing falta faltam faltan faltou faltaram resta restam restou balance saldo doit reste schuldet")
	owing      = lexiconOf(owingWords, nil)
	stillWords = strings.Fields("ainda still todavia aun")
	goods      = strings.Fields("camiseta camisetas camisa camisas shirt shirts tshirt tshirts playera remera almoco jantar lanche refeicao refeicoes marmita meal meals lunch dinner " +
		"breakfast almuerzo cena estacionamento parking estacionamiento livro livros caneca brinde brindes doacao donation donacion")
)

// KeepsOut tells a cell, given with its plain form, that refuses admission, leaves open what is paid, or says that a ticket has passed to another guest.
func KeepsOut(cell, text string) bool {
	return admitsNone(text) || passedOn.in(text) || leavesOpen(cell, text)
}

// NamesOther tells a cell, given with its plain form, that names another guest beside a word for a ticket: ingresso da Bia, no lugar: Bia.
func NamesOther(cell, text string) bool {
	if !someTicket.in(text) {
		return false
	}
	all := strings.Fields(cell)
	of := false
	for i, word := range all[1:] {
		of = of || slices.Contains(ticketWords, Plain(all[i]))
		isName := unicode.IsUpper([]rune(word)[0]) && strings.ToUpper(word) != word
		if isName && (of && slices.Contains(ownerWords, all[i]) || strings.EqualFold(all[i], "lugar:")) {
			return true
		}
	}
	return false
}

// Words for a ticket, and those between one and its guest.
var (
	ticketWords = strings.Fields("ingresso convite vaga lugar entrada ticket place seat")
	someTicket  = lexiconOf(ticketWords, nil)
	ownerWords  = strings.Fields("da do of for")
)

// leavesOpen tells a cell, given with its plain form, that asks what is paid, or says that a share of it is: pago?, 50% pago.
func leavesOpen(cell, text string) bool {
	return strings.ContainsAny(cell, "?？%") && Begins(text, sharedWords) && !HasWord(text, []string{"100"})
}

// sharedWords are the beginnings of words beside a question mark or a percentage that leave open what is paid.
var sharedWords = append(strings.Fields("isent"), payTitles...)

// admitsNone tells one that refuses admission, also to the rows below it. An event may be transferred, as a ticket is.
func admitsNone(text string) bool {
	return outs.in(text) || denies(text) || slices.Contains(waitingAlone, text) || slices.Contains(remarksAlone, text) || doubts[text] == "part" || owes(text)
}

// Words that say no, those that may stand between one and a verb, and the beginnings of verbs of coming, paying and entering. English come is not
// among them: no come gluten.
var (
	negators = strings.Fields("nao no not nunca never ne pas non nicht niet cannot")
	behind   = strings.Fields("nicht niet") // they stand behind the verb too: kommt nicht
	helpers  = strings.Fields("se va vai vao van vou a puede podra podran pode podera poderao ha han tem foi mais mas ya todavia aun ainda plus encore ete est piu ancora noch doch " +
		"mehr leider nog toch meer been yet be able to deixar dejar dejen deixem laisser lo le la consegue conseguira conseguiu longer")
	doings = strings.Fields("comparec asist assistir participar coming attend viene vienen venir vendra vendran vira virao viria vient vienn viendr venu " +
		"pago paga pagou pagar pagad pagat paid paye bezahl zahl betaal entrar entrer einlass kommt kommen komt komen teilnehm teilnimmt presentar apresentar")
)

// denies tells a text in plain form that says no to coming, paying or entering: no va a venir.
func denies(text string) bool {
	if !HasWord(text, negators) {
		return false
	}
	all := strings.Fields(text)
	for i, word := range all {
		before := slices.Clone(all[:i])
		slices.Reverse(before)
		if slices.Contains(negators, word) && (doesFirst(all[i+1:]) || slices.Contains(behind, word) && doesFirst(before)) {
			return true
		}
	}
	return false
}

// doesFirst tells words of which the first, but for helpers, is one of these verbs.
func doesFirst(all []string) bool {
	i := slices.IndexFunc(all, func(word string) bool { return !slices.Contains(helpers, word) })
	return i >= 0 && (all[i] == "ir" || Begins(all[i], doings))
}

// dashes put a bracket where a note begins.
var dashes = strings.NewReplacer(" - ", "(", " – ", "(", " — ", "(")

// NameKeepsOut tells the name of a guest, as it stands in a cell, that refuses admission, or has a note behind it that does: Ana (espera).
func NameKeepsOut(name string) bool {
	if KeepsOut(name, Plain(name)) || strings.ContainsAny(name, crosses) {
		return true
	}
	parts := strings.FieldsFunc(dashes.Replace(name), func(r rune) bool { return strings.ContainsRune("()[]{}/;:*", r) })
	return len(parts) > 1 && slices.ContainsFunc(parts[1:], func(note string) bool {
		out, _ := Heading(Plain(note))
		return out
	})
}

// owes tells a text in plain form that names an amount to pay, or says that there is one: deve 50, ainda falta.
func owes(text string) bool {
	if !owing.in(text) {
		return false
	}
	all := strings.Fields(text)
	if !slices.ContainsFunc(all, func(word string) bool {
		return !slices.Contains(owingWords, word) && !slices.Contains(stillWords, word)
	}) {
		return true
	}
	for i, word := range all[:max(0, len(all)-1)] {
		next := all[i+1]
		if next == "r" && i+2 < len(all) { // R$
			next = all[i+2]
		}
		if strings.Trim(next, "0123456789") == "" && slices.Contains(owingWords, word) {
			return true
		}
	}
	return false
}

// Words that a heading may have beside what it says, and words for rows that do not get in by which no single ticket is called.
var (
	headingNouns = strings.Fields("lista list ingresso inscricao inscricoe inscrito inscrita participante pessoa convidado pedido pagamento entrada cadastro ticket order guest attendee " +
		"payment registration inscripcion inscripcione asistente de do da of the o a")
	outHeadings = append(strings.Fields("reserva pendencia desistencia cancelamento cancellation cancelation cancelacione devedor devedore excedente alternate overflow backup"),
		"nao", "reserva tecnica", "nao vem", "nao vai", "confirmar", "sem pagamento", "without payment", "sin pago", "no payment")
)

// Heading tells what a heading in plain form says of the rows below it: out, that they do not get in; in, that they do. It is a word for a
// state, of one or of many, “Expirados (3)”, or refuses admission anyhow. Of any other text it tells neither.
func Heading(text string) (out, in bool) {
	if admitsNone(text) || strings.HasPrefix(text, "falta") {
		return true, false
	}
	var all, bare []string
	for word := range strings.FieldsSeq(text) {
		if strings.Trim(word, "0123456789") == "" {
			continue
		}
		all = append(all, strings.TrimSuffix(word, "s"))
		if !slices.Contains(headingNouns, strings.TrimSuffix(word, "s")) {
			bare = append(bare, strings.TrimSuffix(word, "s"))
		}
	}
	for _, said := range []string{text, strings.Join(all, " "), strings.Join(bare, " ")} {
		state := StateWords[said]
		out = out || Refuses(state) || slices.Contains(outHeadings, said) || slices.Contains(waitingAlone, said)
		in = in || state == Severity[0]
	}
	return out, in && !out
}

// SheetKeepsOut tells the name of a sheet in plain form that is a heading of rows that do not get in. A sheet of bookings is none: Reservas.
func SheetKeepsOut(name string) bool {
	out, _ := Heading(name)
	return out && !strings.HasPrefix(name, "reserva")
}

// TellsByPhrase tells a title in plain form that speaks of admission in some words: na fila, can enter.
func TellsByPhrase(title string) bool { return hasPhrase(title, tellingPhrases) }

// hasPhrase tells whole words in a row.
func hasPhrase(text string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(phrase string) bool {
		return strings.Contains(text, phrase) && strings.Contains(" "+text+" ", " "+phrase+" ")
	})
}

// Titles of columns that are filled for what is paid, and ways to pay that are still to come, and titles of queues.
var (
	proofTitles      = strings.Fields("cheque recibo receipt transac transaction txid nsu autenticac")
	invoiceWords     = strings.Fields("nf nfe nfs nfse factura fattura rechnung")
	invoicePhrases   = []string{"nota fiscal", "n da nota", "numero da nota", "check number", "check no", "invoice number", "invoice no", "invoice id", "invoice status", "numero da fatura", "n da fatura"}
	queueTitles      = strings.Fields("fila queue cola")
	instalmentTitles = strings.Fields("parcela prestac mensalidad cuota installment instalment")
	receivedTitles   = strings.Fields("recebid recebeu receiv collected eingang")
	monthTitles      = strings.Fields("jan fev mar abr mai jun jul ago set out nov dez feb apr may aug sep oct dec ene dic")
	wishes           = strings.Fields("precisa deseja quer gostaria want wants need needs necesita quiere")
	laterWays        = lexiconOf([]string{"na portaria", "na porta", "no dia", "na hora", "na entrada", "na chegada", "no local", "no evento", "no credenciamento", "depois", "mais tarde",
		"fiado", "at the door", "on arrival", "on site", "on the day", "pay later", "en la puerta", "en la entrada", "a la entrada", "el dia"}, nil)
)

// ways are the words for ways to pay by which something is paid, and wayNotes those that may stand beside one. By any other word nothing may be paid
// yet: on an invoice.
var (
	ways = strings.Fields("pix cartao cartoes tarjeta card credito debito credit debit visa mastercard elo amex hipercard maestro dinheiro especie efectivo cash boleto " +
		"transferencia transfer ted doc deposito cheque check paypal stripe mercadopago pagseguro picpay zelle venmo bizum sumup")
	someWay  = lexiconOf(ways, nil)
	wayNotes = strings.Fields("de do da em com via e and of by a vista bancario bancaria bank wire mercado pago apple google pay online site app nubank automatico direct x")
)

// IsWay tells a cell in plain form that is a way to pay: Cartão de crédito 3x, Visa 4242.
func IsWay(cell string) bool {
	return someWay.in(cell) && !slices.ContainsFunc(strings.Fields(cell), func(word string) bool {
		bare := strings.TrimLeft(word, "0123456789")
		isCard := bare == "" && len(word) == 4
		return !isCard && !slices.Contains(ways, bare) && !slices.Contains(wayNotes, bare)
	})
}

// moneyTitles are the titles of columns for what each guest has given.
var moneyTitles = append(strings.Fields("r dinheiro especie efectivo cash cartao tarjeta card contribuicao contribucion contribution "+
	"entrada ingreso betrag beitrag kwota opłata given fee fees taxa ofrenda oferta carne acerto"), slices.Concat(advanceTitles, AmountTitles)...)

// advanceTitles are the titles of columns for what each guest has paid in advance.
var advanceTitles = strings.Fields("sinal sena senal abono anticipo adiantamento adelanto anzahlung zaliczka zadatek")

// IsUndoing tells a title in plain form of money that was given back, or of a ticket that was taken back too.
func IsUndoing(title string) (refund, any bool) {
	refund = Begins(title, refundTitles)
	return refund, refund || Begins(title, undoingTitles)
}

// undoingTitles are the beginnings of words in titles of tickets that were taken back.
var undoingTitles = strings.Fields("cancel anul desist bloque block suspen revok storn")

// IsMoney tells a title in plain form of a column of amounts that guests give; sure where it is all of the title.
func IsMoney(title string) (is, sure bool) {
	return HasWord(title, AmountTitles) && !HasWord(title, cutTitles), slices.Contains(moneyTitles, title)
}

// IsPrice tells a title in plain form of a column of amounts to pay.
func IsPrice(title string) bool { return HasWord(title, AmountTitles) && !IsPaid(title) }

// IsPaid tells a title in plain form that speaks of what was paid, or how.
func IsPaid(title string) bool {
	return !IsDebt(title) && !Begins(title, promiseTitles) && (Begins(title, payTitles) || Begins(title, receivedTitles) || IsAdvance(title))
}

// promiseTitles are the beginnings of words in titles of payments that are still to come.
var promiseTitles = strings.Fields("pagar previst previs promet promes agend schedul expect")

// IsPayment tells a title in plain form that speaks of a payment, and of no mail.
func IsPayment(title string) bool { return Begins(title, payTitles) && !Begins(title, mailTitles) }

// IsAdvance tells a title in plain form of a column of amounts that were paid in advance, as parts of a price.
func IsAdvance(title string) bool { return slices.Contains(advanceTitles, title) }

// IsProof tells a title in plain form of a column that is filled where a payment, or a part of it, has come: a receipt, or an instalment.
func IsProof(title string) (is, instalment bool) {
	instalment = Begins(title, instalmentTitles) || slices.Contains(monthTitles, title) // paid by the month
	is = Begins(title, proofTitles) || HasWord(title, invoiceWords) || hasPhrase(title, invoicePhrases) || instalment
	return is && !HasWord(title, wishes), instalment
}

// IsQueue tells a title in plain form of a place in a queue, or of a row of seats. Rows of seats are those of every guest, or of nobody.
func IsQueue(title string) bool { return slices.Contains(queueTitles, title) }

// guestTitles are the beginnings of words in titles of what a list tells of its guests, by yes and no, beside their tickets.
var guestTitles = strings.Fields("vip alerg allerg restric vegetar vegan gluten lactos crianc child kid filh bebe baby menor minor idos acompanh membro miembro member batiz baptiz " +
	"bautiz lider leader pastor visit volunt convert primeir first novidad newsletter whats telegram termo term lgpd gdpr consent imag foto photo transp onibus bus hosped " +
	"aloj lodging quarto room camis shirt almoc jant lunch dinner meal lanch cadeir wheel acessib accessib pcd defici disab gestant pregnan estaciona parking estud student casad married")

// comingTitles are the questions by which a guest says no to the event itself, in plain form.
var comingTitles = strings.Split("vem|voce vem|vai|voce vai|vai vir|vai comparecer|comparecera|vai participar|participa|participara|coming|are you coming|will you come|attending|will attend|"+
	"will you attend|are you attending|viene|vienes|vendra|vendras|asiste|asistira|asistiras|kommt|kommst du|kommen sie|nimmt teil|przyjdzie|przyjdziesz", "|")

// AsksToCome tells a title in plain form that asks whether the guest comes.
func AsksToCome(title string) bool { return slices.Contains(comingTitles, title) }

// IsAboutGuests tells a title, as it stands, of a column that speaks of the guest and not of the ticket, if its cells say yes and no: a question, but
// whether the guest comes, or a usual matter. Any tells one under which cells of any words speak of no payment: a matter that is known here.
func IsAboutGuests(title string) (yes, any bool) {
	plain := PlainTitle(title)
	yes = asks(title) && !AsksToCome(plain) || HasWord(plain, wishes) || Begins(plain, guestTitles)
	any = asks(title) && HasWord(plain, questionWords) || HasWord(plain, matters) || Begins(plain, matterStems) || isTitle(plain)
	return yes, any
}

// Words, and the beginnings of words, in titles of what lists of guests tell beside their tickets, and words of questions. A question in another language has none.
var (
	questionWords = strings.Fields("qual quais como quando onde quem quantos quantas quanto voce vc tem tera what which how where who when do does did are have has will would you your " +
		"cual cuales donde quien cuantos cuantas tiene tienes quieres usted eres")
	matters = slices.Concat(PlaceTitles, DateTitles, AmountTitles, cutTitles, CountTitles, mailTitles, wishes, strings.Fields("tam size id ids num ref rg cpf cnpj ip url link age sexo sex sala row ano year uf role "+
		"job tag tags lote fila diet dieta dietary menu food comida sede item rede team time nome name nombre title titulo obs nota note notes sku tier gate lang type tipo cargo curso grade class turma state estado serie "+
		"plan plano code codigo seat table mesa mesas hora hour piso floor andar zona zone area box raca etnia race ethnicity ordem order pedido idade edad bus van carro car"))
	matterStems = slices.Concat(guestTitles, strings.Fields("taman talla numer number setor sector section assento asiento lugar portao puerta camarote lounge pista bloco distri regi provinc county bairro barrio neighb "+
		"igreja iglesia church campus congreg paroq parish denomin dioces grup group equip minist celula departa nucleo gener gender faixa etari escolar educa profiss profes occupa ocupa position posicao funcao funcion "+
		"function company empresa organi institu univers school escola nivel level experi idioma language lengua nacional nation prefix suffix pronome pronoun tratamento sobrenome surname apellid canal channel source "+
		"origem origen fonte referr refer utm campanh campaign medium device disposit browser vendedor seller vendor promot promoc cupom cupon coupon voucher discount descont descuent delivery entrega envio shipping moeda "+
		"currency loja store point ponto variat variac pacote package paquete batch categor modalid modality produt product option opcao opcion aliment cardapio prato bebida drink track trilha workshop oficina palestra "+
		"interes parentes relac relation vinculo observ coment comment remark telef phone fone celular cell mobil contat contact document servi service atividade activit actividad convid guest cheg arriv lleg saida depart dispon avail carona horario industr senior salut wristb pulseir pulser badge cracha hotel shuttle accommod sponsor patroc instrument voice voz naipe saude salud health conveni medic insur grau respons encarg parroq comuna butaca prefer favor dons talent gift extra adicion waiver add seating location acompan enterast"))
)

// SpeaksOfPayment tells a word for a state, in plain form, that says what is paid. Confirmed, or active, says it not.
func SpeaksOfPayment(state string) bool {
	known := StateWords[state]
	return known == "unpaid" || known == "refunded" || Begins(state, payTitles) || Begins(state, settledWords)
}

// settledWords are the beginnings of further words by which nothing is to pay.
var settledWords = strings.Fields("quitad aprov approv aprob complet conclu cortesia gratuit gratis free")

// doubts are what people write where not all is paid, or may not be: a whole cell, in plain form.
var doubts = alias("part", "metade|a metade|half|mitad|la mitad|parcial|partial|parcialmente|partially|parte|em parte",
	"doubt", "talvez|maybe|quizas|amanha|tomorrow|manana|semana que vem|next week|depois|later|"+
		"negado|negada|denied|nok|not ok|nao ok|np|aberto|aberta|open|invalido|invalida|invalid|falhou|falha|fallo|erro|error|f|falta|resto|conferir|a conferir|verificar|a verificar|"+
		"to check|duvida|prometeu|promised")

// IsDoubtful tells a text in plain form that leaves open whether all is paid, or a way to pay by which nothing is paid yet: at the door.
func IsDoubtful(text string) bool { return doubts[text] != "" || laterWays.in(text) }

// IsDebt tells a title that speaks of an amount to pay, and not of a day.
func IsDebt(title string) bool {
	return (HasWord(title, debtWords) || hasPhrase(title, debtPhrases)) && !HasWord(title, dayTitles)
}

// Tells tells a title that speaks of admission.
func Tells(title string) bool {
	return HasWord(title, tellingWords) || slices.Contains(waitingAlone, title) || hasPhrase(title, tellingPhrases) ||
		(Begins(title, TellingTitles) || strings.HasSuffix(title, "status") || strings.Contains(title, "status ")) && !Begins(title, otherMatters) // Zahlungsstatus
}

// IsGoods tells the name of a product that is no admission.
func IsGoods(name string) bool { return HasWord(Plain(name), goods) }
