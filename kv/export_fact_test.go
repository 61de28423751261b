package kv

import (
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/kv/value"
)

// PutFact stores a fact that another node has made, of members in table order.
func PutFact(s *Store, k *record.Kind, id record.ID, members ...value.Member) error {
	return s.do(false, func(o *op) error {
		body, canonical := k.NewFact(members...)
		st := &stored{id: id, body: body, header: header{version: k.Version, updatedAt: o.stamp, revision: rev.Next(rev.ID{}, false, canonical)}}
		st.scopes[0] = scopes.Scope{Sort: scopes.Event, ID: intOf(body.Member("event_id"))}
		indexFact(o, k, st)
		place(o, k, nil, st)
		return settleFact(o, k, st)
	})
}
