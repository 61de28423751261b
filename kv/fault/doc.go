// Package fault says what is wrong with the fields of a request, in sentences that existing clients know: those of Django REST
// framework (contract.md §3). It is the one table of them.
//
// A ByField is the body of an answer with status 400:
//
//	{"email":["Enter a valid email address."],"birthday":["Date has wrong format. Use one of …"]}
//
// A list in a sentence, and a list of sentences, is cut after MaxListed with the number of the others.
package fault
