package api

import "doorward/kv"

// RevokedHeader is in every answer of a laptop that its centre has revoked.
const RevokedHeader = "X-Laptop-Revoked"

// revokedText is what a revoked laptop says at the door and in /readyz.
const revokedText = "This laptop is revoked: check-ins are recorded for review; it sells and edits nothing more."

// message is what a door may read aloud of an outcome.
func message(x *exchange, outcome kv.Outcome) string {
	if x.store().IsRevoked() {
		return messages[outcome] + " " + revokedText
	}
	return messages[outcome]
}
