package peertest

import (
	"slices"
	"strings"
	"testing"

	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/record"
)

// FieldsOf is which fields each revision of a record has changed, by its history: the first revision first.
func FieldsOf(t testing.TB, s *kv.Store, k *record.Kind, id int64) string {
	t.Helper()
	all, err := s.Desk.History(auth.Operator(), desk.Target{Surface: record.Admin, Kind: k, ID: record.Int(id)}, false)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, past := range slices.Backward(all) {
		slices.Sort(past.Fields)
		words = append(words, strings.Join(past.Fields, "+"))
	}
	return strings.Join(words, " | ")
}
