package kv

import (
	"doorward/kv/door"
	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/kv/value"
)

// PutFact stores a fact that another node has made, of members in table order.
func PutFact(s *Store, k *record.Kind, id record.ID, members ...value.Member) error {
	return s.Tables.Do(false, func(o *table.Tx) error {
		body, canonical := k.NewFact(members...)
		st := &table.Stored{ID: id, Body: body, Header: table.Header{Version: k.Version, UpdatedAt: o.Stamp, Revision: rev.Next(rev.ID{}, false, canonical)}}
		st.Scopes[0] = scopes.Scope{Sort: scopes.Event, ID: table.IntOf(body.Member("event_id"))}
		door.IndexFact(o, k, st)
		table.Place(o, k, nil, st)
		return door.SettleFact(o, k, st)
	})
}
