package load

import (
	"fmt"
	"slices"
	"strings"
)

// Whatever may decide who gets in is either understood or asked about: a column whose title or whose values speak of payment,
// of a cancellation, of a block or of a ticket's validity is never passed over in silence.

// Beginnings of words in titles that speak of who gets in, and of those beside them which show that it is about something else.
var (
	tellingTitles = strings.Fields("status situac estado state pagament pagad payment pago paga paid quitad bloque block cancel anulad reembols refund " +
		"estorn valid vencid vencim vencto expir aprov approv aprob confirm liberad inadimpl autoriz")
	tellingWords = strings.Fields("ativo ativa ativado ativada active activo activa enabled habilitado habilitada inativo inativa inactive disabled " +
		"waitlist waitlisted deleted excluido excluida void permitido permitida proibido proibida allowed denied barrado banned comprovante " +
		"statut stato zustand bezahlt storniert paye annule pagato annullato")
	debtWords      = strings.Fields("aberto devedor debito divida due owed owes owing balance outstanding saldo pendente adeudado deuda faltante")
	tellingPhrases = []string{"lista de espera", "fila de espera", "waiting list", "wait list", "em espera"}
	otherMatters   = strings.Fields("civil marital endereco address direccion fatura invoice billing home work shipping entrega metodo forma meio method provider " +
		"gateway valor total amount taxa fee fees preco price precio currency moeda mail email cupom coupon voucher processing uf natal birth")
	placeTitles  = strings.Fields("cidade city ciudad pais country cep zip postal bairro endereco address municipio logradouro rua street")
	dateTitles   = strings.Fields("data date fecha em at")
	amountTitles = strings.Fields("valor total amount monto importe")
	payTitles    = strings.Fields("pagament pagad payment pago paga paid")
)

// tellingValues are the beginnings of words in cells that speak of who gets in, whatever their column is called.
var tellingValues = strings.Fields("pago paga pagad pagament paid unpaid pend cancel anulad reembols refund estorn devolv devuel bloque block expir aprov approv aprob " +
	"confirm recus rechaz declin negad aguard await inadimpl quitad chargeback liberad void")

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
	if len(c.ly.deciders) == 0 {
		c.askForPayments()
	}
}

// notAdmitted are the words that keep somebody out, wherever they stand.
var notAdmitted = strings.Fields("cancelado cancelada cancelled canceled anulado anulada estornado estornada reembolsado reembolsada refunded unpaid bloqueado bloqueada blocked")

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
			if hasWord(plain(v.Value), notAdmitted) {
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
	case hasWord(title, debtWords) && p.numbers == p.studied:
		d.state, d.when = "unpaid", whenOwed
		return d, true, false
	case hasWord(title, debtWords) && p.letters > 0 && p.dates == (dateEvidence{}), hasWord(title, tellingWords),
		slices.ContainsFunc(tellingPhrases, func(phrase string) bool { return strings.Contains(title, phrase) }),
		begins(title, tellingTitles) && !begins(title, otherMatters):
		return c.decidesByValues(d, p)
	}
	telling := p.share(func(v string) bool { return begins(plain(v), tellingValues) })
	return d, false, p.counts != nil && 2*telling >= p.filled
}

// decidesByValues judges a column whose title speaks of who gets in, but is none that is known.
func (c *chooser) decidesByValues(d decider, p *profile) (_ decider, sure, ask bool) {
	known := p.share(func(v string) bool { return stateOf(v, c.src.States) != "" })
	dated := p.dates != dateEvidence{} || p.samples[0] != "" && isDated(p.samples[0])
	pays := begins(c.plains[d.column], payTitles)
	switch {
	case p.counts != nil && 2*known >= p.filled:
		return d, true, false
	case dated && pays:
		return d, false, false // when, not whether: see askForPayments
	case dated, p.mostly(p.truths):
		return d, false, true
	case p.counts == nil, p.letters == 0:
		return d, false, false // sentences, amounts
	}
	return d, false, true
}

func isDated(text string) bool {
	_, ok := threeNumbers(text)
	return ok
}

// isKnown tells a title that names another field of a ticket as nobody would call a state.
func (c *chooser) isKnown(title string) bool {
	return slices.ContainsFunc(c.ly.form.known(), func(field string) bool {
		return field != nameState && slices.Contains(words(field), title)
	}) || isCheckin(title)
}

// isPlace tells the state of an address: by its values, or by its neighbours where its values are no states of a ticket.
func (c *chooser) isPlace(column int) bool {
	p := &c.profiles[column]
	if !hasWord(c.plains[column], []string{"state", "estado", "uf"}) {
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
		if c.taken[i] || !begins(title, payTitles) || p.filled == 0 {
			continue
		}
		none := p.rows - p.filled + p.zeros
		if hasWord(title, dateTitles) && none > p.zeros || hasWord(title, amountTitles) && p.numbers == p.studied && none > 0 && none < p.rows {
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
