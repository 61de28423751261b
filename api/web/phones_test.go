package web_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// lacking are what iPhones with iOS 15, or Android phones with Chrome 95, do not know. A page that asks for it stops there.
var lacking = map[string]*regexp.Regexp{
	".js": regexp.MustCompile(`AbortSignal\.(timeout|any)|requestSubmit|checkVisibility|structuredClone|randomUUID|withResolvers|fromAsync|canParse|` +
		`\.(findLast|findLastIndex|toSorted|toReversed|toSpliced|isWellFormed|throwIfAborted|showPopover|togglePopover)\b|` +
		`(Object|Map)\.groupBy|OffscreenCanvas|scheduler\.|navigator\.locks|requestIdleCallback|startViewTransition|hasOwn|\.at\(|\(\?<[=!]`),
	".css":  regexp.MustCompile(`&|@(container|layer|scope|property|starting-style)|color-mix|light-dark|oklch|subgrid|\d(svh|lvh|cqw|cqh|lh)\b|:user-|\((width|height) *[<>]`),
	".html": regexp.MustCompile(`\spopover|<search\b|\scommandfor|\sclosedby`),
}

var (
	remark   = regexp.MustCompile(`(?s:/\*.*?\*/)|(?m:(^|\s)//.*$)`)
	moving   = regexp.MustCompile(`([a-z-]+): ([^;{}]*dvh[^;{}]*)`)
	selector = regexp.MustCompile(`[^{};]*:has\([^{}]*\{`)
	inside   = regexp.MustCompile(`\([^()]*\)`)
	field    = regexp.MustCompile(`<input [^>]*>`)
	noText   = regexp.MustCompile(`type="(radio|checkbox|file|password)"`)
)

// TestPagesUseNothingThatPhonesLack: volunteers bring phones that are ten years old. A height of dvh has one of vh before it, and :has, which only paints,
// stands in rules of its own: a phone that does not know one selector of a rule drops the whole rule.
func TestPagesUseNothingThatPhonesLack(t *testing.T) {
	for file, text := range sources(t) {
		if found := lacking[path.Ext(file)]; found != nil {
			for _, name := range found.FindAllString(text, -1) {
				t.Errorf("%s uses %q", file, name)
			}
		}
		if path.Ext(file) != ".css" {
			continue
		}
		for _, m := range moving.FindAllStringSubmatch(text, -1) {
			if before := m[1] + ": " + strings.ReplaceAll(m[2], "dvh", "vh") + "; " + m[0]; !strings.Contains(text, before) {
				t.Errorf("%s has %q without the same of vh before it", file, m[0])
			}
		}
		for _, rule := range selector.FindAllString(text, -1) {
			for strings.Contains(rule, "(") {
				rule = inside.ReplaceAllString(rule, "")
			}
			if strings.Contains(rule, ",") {
				t.Errorf("%s has :has beside other selectors: %s", file, rule)
			}
		}
	}
}

// TestPhonesCorrectNoNameAndNoKey that is typed.
func TestPhonesCorrectNoNameAndNoKey(t *testing.T) {
	for file, text := range sources(t) {
		for _, input := range field.FindAllString(text, -1) {
			if !noText.MatchString(input) && !(strings.Contains(input, `autocorrect="off"`) && strings.Contains(input, `spellcheck="false"`)) {
				t.Errorf("%s: a phone corrects what is typed into %s", file, input)
			}
		}
	}
}

// sources are the pages and what lies beside them, without their remarks.
func sources(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS("."), ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || lacking[path.Ext(file)] == nil {
			return err
		}
		text, err := os.ReadFile(file)
		all[file] = remark.ReplaceAllString(string(text), "")
		return err
	})
	if err != nil || len(all) < 20 {
		t.Fatalf("%d sources: %v", len(all), err)
	}
	return all
}
