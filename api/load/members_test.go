package load_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"doorward/api/load"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/record"

	"github.com/google/go-cmp/cmp"
)

// town is two churches with their groups and people. Both have a group Jovens and a Caio Melo.
func town(t testing.TB) *kv.Store {
	t.Helper()
	s := congregation(t) // church 1, Central, with Ana Souza, person 1
	mustImport(t, s, load.Source{Reader: strings.NewReader(`{"kind":"church","id":2,"name":"Norte"}
{"kind":"group","id":1,"name":"Jovens","church_id":1}
{"kind":"group","id":2,"name":"Jovens","church_id":2,"external_id":"G2"}
{"kind":"group","id":3,"name":"Coral","church_id":1}
{"kind":"group","id":4,"name":"Louvor","church_id":2}
{"kind":"person","id":2,"full_name":"Caio Melo","church_id":1,"email":"caio@example.org","phone":"24988038508","birthday":"1985-03-15"}
{"kind":"person","id":3,"full_name":"Caio Melo","church_id":2,"external_id":"planning-center:17"}
{"kind":"person","id":4,"full_name":"José Lima","church_id":1,"email":"lima@example.org","cpf":"11144477735"}
{"kind":"person","id":5,"full_name":"José Lima Filho","church_id":1,"email":"lima@example.org"}
{"kind":"person","id":6,"full_name":"Bia Maria Reis","church_id":1,"email":"bia@example.org"}
{"kind":"person","id":7,"full_name":"Eva Sá","church_id":1}
{"kind":"person","id":8,"full_name":"Eva Sá","church_id":1,"email":"eva@example.org"}
`)})
	return s
}

// memberships reads the memberships of a store: group and person, and what else is asked for.
func memberships(t testing.TB, s *kv.Store, fields ...string) (out []map[string]any) {
	t.Helper()
	err := s.Log.Export(auth.Operator(), record.Membership, func(b []byte) error {
		var all map[string]any
		err := json.Unmarshal(b, &all)
		one := map[string]any{}
		for _, field := range append(fields, "group_id", "person") {
			one[field] = all[field]
		}
		out = append(out, one)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// importMembers imports a list of memberships, first as a dry run and then twice. The dry run must count as the import does, and the second import must change nothing.
func importMembers(t *testing.T, s *kv.Store, p auth.Principal, list string) load.Report {
	t.Helper()
	var reports []load.Report
	for _, dry := range []bool{true, false, false} {
		rep, err := load.Import(context.Background(), s, p, load.Source{Kind: "membership", DryRun: dry, Reader: strings.NewReader(list)}, nil)
		if err != nil {
			t.Fatalf("%q: %v", list, err)
		}
		reports = append(reports, rep)
	}
	if diff := cmp.Diff(reports[0], reports[1]); diff != "" {
		t.Errorf("%q: the dry run and the import differ (-dry +import):\n%s", list, diff)
	}
	if again := reports[2]; again.Created+again.Updated > 0 || again.Unchanged != reports[1].Created {
		t.Errorf("%q: the second import = %+v, want all unchanged", list, again)
	}
	return reports[1]
}

// TestAMembershipIsImportedByNames says by what a row finds its group and its person, and when it is refused. No row is ever guessed.
func TestAMembershipIsImportedByNames(t *testing.T) {
	const other = "has another name or birth date here"
	const unlike = "a person here has this name, but other data"
	const two, none = "more than one person here may be meant", "no person here is found"
	for name, c := range map[string]struct {
		list   string
		group  int
		person int    // 0 = refused
		fault  string // the beginning of the reason
	}{
		"e-mail and name":                         {"Group,First Name,Last Name,Email\nCoral,Caio,Melo,CAIO@example.org\n", 3, 2, ""},
		"e-mail and a name without its middle":    {"Group,Name,Email\nCoral,Bia Reis,bia@example.org\n", 3, 6, ""},
		"e-mail of a family, the father":          {"Group,Name,Email\nCoral,José Lima,lima@example.org\n", 3, 4, ""},
		"e-mail of a family, the son":             {"Group,Name,Email\nCoral,José Lima Filho,lima@example.org\n", 3, 5, ""},
		"e-mail of a family, a daughter":          {"Group,Name,Email\nCoral,Bia Lima,lima@example.org\n", 0, 0, none},
		"e-mail of one of two namesakes":          {"Group,Name,Email\nCoral,Eva Sá,eva@example.org\n", 3, 8, ""},
		"the whole name, in other letters":        {"Group,Name\ncoral,ANA  SOUZA\n", 3, 1, ""},
		"the last name first":                     {"Group,Name\nCoral,\"Souza, Ana\"\n", 3, 1, ""},
		"the name of the church of the group":     {"Group,Name\nLouvor,Caio Melo\n", 4, 3, ""},
		"the name of another church alone":        {"Group,Name\nLouvor,Ana Souza\n", 0, 0, none},
		"the name of two people":                  {"Group,Name\nCoral,Eva Sá\n", 0, 0, two},
		"a part of a name":                        {"Group,Name\nCoral,Ana\n", 0, 0, none},
		"a name with the same phone":              {"Group,Name,Phone\nCoral,Caio Melo,+55 (24) 98803-8508\n", 3, 2, ""},
		"a name with another phone":               {"Group,Name,Phone\nCoral,Caio Melo,24 97777-0000\n", 0, 0, unlike},
		"a name with another e-mail":              {"Group,Name,Email\nCoral,Caio Melo,c@example.org\n", 0, 0, unlike},
		"a name with another birth date":          {"Group,Name,Birthday\nCoral,Caio Melo,1990-05-13\n", 0, 0, unlike},
		"e-mail and name with another birth date": {"Group,Name,Email,Birthday\nCoral,Caio Melo,caio@example.org,1990-05-13\n", 0, 0, unlike},
		"a CPF":                               {"Group,CPF\nCoral,111.444.777-35\n", 3, 4, ""},
		"a CPF of the father":                 {"Group,Name,CPF\nCoral,Bia Lima,111.444.777-35\n", 0, 0, other},
		"an external id":                      {"Group,External ID\nLouvor,planning-center:17\n", 4, 3, ""},
		"an external id as its system has it": {"Group,External ID,Name\nLouvor,17,Caio Melo\n", 4, 3, ""},
		"an external id of somebody else":     {"Group,External ID,Name\nLouvor,17,Zeca Pires\n", 0, 0, other},
		"an external id that is not here":     {"Group,External ID\nLouvor,18\n", 0, 0, none},
		"a name with another external id":     {"Group,External ID,Name\nLouvor,18,Caio Melo\n", 0, 0, unlike},
		"no group of the name":                {"Group,Name\nCoro,Ana Souza\n", 0, 0, "no group here has this name"},
		"two groups of the name":              {"Group,Name\nJovens,Ana Souza\n", 0, 0, "more than one group here has this name"},
		"the external id of a group":          {"Group,Name\nG2,Caio Melo\n", 2, 3, ""},
		"a group and its church":              {"Group,Church,Name\nJovens,norte,Caio Melo\n", 2, 3, ""},
		"a group by its id here":              {"group_id,Name\n4,Caio Melo\n", 4, 3, ""},
		"a person by the id here":             {"Group,person\nCoral,1\n", 3, 1, ""},
		"ids here beside other data":          {"group_id,person,First Name,Last Name,Birthday\n4,3,Zeca,Pires,soon\n", 4, 3, ""},
		"no name in the row":                  {"Group,Name,Email\nCoral,,caio@example.org\n", 0, 0, none},
		"Portuguese":                          {"Grupo;Nome;E-mail;Entrou em\nCoral;Caio Melo;caio@example.org;2024-03-01\n", 3, 2, ""},
		"Spanish":                             {"Nombre del grupo;Nombre;Apellidos;Correo\nCoral;Caio;Melo;caio@example.org\n", 3, 2, ""},
		"German":                              {"Gruppe;Vorname;Nachname;E-Mail;Beitritt\nCoral;Caio;Melo;caio@example.org;2024-03-01\n", 3, 2, ""},
		"French":                              {"Groupe;Prénom;Nom;Courriel;Membre depuis\nCoral;Caio;Melo;caio@example.org;2024-03-01\n", 3, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := town(t)
			rep := importMembers(t, s, auth.Operator(), c.list)
			var want []map[string]any
			if c.person > 0 {
				want = []map[string]any{{"group_id": float64(c.group), "person": float64(c.person)}}
			}
			if diff := cmp.Diff(want, memberships(t, s)); diff != "" {
				t.Errorf("memberships (-want +got):\n%s\n%+v", diff, rep.Rejected)
			}
			if c.person == 0 && (len(rep.Rejected) != 1 || !strings.Contains(rep.Rejected[0].Reason, c.fault)) {
				t.Errorf("rejected = %+v, want %q", rep.Rejected, c.fault)
			}
		})
	}
}

// TestAMembershipThatHasEndedIsNotWritten: a status or a day that says so refuses the row. A word that is not known is asked about.
func TestAMembershipThatHasEndedIsNotWritten(t *testing.T) {
	const here, pending, ended = "approved", "pending", "ended"
	for name, c := range map[string]struct {
		list string
		want string // of Caio Melo in group 3; otherwise what is asked
	}{
		"active":                   {"Group,Name,Status\nCoral,Caio Melo,Active\n", here},
		"no status":                {"Group,Name,Status\nCoral,Caio Melo,\nCoral,Ana Souza,left\n", here},
		"pending":                  {"Grupo;Nome;Situação\nCoral;Caio Melo;Pendente\n", pending},
		"inactive":                 {"Group,Name,Status\nCoral,Caio Melo,Inactive\n", ended},
		"left":                     {"Group,Name,Status\nCoral,Caio Melo,left\n", ended},
		"left, in German":          {"Gruppe;Name;Status\nCoral;Caio Melo;ausgetreten\n", ended},
		"left, in French":          {"Groupe;Nom complet;Statut\nCoral;Caio Melo;parti\n", ended},
		"left, in Spanish":         {"Grupo;Nombre;Estado\nCoral;Caio Melo;Inactivo\n", ended},
		"a day of leaving":         {"Group,Name,Left\nCoral,Caio Melo,2024-03-01\n", ended},
		"no day of leaving":        {"Group,Name,Joined,Left\nCoral,Caio Melo,2020-03-01,\n", here},
		"not active":               {"Grupo;Nome;Ativo\nCoral;Caio Melo;Não\n", ended},
		"active by yes":            {"Grupo;Nome;Ativo\nCoral;Caio Melo;Sim\n", here},
		"archived":                 {"Group,Name,Archived\nCoral,Caio Melo,yes\n", ended},
		"not approved":             {"Grupo;Nome;Aprovado\nCoral;Caio Melo;Não\n", pending},
		"a word that is not known": {"Group,Name,Status\nCoral,Caio Melo,On break\n", "“Status” may say which memberships have ended"},
		"a state of an address":    {"Grupo;Nome;Estado\nCoral;Caio Melo;RJ\n", here},
	} {
		s := town(t)
		rep, err := load.Import(context.Background(), s, auth.Operator(), load.Source{Kind: "membership", Reader: strings.NewReader(c.list)}, nil)
		got := "error"
		switch all := memberships(t, s, "is_approved"); {
		case err != nil && strings.Contains(err.Error(), c.want):
			got = c.want
		case len(all) == 1 && all[0]["is_approved"] == true:
			got = here
		case len(all) == 1:
			got = pending
		case len(rep.Rejected) == 1 && strings.HasPrefix(rep.Rejected[0].Reason, "the person is not in the group any more"):
			got = ended
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s; %+v, %v", name, got, c.want, rep, err)
		}
	}
}

// TestAListOfMembershipsOfAnotherSystem reads it as a workbook too: dates, a role that no record has, a person that stands twice, and ids that are asked about.
func TestAListOfMembershipsOfAnotherSystem(t *testing.T) {
	rows := [][]any{
		{"Group", "Person ID", "First Name", "Last Name", "Email", "Role", "Joined"},
		{"Coral", 17, "Caio", "Melo", "caio@example.org", "Leader", "2024-03-01"},
		{"Coral", 18, "Ana", "Souza", "", "Member", ""},
		{"Coral", 17, "Caio", "Melo", "caio@example.org", "Leader", "2024-03-01"},
	}
	src := func() load.Source { return load.Source{Kind: "membership", Reader: book(t, false, rows)} }
	s := town(t)
	const asked = "say --map 'person=Person ID' if they are ids of this server or --ignore 'Person ID' or --map 'person_external_id=Person ID' if they are external ids here"
	if _, err := load.Import(context.Background(), s, auth.Operator(), src(), nil); err == nil || !strings.Contains(err.Error(), asked) {
		t.Errorf("error = %v, want %q", err, asked)
	}
	one := src()
	one.Ignore = []string{"Person ID"}
	rep := mustImport(t, s, one)
	want := []load.Rejection{{Line: 4, Column: "First Name", Reason: "the same person stands in line 2"}}
	if diff := cmp.Diff(want, rep.Rejected); diff != "" || rep.Created != 2 || !cmp.Equal(rep.Ignored, []string{"Role"}) {
		t.Errorf("report = %+v\n%s", rep, diff)
	}
	joined := map[any]any{}
	for _, m := range memberships(t, s, "joined_at") {
		joined[m["person"]] = m["joined_at"]
	}
	if joined[2.0] != "2024-03-01T00:00:00Z" || joined[1.0] == nil {
		t.Errorf("joined = %v", joined)
	}
}

// TestALargeListOfMemberships: each row of a long list is found without a look at all people.
func TestALargeListOfMemberships(t *testing.T) {
	const n = 5_000
	s := congregation(t)
	mustImport(t, s, load.Source{Kind: "group", Reader: strings.NewReader("name\nCoral\n")})
	people, members := &strings.Builder{}, &strings.Builder{}
	people.WriteString("full_name,email\n")
	members.WriteString("Group,Name,Email\n")
	for i := range n {
		fmt.Fprintf(people, "Bia Reis,bia%d@example.org\n", i)
		fmt.Fprintf(members, "Coral,Bia Reis,bia%d@example.org\n", i)
	}
	mustImport(t, s, load.Source{Kind: "person", Yes: true, Reader: strings.NewReader(people.String())})
	if rep := mustImport(t, s, load.Source{Kind: "membership", Reader: strings.NewReader(members.String())}); rep.Created != n {
		t.Errorf("report = %+v, want %d created", rep, n)
	}
}
