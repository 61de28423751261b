package kv

import (
	"strings"

	"doorward/kv/names"
	"doorward/kv/record"
	"doorward/kv/value"

	"github.com/go-json-experiment/json/jsontext"
)

// An event marks types of tickets that need attention at the door: its notices are an object from a type to what the door says. Types are
// compared as searches compare names, so that "Criança" is "crianca". A notice that is not a text is shown as it stands: a mark that is
// not understood is no reason to pass a guest by.

// noticeOf is what a door says of a ticket's type; "" for nothing.
func noticeOf(v *sight, ticket *stored) (string, error) {
	event, err := v.load(record.Event, record.Int(intOf(ticket.body.Member("event_id"))))
	if err != nil || event == nil {
		return "", err
	}
	return noticeFor(event.body.Member("notices"), value.Unquote(ticket.body.Member("type"))), nil
}

// noticeFor finds a type's notice in an event's notices.
func noticeFor(notices jsontext.Value, sort string) (notice string) {
	if notices.Kind() != '{' {
		return ""
	}
	of := plainType(sort)
	_ = value.ReadObject(notices, func(name string, v jsontext.Value) { // a stored member is valid
		if plainType(name) == of {
			notice = noticeText(v)
		}
	})
	return notice
}

func noticeText(v jsontext.Value) string {
	switch v.Kind() {
	case 'n', 'f':
		return ""
	case '"':
		return strings.TrimSpace(value.Unquote(v))
	}
	return string(v)
}

func plainType(sort string) string { return strings.TrimSpace(names.Fold(sort)) }
