package load_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"doorward/api/load"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/record"

	"github.com/google/go-cmp/cmp"
)

// importPeople imports a list of people, and returns the report and the error of the whole file.
func importPeople(s *kv.Store, list string, set func(*load.Source)) (load.Report, error) {
	src := load.Source{Kind: "person", Reader: strings.NewReader(list)}
	if set != nil {
		set(&src)
	}
	return load.Import(context.Background(), s, auth.Operator(), src, nil)
}

// fieldOf returns one field of all people by their names, but for the person of the congregation.
func fieldOf(t *testing.T, s *kv.Store, field string) map[string]any {
	t.Helper()
	got := map[string]any{}
	err := s.Log.Export(auth.Operator(), record.Person, func(b []byte) error {
		var one map[string]any
		err := json.Unmarshal(b, &one)
		got[one["full_name"].(string)] = one[field]
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(got, "Ana Souza")
	return got
}

// TestImportReadsTheLettersOfASex: M is a man beside F, a woman beside H, and neither beside both. Women of Spanish lists once became men.
func TestImportReadsTheLettersOfASex(t *testing.T) {
	for name, c := range map[string]struct {
		list string
		want map[string]any
	}{
		"H and M":           {"Nome;Sexo\nBia;M\nCaio;H\nEva;m.\n", map[string]any{"Bia": "female", "Caio": "male", "Eva": "female"}},
		"F and M":           {"Nome;Sexo\nBia;F\nCaio;M\n", map[string]any{"Bia": "female", "Caio": "male"}},
		"H, M and a word":   {"Nome;Sexo\nBia;Mujer\nCaio;Hombre\nEva;M\nLeo;H\n", map[string]any{"Bia": "female", "Caio": "male", "Eva": "female", "Leo": "male"}},
		"H, M and F":        {"Nome;Sexo\nBia;F\nCaio;H\nEva;M\n", map[string]any{"Bia": "female", "Caio": "male"}},
		"German, m and w":   {"Name;gender\nBia;w\nCaio;m\n", map[string]any{"Bia": "female", "Caio": "male"}},
		"French, H and F":   {"Name;gender\nBia;F\nCaio;H\n", map[string]any{"Bia": "female", "Caio": "male"}},
		"an export of ours": {"kind,id,full_name,gender\nperson,5,Bia,female\n", map[string]any{"Bia": "female"}},
	} {
		s := congregation(t)
		if _, err := importPeople(s, c.list, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, fieldOf(t, s, "gender")); diff != "" {
			t.Errorf("%s: the sexes differ (-want +got):\n%s", name, diff)
		}
	}
}

// TestImportWritesNobodyOver: a row of another person that has the id or the CPF of a record once wrote that record over.
func TestImportWritesNobodyOver(t *testing.T) {
	const father = "external_id,Name,CPF,Birthday,Email,Phone\nA1,José Lima,111.444.777-35,1960-01-02,j@example.org,24 98803-8508\n"
	for name, c := range map[string]struct {
		row     string // of the second list, with the same columns
		refused bool
	}{
		"another person of the id":                      {"A1,Zeca Pires,,,z@example.org,", true},
		"another one of that last name":                 {"A1,Bia Lima,,,b@example.org,", true},
		"a namesake with another birth date":            {"A1,José Reis,,1985-05-13,,", true},
		"a first name put right":                        {"A1,Josué Lima,,,,", false},
		"another name with the same e-mail":             {"A1,Zeca Pires,,,J@EXAMPLE.ORG,", false},
		"another name with the same phone":              {"A1,Zeca Pires,,,,(24) 98803-8508", false},
		"a birth date put right":                        {"A1,Lima José,,1961-01-02,,", false},
		"no name":                                       {"A1,,,,,24 90000-0000", false},
		"a son with the CPF of the father":              {",José Lima Filho,111.444.777-35,1990-05-13,j@example.org,", true},
		"a child with the CPF and the phone":            {",Bia Lima,111.444.777-35,,j@example.org,24 98803-8508", true},
		"another child, with an id":                     {"B7,Bia Lima,111.444.777-35,,,", true},
		"the person of the CPF, with a nickname":        {",Joca Lima,111.444.777-35,,,", false},
		"the person of the CPF, called Zé":              {",Zé Lima,111.444.777-35,1960-01-02,,", false},
		"the person of the CPF, married":                {",José Lima Reis,111.444.777-35,1960-01-02,,", false},
		"the person of the CPF, with a birth date":      {",JOSE LIMA,111.444.777-35,1961-01-02,,", false},
		"the person of the CPF, with an id, by surname": {"B7,\"Lima, José\",111.444.777-35,,,", false},
	} {
		s := congregation(t)
		if _, err := importPeople(s, father, nil); err != nil {
			t.Fatal(err)
		}
		list := "external_id,Name,CPF,Birthday,Email,Phone\n" + c.row + "\n"
		for _, dry := range []bool{true, false} {
			rep, err := importPeople(s, list, func(src *load.Source) { src.DryRun = dry })
			if err != nil || (len(rep.Rejected) == 1) != c.refused || rep.Created > 0 {
				t.Errorf("%s, dry run %v: report = %+v, error %v; want refused %v", name, dry, rep, err, c.refused)
			}
		}
		if got := fieldOf(t, s, "full_name"); c.refused && got["José Lima"] == nil || len(got) != 1 {
			t.Errorf("%s: people = %v", name, got)
		}
	}
}

// TestAMembershipThatStandsTwiceIsRefused: the dry run counted both rows as new ones, and the import did not.
func TestAMembershipThatStandsTwiceIsRefused(t *testing.T) {
	s := congregation(t)
	mustImport(t, s, load.Source{Kind: "group", Reader: strings.NewReader("name\nJovens\nCoral\n")})
	for _, dry := range []bool{true, false} {
		rep := mustImport(t, s, load.Source{Kind: "membership", DryRun: dry, Reader: strings.NewReader("group_id,person\n1,1\n2,1\n1,1\n")})
		if rep.Created != 2 || rep.Unchanged != 0 || len(rep.Rejected) != 1 || rep.Rejected[0] != (load.Rejection{Line: 4, Column: "person", Reason: "the same person stands in line 2"}) {
			t.Errorf("dry run %v: report = %+v, want 2 created and line 4 refused", dry, rep)
		}
	}
}

// TestImportAsksAboutANamesake: the row of a person with another phone than before once became a further person, in silence.
func TestImportAsksAboutANamesake(t *testing.T) {
	for name, c := range map[string]struct {
		list string
		by   string // "" = nothing is asked
	}{
		"another phone":          {"Nome;Telefone\nCaio Melo;24 97777-0000\nBeto Luz;\n", "name"},
		"in other letters":       {"Nome\nCAIO  MÉLO\n", "name"},
		"a church":               {"Nome;Igreja\nCaio Melo;Central\n", "name"},
		"a birth date":           {"Nome;Nascimento;Telefone\nCaio Melo;1985-03-15;24988038508\n", "name and phone"},
		"of another church":      {"Nome;Igreja\nAna Souza;Norte\n", ""},
		"of the same church":     {"Nome;Igreja\nAna Souza;Central\n", "name"},
		"born another day":       {"Nome;Nascimento\nEva Reis;1990-05-13\n", ""},
		"born the same day":      {"Nome;Nascimento;Telefone\nEva Reis;1985-05-13;24\n", "name and birthday"},
		"an id of its own":       {"external_id;Nome\nA1;Caio Melo\n", ""},
		"another e-mail":         {"E-mail;Nome\nc@example.org;Caio Melo\n", ""},
		"the list as it was":     {"Nome;Telefone\nCaio Melo;24 98803-8508\n", ""},
		"two of one name in one": {"Nome;Telefone\nDavi Sá;1\nDavi Sá;2\n", ""},
	} {
		s := congregation(t)
		mustImport(t, s, load.Source{Reader: strings.NewReader(`{"kind":"church","id":2,"name":"Norte"}`)})
		for _, list := range []string{"Nome;Telefone\nCaio Melo;24 98803-8508\n", "Nome;Nascimento\nEva Reis;1985-05-13\n"} {
			if _, err := importPeople(s, list, nil); err != nil {
				t.Fatal(err)
			}
		}
		_, err := importPeople(s, c.list, nil)
		if (err == nil) != (c.by == "") || err != nil && !strings.Contains(err.Error(), "by "+c.by+".") {
			t.Errorf("%s: error = %v, want a question by %q", name, err, c.by)
		}
	}
}

// TestImportTakesWhatSaysNothingForBlank: people were refused for a dash, and a column of phones was left out because of n/a.
func TestImportTakesWhatSaysNothingForBlank(t *testing.T) {
	s := congregation(t)
	rep, err := importPeople(s, "Nome,E-mail,Telefone,Nascimento,CPF,Estado civil,Sexo\nBia,-,-,-,-,-,-\nCaio,n/a,n/a,n/a,n/a,n/a,Unknown\n"+
		"Davi,não tem,não tem,não sei,não tem,não informado,Não informado\nEva,e@example.org,24 98803-8508,14/07/1985,111.444.777-35,Casada,F\n-,f@example.org,1,,,,\n", nil)
	if err != nil || rep.Created != 4 || len(rep.Ignored) > 0 || len(rep.Rejected) != 1 || rep.Rejected[0].Reason != "no name" {
		t.Errorf("report = %+v, error %v; want 4 created, the last row refused, and every column read", rep, err)
	}
	for field, of := range map[string]string{"email": "e@example.org", "phone": "24988038508", "birthday": "1985-07-14", "cpf": "11144477735", "marital_status": "Casada", "gender": "female"} {
		if diff := cmp.Diff(map[string]any{"Bia": nil, "Caio": nil, "Davi": nil, "Eva": of}, fieldOf(t, s, field)); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", field, diff)
		}
	}
}

// TestImportLeavesOutWhatIsOfAnotherMatter: each row of these lists was refused for one column, which says something else than its title may mean.
func TestImportLeavesOutWhatIsOfAnotherMatter(t *testing.T) {
	for _, list := range []string{
		"Nome,Líder\nBia,João\nCaio,Maria\n",
		"Nome,Pastor\nBia,Pr. Marcos\nCaio,\n",
		"Nome,Batizado\nBia,13/05/2010\nCaio,\n",
		"Nome,Batismo\nBia,Sim\nCaio,Não\n",
		"Name,Location\nBia,Room 3\nCaio,\n",
	} {
		rep, err := importPeople(congregation(t), list, nil)
		if err != nil || rep.Created != 2 || len(rep.Ignored) != 1 {
			t.Errorf("%q: report = %+v, error %v; want 2 created and one column not read", list, rep, err)
		}
	}
	s := congregation(t)
	if _, err := importPeople(s, "Nome,Líder\nBia,Sim\nCaio,\n", nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"Bia": true, "Caio": false}, fieldOf(t, s, "is_leader")); diff != "" {
		t.Errorf("who is a leader differs (-want +got):\n%s", diff)
	}
}

// TestImportOfPeopleInOtherLanguages: of these lists some columns were not read, or the last names alone came in.
func TestImportOfPeopleInOtherLanguages(t *testing.T) {
	for name, c := range map[string]struct{ list, mobile string }{
		"German":           {"Vorname;Nachname;Geburtsdatum;Geschlecht;E-Mail;Telefon privat;Handy\nBia;Luz;14.07.1985;weiblich;b@example.org;1;22\n", "22"},
		"German, one name": {"Name;Vorname;Geb.-Datum;Geschlecht;E-Mail-Adresse;Telefon;Mobil\nLuz;Bia;14.07.1985;w;b@example.org;1;22\n", "22"},
		"French":           {"Nom;Prénom;Date de naissance;Sexe;Courriel;Téléphone;Portable\nLuz;Bia;14/07/1985;F;b@example.org;1;22\n", "22"},
		"Spanish":          {"Nombre;Apellidos;Fecha de nacimiento;Sexo;Correo electrónico;Teléfono;Móvil\nBia;Luz;14/07/1985;Mujer;b@example.org;1;22\n", "22"},
		"Spanish, a name":  {"Nombre y apellidos;Cumpleaños;Sexo;Correo;Teléfono fijo;Teléfono móvil\nBia Luz;14/07/1985;Femenino;b@example.org;1;22\n", "22"},
		"Portuguese":       {"Nome;Data Nasc.;Sexo;Email;Fone Residencial;Fone Celular\nBia Luz;14/07/1985;F;b@example.org;1;22\n", "22"},
		"Outlook":          {"First Name,Last Name,Birthday,Gender,E-mail Address,Home Phone,Mobile Phone\nBia,Luz,7/14/1985,Female,b@example.org,1,22\n", "22"},
		"Google":           {"First Name,Last Name,Birthday,Gender,E-mail 1 - Value,Phone 1 - Value\nBia,Luz,1985-07-14,Female,b@example.org,1\n", ""},
		"Realm":            {"First Name,Last Name,Date of Birth,Gender,Primary Email,Primary Phone Number\nBia,Luz,07/14/1985,Female,b@example.org,1\n", ""},
	} {
		s := congregation(t)
		rep, err := importPeople(s, c.list, nil)
		if err != nil || len(rep.Ignored) > 0 || rep.Created != 1 {
			t.Errorf("%s: report = %+v, error %v; want every column read", name, rep, err)
		}
		for field, want := range map[string]any{"birthday": "1985-07-14", "gender": "female", "email": "b@example.org", "phone": "1", "mobile_phone": c.mobile} {
			if want == "" {
				want = nil
			}
			if got := fieldOf(t, s, field)["Bia Luz"]; got != want {
				t.Errorf("%s: %s = %v, want %v", name, field, got, want)
			}
		}
	}
}

// TestImportOfWhoHasLeft: a day on which a person has left says that the person is not active, where no column says so.
func TestImportOfWhoHasLeft(t *testing.T) {
	for list, want := range map[string]map[string][2]any{
		"Nome;Data de desligamento\nBia;13/10/2020\nCaio;\n":               {"Bia": {false, nil}, "Caio": {true, nil}},
		"Name,Inactive Date\nBia,2020-10-13\nCaio,\n":                      {"Bia": {false, nil}, "Caio": {true, nil}},
		"Nome;Ativo;Data de desligamento\nBia;Sim;13/10/2020\nCaio;Não;\n": {"Bia": {true, nil}, "Caio": {false, nil}},
	} {
		s := congregation(t)
		if _, err := importPeople(s, list, nil); err != nil {
			t.Errorf("%q: %v", list, err)
		}
		if diff := cmp.Diff(want, active(t, s)); diff != "" {
			t.Errorf("%q: who is active differs (-want +got):\n%s", list, diff)
		}
		if got := fieldOf(t, s, "inactive_date")["Bia"]; got != "2020-10-13" {
			t.Errorf("%q: inactive_date = %v", list, got)
		}
	}
}

// TestImportKeepsAnUnknownReason: churches have reasons of their own for which a person is not active. Each of these people was refused.
func TestImportKeepsAnUnknownReason(t *testing.T) {
	s := congregation(t)
	const list = "Person ID,Household ID,First Name,Last Name,Status,Inactive Reason\n1,1,Bia,Luz,inactive,Moved\n2,1,Caio,Luz,inactive,Deceased\n3,1,Davi,Luz,active,\n"
	rep, err := importPeople(s, list, nil)
	if err != nil || rep.Created != 3 {
		t.Fatalf("report = %+v, error %v; want 3 created", rep, err)
	}
	want := map[string][2]any{"Bia Luz": {false, "other"}, "Caio Luz": {false, "death"}, "Davi Luz": {true, nil}}
	if diff := cmp.Diff(want, active(t, s)); diff != "" {
		t.Errorf("who is active differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"Bia Luz": "Moved", "Caio Luz": nil, "Davi Luz": nil}, fieldOf(t, s, "inactive_reason_details")); diff != "" {
		t.Errorf("the reasons differ (-want +got):\n%s", diff)
	}
}

// TestImportAsksWhatIdsMean: the ids of a list of another system put people of ours into groups, and gave tickets to them.
func TestImportAsksWhatIdsMean(t *testing.T) {
	for name, c := range map[string]struct {
		kind, list string
		set        map[string]string
		asked      string // "" = nothing is asked
	}{
		"memberships of another system": {"membership", "Group ID,Person ID,Role\n1,1,Leader\n", nil, "“Group ID” holds ids, and those of another system"},
		"memberships, in Portuguese":    {"membership", "id do grupo;id da pessoa\n1;1\n", nil, "say --map 'person=id da pessoa' if they are ids of this server"},
		"memberships of ours":           {"membership", "group_id,person\n1,1\n", nil, ""},
		"mapped":                        {"membership", "Group ID,Person ID\n1,1\n", map[string]string{"group_id": "Group ID", "person": "Person ID"}, ""},
		"an export of ours":             {"membership", "kind,id,person,group_id\nmembership,1,1,1\n", nil, ""},
		"tickets of another system":     {"ticket", "Code,Name,State,Person ID\nK7QP2M9D4RSX1ABC,Zeca,paid,1\n", nil, "“Person ID” holds ids"},
		"tickets without such ids":      {"ticket", "Code,Name,State,Person ID\nK7QP2M9D4RSX1ABC,Zeca,paid,\n", nil, ""},
	} {
		s := congregation(t)
		mustImport(t, s, load.Source{Kind: "group", Reader: strings.NewReader("name\nJovens\n")})
		src := load.Source{Kind: c.kind, Reader: strings.NewReader(c.list), Map: c.set}
		if c.kind == "ticket" {
			src.Event = 7
		}
		_, err := load.Import(context.Background(), s, auth.Operator(), src, nil)
		if (err == nil) != (c.asked == "") || err != nil && !strings.Contains(err.Error(), c.asked) {
			t.Errorf("%s: error = %v, want %q", name, err, c.asked)
		}
	}
}

// TestImportReadsTheStandingThatTheOperatorNames: the flag that the question offers refused each person with a word that is not known.
func TestImportReadsTheStandingThatTheOperatorNames(t *testing.T) {
	for list, asked := range map[string]string{
		"Name,Status\nBia,Member\nCaio,Inactive\nDavi,Deceased\nEva,\n":               "--map 'is_active=Status' if no other words than Deceased, Inactive say that a person is not active",
		"Nome,Status\nBia,Membro\nCaio,Afastado\nDavi,Transferido\nEva,\n":            "if no other words than Afastado, Transferido say",
		"Name,Status\nBia,Active Member\nCaio,Inactive Member\nDavi,Deceased\nEva,\n": "say --map 'is_active=Status'",
	} {
		s := congregation(t)
		if _, err := importPeople(s, list, nil); err == nil || !strings.Contains(err.Error(), asked) {
			t.Errorf("%q: error = %v, want %q", list, err, asked)
		}
		rep, err := importPeople(s, list, func(src *load.Source) { src.Map = map[string]string{"is_active": "Status"} })
		if err != nil || len(rep.Rejected) > 0 {
			t.Errorf("%q: report = %+v, error %v", list, rep, err)
		}
		want := map[string]any{"Bia": true, "Caio": false, "Davi": false, "Eva": true}
		if diff := cmp.Diff(want, fieldOf(t, s, "is_active")); diff != "" {
			t.Errorf("%q: who is active differs (-want +got):\n%s", list, diff)
		}
	}
}

// TestAHeadingIsNoPerson: CRIANÇAS and “Total de membros” once came in as people.
func TestAHeadingIsNoPerson(t *testing.T) {
	s := congregation(t)
	rep, err := importPeople(s, "Nome;Telefone\nCRIANÇAS;\nBia Luz;24\nVisitantes (3);\nB;\nFamília Reis;\nCaio Reis;\nMembro Silva;25\nTotal de membros;4\n", nil)
	if err != nil || rep.Created != 3 || len(rep.Rejected) != 5 || rep.Rejected[0].Reason != "a heading, not a row" || rep.Rejected[4].Reason != "a line of totals" {
		t.Errorf("report = %+v, error %v; want three people and five refused rows", rep, err)
	}
	if got := fieldOf(t, s, "phone"); len(got) != 3 || got["Bia Luz"] != "24" || got["Membro Silva"] != "25" {
		t.Errorf("people = %v", got)
	}
	for _, heading := range []string{"FALECIDOS", "Membros inativos (2)", "In memoriam", "EX-MEMBROS", "Deceased"} {
		_, err := importPeople(s, "Nome;Telefone\nDavi Reis;26\n"+heading+";\nEva Reis;27\n", nil)
		if !errors.Is(err, load.ErrSource) || !strings.Contains(err.Error(), "line 3 says “"+heading+"”, and no column says who is active") {
			t.Errorf("%s: error = %v, want that no column says who is active", heading, err)
		}
	}
	if rep, err := importPeople(s, "Nome;Status\nHugo Paz;ativo\nFALECIDOS;\nIara Paz;falecida\n", nil); err != nil || rep.Created != 2 {
		t.Errorf("report = %+v, error %v; want two people where a column says who is active", rep, err)
	}
}

// TestImportKnowsThePeopleOfBreezeByTheirIDs: a further export of Breeze once made further people of the rows that had changed.
func TestImportKnowsThePeopleOfBreezeByTheirIDs(t *testing.T) {
	s := congregation(t)
	for _, list := range []string{
		"Breeze ID,First Name,Last Name,Mobile,Email\n1001,Bia,Luz,1,b@example.org\n1002,Caio,Luz,1,b@example.org\n",
		"Breeze ID,First Name,Last Name,Mobile,Email\n1001,Bia,Luz Reis,2,\n1002,Caio,Luz,1,\n",
	} {
		if rep, err := importPeople(s, list, nil); err != nil || rep.Source != "breeze" {
			t.Errorf("report = %+v, error %v", rep, err)
		}
	}
	if diff := cmp.Diff(map[string]any{"Bia Luz Reis": "2", "Caio Luz": "1"}, fieldOf(t, s, "phone")); diff != "" {
		t.Errorf("people and phones differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"Bia Luz Reis": "breeze:1001", "Caio Luz": "breeze:1002"}, fieldOf(t, s, "external_id")); diff != "" {
		t.Errorf("ids differ (-want +got):\n%s", diff)
	}
}

// TestImportMendsWhatASpreadsheetDoes: a name of two lines kept its line break, and a CPF without its zero named another person.
func TestImportMendsWhatASpreadsheetDoes(t *testing.T) {
	s := congregation(t)
	for _, list := range []string{"Nome,CPF\n\"Bia\nLuz\",1234567890\n", "Nome,CPF\nBia  Luz,012.345.678-90\n"} {
		if _, err := importPeople(s, list, nil); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]any{"Bia Luz": "01234567890"}, fieldOf(t, s, "cpf")); diff != "" {
		t.Errorf("people differ (-want +got):\n%s", diff)
	}
}

// personCase is a list of people and what it says of them in one field.
type personCase struct {
	list, field string
	want        map[string]any
}

// TestImportReadsPeopleWhole: programs that keep people write some fields in their own way. Rows were refused for these, or fields were left out.
func TestImportReadsPeopleWhole(t *testing.T) {
	for name, c := range map[string]personCase{
		"several addresses in a cell": {"First Name,Last Name,E-mail 1 - Value\nBia,Luz,b@example.org ::: c@example.org\n", "email", map[string]any{"Bia Luz": "b@example.org"}},
		"several phones in a cell":    {"First Name,Last Name,Phone 1 - Value\nBia,Luz,+55 11 5555-0101 ::: +55 11 5555-0102\n", "phone", map[string]any{"Bia Luz": "+551155550101"}},
		"zeros for no date":           {"First Name,Last Name,Birthday\nBia,Luz,0/0/00\nCaio,Luz,13/6/1985\n", "birthday", map[string]any{"Bia Luz": nil, "Caio Luz": "1985-06-13"}},
		"a death of zeros":            {"Name,Death Date\nBia Luz,0000-00-00\nCaio Luz,2020-05-05\n", "is_active", map[string]any{"Bia Luz": true, "Caio Luz": false}},
		"nothing of a death":          {"Name,Deceased\nBia Luz,-\nCaio Luz,n/a\nEva Luz,Yes\n", "is_active", map[string]any{"Bia Luz": true, "Caio Luz": true, "Eva Luz": false}},
		"words as one":                {"firstName,lastName,isActive\nBia,Luz,true\nCaio,Luz,false\n", "is_active", map[string]any{"Bia Luz": true, "Caio Luz": false}},
		"first, middle and last":      {"First,Middle,Last,Email\nBia,Reis,Luz,b@example.org\n", "email", map[string]any{"Bia Reis Luz": "b@example.org"}},
		"home and mobile, the home":   {"Breeze ID,First Name,Last Name,Mobile,Home\n1,Bia,Luz,555101,555102\n", "phone", map[string]any{"Bia Luz": "555102"}},
		"home and mobile, the mobile": {"Breeze ID,First Name,Last Name,Mobile,Home\n1,Bia,Luz,555101,\n", "mobile_phone", map[string]any{"Bia Luz": "555101"}},
		"telephones":                  {"First Name,Last Name,Mobile Tel,Home Tel\nBia,Luz,555101,555102\n", "mobile_phone", map[string]any{"Bia Luz": "555101"}},
		"a day of leaving":            {"Vorname,Nachname,Austrittsdatum\nBia,Luz,\nCaio,Luz,31.12.2020\n", "is_active", map[string]any{"Bia Luz": true, "Caio Luz": false}},
	} {
		s := congregation(t)
		rep, err := importPeople(s, c.list, nil)
		if diff := cmp.Diff(c.want, fieldOf(t, s, c.field)); diff != "" || err != nil || len(rep.Rejected) > 0 {
			t.Errorf("%s: people differ (-want +got):\n%s%+v, error %v", name, diff, rep.Rejected, err)
		}
	}
}

// TestAStandingOfThoseWhoLeftIsAskedAbout: people whose status was Dropped came in as active ones, without a word.
func TestAStandingOfThoseWhoLeftIsAskedAbout(t *testing.T) {
	for _, list := range []string{"Name,Status\nBia Luz,Member\nCaio Luz,Dropped\n", "Name,Mem Status\nBia Luz,Active Member\nCaio Luz,Deceased\n"} {
		_, err := importPeople(congregation(t), list, nil)
		if err == nil || !strings.Contains(err.Error(), "may say who is not active and is not understood") {
			t.Errorf("%s: error %v", list, err)
		}
	}
}
