package load

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"doorward/kv/names"
	"doorward/kv/record"
	"doorward/kv/value"
)

// contents names rows that nothing names by what they hold, so that the same file again finds its records. Of rows that
// hold the same, the first, second … are told apart: they are two records, and stay two.
type contents map[[16]byte]int32

// name gives a row without id and external_id one made of its content. Tickets have a code, memberships a person and a group,
// and some people a CPF, to be known by.
func (c contents) name(it *item) {
	k, p := it.form.kind, it.row.Patch
	_, external := k.Field(nameExternal)
	if names.IsCPF(text(p, nameCPF)) || k == record.Ticket || k == record.Membership || !external || !it.row.ID.IsZero() || text(p, nameExternal) != "" {
		return
	}
	h := sha256.New()
	write := func(s string) {
		_, _ = h.Write([]byte(s)) // never fails
	}
	write(k.Name + "\n")
	for i := range it.form.table.Fields {
		name := it.form.table.Fields[i].Name
		if v, ok := p.Value(name); ok && v.Kind() != 'n' {
			write(name + "=" + string(v) + "\n") // JSON holds no line end of its own
		}
	}
	key := [16]byte(h.Sum(nil))
	c[key]++
	write(strconv.Itoa(int(c[key])))
	p.Set(nameExternal, value.Quote("file:"+hex.EncodeToString(h.Sum(nil)[:16])))
}
