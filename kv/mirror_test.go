package kv_test

import (
	"errors"
	"fmt"
	"testing"

	"doorward/kv"
	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// source are records as another server has them.
type source struct {
	t *testing.T
	s *kv.Store
}

// pull writes one record as the source has it, and tells its fate.
func (c source) pull(k *record.Kind, id int64, body string) kv.RowResult {
	c.t.Helper()
	return c.row(k, id, body, false)
}

func (c source) row(k *record.Kind, id int64, body string, dry bool) kv.RowResult {
	c.t.Helper()
	patch, err := k.Parse([]byte(body), record.ParseOptions{Surface: record.Admin})
	if err != nil {
		c.t.Fatal(err)
	}
	out, err := c.s.Pull(kv.Operator(), []kv.Row{{Kind: k, ID: record.Int(id), Patch: patch}}, dry)
	if err != nil {
		c.t.Fatal(err)
	}
	return out[0]
}

// want fails unless the fate of a pull is so.
func (c source) want(fate kv.Fate, id int64, body string) {
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
	if _, err := c.s.Update(kv.Operator(), person(id), patch); err != nil {
		c.t.Fatal(err)
	}
}

func person(id int64) kv.Target {
	return kv.Target{Surface: record.Admin, Kind: record.Person, ID: record.Int(id)}
}

func TestPullKeepsWhatWasChangedHere(t *testing.T) {
	c := source{t, kvtest.Open(t)}
	c.want(kv.Created, 5, `{"full_name":"Ana"}`)
	c.want(kv.Unchanged, 5, `{"full_name":"Ana"}`)
	c.want(kv.Updated, 5, `{"full_name":"Ana Luz"}`)
	c.change(5, `{"full_name":"Ana Lins"}`)
	c.want(kv.Kept, 5, `{"full_name":"Ana Luz"}`)
	c.want(kv.Kept, 5, `{"full_name":"Ana Lua"}`)
	c.want(kv.Unchanged, 5, `{"full_name":"Ana Lins"}`) // the source says the same now
	c.want(kv.Updated, 5, `{"full_name":"Ana Mar"}`)
	if err := c.s.Delete(kv.Operator(), person(5)); err != nil {
		t.Fatal(err)
	}
	c.want(kv.Kept, 5, `{"full_name":"Ana Mar"}`)
	if _, err := c.s.Retrieve(kv.Operator(), person(5)); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("the person that was deleted here: %v, want not found", err)
	}
}

func TestPullTakesNoRecordOfOurOwn(t *testing.T) {
	c := source{t, kvtest.Open(t)}
	c.change(int64(created(t, c.s, `{"full_name":"Bia"}`)), `{"gender":"female"}`)
	c.want(kv.Kept, 1, `{"full_name":"Ana"}`)
	c.want(kv.Unchanged, 1, `{"full_name":"Bia"}`)
	c.want(kv.Updated, 1, `{"full_name":"Bia Luz"}`)
}

func created(t *testing.T, s *kv.Store, body string) int {
	t.Helper()
	patch, err := record.Person.Parse([]byte(body), record.ParseOptions{Surface: record.Admin, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Create(kv.Operator(), kv.Target{Surface: record.Admin, Kind: record.Person}, patch)
	if err != nil {
		t.Fatal(err)
	}
	return int(r.ID.Int())
}

func TestPullTakesIDsOfAnySizeAndMintsOthers(t *testing.T) {
	c := source{t, kvtest.Open(t)}
	const large = 1 << 40
	c.want(kv.Created, large, `{"full_name":"Ana"}`)
	c.want(kv.Created, record.MaxID, `{"full_name":"Bia"}`)
	if id := created(t, c.s, `{"full_name":"Caio"}`); id != large+1 {
		t.Errorf("the next id is %d, want %d", id, large+1)
	}
}

func TestPullWritesNoErasedPersonAndKeepsNothingOfOne(t *testing.T) {
	c := source{t, kvtest.Open(t)}
	c.want(kv.Created, 5, `{"full_name":"Ana Almeida Prado"}`)
	if _, err := c.s.Erase(kv.Operator(), record.Person, record.Int(5)); err != nil {
		t.Fatal(err)
	}
	c.want(kv.Kept, 5, `{"full_name":"Ana Almeida Prado"}`)
	if sum := kv.PulledSum(t, c.s, record.Person, 5); sum != [16]byte{} {
		t.Errorf("the hash of what was pulled is still there after the erasure: %x", sum)
	}
}

// TestPullTakesTheSourcesDates: where a change has the store date something, the source's date counts.
func TestPullTakesTheSourcesDates(t *testing.T) {
	c := source{t, kvtest.Open(t)}
	const body = `{"full_name":"Ana","church_profile":"%s","created_at":"2020-03-01T12:00:00Z","profile_change_date":"2020-03-01"}`
	c.want(kv.Created, 5, fmt.Sprintf(body, "visitor"))
	c.want(kv.Updated, 5, fmt.Sprintf(body, "member"))
	r, err := c.s.Retrieve(kv.Operator(), person(5))
	if err != nil {
		t.Fatal(err)
	}
	if got := member(r.JSON, "profile_change_date"); got != `"2020-03-01"` {
		t.Errorf("profile_change_date = %s, want the source's", got)
	}
	c.want(kv.Unchanged, 5, fmt.Sprintf(body, "member"))
}

func TestPullRefusesARowAlone(t *testing.T) {
	c := source{t, kvtest.Open(t)}
	c.want(kv.Rejected, 5, `{"full_name":"Ana","church_id":9}`)
	if got := c.row(record.Person, 6, `{"full_name":"Ana"}`, true); got.Fate != kv.Created {
		t.Errorf("a dry run says %s, want created", got.Fate)
	}
	c.want(kv.Created, 6, `{"full_name":"Ana"}`)
	if err := c.s.NoteMirror(kv.Operator(), kv.Mirror{Source: "https://example.org", Key: "dw_1"}); err != nil {
		t.Fatal(err)
	}
	rep, err := c.s.Verify(kv.Operator(), func(int, int) {})
	if err != nil || rep.Damaged != 0 {
		t.Errorf("verify: %+v, %v", rep, err)
	}
	if ids, err := c.s.Pulled(kv.Operator(), record.Person); err != nil || len(ids) != 1 || ids[0] != 6 {
		t.Errorf("pulled = %v, %v, want 6", ids, err)
	}
}

func TestALaptopOfACentreIsNoMirror(t *testing.T) {
	s := kvtest.Open(t)
	if err := s.Join(kv.Operator(), kv.Upstream{URL: "https://centre.example.org", Node: "01HZX3Q0000000000000000ABC"}, kv.Credential{Realm: s.Realm()}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Pull(kv.Operator(), nil, true); !errors.Is(err, kv.ErrMirrorAtCentre) {
		t.Errorf("Pull = %v, want ErrMirrorAtCentre", err)
	}
	if err := s.NoteMirror(kv.Operator(), kv.Mirror{}); !errors.Is(err, kv.ErrMirrorAtCentre) {
		t.Errorf("NoteMirror = %v, want ErrMirrorAtCentre", err)
	}
}
