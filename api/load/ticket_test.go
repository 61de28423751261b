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
