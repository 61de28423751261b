package record_test

import (
	"testing"
	"time"

	"doorward/kv/record"
	"doorward/kv/rev"
)

// benchPerson is a person as most are: half of its fields given.
const benchPerson = `{"full_name":"João Conceição da Silva","gender":"male","church_id":3,"photo":"https://example.org/p/1.jpg",
	"birthday":"1980-02-29","cpf":"12345678901","church_profile":"member","baptized":true,"email":"joao.silva@example.org",
	"phone":"+55 11 98765-4321","mobile_phone":"11 91234-5678","membership_number":1234,"occupation":"Engenheiro \"civil\"",
	"location":{"country":"Brasil","city":"São Paulo","zip_code":"01001-000"},"role_ids":[1,2]}`

func personBody(tb testing.TB, text string) record.Body {
	tb.Helper()
	return settled(tb, record.Person, text).Encode()
}

func BenchmarkShowPerson(b *testing.B) {
	church := settled(b, record.Church, `{"name":"Central"}`).Encode()
	v := &record.View{ID: record.Int(12), Body: personBody(b, benchPerson), UpdatedAt: noon, Now: noon,
		Ref: func(*record.Kind, record.ID) (record.Body, bool) { return church, true }}
	dst := make([]byte, 0, 8192)
	b.ReportAllocs()
	for b.Loop() {
		dst = record.Person.Show(dst[:0], record.V1, v)
	}
}

func BenchmarkMember(b *testing.B) {
	body := personBody(b, benchPerson)
	for _, name := range []string{"full_name", "email", "is_active", "church_id", "role_ids"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if body.Member(name) == nil {
					b.Fatal("not found")
				}
			}
		})
	}
}

func BenchmarkFact(b *testing.B) {
	at := time.Date(2026, 5, 1, 18, 0, 0, 123456000, time.UTC)
	b.ReportAllocs()
	for b.Loop() {
		d := checkinDraft(at)
		_, canonical := d.Close()
		_ = rev.Next(rev.ID{}, false, canonical)
	}
}

func BenchmarkDecodeEncodePerson(b *testing.B) {
	body := personBody(b, benchPerson)
	b.ReportAllocs()
	for b.Loop() {
		d, err := record.Person.Decode(body)
		if err != nil {
			b.Fatal(err)
		}
		d.Encode()
	}
}

func BenchmarkParsePerson(b *testing.B) {
	text := []byte(benchPerson)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := record.Person.Parse(text, record.ParseOptions{Surface: record.Admin, Create: true}); err != nil {
			b.Fatal(err)
		}
	}
}
