package record_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"doorward/kv/record"
)

// numbers are the kinds' numbers in keys: they may be added to and must never be changed.
const numbers = `church regional financial_account category subcategory cost_center business_unit supplier role person group
	membership financial_entry event ticket holder_name holder checkin scan undo api_key conflict refusal node erasure ticket_code holder_label`

func TestKindNumbersNeverChange(t *testing.T) {
	names := strings.Fields(numbers)
	if len(record.Kinds()) != len(names) {
		t.Fatalf("there are %d kinds, want %d", len(record.Kinds()), len(names))
	}
	for i, name := range names {
		byName, _ := record.ByName(name)
		byNumber, _ := record.ByNumber(byte(i + 1))
		if byName == nil || byName != byNumber || int(byName.Number) != i+1 || byName != record.Kinds()[i] {
			t.Errorf("%s is not number %d", name, i+1)
		}
	}
	for _, n := range []byte{0, byte(len(names) + 1), 255} {
		if k, ok := record.ByNumber(n); ok {
			t.Errorf("number %d is %s", n, k.Name)
		}
	}
	if _, ok := record.ByName("tickets"); ok {
		t.Error("ByName finds a plural")
	}
}

// TestTablesAreWhole looks for what a new row is easily given without.
func TestTablesAreWhole(t *testing.T) {
	for _, k := range append([]*record.Kind{record.TicketForm}, record.Kinds()...) {
		if k.Version == 0 || strings.ContainsAny(k.Name, " -") {
			t.Errorf("%q has no version, or a bad name", k.Name)
		}
		if home, ok := k.Field(k.Home); k.Home != "" && (!ok || !home.Stored()) {
			t.Errorf("%s has no home %s", k.Name, k.Home)
		}
		for i := range k.Fields {
			f := &k.Fields[i]
			if f.Default != "" && !valid([]byte(f.Default)) {
				t.Errorf("%s.%s: the default %s is no JSON", k.Name, f.Name, f.Default)
			}
			if f.Flags.Has(record.Indexed) && !f.Stored() {
				t.Errorf("%s.%s is indexed and not stored", k.Name, f.Name)
			}
			checkTargets(t, k, f)
		}
		_, dated := k.Field("created_at")
		if !k.Fact && !dated && k != record.Conflict && k != record.Refusal && k != record.Erasure && !k.OfTicket() && !k.OfHolding() {
			t.Errorf("%s has no created_at", k.Name)
		}
		if _, ok := k.Field("external_id"); ok == (k.Fact || k.System) {
			t.Errorf("%s: external_id %t", k.Name, ok)
		}
	}
}

// checkTargets looks whether the kinds and fields that a type names are there.
func checkTargets(t *testing.T, k *record.Kind, f *record.Field) {
	kind, field := "", ""
	switch typ := f.Type.(type) {
	case record.Ref:
		kind = typ.Kind
	case record.Refs:
		kind = typ.Kind
	case record.Nested:
		kind, field = typ.Kind, typ.ID
	case record.NestedList:
		kind, field = typ.Kind, typ.IDs
	default:
		return
	}
	if _, ok := record.ByName(kind); !ok {
		t.Errorf("%s.%s names no kind: %q", k.Name, f.Name, kind)
	}
	if _, ok := k.Field(field); field != "" && !ok {
		t.Errorf("%s.%s follows no field: %q", k.Name, f.Name, field)
	}
}

func TestScopes(t *testing.T) {
	for _, row := range []struct {
		kind *record.Kind
		home int64
		want string
	}{
		{record.Church, 0, "reference"}, {record.Regional, 0, "reference"}, {record.Role, 0, "reference"},
		{record.Supplier, 0, "reference-finance"}, {record.FinancialAccount, 0, "reference-finance"},
		{record.Person, 3, "church-3"}, {record.Person, 0, ""}, {record.Membership, 3, "church-3"}, {record.Membership, 0, ""},
		{record.FinancialEntry, 3, "church-3-finance"}, {record.FinancialEntry, 0, ""},
		{record.Group, 3, "church-3"}, {record.Group, 0, "reference"},
		{record.Event, 3, "event-12 church-3"}, {record.Event, 0, "event-12 reference"},
		{record.Ticket, 7, "event-7"}, {record.HolderName, 7, "event-7-names"}, {record.Holder, 7, "event-7-holders"},
		{record.Checkin, 7, "event-7"}, {record.Scan, 7, "event-7"}, {record.Undo, 7, "event-7"}, {record.APIKey, 0, "_system"},
	} {
		var names []string
		for _, s := range row.kind.Scopes(record.Int(12), row.home) {
			names = append(names, s.String())
		}
		if got := strings.Join(names, " "); got != row.want {
			t.Errorf("Scopes of a %s in %d = %q, want %q", row.kind.Name, row.home, got, row.want)
		}
	}
}

func TestIDs(t *testing.T) {
	for _, k := range []*record.Kind{record.Person, record.Checkin} {
		for _, text := range []string{"1", "9007199254740991", "01HZX3Q0000000000000000ABC"} {
			id, ok := k.ParseID(text)
			if ok == (k.ULID == (len(text) < 26)) {
				t.Errorf("ParseID(%s) of %s is %t", text, k.Name, ok)
			}
			if !ok {
				continue
			}
			back, whole := k.KeyID(k.AppendID(nil, id))
			if k.FormatID(id) != text || back != id || !whole || id.IsZero() || id.Compare(record.ID{}) != 1 || id.Compare(id) != 0 {
				t.Errorf("%s does not come back: %s", text, k.FormatID(id))
			}
		}
		for _, text := range []string{"", "0", "-1", "+1", "9007199254740992", "1.0", "01hzx3q0000000000000000abc", "00000000000000000000000000", "８"} {
			if id, ok := k.ParseID(text); ok {
				t.Errorf("ParseID(%q) of %s = %v", text, k.Name, id)
			}
		}
	}
	if diff := cmp.Diff([]bool{true, false}, []bool{record.Int(1).Compare(record.Int(2)) < 0, record.Int(3).Compare(record.Int(2)) < 0}); diff != "" {
		t.Error(diff)
	}
}
