// Package scopes names the replication databases that records belong to (sync.md §1).
//
//	reference               churches, regionals, roles, events and groups of no church
//	reference-finance       the reference kinds of finance
//	church-3                people, groups, memberships and events of a church
//	church-3-finance        its financial entries
//	event-7                 an event, its tickets and what its doors wrote
//	event-7-names           what a search by name at a door needs
//	event-7-labels          what a door without names shows of the holders
//	event-7-holders         the people that hold the tickets, the codes in clear, and the names of holdings that are over
//	_system                 keys, nodes, conflicts: no database of its own
//
// The numbers of the sorts are stored.
package scopes
