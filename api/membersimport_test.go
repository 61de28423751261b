package api_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestAdminImportOfMembershipsByNames: a key of one church finds its own group and its own people. What another church has under the same name, e-mail
// or external_id changes no answer.
func TestAdminImportOfMembershipsByNames(t *testing.T) {
	w := newWorld(t)
	for church, person := range map[int64]string{w.church: "Caio Melo", w.far: "Zeca Pires"} {
		w.status(w.do("POST", "/admin/v1/group/", fmt.Sprintf(`{"name":"Coral Novo","church_id":%d}`, church)), 201)
		w.status(w.do("POST", "/admin/v1/person/", fmt.Sprintf(`{"full_name":%q,"email":"casa@example.org","church_id":%d}`, person, church)), 201)
	}
	w.status(w.do("POST", "/admin/v1/group/", fmt.Sprintf(`{"name":"Louvor Novo","church_id":%d}`, w.far)), 201)
	w.status(w.do("POST", "/admin/v1/person/", fmt.Sprintf(`{"full_name":"Caio Melo","external_id":"F1","church_id":%d}`, w.far)), 201)
	const csv = "Group,First Name,Last Name,Email,External ID,Role,Joined\n" +
		"Coral Novo,Caio,Melo,casa@example.org,,Leader,2024-03-01\n" +
		"Louvor Novo,Caio,Melo,casa@example.org,,,\n" + // a group of the other church
		"No Such Group,Caio,Melo,casa@example.org,,,\n" +
		"Coral Novo,Zeca,Pires,casa@example.org,,,\n" + // a person of the other church
		"Coral Novo,Davi,Pires,casa@example.org,,,\n" +
		"Coral Novo,,,,F1,,\n" // an external_id of the other church
	const group, person = `"reason":"no group here has this name or external_id`, `"reason":"no person here is found by this row`
	key := w.as(fmt.Sprintf("church:%d", w.church), "*:*")
	for i, counts := range []string{`"created":1,"updated":0,"unchanged":0`, `"created":1,"updated":0,"unchanged":0`, `"created":0,"updated":0,"unchanged":1`} {
		query := []string{"&dry_run=true", "", ""}[i]
		a := key.status(key.do("POST", "/admin/v1/import/?kind=membership"+query, csv, header("Content-Type", "text/csv"), invalid), 200)
		rejected, _, _ := strings.Cut(a.body, `"reasons"`)
		if !strings.Contains(a.body, counts) || strings.Count(rejected, group) != 2 || strings.Count(rejected, person) != 3 {
			t.Errorf("import %d is answered %s", i, a.body)
		}
	}
	reader := w.as(fmt.Sprintf("church:%d", w.church), "admin:POST") // may not read people
	reader.status(reader.do("POST", "/admin/v1/import/?kind=membership", csv, header("Content-Type", "text/csv"), invalid), 403)
}
