package ticket

import (
	"bytes"
	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/kv/value"
)

// SortOfName is the sort of database of a holding's name: the doors' while the holding is present, the holders' after it has ended. A name
// that comes before its ticket stays in the database that it came through.
func SortOfName(v *table.View, id, ticket record.ID, via scopes.Sort) (scopes.Sort, error) {
	st, err := v.Load(record.Ticket, ticket)
	switch {
	case err != nil:
		return 0, err
	case st == nil:
	case entry.PresentOf(st.Body) == id:
		return scopes.EventNames, nil
	case bytes.Contains(st.Body.Member("ended"), value.Quote(record.Holder.FormatID(id))):
		return scopes.EventHolders, nil
	}
	if via == scopes.EventHolders {
		return via, nil
	}
	return scopes.EventNames, nil
}

// PlaceHoldings moves the names of a ticket's holdings to their databases. At the root it keeps a label for the present holding alone.
// was is nil if the ticket is new here.
func PlaceHoldings(o *table.Tx, was, is *record.Doc) error {
	if was != nil && value.Equal(was.Value("holding"), is.Value("holding")) && value.Equal(was.Value("ended"), is.Value("ended")) {
		return nil
	}
	present := entry.IDOfHolding(is.Value("holding"))
	for _, id := range entry.HoldingsOf(is) {
		if err := PlaceHolding(o, id, id == present); err != nil {
			return err
		}
	}
	return nil
}

// PlaceHolding does this for one holding.
func PlaceHolding(o *table.Tx, id record.ID, present bool) error {
	sort := scopes.EventHolders
	if present {
		sort = scopes.EventNames
	}
	before, err := o.Load(record.HolderName, id)
	if err != nil {
		return err
	}
	if before != nil && before.Scopes[0].Sort != sort {
		next := *before
		next.Scopes[0].Sort = sort
		if err := table.Welcome(o, record.HolderName, before, &next); err != nil {
			return err
		}
		table.Place(o, record.HolderName, before, &next)
	}
	switch {
	case o.Store.Identity.IsLeaf():
		return nil
	case present:
		return WriteLabel(o, id, 0)
	}
	return deletePart(o, record.HolderLabel, id, 0)
}

// TakeHolding makes an ended holding the present one, as staff have chosen.
func TakeHolding(o *table.Tx, p auth.Principal, ticket *table.Stored, id record.ID) error {
	was, err := ticket.Decode(record.Ticket)
	if err != nil {
		return err
	}
	h, err := entry.LoadHolding(o.View, id)
	if err != nil {
		return err
	}
	if h.Name == nil && h.Holder == nil {
		return &table.Conflict{Reason: "the holding is not there any more"}
	}
	is := was.Clone()
	ended := record.Without(is.Value("ended"), record.Holder.FormatID(id))
	if before := is.Text("holding"); before != "" {
		ended = record.Adding(ended, before)
	}
	is.Set("ended", ended)
	is.Set("holding", value.Quote(record.Holder.FormatID(id)))
	if _, err := o.Write(table.Edit{Kind: record.Ticket, ID: ticket.ID, Before: ticket, Was: was, Is: is, Author: p.Key()}); err != nil {
		return err
	}
	return PlaceHoldings(o, was, is)
}
