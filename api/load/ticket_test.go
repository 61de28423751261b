package load_test

import (
	"strings"
	"testing"
	"time"

	"doorward/api/load"

	"github.com/google/go-cmp/cmp"
)

// told is a ticket file and what becomes of it: its tickets by "code field=value", or rejections.
type told struct {
	rows   [][]any // a workbook
	text   string  // or a text
	set    map[string]string
	want   []map[string]any
	reject []load.Rejection
	ignore []string
}

func (c told) source(t *testing.T) load.Source {
	src := load.Source{Reader: strings.NewReader(c.text), Kind: "ticket", Event: 7, Map: c.set}
	if c.rows != nil {
		src.Reader = book(t, false, c.rows)
	}
	return src
}

func (c told) check(t *testing.T, name string) {
	t.Helper()
	s := congregation(t)
	rep := mustImport(t, s, c.source(t))
	if diff := cmp.Diff(c.reject, rep.Rejected); diff != "" {
		t.Errorf("%s: rejections differ (-want +got):\n%s", name, diff)
	}
	if diff := cmp.Diff(c.ignore, rep.Ignored); diff != "" {
		t.Errorf("%s: ignored columns differ (-want +got):\n%s", name, diff)
	}
	got := tickets(t, s)
	for _, m := range got {
		delete(m, "event_id")
		if m["state"] == "valid" {
			delete(m, "state")
		}
	}
	if diff := cmp.Diff(c.want, got); diff != "" {
		t.Errorf("%s: tickets differ (-want +got):\n%s", name, diff)
	}
}

type m = map[string]any

func TestImportOfTicketDatesInAWorkbook(t *testing.T) {
	day := time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)
	told{rows: [][]any{{"Código", "Válido de", "Válido até"}, {"A-1", day, day}},
		want: []m{{"code": "A-1", "valid_from": "2026-12-31T00:00:00Z", "valid_until": "2026-12-31T23:59:59.999999Z"}}}.check(t, "a day")
}

func TestImportOfTicketCodes(t *testing.T) {
	for _, title := range []string{"Nº ingresso", "N. do ingresso", "Número do ingresso", "Barcode #", "Ticket code", "Código", "code"} {
		told{text: title + ";Nome\nA-1;Ana\n;Bia\nA-3;Caio\n", want: []m{{"code": "A-1", "holder_name": "Ana"}, {"code": "A-3", "holder_name": "Caio"}},
			reject: []load.Rejection{{Line: 3, Column: title, Reason: "This field may not be blank."}}}.check(t, title)
	}
}

func TestImportTakesTheMoreSpecificTitle(t *testing.T) {
	for name, c := range map[string]told{
		"code": {text: "Código;Código do ingresso\nP-1;A-1\n", want: []m{{"code": "A-1"}}, ignore: []string{"Código"}},
		"state": {text: "code;Situação;Situação do ingresso\nA-1;ok;cancelado\n", want: []m{{"code": "A-1", "state": "cancelled"}},
			ignore: []string{"Situação"}},
		"state of the payment": {text: "code;Status do pagamento;Status\nA-1;pendente;ok\n", want: []m{{"code": "A-1", "state": "unpaid"}},
			ignore: []string{"Status"}},
		"holder": {text: "code;Nome;Participante;Comprador\nA-1;Ana;Bia;Caio\n", want: []m{{"code": "A-1", "holder_name": "Bia"}},
			ignore: []string{"Nome", "Comprador"}},
		"holder's name": {text: "code;Comprador;Nome do participante\nA-1;Ana;Bia\n", want: []m{{"code": "A-1", "holder_name": "Bia"}},
			ignore: []string{"Comprador"}},
		"the telephone before the mobile": {text: "code;Celular;Telefone\nA-1;11;22\n", want: []m{{"code": "A-1", "phone": "22"}},
			ignore: []string{"Celular"}},
		"two names": {text: "code;Nome;Sobrenome\nA-1;Ana;Reis\nA-2;Bia;\n",
			want: []m{{"code": "A-1", "holder_name": "Ana Reis"}, {"code": "A-2", "holder_name": "Bia"}}},
		"two names and a whole one": {text: "code;First Name;Last Name;Name\nA-1;A;R;Ana Reis\n", want: []m{{"code": "A-1", "holder_name": "Ana Reis"}},
			ignore: []string{"First Name", "Last Name"}},
		"a list of attendees": {text: "Order #,First Name,Last Name,Attendee #,Barcode #,Ticket Type,Attendee Status\n" +
			"77,Ana,Reis,501,A-1,Adulto,Attending\n77,Bia,Luz,502,A-2,Adulto,Not Attending\n78,Caio,Sá,503,A-3,Adulto,Checked In\n" +
			"79,Davi,Sá,504,A-4,Adulto,Transferred\n",
			want: []m{{"code": "A-1", "holder_name": "Ana Reis", "order": "77", "type": "Adulto"},
				{"code": "A-2", "holder_name": "Bia Luz", "order": "77", "type": "Adulto", "state": "cancelled"},
				{"code": "A-3", "holder_name": "Caio Sá", "order": "78", "type": "Adulto"},
				{"code": "A-4", "holder_name": "Davi Sá", "order": "79", "type": "Adulto", "state": "cancelled"}},
			ignore: []string{"Attendee #"}},
		"yes and no": {text: "code;Pago;Cancelado;Bloqueado;Reembolsado\nA-1;sim;não;;\nA-2;não;não;;\nA-3;não;sim;x;sim\nA-4;;;x;\nA-5;Pix;;;\n",
			want:   []m{{"code": "A-1"}, {"code": "A-2", "state": "unpaid"}, {"code": "A-3", "state": "cancelled"}, {"code": "A-4", "state": "blocked"}},
			reject: []load.Rejection{{Line: 6, Column: "Pago", Reason: "neither yes nor no"}}},
		"yes and no beside a state": {text: "code;Status;Cancelado\nA-1;pendente;não\nA-2;pendente;sim\n",
			want: []m{{"code": "A-1", "state": "unpaid"}, {"code": "A-2", "state": "cancelled"}}},
	} {
		c.check(t, name)
	}
}
