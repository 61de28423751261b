package ticket

import (
	"doorward/kv/auth"
	"doorward/kv/entry"
	"doorward/kv/record"
	"doorward/kv/table"

	"github.com/go-json-experiment/json/jsontext"
)

// WriteLabel derives a present holding's label from its name, at the root.
func WriteLabel(o *table.Tx, id record.ID, author int64) error {
	if o.Store.Identity.IsLeaf() {
		return nil
	}
	name, err := o.Load(record.HolderName, id)
	if err != nil || name == nil {
		return err
	}
	before, err := o.LoadAny(record.HolderLabel, id)
	if err != nil {
		return err
	}
	c := table.Edit{Kind: record.HolderLabel, ID: id, Before: before, Is: record.HolderLabel.NewDoc(), Author: author}
	for field, v := range map[string]jsontext.Value{"event_id": name.Body.Member("event_id"), "ticket_id": name.Body.Member("ticket_id"),
		"label": record.LabelOf(name.Body)} {
		c.Is.Set(field, v.Clone())
	}
	if before != nil && !before.Deleted {
		if entry.SameBody(c.Is.Encode(), before.Body) {
			return nil
		}
		if c.Was, err = before.Decode(record.HolderLabel); err != nil {
			return err
		}
	}
	_, err = o.Write(c)
	return err
}

// WriteTail gives a holding's name the last digits of its phone, at the root.
func WriteTail(o *table.Tx, h *entry.HoldingParts) error {
	if h.Name == nil || h.Holder == nil {
		return nil
	}
	holder, err := h.Holder.Decode(record.Holder)
	if err == nil {
		_, err = entry.Amend(o, auth.Principal{}, record.HolderName, h.Name, func(d *record.Doc) { record.SetTail(d, holder) })
	}
	return err
}
