// Package names says how the names of people are compared and shown. It is pure text: it knows no record.
//
//	typed or stored        Fold                 Words              WrittenWords          Sound of a word
//	"João D'Ávila Jr."     "joao d'avila jr."   joao davila junior joao d'avila jr       joau, davila, junio
//
// Fold makes two spellings of one text equal: without marks, in lower case, every apostrophe and hyphen as one, runs of white space as
// one space. Words are what ranked searches compare, WrittenWords what fuzzy ones do. Sound is a key by which words are compared that
// sound alike in Brazilian Portuguese.
//
// Label is what a door may show of a name, PhoneTail of a phone. CPF and IsCPF read a number of Brazil's register of persons.
package names
