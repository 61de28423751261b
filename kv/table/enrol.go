package table

import "doorward/kv/record"

// IdsOf are the live records of a kind.
func IdsOf(v *View, k *record.Kind) []record.ID {
	all := v.Lists.Kind(k).All
	return all.Page(nil, 0, all.Len())
}

func OrErr(err, other error) error {
	if err == nil {
		return other
	}
	return err
}
