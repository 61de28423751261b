package demo

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"doorward/kv/codes"
	"doorward/kv/record"
)

func newDemo(people int, seed int64, now time.Time) *demo {
	y, m, day := now.Date()
	d := &demo{seed: uint64(seed), today: time.Date(y, m, day, 0, 0, 0, 0, now.Location())}
	names := func(k *record.Kind, list []string, more ...any) section {
		return section{k, len(list), func(i int) []byte { return members(append([]any{"name", list[i]}, more...)...) }}
	}
	d.sections = []section{
		{record.Regional, 2 + people/50_000, d.regional},
		{record.Church, 3 + min(people/1_000, 800), d.church},
		names(record.FinancialAccount, accountNames, "currency", "BRL"),
		names(record.Category, categoryNames),
		{record.Subcategory, len(categoryNames) * len(subcategoryNames), d.subcategory},
		names(record.CostCenter, costCenterNames),
		names(record.BusinessUnit, unitNames),
		{record.Supplier, 8 + people/5_000, d.supplier},
		names(record.Role, roleNames),
		{record.Person, people, d.personBody},
		{record.Group, 6 + people/50, d.group},
		{record.Membership, people / 2, d.membership},
		{record.FinancialEntry, min(people/2, 100_000), d.entry},
		{record.Event, len(eventNames), d.event},
		{record.Ticket, people / 2, func(i int) []byte { return d.ticket(i).body() }},
	}
	return d
}

// dice are what chance a record has: the same for the same seed, kind and number, whatever was drawn before.
type dice struct{ *rand.Rand }

func (d *demo) dice(kind *record.Kind, i int) dice {
	return dice{rand.New(rand.NewPCG(d.seed, uint64(kind.Number)<<48|uint64(i)))}
}

func (r dice) pick(list []string) string { return list[r.IntN(len(list))] }

// under tells yes in n cases of a hundred.
func (r dice) under(n int) bool { return r.IntN(100) < n }

// id draws the id of one of n records.
func (r dice) id(n int) int { return 1 + r.IntN(n) }

func (r dice) surname() string { return r.pick(surnameHeads) + r.pick(surnameTails) }

func (r dice) phone() string { return fmt.Sprintf("+55 00 9%04d-%04d", r.IntN(10_000), r.IntN(10_000)) }

// day draws a day from some to some years ago.
func (d *demo) day(r dice, from, to int) string {
	return d.today.AddDate(-from, 0, r.IntN(max(1, (from-to)*365))).Format(time.DateOnly)
}

func (d *demo) regional(i int) []byte {
	return members("name", "Regional "+numbered(regionNames, i))
}

// numbered is the i-th name of a list that is gone through again and again.
func numbered(list []string, i int) string {
	name := list[i%len(list)]
	if i >= len(list) {
		name += fmt.Sprintf(" %d", i/len(list)+1)
	}
	return name
}

func (d *demo) church(i int) []byte {
	place := placeKinds[i%len(placeKinds)] + " " + numbered(placeNames, i/len(placeKinds))
	return members("name", "Igreja do "+place, "regional_id", 1+i%d.count(record.Regional))
}

func (d *demo) subcategory(i int) []byte {
	return members("name", subcategoryNames[i%len(subcategoryNames)], "category_id", 1+i/len(subcategoryNames))
}

func (d *demo) supplier(i int) []byte {
	r := d.dice(record.Supplier, i)
	return members("name", "Casa "+r.surname()+" & Filhos")
}

// person is what a demo's other records ask of a person.
type person struct {
	dice
	name, email, phone, gender string
	church                     int
}

func (d *demo) person(i int) person {
	r := d.dice(record.Person, i)
	p := person{dice: r, gender: "female", church: r.id(d.count(record.Church))}
	first := r.pick(womensNames)
	if r.under(46) {
		first, p.gender = r.pick(mensNames), "male"
	}
	p.name = first + " " + r.surname() + " " + r.surname()
	p.phone = r.phone()
	p.email = fmt.Sprintf("pessoa%d@example.org", i+1)
	return p
}

func (d *demo) personBody(i int) []byte {
	p := d.person(i)
	var baptism, leader, email, roles any
	if p.under(60) {
		baptism = d.day(p.dice, 30, 1)
	}
	if p.under(4) {
		leader, roles = true, []int{p.id(len(roleNames))}
	}
	if p.under(70) {
		email = p.email
	}
	return members("full_name", p.name, "gender", p.gender, "church_id", p.church, "status", "approved", "birthday", d.day(p.dice, 85, 3),
		"email", email, "mobile_phone", p.phone, "has_whatsapp", p.under(80), "church_profile", p.pick([]string{"visitor", "frequent", "member", "member"}),
		"baptized", baptism != nil, "baptism_date", baptism, "is_leader", leader, "role_ids", roles, "occupation", p.pick(occupations),
		"membership_number", i+1)
}

func (d *demo) group(i int) []byte {
	return members("name", groupNames[i%len(groupNames)]+" "+numbered(placeNames, i/len(groupNames)), "church_id", 1+i%d.count(record.Church))
}

// membership spreads people over groups; no person is in one group twice.
func (d *demo) membership(i int) []byte {
	return members("person", 1+i*2, "group_id", 1+i%d.count(record.Group), "is_approved", i%20 != 0)
}

func (d *demo) entry(i int) []byte {
	r := d.dice(record.FinancialEntry, i)
	income := r.under(65)
	kind, category := "expense", 3+r.IntN(len(categoryNames)-2)
	if income {
		kind, category = "income", r.id(2)
	}
	due := d.today.AddDate(0, 0, 45-r.IntN(700))
	paid := due.Before(d.today) && r.under(90)
	amount := fmt.Sprintf("%d.%02d", 10+r.IntN(900), r.IntN(100))
	var payment, paidAmount any
	if paid {
		payment, paidAmount = due.Format(time.DateOnly), amount
	}
	return members("transaction_type", kind, "financial_account_id", r.id(len(accountNames)), "base_amount", amount, "paid_amount", paidAmount,
		"church_id", r.id(d.count(record.Church)), "supplier_id", r.id(d.count(record.Supplier)), "description", categoryNames[category-1], "currency", "BRL",
		"due_date", due.Format(time.DateOnly), "accrual_date", due.Format("2006-01")+"-01", "payment_date", payment, "is_paid", paid,
		"payment_method", r.pick([]string{"pix", "pix", "money", "credit_card", "billet", "transference"}), "category_id", category,
		"subcategory_id", (category-1)*len(subcategoryNames)+r.id(len(subcategoryNames)), "cost_center_id", r.id(len(costCenterNames)),
		"business_unit_id", r.id(len(unitNames)))
}

// event makes the first event one that is open today, the second one that goes on for days and admits once a day, and the
// others ones before and after.
func (d *demo) event(i int) []byte {
	start := d.today.AddDate(0, 0, (i-4)*30).Add(19 * time.Hour)
	end, rule := start.Add(3*time.Hour), "once"
	switch i + 1 {
	case demoEvent:
		start = d.today
		end = start.AddDate(0, 0, 1)
	case dailyEvent:
		start, rule = d.today.AddDate(0, 0, -1), "daily"
		end = start.AddDate(0, 0, 5)
	}
	return members("name", eventNames[i], "description", "Um encontro inventado.", "start_datetime", start.Format(time.RFC3339),
		"end_datetime", end.Format(time.RFC3339), "list_rule", rule, "church_id", churchOf(i), "has_registrations", true,
		"contact_email", "eventos@example.org", "show_on_calendar", true)
}

// churchOf leaves the two events of today to everybody.
func churchOf(event int) any {
	if event+1 <= dailyEvent {
		return nil
	}
	return 1 + event%3
}

// ticket is one demo ticket.
type ticket struct {
	event             int
	code, state, kind string
	holder            person
	person            int
	order             string
}

func (d *demo) ticket(i int) ticket {
	r := d.dice(record.Ticket, i)
	var chance [10]byte
	binary.BigEndian.PutUint64(chance[:8], r.Uint64())
	binary.BigEndian.PutUint16(chance[8:], uint16(r.Uint32()))
	t := ticket{event: demoEvent, code: codes.Make(chance), state: "valid", kind: r.pick(typesDrawn),
		holder: d.person(i * 2), person: i*2 + 1, order: fmt.Sprintf("P-%06d", 1+i/3)}
	switch n := r.IntN(100); {
	case n >= 95:
		t.event = dailyEvent + r.id(len(eventNames)-dailyEvent)
	case n >= 80:
		t.event = dailyEvent
	}
	n := r.IntN(100)
	for _, s := range ticketStates {
		if n -= s.chance; n < 0 {
			t.state = s.state
			break
		}
	}
	return t
}

func (t ticket) body() []byte {
	var email any
	if !strings.HasSuffix(t.code, "0") {
		email = t.holder.email
	}
	return members("event_id", t.event, "code", t.code, "type", t.kind, "state", t.state, "holder_name", t.holder.name,
		"email", email, "phone", t.holder.phone, "person_id", t.person, "order", t.order)
}

// The words of which the demo makes names of people, churches and events. A real person has one of these names only by chance, the
// area code 00 does not exist, and example.org has no mailboxes.

var womensNames = list(`Adalina Belmira Clarinda Dorotéia Elisandra Florinda Graciela Herminda Iracilda Jacinara Ludimila Marilda
	Noêmia Otília Perpétua Quirina Rosimara Salvina Tarcila Ursulina Valdirene Zenaide Alcione Brígida Corália Delmira
	Eudóxia Felismina Genoveva Hilarina Janaína Lindaura`)

var mensNames = list(`Adalmir Belarmino Clodoaldo Dorival Elpídio Florisvaldo Genivaldo Hermínio Irineu Jacinto Leocádio Maurílio
	Norberto Olegário Percival Quirino Raimundo Salvino Tarcísio Ubirajara Valdemiro Zenóbio Alcebíades Benevides Cândido
	Deoclécio Eugênio Firmino Godofredo Heráclito Jurandir Laurindo`)

// Surnames are a head and a tail.
var surnameHeads = list(`Alb Barr Cal Durv Espir Fagund Galv Hort Itam Jord Lind Monf Nogar Oliv Pinh Quint Rosm Salg Tavir Urb Vald Xer
	Zamb Brand Castr Figu Mirand Palm Serr Vilar`)

var surnameTails = list(`ão ares eira ellos enda eral eto iano ico ilva ino osa ouro uda unes`)

var placeNames = list(`Sereno Alegre Claro Novo Verde Formoso Bonito Dourado Santo Manso`)

var placeKinds = list(`Vale Monte Campo Porto Jardim Lago Bosque Rio Horizonte Recanto`)

var regionNames = list(`Norte Sul Leste Oeste Centro Serra Litoral Planalto Fronteira Sertão`)

var roleNames = list(`Pastor Presbítero Diácono Missionária Regente Tesoureira Secretário Professora Recepcionista Obreiro`)

var groupNames = list(`Casais Jovens Adolescentes Mulheres Homens Louvor Acolhida Intercessão Crianças Universitários`)

var occupations = list(`costureira padeiro professora enfermeiro pedreiro contadora motorista cozinheira estudante agricultor`)

var accountNames = []string{"Caixa", "Conta corrente", "Conta de missões"}

var categoryNames = []string{"Dízimos", "Ofertas", "Manutenção", "Pessoal", "Missões", "Eventos"}

var subcategoryNames = []string{"Regular", "Especial"}

var costCenterNames = []string{"Geral", "Templo", "Ação social", "Ensino"}

var unitNames = []string{"Sede", "Campo missionário"}

var eventNames = []string{"Noite de Louvor", "Congresso da Colheita", "Retiro de Verão", "Festa das Nações", "Encontro de Casais",
	"Semana da Família", "Acampamento de Jovens", "Concerto de Natal", "Seminário de Líderes", "Almoço da Primavera"}

var typesDrawn = []string{"Adulto", "Adulto", "Adulto", "Meia", "Criança", "Voluntário"}

// ticketStates are drawn with these chances in a hundred; valid is the rest.
var ticketStates = []struct {
	state  string
	chance int
}{{"unpaid", 4}, {"cancelled", 3}, {"refunded", 2}, {"blocked", 1}}

// list cuts a text into its words.
func list(text string) []string { return strings.Fields(text) }
