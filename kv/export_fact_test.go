package kv

import "doorward/kv/record"

// PutFact stores a fact that another node has made, of members in table order.
func PutFact(s *Store, k *record.Kind, id record.ID, members ...record.Member) error {
	return s.do(false, func(o *op) error {
		body, canonical := k.NewFact(members...)
		st := &stored{id: id, body: body, header: header{version: k.Version, updatedAt: o.stamp, revision: record.Next(record.Revision{}, false, canonical)}}
		st.scopes[0] = record.Scope{Sort: record.ScopeEvent, ID: intOf(body.Member("event_id"))}
		indexFact(o, k, st)
		place(o, k, nil, st)
		return settleFact(o, k, st)
	})
}
