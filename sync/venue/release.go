package venue

import (
	"context"
	"doorward/kv"
	"strings"
)

// release takes out of the file what only the centre keeps, once it is there. What the centre has refused, and does not keep either,
// stays.
func (x *visit) release(ctx context.Context) error {
	store := x.config.Store
	for _, e := range x.greeting.Databases {
		if !e.Push || e.Pull || !strings.HasSuffix(e.Name, "-holders") && !strings.HasSuffix(e.Name, "-names") {
			continue
		}
		upto, err := lag{store, x.upstream}.acknowledged(e.Name)
		if err != nil {
			return err
		}
		held, err := store.Held(kv.Operator(), e.Name)
		if err != nil {
			return err
		}
		if held == 0 {
			continue
		}
		why, err := x.missingAtCentre(ctx, e.Name)
		if err == nil && why == "" {
			err = store.Release(kv.Operator(), e.Name, upto)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
