package columns

import (
	"slices"
	"strings"

	"doorward/api/load/words"
)

// occasionTitles are the titles of columns that say for which event, day or session a ticket is.
var occasionTitles = strings.Split("evento|event|nome do evento|event name|event title|event slug|titulo do evento|nombre del evento|dia|dia do evento|dia del evento|day|event day|data do evento|"+
	"data evento|fecha del evento|event date|event start|event start date|event start time|start date|start time|data de inicio|data inicial|fecha de inicio|date of visit|visit date|sessao|data da sessao|horario da sessao|"+
	"sesion|session|session name|session date|session time|time slot|timeslot|slot|turno|culto|qual dia|que dia|qual o dia|qual data|qual sessao|qual horario|qual culto|qual turno|which day|which date|which session|apresentacao|performance|performance date|funcion|espetaculo|show", "|")

// isOccasion tells a title in plain form of a column that says for which event, day or session a ticket is.
func isOccasion(title string) bool { return slices.Contains(occasionTitles, title) }

// askForOccasions asks about a column that names more than one event, day or session.
func askForOccasions(c admission) {
	for i, title := range c.plains {
		if c.profiles != nil && !c.taken[i] && isOccasion(title) && c.profiles[i].Filled > 0 && len(c.profiles[i].Counts) != 1 {
			c.ask(c.question(i), i)
		}
	}
}

// weekdays are the names of days, from Sunday on. Those that are ordinals too count alone, or before feira: segunda fila is a row of seats.
var (
	weekdays = []string{"domingo dom sunday sonntag dimanche", "monday lunes montag lundi", "terca tuesday martes dienstag mardi", "wednesday miercoles mittwoch mercredi",
		"thursday jueves donnerstag jeudi", "friday viernes freitag vendredi", "sabado sab saturday samstag samedi"}
	ordinals = []string{"", "segunda", "", "quarta", "quinta", "sexta", ""}
)

// untils stand before the last day of a sale: até o dia 30.
var untils = strings.Fields("ate o do until by")

// days are the days of the week, or of an event, that a text names: Sábado, Dia 2.
func days(text string) (found []string) {
	all := strings.Fields(words.Plain(text))
	named := func(names []string, word string) int {
		return slices.IndexFunc(names, func(one string) bool { return slices.Contains(strings.Fields(one), word) })
	}
	for i, word := range all {
		before, next := "", ""
		if i > 0 {
			before = all[i-1]
		}
		if i+1 < len(all) {
			next = all[i+1]
		}
		isNumber := next != "" && strings.Trim(next, "0123456789") == "" && !slices.Contains(untils, before)
		day, ordinal := named(weekdays, word), named(ordinals, word)
		switch {
		case day >= 0:
			found = append(found, weekdays[day])
		case ordinal >= 0 && (next == "" || next == "feira"):
			found = append(found, weekdays[ordinal])
		case isNumber && (word == "dia" || word == "day"):
			found = append(found, strings.TrimLeft(next, "0"))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
