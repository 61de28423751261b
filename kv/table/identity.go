package table

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"sync"
	"sync/atomic"
	"time"

	"doorward/kv/engine"
	"doorward/kv/ledger"
	"doorward/kv/record"
)

// Rows of meta.
var (
	RealmKey    = []byte("realm")
	nodeKey     = []byte("node")
	CodeKey     = []byte("code_key")
	CentreKey   = []byte("centre")   // the node of this store's centre
	UpstreamKey = []byte("upstream") // an Upstream as JSON
)

// Identity says which store of which congregation this is, and which centre it has.
type Identity struct {
	node     string
	family   atomic.Pointer[Family]
	centre   atomic.Pointer[string]
	upstream atomic.Pointer[Upstream]
	hashers  sync.Pool // of *hasher
}

// Family is what the nodes of a congregation have in common. An empty store that joins them takes it over.
type Family struct {
	Realm   string
	CodeKey []byte
}

// read reads the rows without which a store does not know which one it is.
func (id *Identity) read(r *engine.View) error {
	rows, err := metaTexts(r, nodeKey, RealmKey, CodeKey)
	if err != nil {
		return err
	}
	id.node = rows[0]
	id.SetFamily(&Family{rows[1], []byte(rows[2])})
	return nil
}

// metaTexts reads rows of meta that every store has.
func metaTexts(r *engine.View, keys ...[]byte) (texts []string, err error) {
	for _, key := range keys {
		row, err := r.Get(MetaBucket, key)
		if err == nil && row == nil {
			err = fmt.Errorf("%w: meta row %s is missing", engine.ErrCorrupt, key)
		}
		if err != nil {
			return nil, Identified(key, err)
		}
		texts = append(texts, string(row))
	}
	return texts, nil
}

// Node is this store's ULID.
func (id *Identity) Node() string { return id.node }

// Family is the congregation's ULID and the key that it hashes codes with.
func (id *Identity) Family() *Family { return id.family.Load() }

// SetFamily notes which congregation the store belongs to now.
func (id *Identity) SetFamily(f *Family) { id.family.Store(f) }

// Realm is the congregation's ULID.
func (id *Identity) Realm() string { return id.Family().Realm }

// HashCode is a code's hash under the realm's key.
func (id *Identity) HashCode(code string) (h CodeHash) {
	family := id.Family()
	k, _ := id.hashers.Get().(*hasher)
	if k == nil || k.family != family {
		k = &hasher{family: family, mac: hmac.New(sha256.New, family.CodeKey)}
	}
	k.mac.Reset()
	k.mac.Write([]byte(code))
	var sum [sha256.Size]byte
	copy(h[:], k.mac.Sum(sum[:0]))
	id.hashers.Put(k)
	return h
}

// hasher hashes codes under a family's key. To make one costs more than to use it.
type hasher struct {
	family *Family
	mac    hash.Hash
}

// HashErased is what the store keeps of an erased record: a keyed hash of its id. A holding's ULID tells nothing of a person and is
// kept as it is.
func (id *Identity) HashErased(k *record.Kind, rec record.ID) ledger.ErasedHash {
	if k.OfHolding() {
		return ledger.ErasedHash(rec.ULID())
	}
	return ledger.ErasedHash(id.HashCode("erased\x00" + k.DocID(rec)))
}

// Centre is the node of this store's centre, which merges for this store. It is "" where the store is the root.
func (id *Identity) Centre() string { return *id.centre.Load() }

// SetCentre notes the node of this store's centre; "" = none.
func (id *Identity) SetCentre(node string) { id.centre.Store(&node) }

// IsLeaf tells whether the store has a centre.
func (id *Identity) IsLeaf() bool { return id.Centre() != "" }

// Upstream is what the store knows of its centre.
func (id *Identity) Upstream() *Upstream { return id.upstream.Load() }

// SetUpstream notes what the store knows of its centre.
func (id *Identity) SetUpstream(u *Upstream) { id.upstream.Store(u) }

// IsRevoked tells whether the centre has revoked this laptop. A revoked laptop sells and edits nothing more, and marks its check-ins
// for review.
func (id *Identity) IsRevoked() bool { return id.IsLeaf() && id.Upstream().Revoked }

// IsUnkeyed tells whether the store was filled from a file. Until it joins, it cannot tell which person an erasure is about.
func (id *Identity) IsUnkeyed() bool { return id.Upstream().Unkeyed }

// Upstream is the centre that a store has joined, and what the store is known by there.
type Upstream struct {
	URL      string              `json:"url"` // of the centre's site, without a slash at its end
	Insecure bool                `json:"insecure,omitempty"`
	Node     string              `json:"node"`  // the centre's
	Epoch    string              `json:"epoch"` // the centre's when it was last met
	ID       int64               `json:"id"`    // of this laptop among those that are enrolled there
	Name     string              `json:"name"`
	Key      string              `json:"key"`
	Secret   string              `json:"secret"`
	Ends     time.Time           `json:"ends"`
	Pushes   []string            `json:"pushes,omitempty"`  // the databases that the centre takes from here
	Pulls    []string            `json:"pulls,omitempty"`   // those that it gives
	Guest    []string            `json:"guest,omitempty"`   // of Pushes those where it takes back only what was made here
	Over     []string            `json:"over,omitempty"`    // databases of events that are over: it takes nothing more of them
	Drops    map[int64]time.Time `json:"drops,omitempty"`   // by event that is over, from when on it may be dropped here, as was announced
	Chosen   bool                `json:"chosen,omitempty"`  // of its churches' events the laptop takes along only those that were named
	Revoked  bool                `json:"revoked,omitempty"` // it takes nothing from here but facts
	Erased   string              `json:"erased,omitempty"`  // its sequence up to which it has sent what was erased
	Anew     bool                `json:"anew,omitempty"`    // enrolled there anew since it was last met
	Unkeyed  bool                `json:"unkeyed,omitempty"` // the key that the realm hashes with is not known here
}

// ReadUpstream is the zero Upstream where the store has joined none.
func ReadUpstream(v *View) (u Upstream, err error) {
	row, err := v.Get(MetaBucket, UpstreamKey)
	if err == nil && len(row) > 0 && json.Unmarshal(row, &u) != nil {
		err = fmt.Errorf("%w: meta row upstream", engine.ErrCorrupt)
	}
	return u, err
}
