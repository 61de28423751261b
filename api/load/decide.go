package load

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Whatever may decide who gets in is either understood or asked about: a column whose title or whose values speak of payment,
// of a cancellation, of a block or of a ticket's validity is never passed over in silence.

// Beginnings of words in titles that speak of who gets in, and of those beside them which show that it is about something else.
var (
	tellingTitles = strings.Fields("status situac estado state pagament pagad payment pago paga paid pagto pgto pgmt quitad quitou quitac bloque block cancel anulad " +
		"reembols refund estorn devol devuel chargeback valid vencid vencim vencto vigen caduc expir aprov approv aprob confirm liberad inadimpl autoriz suspen desist recus " +
		"rejeit rechaz reject revog revok negad eliminad removid removed banid penden pendient efetivad compensad recebid abonad cobrad disput storn annul bezahl")
	tellingWords = strings.Fields("ativo ativa ativado ativada active activo activa enabled habilitado habilitada inativo inativa inactive disabled " +
		"waitlist waitlisted deleted excluido excluida void permitido permitida proibido proibida allowed denied barrado banned comprovante " +
		"statut stato zustand bezahlt storniert paye annule pagato annullato pg pgt ok conf rsvp settled cleared received")
	debtWords = strings.Fields("aberto devedor debito debitos divida dividas due owed owes owing balance outstanding saldo saldos pendente pendentes adeudado " +
		"deuda deudas faltante falta restante restam remaining devendo")
	debtPhrases    = []string{"a pagar", "a receber", "por pagar", "por cobrar", "to pay"}
	tellingPhrases = []string{"lista de espera", "fila de espera", "waiting list", "wait list", "em espera", "em dia", "al dia"}
	refundTitles   = strings.Fields("refund reembols estorn devol devuel chargeback")
	mailTitles     = strings.Fields("mail email correo")
	otherMatters   = strings.Fields("civil marital endereco address direccion fatura invoice billing home work shipping entrega metodo forma meio method provider " +
		"gateway valor total amount taxa fee fees preco price precio currency moeda mail email cupom coupon voucher processing uf natal birth")
	placeTitles  = strings.Fields("cidade city ciudad pais country cep zip postal bairro endereco address municipio logradouro rua street")
	dateTitles   = strings.Fields("data date fecha em at")
	amountTitles = strings.Fields("valor total amount monto importe preco price precio")
	payTitles    = strings.Fields("pagament pagad payment pago paga paid")
)

// tellingValues are the beginnings of words in cells that speak of who gets in, whatever their column is called.
var tellingValues = strings.Fields("pago paga pagad pagament paid unpaid pend cancel anulad reembols refund estorn devolv devuel bloque block expir aprov approv aprob " +
	"confirm recus rechaz declin negad denied granted aguard await inadimpl quitad chargeback liberad void")

// places are the states of Brazil: what a column of an address holds.
var places = strings.Fields("ac al ap am ba ce df es go ma mt ms mg pa pb pr pe pi rj rn rs ro rr sc sp se to")

func begins(text string, stems []string) bool {
	for word := range strings.FieldsSeq(text) {
		if slices.ContainsFunc(stems, func(stem string) bool { return strings.HasPrefix(word, stem) }) {
			return true
		}
	}
	return false
}

func hasWord(text string, words []string) bool {
	return slices.ContainsFunc(strings.Fields(text), func(w string) bool { return slices.Contains(words, w) })
}

// decide finds the columns of a ticket list that decide who gets in, and asks about those that may.
func (c *chooser) decide() {
	for i := range c.plains {
		if c.taken[i] || c.plains[i] == "" && c.profiles == nil {
			continue
		}
		d, sure, ask := c.decides(i)
		switch {
		case ask:
			c.ly.questions = append(c.ly.questions, c.question(i))
			c.taken[i] = true
		case sure:
			c.ly.deciders = append(c.ly.deciders, d)
			c.taken[i] = true
		}
	}
	if !slices.ContainsFunc(c.ly.deciders, func(d decider) bool { return d.state == "" || d.state == "unpaid" }) {
		c.askForPayments()
	}
}

// askForRest asks about columns whose title is another field's and that no field took, if they say of somebody what keeps him out.
func (c *chooser) askForRest() {
	for i, title := range c.plains {
		if c.profiles == nil || c.taken[i] || c.profiles[i].filled == 0 || !c.isKnown(title) {
			continue
		}
		q := c.question(i)
		for _, field := range validities {
			if slices.Contains(words(field), title) {
				q.Flags = []string{fmt.Sprintf("--map '%s=%s'", field, q.Column), fmt.Sprintf("--ignore '%s'", q.Column)}
				c.ly.questions = append(c.ly.questions, q)
				c.taken[i] = true
			}
		}
		if !c.taken[i] && c.saysOut(&c.profiles[i]) {
			c.ly.questions = append(c.ly.questions, q)
			c.taken[i] = true
		}
	}
}

// validities are the fields by which a ticket is good for a time.
var validities = []string{"valid_from", "valid_until"}

// saysOut tells a column of few values in which one is nothing but a state that keeps somebody out.
func (c *chooser) saysOut(p *profile) bool {
	return p.share(func(v string) bool {
		s := stateOf(v, c.src.States)
		return s != "" && s != severity[0]
	}) > 0
}

// Words and phrases that keep somebody out, wherever they stand.
var (
	notAdmitted = strings.Fields("cancelado cancelada cancelados canceladas cancelled canceled anulado anulada anulados anuladas estornado estornada estornados " +
		"reembolsado reembolsada reembolsados refunded unpaid bloqueado bloqueada bloqueados blocked pendente pendentes pending pendiente pendientes waitlist waitlisted " +
		"inadimplente inadimplentes suspenso suspensa banido banida cancelou desistiu desistente desistentes")
	notAdmittedPhrases = []string{"lista de espera", "fila de espera", "lista espera", "waiting list", "wait list", "em espera", "nao pago", "nao paga", "nao pagou", "nao pagos",
		"not paid", "no pago", "no pagado", "sin pagar", "a pagar", "por pagar", "falta pagar"}
	goods = strings.Fields("camiseta camisetas camisa camisas shirt shirts tshirt tshirts playera remera almoco jantar lanche refeicao refeicoes marmita meal meals lunch dinner " +
		"breakfast almuerzo cena estacionamento parking estacionamiento livro livros caneca brinde brindes doacao donation donacion")
)

func keepsOut(text string) bool {
	return hasWord(text, notAdmitted) || hasPhrase(text, notAdmittedPhrases)
}

// hasPhrase tells whole words in a row.
func hasPhrase(text string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(phrase string) bool { return strings.Contains(" "+text+" ", " "+phrase+" ") })
}

// askForTypes asks about types of tickets whose name says that somebody is kept out: Adulto (cancelado).
func (c *chooser) askForTypes() {
	if c.profiles == nil || len(c.src.OnlyTypes) > 0 {
		return
	}
	for _, f := range c.ly.feeds {
		if f.name != nameType || len(f.parts) != 1 || len(f.parts[0]) != 1 {
			continue
		}
		column := f.parts[0][0]
		var in, out []string
		for _, v := range c.profiles[column].values() {
			if keepsOut(plain(v.Value)) {
				out = append(out, v.Value)
			} else {
				in = append(in, v.Value)
			}
		}
		if len(out) > 0 {
			q := c.question(column)
			q.Text = "names types that may be no admissions"
			q.Flags = []string{
				fmt.Sprintf("--only-type '%s' to leave “%s” out", strings.Join(in, ","), strings.Join(out, "”, “")),
				fmt.Sprintf("--only-type '%s' to let them in", strings.Join(append(in, out...), ",")),
			}
			c.ly.questions = append(c.ly.questions, q)
		}
	}
}

// decides judges one column by its title and its values.
func (c *chooser) decides(column int) (d decider, sure, ask bool) {
	title := c.plains[column]
	d = deciderOf(column, title)
	own := d.state != "" || slices.Contains(words(nameState), title)
	if c.profiles == nil {
		return d, own, false // the header is still looked for
	}
	p := &c.profiles[column]
	switch {
	case p.filled == 0, c.isPlace(column), slices.Contains(c.origin.others, title):
		return d, false, false
	case own:
		known := p.share(func(v string) bool { return d.means(v, c.src.States) >= 0 })
		return d, 2*known >= p.filled, 2*known < p.filled
	case c.isKnown(title):
		return d, false, false
	case isDebt(title) && p.numbers == p.studied:
		d.state, d.when = "unpaid", whenOwed
		return d, p.below == 0, p.below > 0 // below zero may be a debt or a credit
	case begins(title, refundTitles) && p.numbers == p.studied:
		return d, false, p.numbers > p.zeros
	case isDebt(title) && p.letters > 0 && p.dates == (dateEvidence{}), tells(title),
		begins(title, payTitles) && p.mostly(p.truths) && !begins(title, mailTitles):
		return c.decidesByValues(d, p)
	}
	return d, false, c.saysOut(p) || 2*p.telling >= p.studied || p.outs > 0 && c.origin == nothing
}

func isDebt(title string) bool { return hasWord(title, debtWords) || hasPhrase(title, debtPhrases) }

// tells tells a title that speaks of who gets in.
func tells(title string) bool {
	return hasWord(title, tellingWords) || hasPhrase(title, tellingPhrases) || begins(title, tellingTitles) && !begins(title, otherMatters)
}

// decidesByValues judges a column whose title speaks of who gets in, but is none that is known.
func (c *chooser) decidesByValues(d decider, p *profile) (_ decider, sure, ask bool) {
	known := p.share(func(v string) bool { return stateOf(v, c.src.States) != "" })
	title := c.plains[d.column]
	dated := p.dates != dateEvidence{} || p.samples[0] != "" && isDated(p.samples[0])
	pays := begins(title, payTitles)
	switch {
	case p.counts != nil && 2*known >= p.filled:
		return d, true, false
	case dated && pays, pays && p.isAmounts():
		return d, false, false // when and how much, not whether: see askForPayments
	case dated, p.mostly(p.truths), hasPhrase(title, tellingPhrases):
		return d, false, true
	case p.isNumbering():
		return d, false, false
	case p.counts == nil:
		return d, false, 2*p.telling >= p.studied || p.outs > 0
	}
	return d, false, true
}

func isDated(text string) bool {
	_, ok := threeNumbers(text)
	return ok || isSerial(text)
}

// isSerial tells a day of this century as a workbook stores it.
func isSerial(text string) bool {
	days, err := strconv.ParseFloat(text, 64)
	return err == nil && days >= 36526 && days < 73050
}

// isKnown tells a title that names another field of a ticket as nobody would call a state.
func (c *chooser) isKnown(title string) bool {
	return slices.ContainsFunc(c.ly.form.known(), func(field string) bool {
		return field != nameState && slices.Contains(words(field), title)
	}) || isCheckin(title)
}

// isPlace tells the state of an address: by its values, or by its neighbours where its values are no states of a ticket.
func (c *chooser) isPlace(column int) bool {
	p, title := &c.profiles[column], c.plains[column]
	if !hasWord(title, []string{"state", "estado", "uf"}) || strings.Contains(title, " ") && slices.Contains(words(nameState), title) {
		return false
	}
	if p.counts != nil && p.share(func(v string) bool { return slices.Contains(places, plain(v)) }) == p.filled {
		return true
	}
	if p.share(func(v string) bool {
		return stateOf(v, c.src.States) != "" || truths[plain(v)] != "" || begins(plain(v), tellingValues)
	}) > 0 {
		return false
	}
	for i := max(0, column-3); i < min(len(c.plains), column+4); i++ {
		if i != column && hasWord(c.plains[i], placeTitles) {
			return true
		}
	}
	return false
}

// askForPayments asks about dates and amounts of payments that not every row has, where nothing else says who has paid.
func (c *chooser) askForPayments() {
	if c.profiles == nil {
		return
	}
	for i, title := range c.plains {
		p := &c.profiles[i]
		if c.taken[i] || p.filled == 0 || title == "" {
			continue
		}
		blank := p.rows - p.filled
		none, pays := blank+p.zeros, begins(title, payTitles)
		switch {
		case pays && blank > 0 && (hasWord(title, dateTitles) || isDated(p.samples[0])),
			pays && p.isAmounts() && none > 0 && none < p.rows,
			hasWord(title, amountTitles) && p.numbers == p.studied && p.below > 0: // money that was given back
			c.ly.questions = append(c.ly.questions, c.question(i))
			c.taken[i] = true
		}
	}
}

// maxAsked is how many values of a column a question shows.
const maxAsked = 12

// Question is a column that may decide who gets in, or who somebody is, and that is not understood: nothing is written before
// whoever imports has said what it means.
type Question struct {
	Column string   `json:"column"`
	Values []Value  `json:"values"` // the most frequent first
	More   int      `json:"more"`   // further ones
	Text   string   `json:"text"`
	Flags  []string `json:"flags"` // what decides it, one of them
}

// Is makes a Question an ErrSource.
func (q *Question) Is(target error) bool { return target == ErrSource }

func (q *Question) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the column “%s” %s", q.Column, q.Text)
	for i, v := range q.Values {
		b.WriteString([]string{": ", ", "}[min(i, 1)])
		fmt.Fprintf(&b, "%s %d", valueText(v.Value), v.Count)
	}
	if q.More > 0 {
		fmt.Fprintf(&b, " and %d more", q.More)
	}
	return b.String() + "; say " + strings.Join(q.Flags, " or ")
}

func valueText(v string) string {
	if v == "" {
		return "(blank)"
	}
	return sample(v)
}

// question asks what a column means for who gets in.
func (c *chooser) question(column int) *Question {
	name, p := c.ly.nth(column), &c.profiles[column]
	q := &Question{Column: name, Text: "may decide who gets in and is not understood", Values: p.values()}
	if blank := p.rows - p.filled; blank > 0 && q.Values != nil {
		q.Values = append(q.Values, Value{"", blank})
	}
	var unknown []string
	known := 0
	for _, v := range q.Values {
		if stateOf(v.Value, c.src.States) != "" {
			known++
		} else if len(unknown) < 3 {
			unknown = append(unknown, v.Value+"=…")
		}
	}
	mapped := fmt.Sprintf("--map 'state=%s'", name)
	if len(unknown) > 0 {
		mapped += fmt.Sprintf(" --states '%s' (each valid, unpaid, blocked, refunded or cancelled)", strings.Join(unknown, ","))
	}
	q.Flags = []string{mapped, fmt.Sprintf("--ignore '%s'", name)}
	if len(q.Values) > maxAsked {
		q.More, q.Values = len(q.Values)-maxAsked, q.Values[:maxAsked]
	}
	return q
}

// Questions are several at once.
type Questions []*Question

// Is makes them an ErrSource.
func (q Questions) Is(target error) bool { return target == ErrSource }

func (q Questions) Error() string {
	texts := make([]string, len(q))
	for i, one := range q {
		texts[i] = one.Error()
	}
	return strings.Join(texts, "; ")
}
