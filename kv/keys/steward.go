package keys

import (
	"encoding/binary"
	"strconv"
	"time"

	"doorward/kv/auth"
	"doorward/kv/record"
	"doorward/kv/table"
)

// The phone of a revoked key may hand in its kept scans once. Its first request opens a window, within which it may repeat the request, for
// example because the answer was lost. The facts are flagged for review.
const handInLasts = 10 * time.Minute

func handedIn(key int64) []byte { return []byte("handed_in/" + strconv.FormatInt(key, 10)) }

// RevokedDoor returns the principal of a phone for which Login returned ErrRevoked. This principal may hand in scans of guests that the phone
// has let in, and reads nothing. RevokedDoor returns ErrRevoked for a key that is not a door's, and after the window has closed.
func (kr *Ring) RevokedDoor(key string, event int64) (p auth.Principal, err error) {
	l := (*kr.logins.Load())[key]
	p = l.principal
	if !l.revoked || p.IsLaptop() || !p.IsOf(auth.EventOf) || !p.Level().Has(event) || p.Check(record.Checkin.Resource, "POST") != nil {
		return auth.Principal{}, table.ErrRevoked
	}
	p = p.Revoked()
	return p, kr.tables.DoAtDoor(func(o *table.Tx) error {
		row, err := o.Get(table.MetaBucket, handedIn(p.Key()))
		if err != nil {
			return err
		}
		if len(row) == 8 {
			if age := o.Now.Sub(time.UnixMicro(int64(binary.BigEndian.Uint64(row)))); age > handInLasts || age < -handInLasts {
				return table.ErrRevoked
			}
			return nil
		}
		o.Put(table.MetaBucket, handedIn(p.Key()), binary.BigEndian.AppendUint64(nil, uint64(o.Now.UnixMicro())))
		return nil
	})
}
