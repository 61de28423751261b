package office

import (
	"crypto/hmac"
	"crypto/sha256"

	"doorward/kv/auth"
	"doorward/kv/keys"
	"doorward/kv/record"
	"doorward/kv/table"
)

// Joiner is a laptop that brings a code.
type Joiner struct {
	Node   string            // its ULID
	Secret [sha256.Size]byte // the hash of the secret that it has drawn
	Proof  []byte            // of Prove, if the laptop has a key of the centre already
	Holds  []string          // of laptop.Holdings
}

// Prove returns a proof that the caller knows the secret of a key. The proof holds for this code and this new secret alone. It
// does not reveal the secret, because the address may be that of another centre than the key's.
func (j Joiner) Prove(code, secret string) []byte { return j.prove(code, keys.HashSecret(secret)) }

func (j Joiner) prove(code string, hash [sha256.Size]byte) []byte {
	mac := hmac.New(sha256.New, hash[:])
	mac.Write(append(append(codeHashText(code), j.Node...), j.Secret[:]...))
	return mac.Sum(nil)
}

// retire ends a laptop's earlier enrolment, because a laptop has one key. It returns ErrEnrolled if the laptop does not prove
// that it has the earlier key, or if it uses this store's own name.
func retire(o *table.Tx, code string, j Joiner) error {
	if j.Node == o.Store.Identity.Node() {
		return ErrEnrolled
	}
	return eachNode(o.View, func(st *table.Stored, d *record.Doc) (bool, error) {
		if d.Text("node") != j.Node || isRevoked(d) {
			return true, nil
		}
		if err := isProven(o, d, code, j); err != nil {
			return false, err
		}
		return true, endVenue(o, auth.Operator(), st, d)
	})
}

// isProven returns nil if a laptop that was enrolled before has proved that it has its key. It returns ErrEnrolled if not.
func isProven(o *table.Tx, d *record.Doc, code string, j Joiner) error {
	key, err := o.Load(record.APIKey, record.Int(d.Int("key_id")))
	if err != nil || key == nil {
		return err
	}
	_, hash, err := keys.ReadKey(key)
	if err == nil && !hmac.Equal(j.Proof, j.prove(code, hash)) {
		err = ErrEnrolled
	}
	return err
}
