package load_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doorward/api/load"
	"doorward/kv"
	"doorward/kv/auth"
	"doorward/kv/desk"
	"doorward/kv/kvtest"
	"doorward/kv/kvtest/proof"
	"doorward/kv/record"

	"github.com/google/go-cmp/cmp"
)

// today is when the lists of the tests are imported: the days of payment in them are past.
var today = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// congregation is a store with a church and an event 7 that a test imports into.
func congregation(t testing.TB) *kv.Store {
	t.Helper()
	s := kvtest.OpenConfig(t, kv.Config{Clock: kvtest.NewClock(today).Now})
	mustImport(t, s, load.Source{Reader: strings.NewReader(`{"kind":"church","id":1,"name":"Central"}
{"kind":"person","id":1,"full_name":"Ana Souza","church_id":1}
{"kind":"event","id":7,"name":"Festa","start_datetime":"2026-12-31T19:30:00Z"}
{"kind":"event","id":8,"name":"Outra","start_datetime":"2026-12-31T19:30:00Z"}
`)})
	return s
}

func mustImport(t testing.TB, s *kv.Store, src load.Source) load.Report {
	t.Helper()
	rep, err := load.Import(context.Background(), s, auth.Operator(), src, nil)
	if err != nil {
		t.Fatalf("import: %v", err)
	}
	return rep
}

// tickets reads the tickets of a store, as they are exported, without what differs from store to store.
func tickets(t testing.TB, s *kv.Store) (out []map[string]any) {
	t.Helper()
	err := s.Log.Export(auth.Operator(), record.Ticket, func(b []byte) error {
		m := map[string]any{}
		err := json.Unmarshal(b, &m)
		for _, name := range []string{"id", "label", "created_at", "updated_at", "external_id"} {
			delete(m, name)
		}
		for name, v := range m {
			if v == nil {
				delete(m, name)
			}
		}
		out = append(out, m)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// core is a report without how the file was read, and without what is said of it in other words.
func core(rep load.Report) load.Report {
	return load.Report{Created: rep.Created, Updated: rep.Updated, Unchanged: rep.Unchanged, Rejected: rep.Rejected, More: rep.More,
		Ignored: rep.Ignored, Warnings: rep.Warnings}
}

func TestImportCopesWithTicketFiles(t *testing.T) {
	one := map[string]any{"event_id": 7.0, "code": "K7QP-2M9D-4RSX-1", "holder_name": "José Conceição", "state": "valid", "type": "Adulto"}
	with := func(name string, v any) map[string]any {
		m := map[string]any{}
		for k, x := range one {
			m[k] = x
		}
		m[name] = v
		return m
	}
	for name, c := range map[string]struct {
		file string
		set  map[string]string
		want map[string]any
	}{
		"Portuguese titles and semicolons": {file: "Código;Nome;Tipo de ingresso;Situação\nK7QP-2M9D-4RSX-1;José Conceição;Adulto;Pago\n", want: one},
		"English titles, commas, quotes":   {file: "\"Ticket code\",Name,Ticket type,Status\n\"K7QP-2M9D-4RSX-1\",\"José Conceição\",Adulto,valid\n", want: one},
		"our own names and tabs":           {file: "code\tholder_name\ttype\tstate\nK7QP-2M9D-4RSX-1\tJosé Conceição\tAdulto\tvalid\n", want: one},
		"lines of title above the header":  {file: "Relatório de ingressos\n\nEvento;Festa\nGerado em;01/02/2026\ncodigo;nome;tipo;estado\nK7QP-2M9D-4RSX-1;José Conceição;Adulto;confirmado\n", want: one},
		"the separator named above":        {file: "sep=;\ncodigo;nome;tipo\nK7QP-2M9D-4RSX-1;José Conceição;Adulto\n", want: one},
		"two columns of one title":         {file: "codigo;nome;nome;tipo\nK7QP-2M9D-4RSX-1;;José Conceição;Adulto\n", want: one},
		"the second of one title by map":   {file: "codigo;nome;nome;tipo\nK7QP-2M9D-4RSX-1;Comprador;José Conceição;Adulto\n", set: map[string]string{"holder_name": "Nome#2"}, want: one},
		"a column by number":               {file: "codigo;xyz;tipo\nK7QP-2M9D-4RSX-1;José Conceição;Adulto\n", set: map[string]string{"holder_name": "#2"}, want: one},
		"a phone with an apostrophe":       {file: "codigo;nome;tipo;telefone\nK7QP-2M9D-4RSX-1;José Conceição;Adulto;'+55 21 99999-0000\n", want: with("phone", "+5521999990000")},
		"a cancelled ticket":               {file: "codigo;nome;tipo;status\nK7QP-2M9D-4RSX-1;José Conceição;Adulto;Estornado\n", want: with("state", "refunded")},
		"a day-first time":                 {file: "codigo;nome;tipo;valido ate\nK7QP-2M9D-4RSX-1;José Conceição;Adulto;31/12/2026 19:30\n", want: with("valid_until", "2026-12-31T19:30:00Z")},
		"a last day":                       {file: "codigo;nome;tipo;valido ate\nK7QP-2M9D-4RSX-1;José Conceição;Adulto;31/12/2026\n", want: with("valid_until", "2026-12-31T23:59:59.999999Z")},
		"a first day":                      {file: "codigo;nome;tipo;valido de\nK7QP-2M9D-4RSX-1;José Conceição;Adulto;31/12/2026\n", want: with("valid_from", "2026-12-31T00:00:00Z")},
		"an event that --event beats":      {file: "codigo;nome;tipo;event_id\nK7QP-2M9D-4RSX-1;José Conceição;Adulto;8\n", want: one},
		"NDJSON":                           {file: `{"code":"K7QP-2M9D-4RSX-1","holder_name":"José Conceição","type":"Adulto"}`, want: one},
	} {
		s := congregation(t)
		rep := mustImport(t, s, load.Source{Reader: strings.NewReader(c.file), Kind: "ticket", Event: 7, Map: c.set})
		if rep.Created != 1 || len(rep.Rejected) != 0 {
			t.Errorf("%s: report = %+v, want one ticket created", name, rep)
			continue
		}
		if diff := cmp.Diff([]map[string]any{c.want}, tickets(t, s)); diff != "" {
			t.Errorf("%s: the ticket differs (-want +got):\n%s", name, diff)
		}
		again := mustImport(t, s, load.Source{Reader: strings.NewReader(c.file), Kind: "ticket", Event: 7, Map: c.set})
		if again.Unchanged != 1 {
			t.Errorf("%s: report of the second time = %+v, want one unchanged", name, again)
		}
	}
}

func TestImportRefusesAWrongHeaderOnce(t *testing.T) {
	for name, c := range map[string]struct {
		src  load.Source
		want string
		is   error
	}{
		"a code column misspelt": {load.Source{Reader: strings.NewReader("Codgio;Nome;Tipo\nA;B;C\n"), Kind: "ticket", Event: 7},
			"the header in line 1 has no column for code; nearest is “Codgio” for code; say --map 'code=Codgio' if that is the one", load.ErrSource},
		"an external_id by its title alone": {load.Source{Reader: strings.NewReader("ID do ingresso;Codgio\nA;B\n"), Kind: "ticket", Event: 7},
			"has no column for code; nearest is “Codgio” for code", load.ErrSource},
		"two columns for one field": {load.Source{Reader: strings.NewReader("Código;Localizador\nA;B\n"), Kind: "ticket", Event: 7},
			"two columns for code, “Código” and “Localizador”: say which with --map 'code=Código'", load.ErrSource},
		"an event that is not there": {load.Source{Reader: strings.NewReader("codigo;nome\nA;B\n"), Kind: "ticket", Event: 99},
			"--event 99: there is no such event", load.ErrUsage},
		"no title that is near": {load.Source{Reader: strings.NewReader("Data;Tipo;Valor\nA;B;C\n"), Kind: "financial_entry"},
			"no column for church_id, financial_account_id, supplier_id; not recognised are “Data”; say --map", load.ErrSource},
		"a ticket's id for a code": {load.Source{Reader: strings.NewReader("Ticket ID;Nome\nA;B\n"), Kind: "ticket", Event: 7},
			"no column for code; nearest is “Ticket ID” for code", load.ErrSource},
		"nothing recognised": {load.Source{Reader: strings.NewReader("Maria;21;Rua\nJoana;22;Rua\n"), Kind: "ticket", Event: 7},
			"no header in the first 50 rows names a column of kind ticket; the columns are event_id, code, type, ", load.ErrSource},
		"no event": {load.Source{Reader: strings.NewReader("codigo;nome\nA;B\n"), Kind: "ticket"},
			"the header in line 1 has no column for event_id; --event ID supplies the event", load.ErrSource},
		"a column of the server's own": {load.Source{Reader: strings.NewReader("codigo;nome;_rev\nA;B;C\n"), Kind: "ticket", Event: 7},
			"a column whose name begins with “_”", load.ErrSource},
		"a map to no column": {load.Source{Reader: strings.NewReader("codigo;nome\nA;B\n"), Kind: "ticket", Event: 7, Map: map[string]string{"type": "Tipo"}},
			"--map type=Tipo: the header in line 1 has no such column", load.ErrUsage},
		"a map of no field": {load.Source{Reader: strings.NewReader("codigo;nome\nA;B\n"), Kind: "ticket", Event: 7, Map: map[string]string{"holder": "Nome"}},
			"kind ticket has no such field", load.ErrUsage},
		"two states for one word": {load.Source{Reader: strings.NewReader("codigo;status\nA;Etapa 2\n"), Kind: "ticket", Event: 7, States: map[string]string{"Etapa 2": "unpaid", "etapa 2": "valid"}},
			"--states etapa 2=valid: the same word is given another state", load.ErrUsage},
		"two states for a blank cell": {load.Source{Reader: strings.NewReader("codigo;status\nA;\n"), Kind: "ticket", Event: 7, States: map[string]string{"": "unpaid", "-": "valid"}},
			"a dash is as good as blank", load.ErrUsage},
		"no such kind":    {load.Source{Reader: strings.NewReader("codigo\n"), Kind: "tickets"}, "did you mean “ticket”?", load.ErrUsage},
		"no kind":         {load.Source{Reader: strings.NewReader("codigo\n")}, "say with --kind what its rows are", load.ErrUsage},
		"an empty file":   {load.Source{Reader: strings.NewReader(" \n"), Kind: "ticket"}, "it is empty", load.ErrSource},
		"a JSON array":    {load.Source{Reader: strings.NewReader("[{}]"), Kind: "ticket"}, "one JSON array", load.ErrSource},
		"an old workbook": {load.Source{Reader: strings.NewReader("\xd0\xcf\x11\xe0\xa1\xb1"), Kind: "ticket"}, "(.xls)", load.ErrSource},
		"no workbook":     {load.Source{Reader: strings.NewReader("PK\x03\x04nonsense"), Kind: "ticket"}, "no readable workbook", load.ErrSource},
	} {
		_, err := load.Import(context.Background(), kvtest.Open(t), auth.Operator(), c.src, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, c.is) {
			t.Errorf("%s: error = %v, want one that says %q", name, err, c.want)
		}
	}
}

// broken is the file of the issue: n good rows, and every hundredth spoilt in one of several ways. It answers what must be
// said of each.
func broken(n int) (file string, want []load.Rejection) {
	var b strings.Builder
	b.WriteString("event_id,code,name,type,valid_until\n")
	bad := []struct{ row, column, reason string }{
		{",MISSING-%d,Ana,Adulto,31/12/2026", "event_id", "no event: the row names none and --event is not given"},
		{"7,CODE-0000000001,Ana %d,Adulto,31/12/2026", "code", "the same code stands in line 2"},
		{"7," + strings.Repeat("X", 300) + ",Ana %d,Adulto,31/12/2026", "code", "Ensure this field has no more than 255 characters."},
		{"7,DATE-%d,Ana,Adulto,31/02/2026", "valid_until", ""},
		{"7,SHORT-%d,Ana", "type", "3 columns where the header has 5"},
		{"7,LONG-%d,Ana,Adulto,31/12/2026,6,7", "#6", "7 columns where the header has 5"},
		{"7,\"QUOTE-%d,Ana,Adulto,31/12/2026", "code", "a quote is opened and not closed"},
		{"7,STRAY-%d,An\"a,Adulto,31/12/2026", "name", "a quote that neither opens nor closes its cell"},
		{"7,NUL-%d,An\x00a,Adulto,31/12/2026", "name", "a NUL character"},
		{"99,EVENT-%d,Ana,Adulto,31/12/2026", "event_id", "Invalid pk - object does not exist."},
	}
	for i := 1; i <= n; i++ {
		if i%100 != 0 {
			fmt.Fprintf(&b, "7,CODE-%010d,Ana Souza,Adulto,31/12/2026\n", i)
			continue
		}
		c := bad[i/100%len(bad)]
		fmt.Fprintf(&b, c.row+"\n", i)
		want = append(want, load.Rejection{Line: i + 1, Column: c.column, Reason: c.reason})
	}
	return b.String(), want
}

func TestImportOfAFileWithBrokenRows(t *testing.T) {
	n := proof.Count(10_000, 50_000)
	file, want := broken(n)
	s := congregation(t)
	source := func(dry bool) load.Source {
		return load.Source{Reader: strings.NewReader(file), Kind: "ticket", DryRun: dry}
	}
	for _, dry := range []bool{true, false} {
		rep := mustImport(t, s, source(dry))
		if rep.Created != n-n/100 || rep.Updated+rep.Unchanged != 0 {
			t.Errorf("dry run %v: created %d, updated %d, unchanged %d, want %d created", dry, rep.Created, rep.Updated, rep.Unchanged, n-n/100)
		}
		same := cmp.Comparer(func(a, b load.Rejection) bool {
			return a.Line == b.Line && a.Column == b.Column && (a.Reason == b.Reason || a.Reason == "" || b.Reason == "")
		})
		if diff := cmp.Diff(want, rep.Rejected, same); diff != "" {
			t.Errorf("dry run %v: rejections differ (-want +got):\n%s", dry, diff)
		}
		if got := count(t, s, record.Ticket); dry && got != 0 || !dry && got != n-n/100 {
			t.Errorf("dry run %v: the store holds %d tickets", dry, got)
		}
	}
}

func count(t testing.TB, s *kv.Store, k *record.Kind) int {
	t.Helper()
	page, err := s.Desk.List(auth.Operator(), desk.Query{Surface: record.Admin, Kind: k, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	return page.Count
}

func TestImportThatIsStoppedIsCompletedByTheNext(t *testing.T) {
	const n = 40_000
	file, _ := broken(n)
	s := congregation(t)
	ctx, stop := context.WithCancel(context.Background())
	rep, err := load.Import(ctx, s, auth.Operator(), load.Source{Reader: strings.NewReader(file), Kind: "ticket"}, func(done, _ int64) {
		if done > n/10 {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) || rep.Created == 0 || rep.Created >= n-n/100 {
		t.Fatalf("stopped import = %d created, %v; want some and that it was cancelled", rep.Created, err)
	}
	if got := count(t, s, record.Ticket); got != rep.Created {
		t.Errorf("the store holds %d tickets, the report says %d", got, rep.Created)
	}
	if v, err := s.Files.Verify(auth.Operator(), nil); err != nil || v.Damaged != 0 {
		t.Errorf("Verify = %+v, %v, want no damage", v, err)
	}
	again := mustImport(t, s, load.Source{Reader: strings.NewReader(file), Kind: "ticket"})
	if again.Unchanged != rep.Created || again.Created != n-n/100-rep.Created {
		t.Errorf("second time: created %d, unchanged %d; the first created %d", again.Created, again.Unchanged, rep.Created)
	}
}

func TestImportOfNDJSON(t *testing.T) {
	s := congregation(t)
	rep := mustImport(t, s, load.Source{Reader: strings.NewReader(strings.Join([]string{
		`{"kind":"person","full_name":"Bia","external_id":"x1","church_id":1,"shoe_size":40}`,
		`{"kind":"person","full_name":"Bia","external_id":"x1"}`,
		`{"kind":"person","full_name":"Caio","_rev":"1-a","external_id":"x2"}`,
		`{"kind":"person","full_name":"Caio","full_name":"C","external_id":"x3"}`,
		`{"kind":"person","full_name":`,
		``,
		`{"kind":"checkin"}`,
		`{"full_name":"Davi"}`,
		`{"kind":"person","id":9007199254740992,"full_name":"Edu"}`,
		`{"kind":"person","id":"abc","full_name":"Edu"}`,
		`{"kind":"person","external_id":"x4","email":"not an address","gender":"Mulher Maravilha","church_id":1}`,
		`{"kind":"church","name":"Sul","id":2}`,
		`{"kind":"person","full_name":"Bia of another church","external_id":"x1","church_id":2}`,
		`{"kind":"person","full_name":"Bia","external_id":"x1","church_id":2}`,
	}, "\n"))})
	want := load.Report{Created: 3, Ignored: []string{"shoe_size"}, Rejected: []load.Rejection{
		{2, "external_id", "the same external_id stands in line 1"},
		{3, "_rev", "a name that begins with “_” is the server's own"},
		{4, "", "a name stands twice, at character 37"},
		{5, "", "not one JSON object: it breaks at character 30"},
		{7, "kind", "no kind that can be imported"},
		{8, "kind", "no kind: the line names none and --kind is not given"},
		{9, "id", "not an id: an integer from 1 to 9007199254740991 is wanted"},
		{10, "id", "not an id: an integer from 1 to 9007199254740991 is wanted"},
		{11, "email", "Enter a valid email address. gender: is not a valid choice."},
		{14, "external_id", "the same external_id stands in line 13"},
	}}
	if diff := cmp.Diff(want, core(rep)); diff != "" {
		t.Errorf("report differs (-want +got):\n%s", diff)
	}
	other := mustImport(t, s, load.Source{Kind: "church", Reader: strings.NewReader(`{"kind":"person","full_name":"Bia"}`)})
	if len(other.Rejected) != 1 || other.Rejected[0].Reason != "another kind than --kind says" {
		t.Errorf("report = %+v, want the line refused", other)
	}
}

func TestImportNamesWhatDeservesAWord(t *testing.T) {
	s := congregation(t)
	rep := mustImport(t, s, load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader("codigo,nome,poltrona\nA-1,Ana,12\nA-2,Bia,13\n")})
	got, err := json.Marshal(core(rep))
	want := `{"created":2,"updated":0,"unchanged":0,"rejected":[],"ignored_columns":["poltrona"],` +
		`"warnings":["2 codes are short enough to be guessed (under 60 bits)"]}`
	if err != nil || string(got) != want {
		t.Errorf("report = %s, %v, want %s", got, err, want)
	}
}

// TestAWordThatIsNoChoiceIsAnsweredWithTheChoices, because a cell of a table is no value of the contract.
func TestAWordThatIsNoChoiceIsAnsweredWithTheChoices(t *testing.T) {
	rep := mustImport(t, congregation(t), load.Source{Kind: "person", Reader: strings.NewReader("Nome;Sexo\nAna;Fem\nBia;?\n")})
	if len(rep.Rejected) != 1 || rep.Rejected[0].Column != "Sexo" || rep.Rejected[0].Reason != "none of the words that are known: male, female" {
		t.Errorf("refused %+v, want Bia with the two choices", rep.Rejected)
	}
}

// TestAWordOfStatesThatNoRowHasIsSaid: the operator may have misspelt it, and its rows got in by what the word means as a rule.
func TestAWordOfStatesThatNoRowHasIsSaid(t *testing.T) {
	src := load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader("Código;Status\nKX7A1;Liberado\nKX7A2;-\n"), States: map[string]string{"Liberdo": "blocked", "": "unpaid"}}
	said := strings.Join(mustImport(t, congregation(t), src).Warnings, "\n")
	if want := "--states explains “liberdo”, and no column of states has that word (did you mean “liberado”?)"; !strings.Contains(said, want) || strings.Count(said, "explains") != 1 {
		t.Errorf("notes are %q, want %q", said, want)
	}
}

// TestALongNumberIsRejected: in JSON that is kept as it was given; the row says why, and the others come in.
func TestALongNumberIsRejected(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("7", 5000)
	s := kvtest.Open(t)
	rep := mustImport(t, s, load.Source{Reader: strings.NewReader(`{"kind":"church","id":1,"name":"Central"}
{"kind":"event","id":7,"name":"Festa","start_datetime":"2026-12-31T19:30:00Z","location":{"city":{"a":` + long + `}}}
{"kind":"person","id":1,"full_name":"Ana Souza","church_id":1,"location":{"a":` + long + `}}
{"kind":"person","id":2,"full_name":"Eva Souza","church_id":1,"location":{"a":` + long[:64] + `}}
`)})
	if rep.Created != 2 || len(rep.Rejected) != 2 {
		t.Fatalf("the report is %+v, want two rows taken and two rejected", rep)
	}
	for _, row := range rep.Rejected {
		if said := fmt.Sprintf("%+v", row); !strings.Contains(said, "no more than 64 characters") || strings.Contains(said, long) {
			t.Errorf("rejected: %.300s, want it to say why", said)
		}
	}
}

func TestImportAgainOfRowsThatNothingNames(t *testing.T) {
	for name, c := range map[string]struct {
		kind string
		of   *record.Kind
		file string
		rows int
	}{
		"people, two of them alike": {"person", record.Person, "Nome completo;E-mail;Igreja ID\nBia Reis;;1\nBia Reis;;1\nCaio Luz;c@example.org;1\n", 3},
		"churches":                  {"church", record.Church, "Nome\nNorte\nSul\n", 2},
		"objects":                   {"person", record.Person, `{"full_name":"Bia","church_id":1}` + "\n" + `{"church_id":1,"full_name":"Bia"}` + "\n", 2},
	} {
		s := congregation(t)
		before := count(t, s, c.of)
		source := func() load.Source { return load.Source{Reader: strings.NewReader(c.file), Kind: c.kind} }
		first, again := mustImport(t, s, source()), mustImport(t, s, source())
		if first.Created != c.rows || again.Unchanged != c.rows || again.Created != 0 {
			t.Errorf("%s: first %+v, then %+v, want %d created and then unchanged", name, first, again, c.rows)
		}
		if got := count(t, s, c.of) - before; got != c.rows {
			t.Errorf("%s: %d records, want %d", name, got, c.rows)
		}
	}
}

func TestImportReadsPeoplesWords(t *testing.T) {
	const entry = "Tipo;Valor;Igreja ID;financial_account_id;supplier_id\n%s;1;1;1\n"
	for name, c := range map[string]struct {
		of   *record.Kind
		file string
		want []string
	}{
		"an expense": {record.FinancialEntry, strings.Replace(entry, "%s", "Saída;(50,00)", 1), []string{`"transaction_type":"expense"`, `"base_amount":"-50.00"`}},
		"an income":  {record.FinancialEntry, strings.Replace(entry, "%s", "Dízimo;R$ 1.234,56", 1), []string{`"transaction_type":"income"`, `"base_amount":"1234.56"`}},
		"a person":   {record.Person, "Nome;CPF;Ativo\nBia;123.456.789-01;Inativo\n", []string{`"cpf":"12345678901"`, `"is_active":false`}},
		"a membership is no name": {record.Person, "Membro;Nome do membro;Ativo\nSim;Bia Reis;Ativo\n",
			[]string{`"full_name":"Bia Reis"`, `"is_active":true`}},
	} {
		s := congregation(t)
		mustImport(t, s, load.Source{Reader: strings.NewReader(`{"kind":"financial_account","id":1,"name":"Caixa"}` + "\n" + `{"kind":"supplier","id":1,"name":"Luz"}`)})
		if rep := mustImport(t, s, load.Source{Reader: strings.NewReader(c.file), Kind: c.of.Name}); rep.Created != 1 {
			t.Errorf("%s: report = %+v, want one created", name, rep)
		}
		var got []byte
		if err := s.Log.Export(auth.Operator(), c.of, func(b []byte) error { got = bytes.Clone(b); return nil }); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !bytes.Contains(got, []byte(want)) {
				t.Errorf("%s = %s, want it to hold %s", name, got, want)
			}
		}
	}
}

func TestImportListsSoManyRejectionsAndNoMore(t *testing.T) {
	const more = 123
	var rows strings.Builder
	for i := range 10_000 + more {
		fmt.Fprintf(&rows, "A-%d;Ana;nonsense\n", i)
	}
	file := "code;name;email\n" + rows.String()
	rep := mustImport(t, congregation(t), load.Source{Reader: strings.NewReader(file), Kind: "ticket", Event: 7})
	text, err := json.Marshal(rep)
	if len(rep.Rejected) != 10_000 || rep.More != more || err != nil || !bytes.Contains(text, []byte(`"rejected_more":123`)) {
		t.Errorf("%d rejections listed and %d more, %v; want 10000 and %d", len(rep.Rejected), rep.More, err, more)
	}
}

// churched is a store with churches, of which two have one name but for capitals and accents, and one is called by a number.
func churched(t *testing.T) *kv.Store {
	t.Helper()
	s := kvtest.Open(t)
	mustImport(t, s, load.Source{Reader: strings.NewReader(`{"kind":"church","id":1,"name":"Sede"}
{"kind":"church","id":2,"name":"São  José"}
{"kind":"church","id":3,"name":"Água Viva"}
{"kind":"church","id":4,"name":"agua viva"}
{"kind":"church","id":5,"name":"7"}
{"kind":"church","id":7,"name":"Vila Nova"}
`)})
	return s
}

// placed are the people of a store, each by name with the church.
func placed(t *testing.T, s *kv.Store) map[string]any {
	t.Helper()
	out := map[string]any{}
	err := s.Log.Export(auth.Operator(), record.Person, func(b []byte) error {
		var one map[string]any
		err := json.Unmarshal(b, &one)
		out[one["full_name"].(string)] = one["church_id"]
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestImportFindsTheChurchByItsName(t *testing.T) {
	const two, none, noID, foreign = "more than one church has this name", "no church has this name", "no church has this id",
		"the numbers of this column are not all ids of churches here"
	for name, c := range map[string]struct {
		file    string
		set     map[string]string
		want    map[string]any
		refused []load.Reason
	}{
		"names, in capitals, without accents, with blanks": {file: "Nome;Igreja\nAna;SEDE\nBia;sao jose\nCaio; São   José \nDora;\n",
			want: map[string]any{"Ana": 1.0, "Bia": 2.0, "Caio": 2.0, "Dora": nil}},
		"unknown names": {file: "Nome;Igreja\nAna;Sede\nBia;Sed\nCaio;Sede 2\nDora;Sede, Centro\nElisa;Betel\n", want: map[string]any{"Ana": 1.0},
			refused: []load.Reason{{Column: "Igreja", Reason: none, Count: 4, Lines: []int{3, 4, 5}}}},
		"a name of two churches": {file: "Nome;Church\nAna;Água Viva\nBia;Sede\nCaio;agua viva\n", want: map[string]any{"Bia": 1.0},
			refused: []load.Reason{{Column: "Church", Reason: two, Count: 2, Lines: []int{2, 4}}}},
		"ids":                                   {file: "Nome;Congregação\nAna;1\nBia;2\n", want: map[string]any{"Ana": 1.0, "Bia": 2.0}},
		"a number that is an id and a name":     {file: "Nome;Igreja\nAna;7\nBia;1\n", want: map[string]any{"Bia": 1.0}, refused: []load.Reason{{Column: "Igreja", Reason: two, Count: 1, Lines: []int{2}}}},
		"a number among names is a name":        {file: "Nome;Igreja\nAna;7\nBia;Sede\nCaio;2\n", want: map[string]any{"Ana": 5.0, "Bia": 1.0}, refused: []load.Reason{{Column: "Igreja", Reason: none, Count: 1, Lines: []int{4}}}},
		"ids of another system":                 {file: "Nome;Igreja\nAna;1\nBia;57\n", want: map[string]any{}, refused: []load.Reason{{Column: "Igreja", Reason: foreign, Count: 1, Lines: []int{2}}, {Column: "Igreja", Reason: noID, Count: 1, Lines: []int{3}}}},
		"an id that the title calls so":         {file: "Nome;Igreja ID\nAna;1\nBia;57\n", want: map[string]any{"Ana": 1.0}, refused: []load.Reason{{Column: "Igreja ID", Reason: "Invalid pk - object does not exist.", Count: 1, Lines: []int{3}}}},
		"the id beats the name beside it":       {file: "Nome;Igreja;Igreja ID\nAna;Sede;2\n", want: map[string]any{"Ana": 2.0}},
		"names by map":                          {file: "Nome;Onde\nAna;sede\nBia;x\n", set: map[string]string{"church_id": "Onde"}, want: map[string]any{"Ana": 1.0}, refused: []load.Reason{{Column: "Onde", Reason: none, Count: 1, Lines: []int{3}}}},
		"ids by map":                            {file: "Nome;Onde\nAna;2\n", set: map[string]string{"church_id": "Onde"}, want: map[string]any{"Ana": 2.0}},
		"Campus Name of a system with a Campus": {file: "Family Id,Id,First Name,Last Name,Nick Name,Campus,Campus Name\n1,9,Ana,Luz,,7,Sede\n", want: map[string]any{"Ana Luz": 1.0}},
		"numbers of another system are no ids": {file: "Family Id,Id,First Name,Last Name,Nick Name,Campus\n1,9,Ana,Luz,,1\n", want: map[string]any{},
			refused: []load.Reason{{Column: "Campus", Reason: none, Count: 1, Lines: []int{2}}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := churched(t)
			rep := mustImport(t, s, load.Source{Kind: "person", Reader: strings.NewReader(c.file), Map: c.set})
			if diff := cmp.Diff(c.want, placed(t, s)); diff != "" {
				t.Errorf("people and churches differ (-want +got):\n%s\n%+v", diff, rep)
			}
			if diff := cmp.Diff(c.refused, rep.Reasons); diff != "" {
				t.Errorf("reasons differ (-want +got):\n%s", diff)
			}
			if n := churchCount(t, s); n != 6 {
				t.Errorf("%d churches, want the 6 there were", n)
			}
			if warned := strings.Contains(fmt.Sprint(rep.Warnings), "--ignore"); warned != (len(c.refused) > 0 && !strings.HasSuffix(c.refused[0].Column, "ID")) {
				t.Errorf("warnings = %q", rep.Warnings)
			}
		})
	}
}

// TestImportFindsTheChurchOfAWorkbook: an XLSX list is read as a CSV one.
func TestImportFindsTheChurchOfAWorkbook(t *testing.T) {
	s := churched(t)
	mustImport(t, s, load.Source{Kind: "person", Reader: book(t, false, [][]any{{"Nome", "Iglesia"}, {"Ana", "vila nova"}, {"Bia", "SÃO JOSÉ"}})})
	if diff := cmp.Diff(map[string]any{"Ana": 7.0, "Bia": 2.0}, placed(t, s)); diff != "" {
		t.Errorf("people and churches differ (-want +got):\n%s", diff)
	}
}

// TestImportFindsTheCampusOfRock: the column Campus Name of its export names the church.
func TestImportFindsTheCampusOfRock(t *testing.T) {
	file, err := os.Open(filepath.Join("testdata", "exports", "rock.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	s := congregation(t)
	mustImport(t, s, load.Source{Kind: "person", Reader: file})
	if got := placed(t, s)["Gil Sá"]; got != 1.0 {
		t.Errorf("the church of a row of Rock = %v, want 1", got)
	}
}

// TestImportOfWhoIsActiveInRock: who has died, or whose record is closed, is not active.
func TestImportOfWhoIsActiveInRock(t *testing.T) {
	s := congregation(t)
	const file = "Family Id,Id,First Name,Last Name,Is Deceased,Record Status\n1,1,Ana,Luz,False,Active\n1,2,Bia,Luz,False,Inactive\n1,3,Caio,Luz,True,Active\n1,4,Davi,Luz,?,Active\n1,5,Eva,Luz,,Pending\n"
	rep := mustImport(t, s, load.Source{Kind: "person", Reader: strings.NewReader(file)})
	want := map[string][2]any{"Ana Luz": {true, nil}, "Bia Luz": {false, nil}, "Caio Luz": {false, "death"}}
	if diff := cmp.Diff(want, active(t, s)); diff != "" {
		t.Errorf("who is active differs (-want +got):\n%s", diff)
	}
	if len(rep.Rejected) != 2 || rep.Rejected[0].Column != "Is Deceased" || rep.Rejected[1].Column != "Record Status" {
		t.Errorf("rejected = %+v, want lines 5 and 6", rep.Rejected)
	}
}

// active returns who is active, and the reason where a person is not, but for the person of the congregation.
func active(t *testing.T, s *kv.Store) map[string][2]any {
	t.Helper()
	got, reasons := map[string][2]any{}, fieldOf(t, s, "inactive_reason")
	for name, is := range fieldOf(t, s, "is_active") {
		got[name] = [2]any{is, reasons[name]}
	}
	return got
}

// TestImportOfWhoIsNotActive: each of these lists once came in with every person active.
func TestImportOfWhoIsNotActive(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		want map[string][2]any
	}{
		"flags, as Elvanto has": {"First Name,Last Name,Archived,Deceased\nAna,Luz,No,No\nBia,Luz,Yes,No\nCaio,Luz,Yes,Yes\n",
			map[string][2]any{"Ana Luz": {true, nil}, "Bia Luz": {false, nil}, "Caio Luz": {false, "death"}}},
		"a word and a day, as CCB has": {"First Name,Last Name,Inactive/Remove,Deceased\nAna,Luz,,\nBia,Luz,Inactive,\nCaio,Luz,,2020-01-02\n",
			map[string][2]any{"Ana Luz": {true, nil}, "Bia Luz": {false, nil}, "Caio Luz": {false, "death"}}},
		"a state, as ChurchSuite has": {"First Name,Last Name,Status\nAna,Luz,active\nBia,Luz,archived\n", map[string][2]any{"Ana Luz": {true, nil}, "Bia Luz": {false, nil}}},
		"a state and a reason": {"Person ID,Household ID,First Name,Last Name,Status,Inactive Reason\n1,1,Ana,Luz,active,\n2,1,Bia,Luz,inactive,Deceased\n",
			map[string][2]any{"Ana Luz": {true, nil}, "Bia Luz": {false, "death"}}},
		"a day in Portuguese": {"Nome,Data de falecimento\nAna Luz,\nBia Luz,13/10/2020\n", map[string][2]any{"Ana Luz": {true, nil}, "Bia Luz": {false, "death"}}},
		"another state":       {"Nome,Status,Estado\nAna Luz,aprovado,SP\nBia Luz,pendente,RJ\n", map[string][2]any{"Ana Luz": {true, nil}, "Bia Luz": {true, nil}}},
	} {
		s := congregation(t)
		mustImport(t, s, load.Source{Kind: "person", Reader: strings.NewReader(c.file)})
		if diff := cmp.Diff(c.want, active(t, s)); diff != "" {
			t.Errorf("%s: who is active differs (-want +got):\n%s", name, diff)
		}
	}
	s := congregation(t)
	const breeze = "Breeze ID,First Name,Last Name,Status\n1,Ana,Luz,Member\n2,Bia,Luz,Inactive\n3,Caio,Luz,Deceased\n"
	_, err := load.Import(context.Background(), s, auth.Operator(), load.Source{Kind: "person", Reader: strings.NewReader(breeze)}, nil)
	if err == nil || !strings.Contains(err.Error(), "the column “Status” may say who is not active and is not understood: Deceased 1, Inactive 1, Member 1; say --map 'is_active=Status'") {
		t.Errorf("words that are not all known: error = %v, want a question about Status", err)
	}
}

// TestACodeThatStandsTwiceIsSaid: a column of codes that is none, because one stands in several rows, is said to be so.
func TestACodeThatStandsTwiceIsSaid(t *testing.T) {
	for file, want := range map[string]string{
		"code;name\nKX7A1;Ana\nKX7A1;Bia\n":   "“code” is called so, but many rows have the same one",
		"code;name\nKX7A1;Ana\n;Bia\n;Caio\n": "“code” is called so, but most rows have none",
		"code;name\n50,00;Ana\n60,00;Bia\n":   "“code” is called so, but what stands in it looks like no codes of tickets",
	} {
		_, err := load.Import(context.Background(), congregation(t), auth.Operator(), load.Source{Kind: "ticket", Event: 7, Reader: strings.NewReader(file)}, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %q", err, want)
		}
	}
}

func churchCount(t *testing.T, s *kv.Store) (n int) {
	t.Helper()
	if err := s.Log.Export(auth.Operator(), record.Church, func([]byte) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}
