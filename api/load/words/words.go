package words

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// titles are the column titles by which people call a field, besides its own name; in plain form (see Plain). A title that
// stands with several fields means the first of them that the kind has.
var titles = []struct {
	field string
	words string // separated by bars; by semicolons where those before outrank those behind
}{
	{"id", ""},
	{"external_id", "external id|id externo|codigo externo;uuid;id do ingresso|ticket id|id da inscricao|registration id"},
	{"event_id", "event id|id do evento|evento id|id evento|codigo do evento"},
	{"code", "codigo|ticket code|code|barcode|barcode number|bar code|codigo de barras|n do codigo de barras|numero do codigo de barras|codigo do ingresso|codigo ingresso|n do ingresso|" +
		"n ingresso|n de ingresso|no do ingresso|numero do ingresso|numero ingresso|numero de ingresso|ticket number|ticket no|qr code|qrcode|codigo qr|ticket secret|segredo do ingresso|secret|segredo|qr code url|code barre|code barres|code a barres|numero de billet|numero du billet|ticketnummer|strichcode|codice a barre|" +
		"codigo de entrada|codigo de la entrada|numero de entrada|localizador|secreto|secreto del ticket|codigo secreto|codigo secreto del ticket"},
	{"type", "tipo|tipo de ingresso|tipo do ingresso|tipo ingresso|ingresso|ticket type|ticket|tipo de entrada|product|produto|producto;categoria|modalidade;setor;lote;ticket name;product name"},
	{"state", "ticket status|ticket state|attendee status|status do participante|status do ingresso|situacao do ingresso|" +
		"estado do ingresso|situacao da inscricao|status da inscricao|estado da inscricao|order status|status do pedido|situacao do pedido|" +
		"estado do pedido|estado de pagamento|estado del pago|estado del pedido;situacao|status|estado|payment status|status do pagamento|estado do pagamento|situacao do pagamento|pagamento"},
	{"holder_name", "holder|holder name|ticket holder|ticket holder name|ticket full name|participante|nome do participante|titular|nome do titular|attendee|attendee name|" +
		"asistente|nombre del asistente|inscrito|nome do inscrito|portador|nome do portador|convidado|nome do convidado|guest|guest name;" +
		"nome|name|full name|nome completo|nombre|nombre completo;cliente|nome do cliente|comprador|nome do comprador|buyer|buyer name"},
	{"full_name", "nome|name|nombre|nome completo|full name|nombre completo|nombre y apellidos|nombre y apellido|nom complet|nom et prenom|name vorname|nome do membro|member name;pessoa"},
	{"name", "nome;titulo|title;descricao"},
	{"email", "e mail|mail|correio eletronico|correo electronico|correo|email do participante|e mail do participante|attendee email|attendee email address|ticket email|ticket holder email|ticket holder email address|owner email|email address|e mail address|email id|e mail id|mail id|e mail adresse|courriel|adresse e mail|endereco de e mail;" +
		"preferred email;home email|primary email|email 1|e mail 1|e mail 1 value;work email|email de trabalho;other email"},
	{"phone", "telefone|fone|tel|telefono|phone number|numero de telefone|telefone do participante|attendee phone|attendee phone number|attendee telephone|ticket phone number|home phone number|home phone|homephone|home tel|fone residencial|telefone residencial|telefono fijo|telefon|telefon privat|telephone|contact number|contact no|phone no|primary phone number|primary phone|phone 1 value;celular|mobile;whatsapp;contato;work phone"},
	{"mobile_phone", "celular|telefone celular|mobile|mobile phone|mobile phone number|mobile number|mobile tel|mobile no|celular whatsapp|numero de celular|numero de whatsapp|whatsapp number|cell number|cell|cell phone|cellphone|fone celular|movil|telefono movil|handy|mobil|mobiltelefon|telefon mobil|portable;whatsapp"},
	{"order", "pedido|order id|order number|order code|numero do pedido|n do pedido|codigo do pedido|codigo del pedido|compra|n da compra;reserva;familia|household"},
	{"valid_from", "valido de|valido desde|valido a partir de|inicio da validade|not before"},
	{"valid_until", "valido ate|valido hasta;validade|vencimento|expira em|fim da validade|expires|valid to"},
	{"person_id", "person id|id da pessoa|id pessoa|id do membro"},
	{"person", "person id|id da pessoa|id pessoa|id do membro"},
	{"church_id", "id da igreja|id igreja|igreja id|codigo da igreja|church id;" + // the last rank: what is no id
		"igreja|nome da igreja|igreja local|church|church name|local church|iglesia|nombre de la iglesia|iglesia local|campus|campus name|nome do campus|primary campus|" +
		"congregacao|nome da congregacao|congregation|congregation name|congregacion|nombre de la congregacion"},
	{"regional_id", "id da regional|id regional|regional id|codigo da regional"},
	{"group_id", "id do grupo|id grupo|grupo id|group id"},
	{"group", "grupo|nome do grupo|group name|nombre del grupo|gruppe|gruppenname|groupe|nom du groupe;" +
		"grupo pequeno|pequeno grupo|small group|life group|celula|nome da celula|kleingruppe|hauskreis|groupe de maison;ministerio|ministry|team|equipe|equipo"},
	{"person_external_id", "breeze id|individual id|elvanto id|external person id|id externo da pessoa|id externo de la persona|externe id|id externe"},
	{"joined_at", "joined|join date|date joined|joined on|joined date|joined group|member since|since|entrou em|entrada|data de entrada|data de ingresso|membro desde|desde|ingreso|fecha de ingreso|" +
		"miembro desde|beitritt|beitrittsdatum|beigetreten|beigetreten am|eintritt|eintrittsdatum|mitglied seit|seit|date d adhesion|date d entree|membre depuis|depuis"},
	{"document", "cnpj|cpf cnpj|cnpj cpf;documento"},
	{"currency", "moeda"},
	{"gender", "genero|sexo|sex|geschlecht|sexe"},
	{"birthday", "nascimento|data de nascimento|data nascimento|birth date|date of birth|birthdate|dob|data nasc|dt nascimento|dt nasc|nasc|fecha de nacimiento|fecha nacimiento|geburtsdatum|geb datum|geburtstag|date de naissance;aniversario|cumpleanos"},
	{"rg_state", "uf do rg|estado do rg|orgao uf"},
	{"is_pastor", "pastor"},
	{"is_leader", "lider|leader"},
	{"baptized", "batizado|batizada|bautizado|bautizada|baptised"},
	{"baptism_date", "batismo|data do batismo|data de batismo|data batismo|dt batismo|batizado em|fecha de bautismo|taufdatum|date de bapteme|baptism date|date of baptism|date baptized|date baptised"},
	{"baptism_type", "tipo de batismo|tipo do batismo"},
	{"marital_status", "estado civil|familienstand"},
	{"marriage_date", "casamento|data do casamento|data de casamento|hochzeitsdatum|fecha de boda|wedding date|anniversary|anniversary date"},
	{"church_profile", "perfil|perfil na igreja"},
	{"membership_number", "matricula|numero de membro|rol|n do rol|numero no rol"},
	{"membership_start_date", "membro desde|data de membresia|data de entrada|member since|membershipdate|membership date|join date|date joined|eintrittsdatum"},
	{"occupation", "profissao|ocupacao|profession"},
	{"education_level", "escolaridade"},
	{"nationality", "nacionalidade"},
	{"blood_type", "tipo sanguineo|sangue"},
	{"previous_church", "igreja anterior"},
	{"is_active", "ativo|ativa|active|activo|activa|is active"},
	{"inactive_date", "data de desligamento|data desligamento|data de inativacao|inactivated at|date inactive|drop date|date dropped|date left|austrittsdatum"},
	{"death_date", "data de falecimento|data do falecimento|date of death|deceased date|date deceased|fecha de fallecimiento"},
	{"is_approved", "aprovado|aprovada|approved"},
	{"transaction_type", "tipo|tipo de lancamento|tipo de transacao"},
	{"base_amount", "valor|valor base|amount|value;total"},
	{"paid_amount", "valor pago|amount paid"},
	{"penalty", "multa"},
	{"admin_fee", "taxa|taxa administrativa|taxa de administracao"},
	{"description", "descricao;historico"},
	{"due_date", "vencimento|data de vencimento"},
	{"accrual_date", "competencia|data de competencia"},
	{"payment_date", "pagamento|data de pagamento|data do pagamento|paid at"},
	{"is_paid", "pago|paid"},
	{"payment_method", "forma de pagamento|metodo de pagamento|meio de pagamento|tipo de pagamento|forma de pgto|metodo de pgto|meio de pgto|payment type|forma de pago|metodo de pago|medio de pago"},
	{"installment_number", "parcela|numero da parcela"},
	{"start_datetime", "inicio|data de inicio|comeca em|start"},
	{"end_datetime", "fim|termino|data de termino|termina em|end"},
	{"subscription_deadline", "inscricoes ate|prazo de inscricao|fim das inscricoes"},
}

// Choices are the words by which people mean a choice of a field, in plain form. A membership is approved, or not, or has ended, which no field says.
var Choices = map[string]map[string]string{
	"transaction_type": alias("expense", "saida|saidas|despesa|despesas|debito|pagamento|pagamentos",
		"income", "entrada|entradas|receita|receitas|credito|dizimo|dizimos|oferta|ofertas"),
	"is_active": alias("true", "ativo|ativa|active|activo|activa", "false", "inativo|inativa|inactive|inactivo|inactiva|archived|arquivado|arquivada|archivado|archivada|"+
		"deceased|falecido|falecida|fallecido|fallecida|desligado|desligada|former member|"+
		"inactive member|dropped|removed|resigned|transferred|transferred out|withdrawn|moved away|removido|removida|membro inativo|membro inativa|transferido|transferida|afastado|afastada|excluido|excluida|ex membro|dado de baja|inaktiv|verstorben|ausgetreten|archiviert"),
	"is_approved": alias("true", "ativo|ativa|active|activo|activa|aktiv|actif|approved|aprovado|aprovada|aprobado|aprobada|current|atual|member|membro|miembro|mitglied|membre",
		"false", "pending|pendente|aguardando|pendiente|ausstehend|en attente", "ended", "inativo|inativa|inactive|inactivo|inactiva|inaktiv|inactif|inactive member|membro inativo|membro inativa|"+
			"left|saiu|desligado|desligada|afastado|afastada|transferido|transferida|excluido|excluida|salio|dado de baja|ausgetreten|ehemalig|parti|partie|ancien membre|"+
			"former|former member|ex membro|removed|removido|removida|encerrado|encerrada|archived|arquivado|arquivada|archivado|archivada|archiviert|"+
			"deceased|falecido|falecida|fallecido|fallecida|verstorben|recusado|recusada|rechazado|rechazada|rejected|declined|abgelehnt|refuse|refusee"),
	"status": alias("pending", "pendente|aguardando", "approved", "aprovado|aprovada", "refused", "recusado|recusada|rejected"),
	"gender": alias("male", "masculino|m|homem|masc|h|hombre|varon|masculin|homme|mannlich|maennlich|mann", "female",
		"feminino|f|mulher|fem|femenino|femenina|mujer|feminin|femme|weiblich|w|frau"),
	"church_profile": alias("visitor", "visitante", "frequent", "frequentador|frequentadora|congregado|frequente", "member", "membro"),
	"location_type":  alias("national", "nacional", "international", "internacional"),
	"baptism_type":   alias("immersion", "imersao", "aspersion", "aspersao"),
	"list_rule": alias("once", "uma vez|unico", "daily", "diario|por dia|diariamente",
		"reentry", "reentrada|com reentrada|entra e sai"),
	"inactive_reason": alias("transference", "transferencia|transferido|transferida", "death", "falecimento|morte|obito|falecido|falecida|deceased",
		"withdrawal", "desligamento|desligado|desligada|saida|desistencia", "exclusion", "exclusao|excluido", "no_contact", "sem contato|no contact", "other", "outro|outros"),
	"payment_method": alias("billet", "boleto|boleto bancario", "pix", "", "credit_card", "cartao de credito|credito|credit card",
		"debit_card", "cartao de debito|debito|debit card", "money", "dinheiro|especie|cash", "transference", "transferencia|ted|doc|transfer",
		"bank_check", "cheque|check", "direct_debit", "debito automatico|direct debit", "other", "outro|outros"),
}

// alias turns pairs of a value and its words into a look-up from word to value.
func alias(pairs ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[Plain(pairs[i])] = pairs[i]
		for w := range strings.SplitSeq(pairs[i+1], "|") {
			m[w] = pairs[i]
		}
	}
	delete(m, "")
	return m
}

// Truths are the words for yes and no.
var Truths = map[string]string{
	"sim": "true", "s": "true", "si": "true", "verdadeiro": "true", "x": "true", "v": "true",
	"nao": "false", "n": "false", "falso": "false",
	"true": "true", "yes": "true", "y": "true", "1": "true", "false": "false", "no": "false", "0": "false",
}

// otherTruths are the words for yes and no of further languages. No cell is read by them: a column of them is asked about.
var otherTruths = strings.Fields("ja nein oui non nee tak nie nei nej kylla ei jah ndiyo hapana tidak ano ne da nu evet hayir hayır igen nem hai ie да нет так ні не ναι οχι نعم لا כן לא 是 否 有 无 無 はい いいえ 예 네 아니요 아니오")

// IsYesOrNo tells a cell, given with its plain form, that says yes or no in any of the languages, or by a tick, an empty box or a cross.
func IsYesOrNo(cell, text string) bool {
	return Truths[text] != "" || slices.Contains(otherTruths, text) || text == "" && (TruthOf(cell) != "" || strings.ContainsAny(cell, crosses))
}

// IsForeignTruth tells a cell that says yes or no in one of the languages of which no titles are known.
func IsForeignTruth(cell string) bool { return slices.Contains(otherTruths, Plain(cell)) }

// IsForeign tells a title with letters of another script than that of the words here, which no word here can read.
func IsForeign(title string) bool {
	return strings.ContainsFunc(title, func(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) })
}

// otherTitles are words in the titles of lists of further languages, for the name of a guest or for what lists of guests tell. No title in Portuguese, English or
// Spanish has any of them.
var otherTitles = strings.Fields("nom prenom remarque remarques vorname nachname familienname teilnehmer bemerkung bemerkungen anmerkung anmerkungen naam voornaam achternaam " +
	"deelnemer opmerking opmerkingen cognome partecipante imie nazwisko uczestnik navn fornavn efternavn etternavn namn fornamn efternamn etunimi sukunimi jmeno prijmeni " +
	"priezvisko vezeteknev keresztnev prenume soyad prezime priimek cognoms und fur zu noch du et het een " +
	"einlass eintritt eingang zutritt vermerk ruckmeldung teilnahme buchung bestellung bestellnummer kassiert beglichen rechnung preis anzahl datum tisch essen platz gast gaste kunde " +
	"gruppe anrede strasse plz ort wohnort telefon geburtsdatum iscrizione iscritto iscritti prenotazione partecipazione ricevuta quietanza versamento versato incasso incassato saldato " +
	"ospite biglietto biglietti tavolo pranzo cellulare indirizzo citta nascita adresse ville montant naissance tarif encaisse encaissement versement recu acompte " +
	"inschrijving betaling bedrag toegang tafel nimi maksettu nafn nume vardas izena jina malipo nama pembayaran khach")

// IsOfOtherLanguage tells a title in plain form of a language of which no words for states are known.
func IsOfOtherLanguage(title string) bool { return HasWord(title, otherTitles) }

// marks are the signs that people tick with. A cross is none of them: it means yes to one and no to another.
var marks = map[string]string{"✓": "true", "✔": "true", "☑": "true", "✅": "true", "√": "true", "☐": "false", "⬜": "false"}

// crosses are the signs by which people say no, or cross out.
const crosses = "❌✗✘✖🚫⛔"

// hasSign tells a cell with a sign that may take its words back, or points to a note: ~~pago~~, pago*, !pago, ½ pago, pago ❌. A stroke through letters is one.
func hasSign(cell string) bool {
	return strings.HasPrefix(cell, "!") || strings.ContainsFunc(norm.NFD.String(cell), func(r rune) bool {
		isStroke := r >= '\u0334' && r <= '\u0338'
		isText := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsSpace(r) || unicode.In(r, unicode.Mn, unicode.Cf, unicode.Sc)
		return isStroke || !isText && marks[string(r)] == "" && !strings.ContainsRune(".,;:!¡()[]\"'“”‘’«»-–—_/", r)
	})
}

// TruthOf is the yes or no that a cell says; "" where it says neither, or asks.
func TruthOf(cell string) string {
	if asks(cell) {
		return ""
	}
	if t := Truths[Plain(cell)]; t != "" && (!hasSign(cell) || t == "false" && strings.ContainsAny(cell, crosses)) {
		return t
	}
	return marks[strings.Trim(cell, " \ufe0f\ufe0e")]
}

// Saying is what a cell says of a state: its plain form; of signs alone, the signs. A dash says nothing.
// A question, as “pago?”, keeps its sign, so it is no known word.
func Saying(cell string) string {
	if p := Plain(cell); p != "" {
		if asks(cell) {
			return p + "?"
		}
		return p
	}
	return strings.Trim(cell, " -–—.\u00a0\ufe0f\ufe0e")
}

// nothings are what programs and people write where there is nothing to say, in plain form.
var nothings = alias("nothing", "n a|na|nd|null|none|nan|nil|undefined|blank|empty|vazio|em branco|en blanco|nada|nenhum|nenhuma|ninguno|ninguna|nunca|never|sem|"+
	"nao tem|nao ha|no hay|r|brl|usd|eur|nao|no|n|false|falso|nein|non", // r is what is left of “R$ -”
	"tbd", "tba|tbc|a definir|por definir|a combinar")

// SaysNothing tells a cell, given with its plain form, that is not blank and says no more than a blank one, or no. Signs say nothing, but for ticks.
func SaysNothing(cell, text string) bool {
	return nothings[text] != "" || text == "" && TruthOf(cell) == ""
}

// IsNothing tells a cell, given with its plain form, that is as good as blank: a dash, n/a, no. It is not what is still to be said, nor a question mark,
// nor a cross.
func IsNothing(cell, text string) bool {
	return nothings[text] == "nothing" || text == "" && strings.Trim(cell, " -–—./\u00a0") == ""
}

// asks tells a cell that asks instead of saying.
func asks(cell string) bool { return strings.ContainsAny(cell, "?？") }

// Plain is a text's form for comparison: lower case, no accents, one space for whatever is neither letter nor digit.
func Plain(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	gap := false
	for _, r := range norm.NFD.String(strings.ToLower(s)) {
		switch {
		case r >= utf8.RuneSelf && (unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Cf, r) || r == 'º' || r == 'ª' || r == '°'):
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if gap && b.Len() > 0 {
				b.WriteByte(' ')
			}
			gap = false
			b.WriteRune(r)
		default:
			gap = true
		}
	}
	return b.String()
}

// distance is how many letters must be put in, left out or changed to make b of a, or neighbours swapped.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, now := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		now[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			now[j+1] = min(last[j]+cost, last[j+1]+1, now[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				now[j+1] = min(now[j+1], before[j-1]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(y)]
}

// Near tells whether two plain texts are close enough that one may be meant by the other, and how close.
func Near(a, b string) (int, bool) {
	d := distance(a, b)
	return d, d <= max(1, min(len(a), len(b))/3)
}

// DidYouMean names the nearest of some names, in words.
func DidYouMean(name string, names []string) string {
	best, at := len(name)+1, -1
	for i, n := range names {
		if d, ok := Near(Plain(name), Plain(n)); ok && d < best || strings.TrimSuffix(name, "s") == n {
			best, at = d, i
		}
	}
	if at < 0 {
		return ""
	}
	return fmt.Sprintf(" (did you mean “%s”?)", names[at])
}

// Ranks are the plain titles under which a field is looked for, the best first. A name with an underscore has
// no other meaning.
func Ranks(field string) (out [][]string) {
	if strings.Contains(field, "_") {
		out = append(out, []string{Plain(field)})
	}
	for _, t := range titles {
		if t.field == field && t.words != "" {
			for rank := range strings.SplitSeq(t.words, ";") {
				out = append(out, strings.Split(rank, "|"))
			}
		}
	}
	if !strings.Contains(field, "_") {
		if len(out) == 0 {
			out = [][]string{nil}
		}
		out[0] = append(out[0], Plain(field))
	}
	return out
}

// Titles are all of them.
func Titles(field string) []string { return slices.Concat(Ranks(field)...) }

// IsCode tells a title in plain form of a column of tickets' codes.
func IsCode(title string) bool { return slices.Contains(Titles("code"), title) }

// PlainTitle is a title's plain form; a # at its end means a number. The words of phoneNumber are apart, but for titles that are known as one word.
func PlainTitle(title string) string {
	if t, ok := strings.CutSuffix(strings.TrimSpace(title), "#"); ok {
		title = t + " number"
	}
	plain := Plain(title)
	if parted := Parted(title); parted != title && !isTitle(plain) {
		return Plain(parted)
	}
	return plain
}

// isTitle tells a title in plain form by which some field, or a part of a name, is known.
func isTitle(plain string) bool {
	for _, t := range titles {
		if slices.Contains(Titles(t.field), plain) {
			return true
		}
	}
	return slices.Contains(slices.Concat(FirstNames, MiddleNames, LastNames), plain)
}

// Parted is a title with the words of hasPaid and orderStatus apart.
func Parted(title string) string {
	var b strings.Builder
	before := ' '
	for _, r := range title {
		if unicode.IsLower(before) && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

// The titles of names in parts.
var (
	WholeNames  = []string{"nome", "name", "nombre"} // of the whole name, unless the last name stands beside it
	FirstNames  = []string{"first name", "firstname", "primeiro nome", "attendee first name", "vorname", "prenom", "first"}
	GivenNames  = []string{"given name"} // the legal one, where the first name is a nickname
	MiddleNames = []string{"middle name", "middlename", "middle", "nome do meio", "segundo nome", "segundo nombre"}
	LastNames   = []string{"last name", "lastname", "sobrenome", "ultimo nome", "surname", "family name", "attendee last name", "apellido", "apellidos", "nachname", "familienname", "nom de famille"}
)

// checkinTitles are the titles of columns that say whether, or when, a ticket was used.
var checkinTitles = strings.Split("check in|checkin|checked in|data check in|data checkin|data do check in|check in em|checked in at|check in date|check in time|"+
	"fez check in|check in realizado|entrada registrada|hora de entrada|presente|presenca|compareceu|attended|attendance|has arrived|is checked in|check in status|checkin status|status do check in|scan status|scanned|scanned at", "|")

// IsCheckin tells a title in plain form that says whether, or when, a ticket was used.
func IsCheckin(title string) bool { return slices.Contains(checkinTitles, title) }
