package docs

import (
	"doorward/kv/auth"
	"doorward/kv/merge"
	"doorward/kv/office"
	"doorward/kv/table"
)

// spot is the database, with p's tie to it as a writer.
func (db *scopeDocs) spot(p auth.Principal) (auth.Spot, error) {
	tie, err := office.WriterTie(db.v, p, nil, db.scope)
	return auth.Spot{Scope: db.scope, Tie: tie}, err
}

// judge asks the rules about an arrival. The operator, as who this store's own replicator writes, has no ties.
func (db *scopeDocs) judge(o *table.Tx, p auth.Principal, a *merge.Arrival) (auth.Verdict, error) {
	q := auth.Question{Verb: a.Verb(), Kind: a.Kind, Via: db.scope}
	if p.IsOperator() {
		return auth.May(p, q), nil
	}
	next, err := merge.ScopesOfArrival(o, a)
	if err == nil {
		q.To, err = office.SpotsFor(o.View, p, a.Kind, next)
	}
	q.From = q.To // of a tombstone whose record is not here, as that of an erased one is
	if err == nil && a.Before != nil && !a.Unseen {
		q.From, err = office.SpotsFor(o.View, p, a.Kind, a.Before.Scopes)
	}
	return auth.May(p, q), err
}
