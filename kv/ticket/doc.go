// Package ticket makes, changes and deletes a ticket together with its code and its holdings.
//
//	ticket ─┬─ ticket_code    the code in clear, under the ticket's id
//	        ├─ holding        the present one: holder_name, holder and holder_label under one ULID
//	        └─ ended          earlier holdings
//
// A change of the person passes the ticket on: a new holding begins and the old one joins ended. The root alone derives the label and the
// last digits of a phone. A holding's name is in the doors' database while the holding is present. All three are in holding.go.
package ticket
