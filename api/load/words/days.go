package words

import (
	"slices"
	"strings"
)

// occasionTitles are the titles of columns that say for which event, day or session a ticket is.
var occasionTitles = strings.Split("evento|event|nome do evento|event name|event title|event slug|titulo do evento|nombre del evento|dia|dia do evento|dia del evento|day|event day|data do evento|"+
	"data evento|fecha del evento|event date|event start|event start date|event start time|start date|start time|data de inicio|data inicial|fecha de inicio|date of visit|visit date|sessao|data da sessao|horario da sessao|"+
	"sesion|session|session name|session date|session time|time slot|timeslot|slot|turno|culto|qual dia|que dia|qual o dia|qual data|qual sessao|qual horario|qual culto|qual turno|which day|which date|which session|apresentacao|performance|performance date|funcion|espetaculo|show", "|")

// IsOccasion tells a title in plain form of a column that says for which event, day or session a ticket is.
func IsOccasion(title string) bool { return slices.Contains(occasionTitles, title) }

// weekdays are the names of days. Those that are ordinals too count alone, or before feira: segunda fila is a row of seats.
var (
	weekdays = alias("sunday", "domingo|dom|sonntag|dimanche", "monday", "lunes|montag|lundi", "tuesday", "terca|martes|dienstag|mardi", "wednesday", "miercoles|mittwoch|mercredi",
		"thursday", "jueves|donnerstag|jeudi", "friday", "viernes|freitag|vendredi", "saturday", "sabado|sab|samstag|samedi")
	ordinals = alias("monday", "segunda", "wednesday", "quarta", "thursday", "quinta", "friday", "sexta")
)

// untils stand before the last day of a sale: até o dia 30.
var untils = strings.Fields("ate o do until by")

// Days are the days of the week, or of an event, that a text names: Sábado, Dia 2.
func Days(text string) (days []string) {
	all := strings.Fields(Plain(text))
	for i, word := range all {
		before, next := "", ""
		if i > 0 {
			before = all[i-1]
		}
		if i+1 < len(all) {
			next = all[i+1]
		}
		switch isNumber := next != "" && strings.Trim(next, "0123456789") == "" && !slices.Contains(untils, before); {
		case weekdays[word] != "":
			days = append(days, weekdays[word])
		case ordinals[word] != "" && (next == "" || next == "feira"):
			days = append(days, ordinals[word])
		case isNumber && (word == "dia" || word == "day"):
			days = append(days, strings.TrimLeft(next, "0"))
		}
	}
	slices.Sort(days)
	return slices.Compact(days)
}
