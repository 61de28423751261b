package load_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"doorward/api/load"
	"doorward/kv/auth"
	"doorward/kv/record"
)

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
