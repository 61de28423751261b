package columns

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"doorward/api/load/cells"
	"doorward/api/load/profile"
	"doorward/api/load/words"
)

// occasionTitles are the titles of columns that say for which event, day or session a ticket is.
var occasionTitles = strings.Split("evento|event|nome do evento|event name|event title|event slug|titulo do evento|nombre del evento|dia|dia do evento|dia del evento|day|event day|data do evento|"+
	"data evento|fecha del evento|event date|event start|event start date|event start time|start date|start time|data de inicio|data inicial|fecha de inicio|date of visit|visit date|sessao|data da sessao|horario da sessao|"+
	"sesion|session|session name|session date|session time|time slot|timeslot|slot|turno|culto|qual dia|que dia|qual o dia|qual data|qual sessao|qual horario|qual culto|qual turno|which day|which date|which session|apresentacao|performance|performance date|funcion|espetaculo|show", "|")

// isOccasion tells a title in plain form of a column that says for which event, day or session a ticket is.
func isOccasion(title string) bool { return slices.Contains(occasionTitles, title) }

// askForOccasions asks about a column that names more than one event, day or session, as its title says.
func askForOccasions(c admission) {
	for i, title := range c.plains {
		if c.profiles != nil && !c.taken[i] && isOccasion(title) && c.profiles[i].Filled > 0 && len(c.profiles[i].Counts) != 1 {
			c.ask(c.question(i), i)
		}
	}
}

// askForDays asks about a column that no field took, and that names more than one day or session in most rows, whatever its title.
func askForDays(c admission) {
	for i, title := range c.plains {
		if c.profiles == nil || c.taken[i] || c.origin == OwnOrigin || c.origin.isOther(title) {
			continue
		}
		order, _ := orderOf(&c.profiles[i], c.origin, c.said)
		if !severalOccasions(&c.profiles[i], title, order, c.said.Today) {
			continue
		}
		q := c.question(i)
		if order == "" {
			q.Flags = append([]string{"--dates dmy", "--dates mdy"}, q.Flags...)
		}
		c.ask(q, i)
	}
}

// otherDays are the beginnings of words in titles of days that are no days of an event: of a birth, a payment, a journey, a meal, a group, a call.
var otherDays = strings.Fields("nasc nacim birth geburt naiss aniv anniv cumple compr purch order orden pedid creat criad cread cadastr vend vent sold sale emiss emit issued " +
	"transac pag paid pay follow carimbo timestamp temporal atualiz updat modif kauf bestell cheg arriv lleg saida depart onibus bus transp carona hosped lodg hotel aloj quarto room " +
	"almoc jant lunch dinner meal lanch refei camis shirt celul lider leader durac durat carga contat contact dispon avail volunt escala")

// recently is for how long a day of an event that has begun counts as one.
const recently = 31 * 24 * time.Hour

// severalOccasions tells a column in which most rows name a day or a time, and not all the same. A day of a year counts if others are still to
// come and none is long past: an order was made before, and so was a birth.
func severalOccasions(p *profile.Column, title string, order cells.Order, today string) bool {
	now, err := time.Parse(time.DateOnly, today)
	if err != nil || len(p.Counts) < 2 || words.Begins(title, otherDays) || words.HasWord(title, words.PlaceTitles) || !words.HasWord(title, words.DateTitles) && p.All(profile.Whole) {
		return false
	}
	rows, last := 0, ""
	all := map[string]bool{}
	for cell, n := range p.Counts {
		o := occasionOf(cell)
		day := o.days[0]
		if order == cells.MonthFirst || order == "" && o.days[1] > day {
			day = o.days[1]
		}
		switch {
		case o.stamp, day != "" && day < now.Add(-recently).Format(time.DateOnly):
			return false
		case day == "" && o.name == "":
			continue
		}
		rows, last = rows+n, max(last, day)
		all[day+" "+o.name] = true
	}
	return len(all) > 1 && 2*rows >= p.Rows && (last == "" || last > today)
}

// occasion is what a text says of when a ticket is good.
type occasion struct {
	days  [2]string // a day of a year, read with the day first and with the month first: 2026-12-05; "" = none
	name  string    // days of a week, an event or a month, times and sessions; "" = none
	stamp bool      // it has a time to the minute, as an order has: 10:22
}

var (
	fullDate = regexp.MustCompile(`\d{1,4}[/.-]\d{1,2}[/.-]\d{2,4}`)
	monthDay = regexp.MustCompile(`(?:^|[^\d/])(\d\d)/(\d\d)(?:$|[^\d/])`)
	clock    = regexp.MustCompile(`\b(\d{1,2})(?:[:h]([0-5]\d)(:[0-5]\d)?|h| ?([ap])\.?m\b)`)
)

// Names of months from January on, parts of a day, and what is numbered at an event.
var (
	months = []string{"jan janeiro january enero ene januar janvier gennaio", "fev fevereiro feb february febrero februar fevrier febbraio", "mar marco march marzo marz mars",
		"abr abril apr april avril aprile", "mai maio may mayo maggio", "jun junho june junio juni juin giugno", "jul julho july julio juli juillet luglio",
		"ago agosto aug august aout", "set setembro sep sept september septiembre septembre settembre", "out outubro oct october octubre okt oktober octobre ottobre",
		"nov novembro november noviembre novembre", "dez dezembro dec december dic diciembre dezember decembre dicembre"}
	dayParts = strings.Fields("manha tarde noite madrugada matutino vespertino noturno morning afternoon evening night matinee manana noche morgen abend matin soir")
	sessions = strings.Fields("culto sessao sesion session turno service apresentacao funcion show")
)

// occasionOf reads a text.
func occasionOf(text string) (o occasion) {
	text = strings.ToLower(beforeUntil(text))
	date := fullDate.FindStringIndex(text)
	if date != nil {
		text = text[date[0]:] + " " + text[:date[0]]
	}
	o.days = [2]string{cells.DayOf(text, cells.DayFirst), cells.DayOf(text, cells.MonthFirst)}
	if date != nil {
		text = text[date[1]-date[0]:]
	}
	var found []string
	for _, m := range monthDay.FindAllStringSubmatch(text, -1) {
		day, _ := strconv.Atoi(m[1])
		month, _ := strconv.Atoi(m[2])
		if min(day, month) > 0 && max(day, month) < 32 && min(day, month) < 13 {
			found = append(found, m[1]+"/"+m[2])
		}
	}
	for _, m := range clock.FindAllStringSubmatch(text, -1) {
		minute, _ := strconv.Atoi(m[2])
		o.stamp = o.stamp || minute%5 != 0 && minute != 59
		found = append(found, m[1]+":"+m[2]+m[4])
	}
	all := strings.Fields(words.Plain(text))
	if day, ofYear := dayOfMonth(all); ofYear {
		o.days = [2]string{day, day}
	} else if day != "" {
		found = append(found, day)
	}
	for i, word := range all {
		before, next := neighbours(all, i)
		switch {
		case slices.Contains(dayParts, word):
			found = append(found, word)
		case slices.Contains(sessions, word) && isNumber(before):
			found = append(found, before)
		case slices.Contains(sessions, word) && isNumber(next):
			found = append(found, next)
		}
	}
	o.name = strings.Join(append(found, days(text)...), " ")
	return o
}

// dayOfMonth is the day beside the name of a month, 5 de dezembro, Dec 5th; of a year where one stands beside them: 2026-12-05.
func dayOfMonth(all []string) (day string, ofYear bool) {
	all = slices.DeleteFunc(slices.Clone(all), func(word string) bool { return word == "de" || word == "of" || word == "del" })
	for i, word := range all {
		month := slices.IndexFunc(months, func(names string) bool { return slices.Contains(strings.Fields(names), word) })
		before, next := neighbours(all, i)
		for _, one := range []string{before, next} {
			number := strings.TrimRight(one, "sthnrd")
			if month < 0 || !isNumber(number) || len(number) > 2 {
				continue
			}
			day = fmt.Sprintf("%02d-%02s", month+1, number)
			for _, year := range all[i+1 : min(len(all), i+3)] {
				if isNumber(year) && len(year) == 4 {
					return year + "-" + day, true
				}
			}
			return day, false
		}
	}
	return "", false
}

// neighbours are the words before and behind one.
func neighbours(all []string, i int) (before, next string) {
	if i > 0 {
		before = all[i-1]
	}
	if i+1 < len(all) {
		next = all[i+1]
	}
	return before, next
}

func isNumber(word string) bool { return word != "" && strings.Trim(word, "0123456789") == "" }

// weekdays are the names of days, from Sunday on. Those that are ordinals too count alone, or before feira: segunda fila is a row of seats.
var (
	weekdays = []string{"domingo dom sunday sun sonntag dimanche domenica zondag", "monday mon lunes montag lundi lunedi maandag", "terca tuesday tue martes dienstag mardi martedi dinsdag",
		"wednesday wed miercoles mittwoch mercredi mercoledi woensdag", "thursday thu jueves donnerstag jeudi giovedi donderdag", "friday fri viernes freitag vendredi venerdi vrijdag",
		"sabado sab saturday sat samstag samedi sabato zaterdag"}
	ordinals = []string{"", "segunda", "", "quarta", "quinta", "sexta", ""}
)

// until begins what a text says of the end of a sale: até o dia 30.
var until = regexp.MustCompile(`(?i)(?:^|\PL)(?:até|ate|until|by|hasta|bis)(?:$|\PL)`)

// beforeUntil is a text without that.
func beforeUntil(text string) string {
	if at := until.FindStringIndex(text); at != nil {
		return text[:at[0]]
	}
	return text
}

// days are the days of the week, or of an event, that a text names: Sábado, Dia 2.
func days(text string) (found []string) {
	all := strings.Fields(words.Plain(beforeUntil(text)))
	named := func(names []string, word string) int {
		return slices.IndexFunc(names, func(one string) bool { return slices.Contains(strings.Fields(one), word) })
	}
	for i, word := range all {
		before, next := neighbours(all, i)
		day, ordinal := named(weekdays, word), named(ordinals, word)
		switch {
		case day >= 0:
			found = append(found, weekdays[day])
		case ordinal >= 0 && (next == "" || next == "feira"):
			found = append(found, weekdays[ordinal])
		case isNumber(next) && before != "ao" && !(before == "do" && slices.Contains(all, "ao")) && (word == "dia" || word == "day"):
			found = append(found, strings.TrimLeft(next, "0"))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
