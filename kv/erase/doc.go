// Package erase erases people for good. It removes the person's record and every record that names the person, all their revisions, and
// every kept reply that shows them. A ledger beside the store remembers the keyed hashes of what was erased, so no restored backup and no
// old laptop brings it back.
//
// An erasure runs in this order. Each step is one or more write transactions of bounded size, and the whole is done again after a crash:
//
//	1  ledger      a line for the person, and for each membership and holding as they are found
//	2  erased row  the store notes the same, and tells laptops of it (record kind erasure)
//	3  find        holdings by the lookup persons → holding, memberships by person; both also by kept bodies of any revision
//	4  mentions    conflicts and refusals that are about these records or name the person; replies kept for an Idempotency-Key
//	5  records     tombstones on every leaf, no body stays: the holdings (holder_name, holder, holder_label; the ticket's holding
//	               becomes null, the ticket stays valid), the memberships, the person
//	6  again       steps 3 to 5, for records that arrived during them
//	7  done        the erased row gets the time; compacting the file is due within a day
//
// A test lists every bucket of the store with the step that clears it, or with the reason why it holds nothing personal. Lookups go with
// the body that they were made of, and the search index follows the log.
//
// What stays, and why: a check-in names the ticket and the holding only, and is never changed, or replicas would disagree. A ticket's
// order and type say nothing of a person. People are never merged, so no other record is the person. Documents of free databases are
// not records: the command names those databases.
//
// Recall tells other stores. From step 1 until step 7 replies redact the records, also while the disk is full.
package erase
