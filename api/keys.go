package api

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"doorward/api/nullable"
	"doorward/kv/auth"
	"doorward/kv/fault"
	"doorward/kv/keys"
	"doorward/kv/record"
	"doorward/kv/value"
)

// keyForm is the body of a key to make.
var keyForm = record.Form("key_form",
	record.Field{Name: "name", Type: record.Text{Min: 1, Max: 255}, Flags: record.Required},
	record.Field{Name: "level", Type: record.Text{Min: 1, Max: 4096}, Flags: record.Required},
	record.Field{Name: "permissions", Type: record.Texts{}, Flags: record.Required},
	record.Field{Name: "expires_at", Type: record.DateTime{}, Flags: record.Null},
	record.Field{Name: "rate_limit", Type: record.Integer{Min: 0, Max: 1_000_000}},
)

// keyView is the wire form of a key. Only the answer to its creation has the secret.
type keyView struct {
	ID          int64          `json:"id"`
	Key         string         `json:"key"`
	Secret      string         `json:"secret,omitzero"`
	Name        string         `json:"name"`
	Level       string         `json:"level"`
	Permissions []string       `json:"permissions"`
	ExpiresAt   jsontext.Value `json:"expires_at"`
	Rate        int            `json:"rate_limit,omitzero"`
}

// listedKey is a key in the list of them.
type listedKey struct {
	keyView   `json:",inline"`
	RevokedAt jsontext.Value `json:"revoked_at"`
}

func viewKey(k *auth.Key) keyView {
	return keyView{
		ID: k.ID, Key: k.Key, Name: k.Name, Level: k.Level.String(), Permissions: k.PermissionTexts(),
		ExpiresAt: nullable.Time(k.Expires), Rate: k.Rate,
	}
}

// listKeys answers GET of the keys within the caller's own.
func listKeys(x *exchange) error {
	keys, err := x.store().Keys.Keys(x.caller)
	if err != nil {
		return err
	}
	l := x.listing(nil)
	return replyEach(l, within(l, keys), len(keys), func(k *auth.Key) listedKey { return listedKey{viewKey(k), nullable.Time(k.Revoked)} })
}

// createKey answers POST of a key. The answer has a secret, so the store never keeps it for an Idempotency-Key.
func createKey(x *exchange) error {
	form, _, err := readForm(x, keyForm)
	if err != nil {
		return err
	}
	spec := keySpec(form, x.store().Tables.Clock.Now())
	missing, err := x.store().Keys.Missing(x.caller, spec.Level)
	if err != nil {
		return err
	}
	for _, id := range missing {
		form.Faults.Add("level", fmt.Sprintf("There is no %s %d.", spec.Level.Name, id))
	}
	if err := form.Faults.Err(); err != nil {
		return err
	}
	k, secret, err := x.store().Keys.AddKey(x.caller, spec)
	if err != nil {
		return err
	}
	v := viewKey(&k)
	v.Secret = secret
	return x.answer(http.StatusCreated, v)
}

// keySpec reads the key to make from a form, and adds what is wrong to the form's faults.
func keySpec(form *record.Patch, now time.Time) keys.KeySpec {
	spec := keys.KeySpec{Name: form.Text("name")}
	if level := form.Text("level"); level != "" {
		var err error
		if spec.Level, err = auth.ParseLevel(level); err != nil {
			form.Faults.Add("level", fault.InvalidFilter(level))
		}
	}
	permissions, _ := form.Value("permissions")
	for _, s := range value.ReadTexts(permissions) {
		p, err := auth.ParsePermission(s)
		if err != nil {
			form.Faults.Add("permissions", fault.InvalidFilter(s))
		}
		spec.Permissions = append(spec.Permissions, p)
	}
	if at := form.Text("expires_at"); at != "" {
		spec.Expires, _ = time.Parse(time.RFC3339Nano, at) // the form holds it as replies print it
		if !spec.Expires.After(now) {
			form.Faults.Add("expires_at", "A time to come is wanted.")
		}
	}
	if n, ok := form.Value("rate_limit"); ok {
		spec.Rate, _ = strconv.Atoi(string(n)) // the form holds an integer
	}
	return spec
}

// revokeKey answers DELETE of a key.
func revokeKey(x *exchange, id record.ID) error {
	return x.done(x.store().Keys.RevokeKey(x.caller, id.Int()))
}
