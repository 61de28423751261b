package record_test

import (
	"math/big"
	"strings"
	"testing"

	"doorward/kv/record"
	"doorward/kv/search"
)

// FuzzParse holds that whatever is parsed without fault makes a record that shows itself as JSON and decodes to itself.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{benchPerson, "{}", "", "[]", `{"a":1,"a":2}`, `{"location":{"x":[{"y":"\ud83d\ude00"}]}}`, `{"location":{"\\":1,"\"":2}}`,
		`{"email":1e999,"church_id":1e5,"penalty":"1e-9999"}`, "{\"cpf\":\"\\u0000\"}", `{"attachments":[{"":null}],"role_ids":"1;;2"}`, strings.Repeat("[", 2000)} {
		f.Add([]byte(seed), byte(1))
		f.Add([]byte(seed), byte(13))
	}
	f.Fuzz(func(t *testing.T, body []byte, number byte) {
		k, ok := record.ByNumber(number)
		if !ok {
			k = record.Person
		}
		p, err := k.Parse(body, record.ParseOptions{Surface: record.Admin})
		if err != nil {
			return
		}
		d := k.NewDoc()
		d.Apply(p)
		d.Settle(nil, record.Moment{Now: noon})
		b := d.Encode()
		if reply := k.Show(nil, record.Admin, view(b)); !valid(reply) || !valid(d.Canonical()) {
			t.Errorf("%q is shown as %q", body, reply)
		}
		again, err := k.Decode(b)
		if err != nil || string(again.Canonical()) != string(d.Canonical()) {
			t.Errorf("%q does not decode to itself: %v", body, err)
		}
	})
}

// FuzzMoney holds that an amount that is taken is the amount that was meant.
func FuzzMoney(f *testing.F) {
	for _, seed := range []string{"0", "-0", ".5", "5.", "1e2", "1.230", "00012.50", "99999999.99", "1e-2", "12e-1", "1e9999", "-.05", "1_0", "+5", "0x10"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := record.FinancialEntry.Parse([]byte(`{"penalty":`+quoted(text)+`}`), record.ParseOptions{})
		if err != nil || len(p.Faults) > 0 {
			return
		}
		got, ok := new(big.Rat).SetString(p.Text("penalty"))
		want, meant := new(big.Rat).SetString(strings.TrimSpace(text))
		if !ok || !meant || got.Cmp(want) != 0 {
			t.Errorf("%q is taken as %s", text, p.Text("penalty"))
		}
	})
}

// FuzzMember holds that no bytes make the scanner fail.
func FuzzMember(f *testing.F) {
	for _, seed := range []string{`"a":1`, `"a":"\"b\":2","b":3`, `"a`, `\"`, `"a":{"b":[`, `"":`, `,,"b":1`} {
		f.Add([]byte(seed), "b")
	}
	f.Fuzz(func(t *testing.T, run []byte, name string) {
		b := record.Body{Shown: run, Hidden: run}
		b.Member(name)
		if d, err := record.Person.Decode(b); err == nil {
			d.Canonical()
			record.Person.Show(nil, record.Admin, view(b))
			search.Parse(name).Matches(record.Person, b)
		}
	})
}
