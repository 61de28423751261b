package kv_test

import (
	"fmt"
	"sync"
	"testing"

	"doorward/kv"
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
	upsert(t, b.store, record.Person, benchPeople, func(i int) string {
		church := b.church
		if i%(benchPeople/(benchPeople-benchHome)) == 0 {
			church = other
		}
		return benchPerson(i, church)
	})
	upsert(t, b.store, record.Ticket, benchTickets, b.ticket)
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

// upsert writes n rows of a kind as an import does.
func upsert(t testing.TB, s *kv.Store, k *record.Kind, n int, body func(i int) string) {
	t.Helper()
	var wg sync.WaitGroup
	next := make(chan int)
	for range 4 {
		wg.Go(func() {
			for from := range next {
				rows := make([]kv.Row, 0, kv.MaxRows)
				for i := from; i < min(n, from+kv.MaxRows); i++ {
					rows = append(rows, kv.Row{Kind: k, Patch: kvtest.Parse(t, k, body(i), true)})
				}
				results, err := s.Upsert(kv.Operator(), rows, false)
				if err != nil {
					t.Error(err)
				}
				for _, r := range results {
					if r.Fate != kv.Created {
						t.Errorf("a row of %s is %s: %v", k.Name, r.Fate, r.Err)
					}
				}
			}
		})
	}
	for from := 0; from < n; from += kv.MaxRows {
		next <- from
	}
	close(next)
	wg.Wait()
}
