package pull_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"doorward/api"
	"doorward/api/pull"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/keys"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// stamps are what belongs to the store that serves a record.
var stamps = regexp.MustCompile(`"updated_at":"[^"]*"|"updated_by":(null|\d+)`)

// walked are the answers of all lists and records of /v1, by path, without the stamps.
func walked(t *testing.T, s *kv.Store) map[string]string {
	t.Helper()
	server, err := api.New(api.Config{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	level, _ := auth.ParseLevel("denomination")
	k, secret, err := s.Keys.AddKey(auth.Operator(), keys.KeySpec{Name: "walker", Level: level})
	if err != nil {
		t.Fatal(err)
	}
	h, out := server.Handler(), map[string]string{}
	ask := func(path string) []byte {
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
		r.SetBasicAuth(k.Key, secret)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Fatalf("GET %s = %d %s", path, w.Code, w.Body)
		}
		out[path] = stamps.ReplaceAllString(w.Body.String(), "stamp")
		return w.Body.Bytes()
	}
	list := func(path string) (ids []int64) {
		for offset := 0; ; offset += 100 {
			var page struct {
				Count   int
				Results []struct{ ID int64 }
			}
			if err := json.Unmarshal(ask(fmt.Sprintf("%s?limit=100&offset=%d", path, offset)), &page); err != nil {
				t.Fatal(err)
			}
			for _, one := range page.Results {
				ids = append(ids, one.ID)
			}
			if offset+100 >= page.Count {
				return ids
			}
		}
	}
	for _, name := range []string{"financial_entries", "event", "people", "group"} {
		for _, id := range list("/v1/" + name + "/") {
			ask(fmt.Sprintf("/v1/%s/%d/", name, id))
			if name == "group" {
				list(fmt.Sprintf("/v1/group/%d/memberships/", id))
			}
		}
	}
	return out
}

func TestAMirrorAnswersAsItsSource(t *testing.T) {
	c, s := newCentre(t), kvtest.Open(t)
	rep := pulled(t, c.config(s))
	if !rep.Complete || len(rep.Notes) > 0 {
		t.Fatalf("report = %+v", rep)
	}
	want, got := walked(t, c.store), walked(t, s)
	if len(want) < 400 || len(want) != len(got) {
		t.Errorf("%d answers of the source and %d of the mirror", len(want), len(got))
	}
	for path, body := range want {
		if got[path] != body {
			t.Errorf("%s differs:\n%s\n%s", path, body, got[path])
		}
	}
	if diff := cmp.Diff(unseen, slices.Sorted(maps.Keys(differing(t, c.store, s)))); diff != "" {
		t.Errorf("what the mirror lacks, since /v1 does not show it (-want +got):\n%s", diff)
	}
}

// unseen are the fields that the source has and a mirror cannot: /v1 does not show them. Regionals and roles that no record names are
// missing whole; an event's issued_tickets is counted at the source and a number here.
var unseen = []string{
	"business_unit.created_at", "category.created_at", "church.created_at", "church.regional_id", "cost_center.created_at", "event.created_at",
	"event.issued_tickets", "event.list_rule", "financial_account.created_at", "group.church_id", "group.created_at", "membership.created_at",
	"person.external_id", "person.location", "person.location_type", "regional.created_at", "regional.id", "regional.name", "role.created_at",
	"role.id", "role.name", "subcategory.category_id", "subcategory.created_at", "supplier.created_at",
}

// differing are the fields of the kinds that were pulled in which two stores differ, as /admin/v1 shows them.
func differing(t *testing.T, a, b *kv.Store) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, k := range record.Kinds() {
		if k.System || k.Fact || k.Class == record.Events {
			continue
		}
		one, other := exported(t, a, k), exported(t, b, k)
		for id, fields := range one {
			for name, v := range fields {
				if name != "updated_at" && name != "updated_by" && !reflect.DeepEqual(v, other[id][name]) {
					out[k.Name+"."+name] = true
				}
			}
		}
		if len(other) > len(one) {
			t.Errorf("the mirror has %d %s, the source %d", len(other), k.Name, len(one))
		}
	}
	return out
}

func exported(t *testing.T, s *kv.Store, k *record.Kind) map[any]map[string]any {
	t.Helper()
	out := map[any]map[string]any{}
	err := s.Log.Export(auth.Operator(), k, func(b []byte) error {
		var one map[string]any
		err := json.Unmarshal(b, &one)
		out[one["id"]] = one
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestASecondPullChangesNothingAndBringsWhatHasChanged(t *testing.T) {
	c, s := newCentre(t), kvtest.Open(t)
	conf := c.config(s)
	conf.Now = func() time.Time { return time.Now().Add(2 * time.Hour) } // beyond the overlap; the source's own clock counts less
	pulled(t, conf)
	seq := s.Tables.Commits.Seq()
	rep := pulled(t, conf)
	if created, updated, _, refused := sums(rep); created+updated+refused != 0 || s.Tables.Commits.Seq() != seq || !rep.Complete {
		t.Errorf("the second pull wrote: %+v", rep.Kinds)
	}
	if people := line(rep, "person"); !people.Changes {
		t.Errorf("the second pull reads all people: %+v", people)
	}
	changed(t, c.store, record.Person, 3, `{"full_name":"Renata Prado"}`)
	changed(t, c.store, record.FinancialEntry, 2, `{"description":"Luz"}`)
	imported(t, c.store, `{"kind":"person","id":9001,"full_name":"Nova Lima","church_id":1}`+"\n")
	rep = pulled(t, conf)
	for kind, want := range map[string][2]int{"person": {1, 1}, "financial_entry": {0, 1}, "group": {0, 0}, "event": {0, 0}} {
		if got := line(rep, kind); [2]int{got.Created, got.Updated} != want || got.Gone != 0 {
			t.Errorf("%s: %+v, want %d created and %d updated", kind, got, want[0], want[1])
		}
	}
}

func changed(t *testing.T, s *kv.Store, k *record.Kind, id int64, body string) {
	t.Helper()
	patch, err := k.Parse([]byte(body), record.ParseOptions{Surface: record.Admin})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Desk.Update(auth.Operator(), desk.Target{Surface: record.Admin, Kind: k, ID: record.Int(id)}, patch); err != nil {
		t.Fatal(err)
	}
}

func deleted(t *testing.T, s *kv.Store, k *record.Kind, id int64) {
	t.Helper()
	if err := s.Desk.Delete(auth.Operator(), desk.Target{Surface: record.Admin, Kind: k, ID: record.Int(id)}); err != nil {
		t.Fatal(err)
	}
}

// TestWhatIsGoneAtTheSourceIsSaidAndStays: also of people, where only changes are read, by their number.
func TestWhatIsGoneAtTheSourceIsSaidAndStays(t *testing.T) {
	c, s := newCentre(t), kvtest.Open(t)
	pulled(t, c.config(s))
	deleted(t, c.store, record.FinancialEntry, 2)
	deleted(t, c.store, record.Membership, 2147480003)
	deleted(t, c.store, record.Person, 2147480001)
	want := []pull.Record{{Kind: "person", ID: 2147480001}, {Kind: "membership", ID: 2147480003}, {Kind: "financial_entry", ID: 2}}
	for range 2 {
		rep := pulled(t, c.config(s))
		if diff := cmp.Diff(want, rep.Gone); diff != "" || line(rep, "person").Changes || !rep.Complete {
			t.Errorf("gone (-want +got):\n%s\n%+v", diff, line(rep, "person"))
		}
	}
	if exported(t, s, record.Person)[2147480001.0] == nil {
		t.Error("the person is deleted here")
	}
}

func TestALocalEditIsKeptAndSaidUntilTheSourceSaysTheSame(t *testing.T) {
	c, s := newCentre(t), kvtest.Open(t)
	pulled(t, c.config(s))
	changed(t, s, record.Person, 3, `{"full_name":"Edited Here"}`)
	deleted(t, s, record.FinancialEntry, 2)
	changed(t, c.store, record.Person, 3, `{"full_name":"Edited There"}`)
	for range 2 {
		rep := pulled(t, c.config(s))
		if diff := cmp.Diff([]pull.Record{{Kind: "person", ID: 3}, {Kind: "financial_entry", ID: 2}}, rep.Kept); diff != "" {
			t.Errorf("kept (-want +got):\n%s", diff)
		}
	}
	if got := exported(t, s, record.Person)[3.0]["full_name"]; got != "Edited Here" {
		t.Errorf("the name is %v, want the edit", got)
	}
	changed(t, s, record.Person, 3, `{"full_name":"Edited There"}`)
	if rep := pulled(t, c.config(s)); len(rep.Kept) != 1 {
		t.Errorf("kept = %+v, want the entry alone", rep.Kept)
	}
}

func TestWhatTheKeyMayNotReadIsNamedAndTheRestIsRead(t *testing.T) {
	c, s := newCentre(t, auth.Permission{Resource: "people", Method: "GET"}, auth.Permission{Resource: "event", Method: "GET"}), kvtest.Open(t)
	rep := pulled(t, c.config(s))
	for _, kind := range []string{"group", "membership", "financial_entry"} {
		if got := line(rep, kind); got.NotReadable != "the source answers 403 FORBIDDEN" || got.Seen != 0 {
			t.Errorf("%s: %+v", kind, got)
		}
	}
	if got := line(rep, "person"); got.Created != 301 || !rep.Complete {
		t.Errorf("person: %+v", got)
	}
}

// TestAPullThatWasCutOffGoesOn: at any request; in the end the mirror is the same.
func TestAPullThatWasCutOffGoesOn(t *testing.T) {
	c, s := newCentre(t), kvtest.Open(t)
	created := 0
	for most := int64(2); ; most += 3 {
		c.asked.Store(0)
		c.cutAfter.Store(most)
		rep := pulled(t, c.config(s))
		n, updated, _, refused := sums(rep)
		created += n
		if updated+refused > 0 || most > 200 {
			t.Fatalf("a pull that goes on: %+v", rep)
		}
		if rep.Complete {
			break
		}
		if rep.Stopped == "" {
			t.Fatalf("a pull whose connection is cut does not say so: %+v", rep)
		}
	}
	total := 0
	for _, k := range record.Kinds() {
		if !k.System && !k.Fact && k.Class != record.Events {
			total += len(exported(t, s, k))
		}
	}
	if created != total {
		t.Errorf("%d records were created in all, and %d are there", created, total)
	}
	if diff := cmp.Diff(walked(t, c.store), walked(t, s)); diff != "" {
		t.Errorf("the mirror differs (-source +mirror):\n%s", diff)
	}
}

func TestAPullThatIsEndedWritesNoMore(t *testing.T) {
	c, s := newCentre(t), kvtest.Open(t)
	ctx, cancel := context.WithCancel(context.Background())
	conf := c.config(s)
	conf.Progress = func(done, _ int64) {
		if done > 150 {
			cancel()
		}
	}
	if rep, err := pull.Run(ctx, conf); !errors.Is(err, context.Canceled) || rep != nil {
		t.Errorf("Run = %+v, %v, want canceled", rep, err)
	}
	if rep := pulled(t, c.config(s)); !rep.Complete {
		t.Errorf("the pull after it: %+v", rep)
	}
}

func TestADryRunSaysWhatARunWrites(t *testing.T) {
	c, s := newCentre(t), kvtest.Open(t)
	conf := c.config(s)
	conf.DryRun = true
	dry := pulled(t, conf)
	if empty, err := s.Desk.Vacant(); err != nil || !empty || s.Tables.Commits.Seq() != 0 {
		t.Errorf("a dry run wrote: %v, %v", empty, err)
	}
	rep := pulled(t, c.config(s))
	if diff := cmp.Diff(rep.Kinds, dry.Kinds); diff != "" {
		t.Errorf("the dry run says something else (-run +dry):\n%s", diff)
	}
}

func TestAnotherServersRecordsDoNotComeAmongThose(t *testing.T) {
	c, other, s := newCentre(t), newCentre(t), kvtest.Open(t)
	pulled(t, c.config(s))
	conf := other.config(s)
	if _, err := pull.Run(context.Background(), conf); !errors.Is(err, pull.ErrUsage) || !strings.Contains(err.Error(), "--moved") {
		t.Errorf("Run from another server = %v", err)
	}
	conf.Moved = true
	if rep := pulled(t, conf); !rep.Complete || line(rep, "person").Changes {
		t.Errorf("the pull from where the server has moved: %+v", rep)
	}
}
