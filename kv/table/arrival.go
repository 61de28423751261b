package table

import "doorward/kv/auth"

// Refused is a *Forbidden of one document.
func Refused(reason string) error {
	return &auth.Forbidden{CurrentScopes: []string{}, Reason: reason}
}
