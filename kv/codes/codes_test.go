package codes_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"doorward/kv/codes"
)

func TestReadCode(t *testing.T) {
	for _, row := range []struct {
		text   string
		exact  []string
		normal []string
	}{
		{" K7QP-2M\n", []string{"K7QP-2M"}, []string{"K7QP2M"}},
		{"k7qp 2m", []string{"k7qp 2m"}, []string{"K7QP2M"}},
		{"", nil, nil}, {" \t", nil, nil}, {"--", []string{"--"}, nil},
		{"https://e.org/t/K7QP-2M", []string{"https://e.org/t/K7QP-2M", "K7QP-2M"}, []string{"HTTPS://E.ORG/T/K7QP2M", "K7QP2M"}},
		{"https://e.org/t/abc//?x=y#z", []string{"https://e.org/t/abc//?x=y#z", "abc"}, []string{"HTTPS://E.ORG/T/ABC//?X=Y#Z", "ABC"}},
		{"https://e.org/t/a%20b", []string{"https://e.org/t/a%20b", "a b"}, []string{"HTTPS://E.ORG/T/A%20B", "AB"}},
		{"https://e.org/t/a%2Fb", []string{"https://e.org/t/a%2Fb", "a/b"}, []string{"HTTPS://E.ORG/T/A%2FB", "A/B"}},
		{"https://e.org/", []string{"https://e.org/"}, []string{"HTTPS://E.ORG/"}},
		{"https://e.org?c=1", []string{"https://e.org?c=1"}, []string{"HTTPS://E.ORG?C=1"}},
		{"e.org/abc", []string{"e.org/abc"}, []string{"E.ORG/ABC"}},
		{"ａｂ１–２", []string{"ａｂ１–２"}, []string{"AB12"}},
		{"ﬁ\u00a0é\u200b\u00ad", []string{"ﬁ\u00a0é\u200b\u00ad"}, []string{"FIÉ"}},
	} {
		if diff := cmp.Diff(codes.Forms{Exact: row.exact, Normal: row.normal}, codes.Read(row.text)); diff != "" {
			t.Errorf("ReadCode(%q) differs: %s", row.text, diff)
		}
	}
}

func TestReadLast(t *testing.T) {
	for _, row := range []struct {
		text   string
		exact  []string
		normal []string
	}{
		{"K7QP-2M", nil, nil}, {"", nil, nil}, {"]Q1", nil, nil},
		{"]Q1K7QP-2M", []string{"K7QP-2M"}, []string{"K7QP2M"}},
		{"]C1 K7QP2M", []string{"K7QP2M"}, []string{"K7QP2M"}},
		{"]d2K7QP2M", []string{"K7QP2M"}, []string{"K7QP2M"}},
		{"]Q3K7QP2M", nil, nil},
		{"K7QP'2M", []string{"K7QP-2M"}, []string{"K7QP2M"}},
		{"K7QP/2Mß9", []string{"K7QP-2M-9"}, []string{"K7QP2M9"}},
		{"]Q1K7QP'2M", []string{"K7QP'2M", "K7QP-2M"}, []string{"K7QP'2M", "K7QP2M"}},
		{"https://lu.ma/check-in/evt-AbCdEf?pk=g-2Aa1Bb", []string{"g-2Aa1Bb", "check-in"}, []string{"G2AA1BB", "CHECKIN"}},
		{"]Q1https://lu.ma/evt-AbCdEf?pk=g-2Aa1Bb", []string{"https://lu.ma/evt-AbCdEf?pk=g-2Aa1Bb", "evt-AbCdEf", "g-2Aa1Bb"},
			[]string{"HTTPS://LU.MA/EVTABCDEF?PK=G2AA1BB", "EVTABCDEF", "G2AA1BB"}},
		{"https://e.org/t/short?a=12345&b=1%2F2345&c#K7QP2M9", []string{"1/2345", "K7QP2M9"}, []string{"1/2345", "K7QP2M9"}},
		{"https://e.org/a'b'c'd/t", []string{"a'b'c'd"}, []string{"A'B'C'D"}},
		{"https://e.org/?a=111111&b=222222&c=333333&d=444444&e=555555&f=666666&g=777777&h=888888&i=999999",
			[]string{"111111", "222222", "333333", "444444", "555555", "666666", "777777", "888888"},
			[]string{"111111", "222222", "333333", "444444", "555555", "666666", "777777", "888888"}},
		{"https://e.org/%zz?pk=g-2Aa1Bb", nil, nil},
	} {
		if diff := cmp.Diff(codes.Forms{Exact: row.exact, Normal: row.normal}, codes.ReadLast(row.text), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("ReadLast(%q) differs: %s", row.text, diff)
		}
	}
}

func TestOtherZeros(t *testing.T) {
	for code, others := range map[string][]string{
		"123456789012": {"0123456789012", "00123456789012"}, "0123456789012": {"123456789012", "00123456789012"}, "123": {"000123", "0000123", "00000123", "000000123",
			"0000000123", "00000000123", "000000000123", "0000000000123", "00000000000123"},
		"0000000000000012": {"12", "012", "0012", "00012", "000012", "0000012", "00000012", "000000012", "0000000012", "00000000012", "000000000012", "0000000000012", "00000000000012"},
		"000000":           nil, "": nil, "12A": nil, "123456789012345": nil,
	} {
		if diff := cmp.Diff(others, codes.OtherZeros(code)); diff != "" {
			t.Errorf("OtherZeros(%q) differs: %s", code, diff)
		}
	}
}

func TestNormalCodeIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		once := codes.Normal(s)
		if twice := codes.Normal(once); twice != once {
			t.Errorf("NormalCode(%q) = %q, again %q", s, once, twice)
		}
		if spaced := codes.Normal(" " + strings.ToLower("ab"+s) + " -"); spaced != codes.Normal("AB"+strings.ToLower(s)) {
			t.Errorf("case, spaces and hyphens change the normal form of %q: %q", s, spaced)
		}
	})
}

func TestMakeCode(t *testing.T) {
	for _, row := range []struct {
		random [10]byte
		want   string
	}{
		{[10]byte{}, "0000000000000000"},
		{[10]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255}, "ZZZZZZZZZZZZZZZZ"},
		{[10]byte{0x00, 0x44, 0x32, 0x14, 0xc7, 0x42, 0x54, 0xb6, 0x35, 0xcf}, "0123456789ABCDEF"},
	} {
		if got := codes.Make(row.random); got != row.want {
			t.Errorf("MakeCode(%x) = %s, want %s", row.random, got, row.want)
		}
	}
}

// FuzzReadCode holds that forms are trimmed, distinct, not blank, and that a normal form is its own.
func FuzzReadCode(f *testing.F) {
	for _, seed := range []string{"K7QP-2M", "https://e.org/t/K7QP-2M/", "HTTP://[::1]/%zz", "a://b/%20/", "\u00a0ﬁ\u0301- ́", "ŉ\u0345ΐ"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		forms := codes.Read(text)
		seen := map[string]bool{}
		for _, exact := range forms.Exact {
			if exact == "" || exact != strings.TrimSpace(exact) || seen[exact] {
				t.Errorf("ReadCode(%q) has the exact form %q", text, exact)
			}
			seen[exact] = true
		}
		for _, normal := range forms.Normal {
			if normal == "" || codes.Normal(normal) != normal {
				t.Errorf("ReadCode(%q) has the normal form %q", text, normal)
			}
		}
	})
}
