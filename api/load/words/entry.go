package words

import (
	"slices"
	"strings"
)

// Beginnings of words in titles that speak of admission, and words beside them that show another matter.
var (
	TellingTitles = strings.Fields("status situac estado state pagament pagad payment pago paga paid pagto pgto pgmt quitad quitou quitac bloque block cancel anulad " +
		"reembols refund estorn devol devuel chargeback valid vencid vencim vencto vigen caduc expir aprov approv aprob confirm liberad inadimpl autoriz suspen desist recus " +
		"rejeit rechaz reject revog revok negad eliminad removid removed banid penden pendient efetivad compensad recebid abonad cobrad disput storn annul bezahl")
	tellingWords = strings.Fields("ativo ativa ativado ativada active activo activa enabled habilitado habilitada inativo inativa inactive disabled " +
		"waitlist waitlisted deleted excluido excluida void permitido permitida proibido proibida allowed denied barrado banned comprovante " +
		"statut stato zustand bezahlt storniert paye annule pagato annullato pg pgt ok conf rsvp settled cleared received")
	debtWords = strings.Fields("aberto devedor debito debitos divida dividas due owed owes owing balance outstanding saldo saldos pendente pendentes adeudado " +
		"deuda deudas faltante falta restante restam remaining devendo")
	debtPhrases    = []string{"a pagar", "a receber", "por pagar", "por cobrar", "to pay"}
	TellingPhrases = []string{"lista de espera", "fila de espera", "waiting list", "wait list", "em espera", "em dia", "al dia"}
	RefundTitles   = strings.Fields("refund reembols estorn devol devuel chargeback")
	MailTitles     = strings.Fields("mail email correo")
	otherMatters   = strings.Fields("civil marital endereco address direccion fatura invoice billing home work shipping entrega metodo forma meio method provider " +
		"gateway valor total amount taxa fee fees preco price precio currency moeda mail email cupom coupon voucher processing uf natal birth")
	PlaceTitles  = strings.Fields("cidade city ciudad pais country cep zip postal bairro endereco address municipio logradouro rua street")
	DateTitles   = strings.Fields("data date fecha em at")
	AmountTitles = strings.Fields("valor total amount monto importe preco price precio")
	PayTitles    = strings.Fields("pagament pagad payment pago paga paid")
)

// TellingValues are the beginnings of words in cells that speak of admission, whatever their column is called.
var TellingValues = strings.Fields("pago paga pagad pagament paid unpaid pend cancel anulad reembols refund estorn devolv devuel bloque block expir aprov approv aprob " +
	"confirm recus rechaz declin negad denied granted aguard await inadimpl quitad chargeback liberad void")

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

// HasWord tells whether a text has one of some words.
func HasWord(text string, words []string) bool {
	return slices.ContainsFunc(strings.Fields(text), func(w string) bool { return slices.Contains(words, w) })
}

// Words and phrases that refuse admission, wherever they stand.
var (
	notAdmitted = strings.Fields("cancelado cancelada cancelados canceladas cancelled canceled anulado anulada anulados anuladas estornado estornada estornados " +
		"reembolsado reembolsada reembolsados refunded unpaid bloqueado bloqueada bloqueados blocked pendente pendentes pending pendiente pendientes waitlist waitlisted " +
		"inadimplente inadimplentes suspenso suspensa banido banida cancelou desistiu desistente desistentes")
	notAdmittedPhrases = []string{"lista de espera", "fila de espera", "lista espera", "waiting list", "wait list", "em espera", "nao pago", "nao paga", "nao pagou", "nao pagos",
		"not paid", "no pago", "no pagado", "sin pagar", "a pagar", "por pagar", "falta pagar"}
	goods = strings.Fields("camiseta camisetas camisa camisas shirt shirts tshirt tshirts playera remera almoco jantar lanche refeicao refeicoes marmita meal meals lunch dinner " +
		"breakfast almuerzo cena estacionamento parking estacionamiento livro livros caneca brinde brindes doacao donation donacion")
)

// KeepsOut tells a text in plain form that refuses admission.
func KeepsOut(text string) bool {
	return HasWord(text, notAdmitted) || HasPhrase(text, notAdmittedPhrases)
}

// HasPhrase tells whole words in a row.
func HasPhrase(text string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(phrase string) bool { return strings.Contains(" "+text+" ", " "+phrase+" ") })
}

// IsDebt tells a title in plain form that speaks of an amount to pay.
func IsDebt(title string) bool { return HasWord(title, debtWords) || HasPhrase(title, debtPhrases) }

// Tells tells a title that speaks of admission.
func Tells(title string) bool {
	return HasWord(title, tellingWords) || HasPhrase(title, TellingPhrases) || Begins(title, TellingTitles) && !Begins(title, otherMatters)
}

// IsGoods tells the name of a product that is no admission.
func IsGoods(name string) bool { return HasWord(Plain(name), goods) }
