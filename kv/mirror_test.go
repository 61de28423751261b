package kv_test

import (
	"errors"
	"fmt"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/entry"
	"doorward/kv/kvtest"
	"doorward/kv/laptop"
	"doorward/kv/office"
	"doorward/kv/record"
	"doorward/kv/table"
)

// source are records as another server has them.
type source struct {
	t *testing.T
	s *kv.Store
}

// pull writes one record as the source has it, and tells its fate.
func (c source) pull(k *record.Kind, id int64, body string) desk.RowResult {
	c.t.Helper()
	return c.row(k, id, body, false)
}

func (c source) row(k *record.Kind, id int64, body string, dry bool) desk.RowResult {
	c.t.Helper()
	patch, err := k.Parse([]byte(body), record.ParseOptions{Surface: record.Admin})
	if err != nil {
		c.t.Fatal(err)
	}
	out, err := c.s.Laptop.Mirror.Pull(auth.Operator(), []entry.Row{{Kind: k, ID: record.Int(id), Patch: patch}}, dry)
	if err != nil {
		c.t.Fatal(err)
	}
	return out[0]
}

// want fails unless the fate of a pull is so.
func (c source) want(fate desk.Fate, id int64, body string) {
	c.t.Helper()
	if got := c.pull(record.Person, id, body); got.Fate != fate {
		c.t.Errorf("the pull of %s under %d = %s %v, want %s", body, id, got.Fate, got.Err, fate)
	}
}

func (c source) change(id int64, body string) {
	c.t.Helper()
	patch, err := record.Person.Parse([]byte(body), record.ParseOptions{Surface: record.Admin})
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.s.Desk.Update(auth.Operator(), person(id), patch); err != nil {
		c.t.Fatal(err)
	}
}

func person(id int64) desk.Target {
	return desk.Target{Surface: record.Admin, Kind: record.Person, ID: record.Int(id)}
}

func TestPullKeepsWhatWasChangedHere(t *testing.T) {
	c := source{t, kvtest.Open(t)}
	c.want(desk.Created, 5, `{"full_name":"Ana"}`)
	c.want(desk.Unchanged, 5, `{"full_name":"Ana"}`)
	c.want(desk.Updated, 5, `{"full_name":"Ana Luz"}`)
	c.change(5, `{"full_name":"Ana Lins"}`)
	c.want(desk.Kept, 5, `{"full_name":"Ana Luz"}`)
	c.want(desk.Kept, 5, `{"full_name":"Ana Lua"}`)
	c.want(desk.Unchanged, 5, `{"full_name":"Ana Lins"}`) // the source says the same now
	c.want(desk.Updated, 5, `{"full_name":"Ana Mar"}`)
	if err := c.s.Desk.Delete(auth.Operator(), person(5)); err != nil {
		t.Fatal(err)
	}
	c.want(desk.Kept, 5, `{"full_name":"Ana Mar"}`)
	if _, err := c.s.Desk.Retrieve(auth.Operator(), person(5)); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("the person that was deleted here: %v, want not found", err)
	}
}

func TestPullTakesNoRecordOfOurOwn(t *testing.T) {
	c := source{t, kvtest.Open(t)}
	c.change(int64(created(t, c.s, `{"full_name":"Bia"}`)), `{"gender":"female"}`)
	c.want(desk.Kept, 1, `{"full_name":"Ana"}`)
	c.want(desk.Unchanged, 1, `{"full_name":"Bia"}`)
	c.want(desk.Updated, 1, `{"full_name":"Bia Luz"}`)
}

func created(t *testing.T, s *kv.Store, body string) int {
	t.Helper()
	patch, err := record.Person.Parse([]byte(body), record.ParseOptions{Surface: record.Admin, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Desk.Create(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Person}, patch)
	if err != nil {
		t.Fatal(err)
	}
	return int(r.ID.Int())
}

func TestPullTakesIDsOfAnySizeAndMintsOthers(t *testing.T) {
	c := source{t, kvtest.Open(t)}
	const large = 1 << 40
	c.want(desk.Created, large, `{"full_name":"Ana"}`)
	c.want(desk.Created, record.MaxID, `{"full_name":"Bia"}`)
	if id := created(t, c.s, `{"full_name":"Caio"}`); id != large+1 {
		t.Errorf("the next id is %d, want %d", id, large+1)
	}
}

func TestPullWritesNoErasedPersonAndKeepsNothingOfOne(t *testing.T) {
	c := source{t, kvtest.Open(t)}
	c.want(desk.Created, 5, `{"full_name":"Ana Almeida Prado"}`)
	if _, err := c.s.Erasures.Erase(auth.Operator(), record.Person, record.Int(5)); err != nil {
		t.Fatal(err)
	}
	c.want(desk.Kept, 5, `{"full_name":"Ana Almeida Prado"}`)
	if sum := kv.PulledSum(t, c.s, record.Person, 5); sum != [16]byte{} {
		t.Errorf("the hash of what was pulled is still there after the erasure: %x", sum)
	}
}

// TestPullTakesTheSourcesDates: where a change has the store date something, the source's date counts.
func TestPullTakesTheSourcesDates(t *testing.T) {
	c := source{t, kvtest.Open(t)}
	const body = `{"full_name":"Ana","church_profile":"%s","created_at":"2020-03-01T12:00:00Z","profile_change_date":"2020-03-01"}`
	c.want(desk.Created, 5, fmt.Sprintf(body, "visitor"))
	c.want(desk.Updated, 5, fmt.Sprintf(body, "member"))
	r, err := c.s.Desk.Retrieve(auth.Operator(), person(5))
	if err != nil {
		t.Fatal(err)
	}
	if got := member(r.JSON, "profile_change_date"); got != `"2020-03-01"` {
		t.Errorf("profile_change_date = %s, want the source's", got)
	}
	c.want(desk.Unchanged, 5, fmt.Sprintf(body, "member"))
}

func TestPullRefusesARowAlone(t *testing.T) {
	c := source{t, kvtest.Open(t)}
	c.want(desk.Rejected, 5, `{"full_name":"Ana","church_id":9}`)
	if got := c.row(record.Person, 6, `{"full_name":"Ana"}`, true); got.Fate != desk.Created {
		t.Errorf("a dry run says %s, want created", got.Fate)
	}
	c.want(desk.Created, 6, `{"full_name":"Ana"}`)
	if err := c.s.Laptop.Mirror.SetSource(auth.Operator(), laptop.MirrorSource{Source: "https://example.org", Key: "dw_1"}); err != nil {
		t.Fatal(err)
	}
	rep, err := c.s.Files.Verify(auth.Operator(), func(int, int) {})
	if err != nil || rep.Damaged != 0 {
		t.Errorf("verify: %+v, %v", rep, err)
	}
	if ids, err := c.s.Laptop.Mirror.Pulled(auth.Operator(), record.Person); err != nil || len(ids) != 1 || ids[0] != 6 {
		t.Errorf("pulled = %v, %v, want 6", ids, err)
	}
}

func TestALaptopOfACentreIsNoMirror(t *testing.T) {
	s := kvtest.Open(t)
	if err := s.Laptop.Join(auth.Operator(), table.Upstream{URL: "https://centre.example.org", Node: "01HZX3Q0000000000000000ABC"}, office.Credential{Realm: s.Tables.Identity.Realm()}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Laptop.Mirror.Pull(auth.Operator(), nil, true); !errors.Is(err, laptop.ErrMirrorAtCentre) {
		t.Errorf("Pull = %v, want ErrMirrorAtCentre", err)
	}
	if err := s.Laptop.Mirror.SetSource(auth.Operator(), laptop.MirrorSource{}); !errors.Is(err, laptop.ErrMirrorAtCentre) {
		t.Errorf("SetSource = %v, want ErrMirrorAtCentre", err)
	}
}
