package load_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"doorward/api/load"
	"doorward/api/load/export"
	"doorward/kv/auth"
	"doorward/kv/kvtest"
)

// odd are records whose values a spreadsheet would change, or a table could lose.
const odd = `{"kind":"church","id":3,"name":"=HYPERLINK(1)"}
{"kind":"church","id":5,"name":"'=literal","external_id":"'''+x"}
{"kind":"person","id":2,"full_name":"+Ana; \"D'Ávila\", Souza","church_id":3,"phone":"+55 11 98765-4321","cpf":"12345678909","location":{"a":[1,null,"x"]},"birthday":"1985-03-04"}
{"kind":"person","id":4,"full_name":"-Bia\nLuz","church_id":5,"birthday":"1985-04-03"}
{"kind":"person","id":6,"full_name":"'1985'","church_id":5}
{"kind":"event","id":7,"name":"@Festa","start_datetime":"2026-12-31T19:30:00Z"}
{"kind":"ticket","id":9,"event_id":7,"code":"00012345678901234567","holder_name":"=cmd|' /C calc'!A0","state":"unpaid","valid_from":"2026-12-31T10:00:00Z"}
{"kind":"ticket","id":10,"event_id":7,"code":"9E17","state":"blocked"}
`

// TestATableThatWasExportedComesBack: every kind, with its ids, in both formats, whatever the values look like.
func TestATableThatWasExportedComesBack(t *testing.T) {
	ctx, op := t.Context(), auth.Operator()
	from := kvtest.Open(t)
	if rep, err := load.Import(ctx, from, op, load.Source{Reader: strings.NewReader(odd), Yes: true}, nil); err != nil || len(rep.Rejected) > 0 {
		t.Fatal(err, rep.Rejected)
	}
	for _, format := range []string{export.CSV, export.XLSX} {
		to := kvtest.Open(t)
		for _, kind := range []string{"church", "person", "event", "ticket"} {
			var file, want, got bytes.Buffer
			if err := export.Write(ctx, &want, export.Options{Log: from.Log, Who: op, Kind: kind}); err != nil {
				t.Fatal(err)
			}
			if err := export.Write(ctx, &file, export.Options{Log: from.Log, Who: op, Kind: kind, Format: format}); err != nil {
				t.Fatal(err)
			}
			if format == export.CSV && regexp.MustCompile(`(?m)(^|,|")[=+@-]`).Match(file.Bytes()) {
				t.Errorf("%s: a spreadsheet takes a cell for a formula:\n%s", kind, &file)
			}
			rep, err := load.Import(ctx, to, op, load.Source{Reader: bytes.NewReader(file.Bytes())}, nil)
			if err != nil || len(rep.Rejected) > 0 || len(rep.Ignored) > 0 || rep.Source != "doorward" {
				t.Fatalf("%s %s: %v, %+v", format, kind, err, rep)
			}
			if err := export.Write(ctx, &got, export.Options{Log: to.Log, Who: op, Kind: kind}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(timeless(want.String()), timeless(got.String())); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", format, kind, diff)
			}
			if rep, err := load.Import(ctx, from, op, load.Source{Reader: bytes.NewReader(file.Bytes())}, nil); err != nil || rep.Created+rep.Updated != 0 {
				t.Errorf("%s %s into the same store: %v, %+v", format, kind, err, rep)
			}
		}
	}
}

// TestATableOfSomebodyElseBringsNoIDs: a column called id is ours only where each row says its kind.
func TestATableOfSomebodyElseBringsNoIDs(t *testing.T) {
	s := kvtest.Open(t)
	rep, err := load.Import(t.Context(), s, auth.Operator(), load.Source{Kind: "church", Reader: strings.NewReader("kind,id,name\nsede,77,Central\nchurch,78,Norte\n")}, nil)
	if err != nil || rep.Created != 2 {
		t.Fatal(err, rep)
	}
	var got bytes.Buffer
	if err := export.Write(t.Context(), &got, export.Options{Log: s.Log, Who: auth.Operator(), Kind: "church"}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(got.String(), `"id":77`) || strings.Contains(got.String(), `"id":78`) {
		t.Errorf("ids of somebody else: %s", &got)
	}
}
