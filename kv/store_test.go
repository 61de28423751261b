package kv_test

import (
	"testing"

	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/door"
	"doorward/kv/kvtest"
	"doorward/kv/record"
	"doorward/kv/table"
)

func TestCheckInOnce(t *testing.T) {
	s := kvtest.Open(t)
	event := kvtest.Create(t, s, record.Event, `{"name":"Sunday","start_datetime":"2026-11-22T19:00:00Z"}`)
	kvtest.Create(t, s, record.Ticket, `{"event_id":1,"code":"K7QP-2M","holder_name":"Ana Souza","phone":"+55 11 98888-1234"}`)
	p := kvtest.Login(t, s, "event:1", "checkin:*")
	for i, want := range []table.Outcome{table.Admitted, door.AlreadyAdmitted, door.AlreadyAdmitted} {
		d, err := s.Door.CheckIn(p, door.Attempt{Event: event, Code: "k7qp2m", Door: "north"})
		if err != nil || d.Outcome != want {
			t.Fatalf("check-in %d = %+v, %v, want %s", i, d, err, want)
		}
		t.Logf("%+v", d)
	}
	r, err := s.Desk.Retrieve(auth.Operator(), desk.Target{Surface: record.Admin, Kind: record.Ticket, ID: record.Int(1)})
	t.Logf("%s %s %v", r.JSON, r.Revision, err)
	page, err := s.Desk.List(auth.Operator(), desk.Query{Surface: record.V1, Kind: record.Event, Limit: 10})
	t.Logf("%s %v", page.Results, err)
	rep, err := s.Files.Verify(auth.Operator(), nil)
	if err != nil || rep.Damaged > 0 {
		t.Errorf("Verify = %+v, %v", rep, err)
	}
	t.Logf("%+v", rep)
}
