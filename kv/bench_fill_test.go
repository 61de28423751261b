package kv_test

import (
	"fmt"
	"testing"

	"doorward/kv/kvtest"
	"doorward/kv/record"
)

// fill makes the congregation: two churches, an event, people and tickets.
func (b *bench) fill(t testing.TB) {
	t.Helper()
	b.church = kvtest.Create(t, b.store, record.Church, `{"name":"Igreja Central"}`)
	other := kvtest.Create(t, b.store, record.Church, `{"name":"Igreja do Norte"}`)
	b.event = kvtest.Create(t, b.store, record.Event, `{"name":"Conferência","start_datetime":"2026-11-22T19:00:00Z","list_rule":"daily"}`)
	kvtest.Create(t, b.store, record.Role, `{"name":"Diácono"}`)
	kvtest.Fill(t, b.store, record.Person, benchPeople, func(i int) string {
		church := b.church
		if i%(benchPeople/(benchPeople-benchHome)) == 0 {
			church = other
		}
		return benchPerson(i, church)
	})
	kvtest.Fill(t, b.store, record.Ticket, benchTickets, b.ticket)
}

// benchPerson is a person as most are: half of the fields given.
func benchPerson(i int, church int64) string {
	return fmt.Sprintf(`{"full_name":"João Conceição da Silva %06d","gender":"male","church_id":%d,`+
		`"birthday":"1980-02-%02d","cpf":"%011d","church_profile":"member","baptized":true,"email":"joao.silva.%06d@example.org",`+
		`"phone":"+55 11 98765-4321","mobile_phone":"11 91234-5678","membership_number":%d,"occupation":"Engenheiro",`+
		`"marital_status":"married","nationality":"Brasil","location":{"country":"Brasil","city":"São Paulo","zip_code":"01001-000"},`+
		`"role_ids":[1]}`, i, church, 1+i%28, i, i, i)
}

func (b *bench) ticket(i int) string {
	return fmt.Sprintf(`{"event_id":%d,"code":%q,"type":"Adult","holder_name":"Ana Souza %06d","email":"ana.%06d@example.org",`+
		`"phone":"+55 11 98888-%04d","order":"P-%05d"}`, b.event, b.code(i), i, i, i%10000, i/4)
}
