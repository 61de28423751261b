package sync

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"doorward/kv"
	"doorward/sync/handshake"
	"doorward/sync/input"
)

// enrol exchanges a code for a key of class node. Guessing codes is slowed down like guessing secrets.
func enrol(c *call) error {
	var in handshake.EnrolRequest
	if err := c.readSmall(&in); err != nil {
		return err
	}
	hash, good := kv.ParseHash(in.Secret)
	if !good {
		return input.ErrShape
	}
	store := c.server.config.Store
	if in.Realm != store.Realm() && !in.Vacant {
		return kv.ErrOtherRealm
	}
	cred, err := store.Exchange(in.Code, kv.Joiner{Node: in.Node, Secret: hash, Proof: in.Proof, Holds: in.Holds})
	if errors.Is(err, kv.ErrCode) {
		var slow interface{ RetryAfter() time.Duration }
		if _, e := c.server.config.Gate.Login(c.request, "enrolment", ""); errors.As(e, &slow) {
			return e
		}
	}
	if err != nil {
		return err
	}
	c.server.config.Logger.Info("a laptop has joined", "id", cred.ID)
	c.Header().Set("Cache-Control", "no-store")
	return c.reply(http.StatusOK, handshake.EnrolAnswer{
		ID: cred.ID, Name: cred.Name, Key: cred.Key, Realm: cred.Realm, Node: cred.Centre, CodeKey: hex.EncodeToString(cred.CodeKey), Ends: cred.Ends,
	})
}

// maxSmall is the largest body of a request between our own nodes that holds no documents.
const maxSmall = 1 << 20

// readSmall reads a small JSON body.
func (c *call) readSmall(v any) error {
	dec := json.NewDecoder(http.MaxBytesReader(c.ResponseWriter, c.request.Body, maxSmall))
	err := dec.Decode(v)
	var large *http.MaxBytesError
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &large):
		return input.ErrTooLarge
	case errors.As(err, &syntax), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return input.ErrJSON
	case isShape(err):
		return input.ErrShape
	}
	return input.ErrBroken
}

// isShape tells JSON of another shape from a body that could not be read.
func isShape(err error) bool {
	var other *json.UnmarshalTypeError
	var of *time.ParseError
	return errors.As(err, &other) || errors.As(err, &of)
}
