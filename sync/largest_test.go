package sync_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/sync/peertest"
	"doorward/sync/replicate"
)

// TestWhatALaptopTakesItsCentreTakes: the largest record that a laptop takes, and the deepest, are the centre's too. What would be larger
// is taken by neither.
func TestWhatALaptopTakesItsCentreTakes(t *testing.T) {
	t.Parallel()
	for _, c := range []replicate.RemoteConfig{{}, peertest.Plainly} {
		t.Run(fmt.Sprintf("plain %v", c.Plain), func(t *testing.T) {
			t.Parallel()
			centre := peertest.NewSite(t)
			kvtest.Create(t, centre.Store, record.Church, `{"name":"Central"}`)
			laptop := centre.InRealm()
			peertest.CopyAll(t, centre.RemoteOf("reference", c), laptop.LocalOf("reference"))
			laptopKey(centre, laptop)
			from := laptop.LocalOf("church-1")
			id := record.FirstDrawn
			makes := func(location string) (record.ID, error) {
				id++
				form := fmt.Sprintf(`{"id":%d,"full_name":"Ana","church_id":1,"location":%s}`, id, location)
				r, err := laptop.Store.Desk.Create(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Person}, kvtest.Parse(t, record.Person, form, true))
				return r.ID, err
			}
			if _, err := makes(`{"a":` + strings.Repeat("[", 998) + strings.Repeat("]", 998) + `}`); err != nil {
				t.Fatal(err)
			}
			last, made := record.ID{}, 1
			for fits, grows := 0, 1<<19; grows > 0; grows /= 2 {
				switch r, err := makes(`{"a":"` + strings.Repeat("x", fits+grows) + `"}`); {
				case err == nil:
					fits, last, made = fits+grows, r, made+1
				case !errors.Is(err, entry.ErrTooLarge):
					t.Fatal(err)
				}
			}
			longer := kvtest.Parse(t, record.Person, `{"occupation":"Padeira"}`, false)
			if _, err := laptop.Store.Desk.Update(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Person, ID: last}, longer); !errors.Is(err, entry.ErrTooLarge) {
				t.Errorf("Update to more than the largest = %v, want ErrTooLarge", err)
			}
			if run := peertest.CopyAll(t, from, centre.RemoteOf("church-1", c)); run.Written != made || run.Failures != 0 {
				t.Errorf("Replicate = %+v, want %d written and none refused", run, made)
			}
		})
	}
}
