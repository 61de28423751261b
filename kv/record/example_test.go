package record_test

import (
	"fmt"
	"time"

	"doorward/kv/record"
	"doorward/kv/rev"
	"doorward/kv/value"
)

// A change goes from a request's body to the bytes that are stored, and their revision.
func ExampleKind_Parse() {
	patch, err := record.Group.Parse([]byte(`{"name":" Youth ","own":1}`), record.ParseOptions{Surface: record.Admin, Create: true})
	if err != nil || len(patch.Faults) > 0 {
		fmt.Println(err, patch.Faults)
		return
	}
	doc := record.Group.NewDoc()
	fmt.Println("changed:", doc.Apply(patch))
	doc.Settle(nil, record.Moment{Now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)})
	body := doc.Encode()
	fmt.Printf("shown:   %s\nhidden:  %s\n", body.AppendShown(nil), body.Hidden)
	fmt.Println("rev:    ", rev.Next(rev.ID{}, false, doc.Canonical()))
	// Output:
	// changed: [name]
	// shown:   "name":"Youth"
	// hidden:  "created_at":"2026-05-01T12:00:00Z"
	// rev:     1-1da1bc1a94e11ba6784093414a6b8ede
}

// Everything that is wrong with a body is told at once.
func ExampleKind_Parse_faults() {
	patch, _ := record.Person.Parse([]byte(`{"email":"ana","gender":"x","full_name":""}`), record.ParseOptions{})
	fmt.Println(patch.Faults["email"], patch.Faults["gender"], patch.Faults["full_name"])
	// Output: [Enter a valid email address.] ["x" is not a valid choice.] [This field may not be blank.]
}

// A reply is the stored members and what the table derives.
func ExampleKind_Show() {
	doc := record.Membership.NewDoc()
	doc.Set("person", value.Number(5))
	doc.Set("group_id", value.Number(7))
	doc.Settle(nil, record.Moment{Now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)})
	fmt.Printf("%s\n", record.Membership.Show(nil, record.V1, &record.View{ID: record.Int(9), Body: doc.Encode()}))
	// Output: {"id":9,"person":5,"group_id":7,"is_approved":true,"approval_date":"2026-05-01T12:00:00Z","joined_at":"2026-05-01T12:00:00Z"}
}

// A fact is written straight into its body.
func ExampleNewDraft() {
	draft := record.NewDraft(record.Undo)
	draft.Int("event_id", 7)
	draft.Text("hlc", "018f9e2a3b4c0001")
	draft.Time("at", time.Date(2026, 5, 1, 18, 0, 0, 0, time.UTC))
	draft.Text("checkin_id", "01HZX3Q0000000000000000ABC")
	body, canonical := draft.Close()
	fmt.Printf("%s %s\n", body.Member("event_id"), body.Member("checkin_id"))
	fmt.Println(rev.Next(rev.ID{}, false, canonical))
	// Output:
	// 7 "01HZX3Q0000000000000000ABC"
	// 1-555e3dc728911f5c5ff5e304001811a5
}
