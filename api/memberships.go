package api

import (
	"errors"

	"doorward/kv"
	"doorward/kv/fault"
	"doorward/kv/record"
	"doorward/kv/value"
)

// groupParameter is the path parameter of the group that memberships are listed under, by the name that the contract gives it.
const groupParameter = "parent_lookup_small_group_id"

// memberships are listed and made under their group, and have no path of their own.
var memberships = &collection{kind: record.Membership, form: record.Membership, surface: record.V1}

// group is the id of the group in the path.
func group(x *exchange) (record.ID, error) {
	id, ok := record.Group.ParseID(x.request.PathValue(groupParameter))
	if !ok {
		return id, kv.ErrNotFound
	}
	return id, x.store().Sees(x.caller, record.Group, id)
}

// listMemberships answers GET of a group's memberships.
func listMemberships(x *exchange) error {
	id, err := group(x)
	if err != nil {
		return err
	}
	return memberships.page(x, kv.Where{Field: "group_id", In: []any{id.Int()}})
}

// createMembership answers POST to a group's memberships. The group in the path is the only one that counts.
func createMembership(x *exchange) error {
	id, err := group(x)
	if err != nil {
		return err
	}
	patch, body, err := readPatch(x, record.Membership, record.ParseOptions{Surface: record.V1, Create: true})
	if err != nil {
		return err
	}
	patch.Set("group_id", value.Number(id.Int()))
	delete(patch.Faults, "group_id")
	err = memberships.store(x, patch, body)
	var faults fault.ByField
	if errors.As(err, &faults) && len(faults["group_id"]) > 0 { // gone since it was looked for
		return kv.ErrNotFound
	}
	return err
}
