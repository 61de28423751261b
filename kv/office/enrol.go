package office

import (
	"crypto/sha256"
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
	"doorward/kv/table"
	"doorward/kv/value"
)

// A laptop is enrolled at the centre, which gives a code; the laptop brings the code, once, with the hash of a secret that it has
// drawn, and is given a key of class node. From then on the key is all that it is known by (sync.md §5).
const (
	codeLife  = 24 * time.Hour       // of a code that no laptop brings
	venueLife = 400 * 24 * time.Hour // of the key that it is exchanged for
)

// ErrCode says that no laptop may join by this code.
var ErrCode = errors.New("the code is wrong, was used before, or is older than a day")

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
	if err := of.tables.Room(disk.Creates); err != nil {
		return 0, "", ends, err
	}
	e = e.settled()
	code = codes.Make(entry.Draw10())
	err = of.tables.Do(false, func(o *table.Tx) error {
		if err := of.mayEnrol(); err != nil {
			return err
		}
		if faults, err := faultsOf(o, &e); err != nil || len(faults) > 0 {
			return table.OrErr(err, faults)
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
	})
	return id, code, ends, err
}

// settled is an enrolment with a trimmed name and each event once.
func (e Enrolment) settled() Enrolment {
	e.Name = strings.TrimSpace(e.Name)
	e.Events = slices.Clone(e.Events)
	slices.Sort(e.Events)
	e.Events = slices.Compact(e.Events)
	return e
}

// faultsOf judges what a laptop shall be let in for: of what its level does not see it would be refused every byte. The churches of a
// mirror must be there too, though it takes all churches along.
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

// isThere finds fault with the id of a record that is not there.
func isThere(o *table.Tx, k *record.Kind, id int64, wrong func(field, text string)) bool {
	ok := o.Lists.Kind(k).All.Contains(record.Int(id))
	if !ok {
		wrong(k.Name, fault.InvalidID(id))
	}
	return ok
}

// checkName finds fault with a name that another laptop has. One that is revoked, and one that never brought its code, which is too old
// now, does not count.
func checkName(o *table.Tx, name string, wrong func(field, text string)) error {
	for _, id := range table.IdsOf(o.View, record.Node) {
		st, err := o.Load(record.Node, id)
		if err != nil {
			return err
		}
		d, err := st.Decode(record.Node)
		if err != nil {
			return err
		}
		ends, _ := table.TimeOf(d.Value("code_expires_at")) // it has one
		_, revoked := table.TimeOf(d.Value("revoked_at"))
		waits := d.Int("key_id") != 0 || o.Now.Before(ends)
		if strings.EqualFold(d.Text("name"), name) && waits && !revoked {
			wrong("name", fmt.Sprintf("Laptop %d has this name: choose another one, or revoke that laptop first.", id.Int()))
			return nil
		}
	}
	return nil
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

// codeHashText is a code as it is kept. A person may have typed it, in small letters or with hyphens.
func codeHashText(code string) []byte {
	code = strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code))
	sum := sha256.Sum256([]byte("enrolment\x00" + code))
	return table.HexText(sum[:])
}

// Credential is what a laptop is given for its code.
type Credential struct {
	ID      int64 // of the laptop among those that are enrolled
	Key     string
	Name    string
	Realm   string
	Centre  string // the node that gives it
	CodeKey []byte
	Ends    time.Time
}

// Exchange gives a laptop a key for its code. It returns ErrCode, ErrEnrolled or *HoldsMore. The same laptop may bring the same
// code and hash again, for example when the first reply was lost. If its name is enrolled already, it must prove that it has
// the present key, unless that key is revoked: facts and changes carry the name alone.
func (of *Desk) Exchange(code string, j Joiner) (c Credential, err error) {
	if _, err := ulid.ParseStrict(j.Node); err != nil {
		return c, ErrCode
	}
	err = of.tables.Do(false, func(o *table.Tx) error {
		st, d, err := enrolmentOf(o, code)
		if err != nil || of.mayEnrol() != nil { // it may have joined a centre since it gave the code
			return table.OrErr(err, ErrCode)
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
		if c, err = exchange(o, st, k, j); err == nil {
		}
		return err
	})
	return c, err
}

// enrolmentOf finds what a code is for, while it is good.
func enrolmentOf(o *table.Tx, code string) (*table.Stored, *record.Doc, error) {
	want := string(codeHashText(code))
	for _, id := range table.IdsOf(o.View, record.Node) {
		st, err := o.Load(record.Node, id)
		if err != nil {
			return nil, nil, err
		}
		d, err := st.Decode(record.Node)
		if err != nil {
			return nil, nil, err
		}
		ends, _ := table.TimeOf(d.Value("code_expires_at")) // it has one
		_, revoked := table.TimeOf(d.Value("revoked_at"))
		if string(d.Value("code_hash")) == want && o.Now.Before(ends) && !revoked {
			return st, d, nil
		}
	}
	return nil, nil, ErrCode
}

// exchangedBefore is the credential of a laptop that brings its code once more.
func exchangedBefore(o *table.Tx, st *table.Stored, d *record.Doc, j Joiner) (c Credential, err error) {
	key, err := o.Load(record.APIKey, record.Int(d.Int("key_id")))
	if err != nil || key == nil {
		return c, table.OrErr(err, ErrCode)
	}
	k, hash, err := keys.ReadKey(key)
	if err != nil || hash != j.Secret || k.Node.Node != j.Node {
		return c, table.OrErr(err, ErrCode)
	}
	return credential(o, st.ID.Int(), k), nil
}

// keyOf is the key that an enrolment is exchanged for.
func keyOf(o *table.Tx, d *record.Doc, node string) (k auth.Key, err error) {
	level, err := auth.ParseLevel(d.Text("level"))
	k = auth.Key{
		Key: "dw_" + codes.Make(entry.Draw10()) + codes.Make(entry.Draw10())[:4], Name: d.Text("name"), Level: level,
		Permissions: []auth.Permission{{Resource: "sync", Method: "*"}}, Expires: o.Now.Add(venueLife).Truncate(time.Second), Node: keys.VenueWith(node, keys.Texts(d.Value("grants"))),
	}
	return k, err
}

// exchange makes the key.
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
	f := o.Store.Identity.Family.Load()
	return Credential{ID: id, Key: k.Key, Name: k.Name, Realm: f.Realm, Centre: o.Store.Node(), CodeKey: slices.Clone(f.CodeKey), Ends: k.Expires}
}
