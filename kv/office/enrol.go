package office

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"doorward/kv/auth"
	"doorward/kv/codes"
	"doorward/kv/disk"
	"doorward/kv/entry"
	"doorward/kv/fault"
	"doorward/kv/keys"
	"doorward/kv/record"
	"doorward/kv/scopes"
	"doorward/kv/table"
	"doorward/kv/value"
)

// Staff enrol a laptop at the centre, and the centre gives a code. The laptop makes a secret, brings the code with the secret's hash, once,
// and gets a key of class node. From then on the centre knows the laptop by this key alone (sync.md §5).
const (
	codeLife  = 24 * time.Hour       // how long a laptop may bring the code
	venueLife = 400 * 24 * time.Hour // how long the laptop's key is good
)

// ErrCode says that no laptop may join by this code.
var ErrCode = errors.New("the code is wrong, was used before, or is older than a day; another one is made at the centre, with doorward venue enrol")

// ErrEnrolled says that the code is good, but the laptop has not proved that its name is its own.
var ErrEnrolled = errors.New("the folder is a copy of the centre's or of an enrolled laptop's, or has lost its key: revoke that laptop at the centre first")

// Enrolment says which rights a laptop gets when it joins.
type Enrolment struct {
	Name   string
	Level  auth.Level
	Events []int64    // of those that the level sees, which it takes along; nil = all
	Venue  auth.Venue // the grants; it has no Node yet
}

// Enrol makes the code by which one laptop may join. It returns *Forbidden, a fault.ByField, or *Conflict if the store has
// joined a centre.
func (of *Desk) Enrol(p auth.Principal, e Enrolment) (id int64, code string, ends time.Time, err error) {
	if err := p.CheckRule(); err != nil {
		return 0, "", ends, err
	}
	if err := of.tables.Folder.Room.Check(disk.Creates); err != nil {
		return 0, "", ends, err
	}
	e.Name, e.Events = strings.TrimSpace(e.Name), slices.Compact(slices.Sorted(slices.Values(e.Events)))
	code = codes.Draw()
	err = of.tables.Do(of.standing.By(p, func(o *table.Tx) error {
		if err := of.mayEnrol(); err != nil {
			return err
		}
		if faults, err := faultsOf(o, &e); err != nil || len(faults) > 0 {
			return cmp.Or[error](err, faults)
		}
		ends = o.Now.Add(codeLife)
		at, _, err := entry.Vacant(o, record.Node, record.ID{})
		if err != nil {
			return err
		}
		id = at.Int()
		d := e.doc()
		d.Set("code_hash", codeHashText(code))
		d.Set("code_expires_at", value.Time(ends))
		_, err = entry.Add(o, p, record.Node, entry.NewRecord{ID: at, Made: entry.Finish(p, d, entry.Moment(o))})
		return err
	}))
	return id, code, ends, err
}

// faultsOf finds what is wrong with an enrolment. Its churches and events must exist, also those of a mirror, which takes all churches
// along. Its events must be within its level: the centre would refuse the laptop every other one.
func faultsOf(o *table.Tx, e *Enrolment) (f fault.ByField, err error) {
	k := auth.Key{Name: e.Name, Level: e.Level}
	f = keys.KeyFaults(&k)
	e.checkGrants(f.Add)
	if err := checkName(o, e.Name, f.Add); err != nil {
		return nil, err
	}
	for _, id := range e.Level.IDs {
		switch e.Level.Name {
		case auth.ChurchOf:
			isThere(o, record.Church, id, f.Add)
		case auth.EventOf:
			isThere(o, record.Event, id, f.Add)
		}
	}
	if e.Venue.Mirror && e.Level.Name == auth.ChurchOf {
		e.Level = auth.Level{Name: auth.Denomination}
	}
	for _, id := range e.Events {
		if !isThere(o, record.Event, id, f.Add) {
			continue
		}
		sees, err := entry.SeesEvent(o.View, auth.Key{Level: e.Level}.Principal(), id)
		if err != nil {
			return nil, err
		}
		if !sees {
			f.Add(record.Event.Name, fmt.Sprintf("Event %d is of a church that the laptop is not enrolled for.", id))
		}
	}
	return f, nil
}

// checkGrants finds grants that a laptop of one event cannot have.
func (e *Enrolment) checkGrants(wrong func(field, text string)) {
	if e.Level.Name != auth.EventOf {
		return
	}
	if e.Venue.Finance {
		wrong("finance", "Financial entries are taken along with a church alone.")
	}
	if e.Venue.Mirror {
		wrong("mirror", "A mirror is enrolled for no single event.")
	}
}

// isThere reports whether a record exists, and adds a fault if it does not.
func isThere(o *table.Tx, k *record.Kind, id int64, wrong func(field, text string)) bool {
	ok := table.Listed(o.View, k).All.Contains(record.Int(id))
	if !ok {
		wrong(k.Name, fault.InvalidID(id))
	}
	return ok
}

// checkName adds a fault if another laptop has this name. A revoked laptop does not count, nor one that has not brought its code in time.
func checkName(o *table.Tx, name string, wrong func(field, text string)) error {
	return eachNode(o.View, func(st *table.Stored, d *record.Doc) (bool, error) {
		ends, _ := table.TimeOf(d.Value("code_expires_at")) // it has one
		waits := d.Int("key_id") != 0 || o.Now.Before(ends)
		taken := strings.EqualFold(d.Text("name"), name) && waits && !isRevoked(d)
		if taken {
			wrong("name", fmt.Sprintf("Laptop %d has this name: choose another one, or revoke that laptop first.", st.ID.Int()))
		}
		return !taken, nil
	})
}

func (e *Enrolment) doc() *record.Doc {
	d := record.Node.NewDoc()
	d.Set("name", value.Quote(e.Name))
	d.Set("level", value.Quote(e.Level.String()))
	var events []string
	for _, id := range e.Events {
		events = append(events, strconv.FormatInt(id, 10))
	}
	d.Set("events", value.Texts(events...))
	d.Set("grants", value.Texts(keys.GrantsOf(e.Venue)...))
	return d
}

// codeHashText returns the hash of a code, as the store keeps it. A person may have typed the code in small letters or with hyphens.
func codeHashText(code string) []byte {
	code = strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code))
	sum := sha256.Sum256([]byte("enrolment\x00" + code))
	return table.HexText(sum[:])
}

// Credential is the key that a laptop gets for its code.
type Credential struct {
	ID      int64 // of the laptop among those that are enrolled
	Key     string
	Name    string
	Realm   string
	Centre  string // the node that gives it
	CodeKey []byte
	Ends    time.Time
	Laptop  auth.Principal // who logs in with the key
}

// Exchange gives a laptop a key for its code. It returns ErrCode, ErrEnrolled or *HoldsMore. The same laptop may bring the same
// code and hash again, for example when the first reply was lost. If its name is enrolled already, it must prove that it has
// the present key, unless that key is revoked: facts and changes carry the name alone.
func (of *Desk) Exchange(code string, j Joiner) (c Credential, err error) {
	if _, err := ulid.ParseStrict(j.Node); err != nil {
		return c, ErrCode
	}
	err = of.tables.Do(func(o *table.Tx) error {
		st, d, err := enrolmentOf(o, code)
		if err != nil || of.mayEnrol() != nil { // it may have joined a centre since it gave the code
			return cmp.Or(err, ErrCode)
		}
		if id := d.Int("key_id"); id != 0 {
			c, err = exchangedBefore(o, st, d, j)
			return err
		}
		k, err := keyOf(o, d, j.Node)
		if err != nil {
			return err
		}
		if err := retire(o, code, j); err != nil {
			return err
		}
		c, err = exchange(o, st, k, j)
		return err
	})
	return c, err
}

// enrolmentOf finds the enrolment of a code. It returns ErrCode if the code is unknown, too old or revoked.
func enrolmentOf(o *table.Tx, code string) (st *table.Stored, d *record.Doc, err error) {
	want := string(codeHashText(code))
	err = eachNode(o.View, func(node *table.Stored, is *record.Doc) (bool, error) {
		ends, _ := table.TimeOf(is.Value("code_expires_at")) // it has one
		if string(is.Value("code_hash")) == want && o.Now.Before(ends) && !isRevoked(is) {
			st, d = node, is
		}
		return st == nil, nil
	})
	if err == nil && st == nil {
		err = ErrCode
	}
	return st, d, err
}

// exchangedBefore returns the credential again to a laptop that brings its code a second time.
func exchangedBefore(o *table.Tx, st *table.Stored, d *record.Doc, j Joiner) (c Credential, err error) {
	key, err := o.Load(record.APIKey, record.Int(d.Int("key_id")))
	if err != nil || key == nil {
		return c, cmp.Or(err, ErrCode)
	}
	k, hash, err := keys.ReadKey(key)
	if err != nil || hash != j.Secret || k.Node.Node != j.Node {
		return c, cmp.Or(err, ErrCode)
	}
	return credential(o, st.ID.Int(), k), nil
}

// keyOf makes the key that a laptop gets for its enrolment. The key has no id yet.
func keyOf(o *table.Tx, d *record.Doc, node string) (k auth.Key, err error) {
	level, err := auth.ParseLevel(d.Text("level"))
	k = auth.Key{
		Key: keys.Draw(), Name: d.Text("name"), Level: level,
		Permissions: []auth.Permission{{Resource: "sync", Method: "*"}}, Expires: o.Now.Add(venueLife).Truncate(time.Second), Node: keys.VenueOf(d),
	}
	k.Node.Node = node // the enrolment has none yet
	return k, err
}

// exchange stores the key, and notes in the enrolment that the laptop has joined.
func exchange(o *table.Tx, st *table.Stored, k auth.Key, j Joiner) (c Credential, err error) {
	id, _, err := entry.Vacant(o, record.APIKey, record.ID{})
	if err != nil {
		return c, err
	}
	k.ID = id.Int()
	if _, err := entry.Add(o, auth.Operator(), record.APIKey, entry.NewRecord{ID: id, Made: entry.Finish(auth.Operator(), keys.KeyDoc(&k, j.Secret), entry.Moment(o))}); err != nil {
		return c, err
	}
	_, err = entry.Amend(o, auth.Operator(), record.Node, st, func(d *record.Doc) {
		d.Set("node", value.Quote(k.Node.Node))
		d.Set("key_id", value.Number(k.ID))
		d.Set("joined_at", value.Time(o.Now))
	})
	if err == nil {
		err = givesAll(o, k.Principal(), j.Holds)
	}
	return credential(o, st.ID.Int(), k), err
}

func credential(o *table.Tx, id int64, k auth.Key) Credential {
	f := o.Store.Identity.Family()
	return Credential{ID: id, Key: k.Key, Name: k.Name, Realm: f.Realm, Centre: o.Store.Identity.Node(), CodeKey: slices.Clone(f.CodeKey), Ends: k.Expires, Laptop: k.Principal()}
}

// Joiner is a laptop that brings a code.
type Joiner struct {
	Node   string            // its ULID
	Secret [sha256.Size]byte // the hash of the secret that it has made
	Proof  []byte            // of Prove, if the laptop has a key of the centre already
	Holds  []string          // of laptop.Holdings
}

// SecretFor derives the secret that a laptop brings with a code from one that it alone knows.
func SecretFor(code string, own []byte) string {
	mac := hmac.New(sha256.New, own)
	mac.Write(codeHashText(code))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
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

// HoldsMore says that a folder holds databases which its code does not give, for example because replicate has filled it. No erasure, end
// of an event or revocation would ever remove them from it.
type HoldsMore struct{ Databases []string }

func (h *HoldsMore) Error() string {
	return "the folder holds more than its code gives (" + fault.Listed(h.Databases) + "): join with a new folder, or by a code that gives these too"
}

// givesAll returns a *HoldsMore if a laptop brings databases of churches and events that are not its own. A database that is
// unknown or deleted here has no owner: a laptop may bring it to a centre that was restored.
func givesAll(o *table.Tx, p auth.Principal, holds []string) error {
	e, err := LaptopOf(o.View, p)
	if err != nil {
		return err
	}
	given := ExchangedOf(o.View, &e)
	var more []string
	for _, name := range holds {
		if slices.ContainsFunc(given, func(db Exchanged) bool { return db.Name == name || db.Name == table.Mirror }) {
			continue
		}
		foreign, err := isForeign(o, p, name)
		if err != nil {
			return err
		}
		if foreign {
			more = append(more, name)
		}
	}
	if len(more) > 0 {
		return &HoldsMore{more}
	}
	return nil
}

// isForeign tells whether a database is of a church or an event that exists here. It is false for an event that the laptop had and drops.
func isForeign(o *table.Tx, p auth.Principal, name string) (bool, error) {
	k := record.Church
	scope, _ := scopes.Parse(name)
	if scope.Sort.OfEvent() {
		k = record.Event
	}
	st, err := o.Load(k, record.Int(scope.ID))
	if err != nil || st == nil || k == record.Church {
		return st != nil, err
	}
	had, err := HadEvent(o.View, p, scope.ID)
	return !had, err
}
