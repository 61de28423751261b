// Package access decides which principal may read and write which records. It is pure: it knows no store and no transaction.
//
// A question names a principal, a verb, a kind, and the spots of the record: the databases where it is (From) and where the write puts
// it (To). A spot is a scope and a tie. The tie says how the principal stands to the church or the event of the scope. The store finds
// the ties (kv/entry, kv/office). The table here decides.
//
//	who     verb    kind    from           to
//	laptop  Change  ticket  event-7 Guest  event-7 Guest    yes, if the laptop has made every revision itself
//	key     Make    person  -              church-3 Own     yes
//	laptop  Make    person  -              church-4 Foreign refused, and kept for staff
//
// The rows of pushes are the rules of replication (sync.md §1). The rows of the desk are those of /v1 and /admin (contract.md §7). The
// first row that fits answers. Every question has a row: the last rows refuse what no other row allows.
//
// A refused push is no error of the push. The store answers forbidden for that document and keeps it whole for staff. After a verdict that
// depends on the stored record, the store looks whether the principal has made the record itself.
//
// The test prints the answers to all questions into testdata/push.golden and testdata/desk.golden. A change of a rule is a change there,
// for a person to read.
package access
