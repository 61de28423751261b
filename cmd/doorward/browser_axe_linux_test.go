package main

import (
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"doorward/kv/kvtest/proof"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/skip2/go-qrcode"
)

// What axe finds on the pages, in every state, language and theme. Helpers: a phone that has axe asks it with accessible; tour has a phone go
// through every state of the door's page.

// axeScript is the program of axe, as make test installs it.
func axeScript(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("AXE")
	if dir == "" {
		dir = filepath.Join("..", "..", "bin", "axe")
	}
	script, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		proof.Missing(t, "axe is missing; make test installs it: %v", err)
	}
	return string(script)
}

// axeAsks has axe look at the page in each theme, and answers what is more than minor.
const axeAsks = `(async () => {
	const root = document.documentElement, was = root.dataset.theme, found = [];
	for (const theme of ['light', 'dark', 'contrast']) {
		root.dataset.theme = theme;
		const {violations, passes} = await axe.run(document, {preload: false, rules: {'target-size': {enabled: true}}});
		if (!passes.some(p => p.id === 'color-contrast')) found.push(theme + ': axe has seen no colour');
		for (const v of violations) {
			if (v.impact !== 'minor') found.push(...v.nodes.map(n => theme + ': ' + v.id + ': ' + n.target + ': ' + n.failureSummary));
		}
	}
	if (was === undefined) delete root.dataset.theme; else root.dataset.theme = was;
	return found;
})()`

// accessible wants axe to find nothing serious on what a phone shows. The browser puts axe there beside the page's policy.
func (p *phone) accessible(state string) {
	p.Helper()
	var there bool
	p.do(chromedp.Evaluate(`'axe' in window`, &there))
	if !there {
		p.do(chromedp.Evaluate(axeScript(p), nil))
	}
	var found []string
	p.do(chromedp.Evaluate(axeAsks, &found, awaited))
	for _, f := range found {
		p.Errorf("%s: %s", state, f)
	}
}

// holds keeps a result on the screen, as a tap does.
func (p *phone) holds() {
	p.Helper()
	p.do(chromedp.Evaluate(`document.getElementById('result-time').hidden || document.getElementById('result').click()`, nil))
}

// tour goes through every state of the door's page. look is called in each.
func (p *phone) tour(w *doorTown, look func(state string)) {
	p.Helper()
	p.tourEntering(w, look)
	p.tourResults(look)
	p.tourWork(look)
	p.tourAway(w, look)
}

func (p *phone) tourEntering(w *doorTown, look func(state string)) {
	p.Helper()
	at := far(w.served.url) + "/door"
	p.do(chromedp.Navigate(at), chromedp.WaitVisible("#enter-how"), chromedp.Click("#enter-by-key summary"), chromedp.WaitVisible("#secret"))
	p.do(chromedp.SendKeys("#key", "dw_none"), chromedp.SendKeys("#secret", "wrong"), chromedp.Click("#enter-key button"))
	p.until(`document.getElementById('enter-fault').textContent !== ''`)
	look("a wrong key")
	p.do(chromedp.Navigate(far(w.link("--supervisor"))), chromedp.WaitVisible("#helper"))
	look("enrolment")
	p.do(chromedp.SendKeys("#helper", "Bia"), chromedp.Click("#enter-ticket button"), chromedp.WaitVisible("#pick-ways"))
	look("the choice of event and door")
	p.do(chromedp.Evaluate(`localStorage.time = '8'`, nil), chromedp.SetValue("#door", "Entrance"), chromedp.Click("#pick-form > button"), chromedp.WaitVisible("#code"), chromedp.Reload(), chromedp.WaitVisible("#code"))
	look("a door without scans")
}

func (p *phone) tourResults(look func(state string)) {
	p.Helper()
	for _, scan := range []struct{ code, outcome string }{
		{"SOLO", "admitted"}, {"SOLO", "already_admitted"}, {"KID", "admitted"}, {"DAD", "admitted"}, {"UNPAID", "unpaid"}, {"NONE", "unknown_code"},
	} {
		p.types(scan.code, kb.Enter)
		p.sees(scan.outcome)
		p.holds()
		switch scan.code {
		case "DAD":
			p.do(chromedp.WaitVisible("#family"))
			look("a family")
			p.do(chromedp.Click("#result-acts .primary"))
			p.until(`document.getElementById('result-more').textContent !== ''`)
			look("a family with a notice")
		case "KID":
			look("a notice")
			p.types("TEEN", kb.Enter)
			p.until(`!document.getElementById('untaken').hidden`)
			p.run(`new MutationObserver(() => document.getElementById('untaken').hidden = false).observe(document.getElementById('untaken'), {attributeFilter: ['hidden']})`)
			look("a scan that was not taken")
			p.do(chromedp.Reload(), chromedp.WaitVisible("#code"))
			continue
		default:
			look(scan.code + " " + scan.outcome)
		}
		p.next()
	}
	look("a door with scans")
	p.do(chromedp.Click("#last .good button"))
	p.sees("undone")
	p.holds()
	look("undone")
	p.next()
	p.stands("Exit", "out")
	p.types("KID", kb.Enter)
	p.sees("left")
	p.holds()
	look("a guest who leaves")
	p.next()
	p.stands("South", "in")
}

func (p *phone) tourWork(look func(state string)) {
	p.Helper()
	p.until(`document.querySelectorAll('#doors .silent').length > 0`)
	look("a door beside silent ones")
	p.do(chromedp.Click("#way-search"), chromedp.WaitVisible("#find-words"), writing("#find-words", "lima"), chromedp.WaitVisible("#find-list button"))
	look("guests found by name")
	p.do(writing("#find-words", "zzz"))
	p.until(`document.getElementById('find-says').textContent !== '' && document.getElementById('find-list').children.length === 0`)
	look("no guest found")
	p.do(chromedp.Click("#find .close"), chromedp.Click("#menu"), chromedp.WaitVisible("#settings"))
	look("the settings")
	p.do(chromedp.Click("#leave"), chromedp.WaitVisible("#leaving"))
	look("the question before a sign-out")
	p.do(chromedp.Click("#leaving .close"))
	photo := filepath.Join(p.TempDir(), "two.png")
	drawCodes(p, photo, "SOLO", "KID")
	p.do(chromedp.SetUploadFiles("#photo", []string{photo}))
	p.until(`document.getElementById('eye-says').textContent.includes(document.documentElement.lang === 'en' ? 'cover one' : 'cubra um')`)
	look("two codes on a photo")
	p.do(chromedp.Click("#eye-close"), chromedp.Click("#way-camera"))
	p.until(`document.getElementById('eye-says').textContent !== ''`)
	look("no camera")
	p.do(chromedp.Click("#eye-close"))
}

func (p *phone) tourAway(w *doorTown, look func(state string)) {
	p.Helper()
	w.down()
	p.types("TEEN", kb.Enter)
	p.sees("unreachable")
	look("the laptop is away")
	p.do(chromedp.Click("#result-acts button:last-child"), chromedp.WaitNotVisible("#result"))
	p.types("UNPAID", kb.Enter)
	p.sees("unreachable")
	p.next()
	p.do(chromedp.WaitVisible("#waiting-list button"))
	p.until(`/1/.test(document.getElementById('away').innerText)`)
	look("scans wait in the phone")
	w.up()
	p.until(`document.querySelectorAll('#differs-list li').length === 1`)
	look("the laptop says otherwise")
	var keys struct{ Results []key }
	w.run(&keys, "keys", "list")
	if out, err := exec.Command(w.path, "keys", "revoke", fmt.Sprint(keys.Results[len(keys.Results)-1].ID), "--data", w.dir).CombinedOutput(); err != nil {
		p.Fatalf("%v: %s", err, out)
	}
	p.types("SOLO", kb.Enter)
	p.until(`document.getElementById('enter-fault').textContent !== ''`)
	look("a session that was ended")
}

// drawCodes writes a picture that shows codes side by side.
func drawCodes(t testing.TB, file string, codes ...string) {
	t.Helper()
	const size = 300
	all := image.NewGray(image.Rect(0, 0, size*len(codes), size))
	for i, code := range codes {
		q, err := qrcode.New(code, qrcode.Medium)
		if err != nil {
			t.Fatal(err)
		}
		draw.Draw(all, image.Rect(i*size, 0, (i+1)*size, size), q.Image(size), image.Point{}, draw.Src)
	}
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := png.Encode(f, all); err != nil {
		t.Fatal(err)
	}
}

// still has a phone show no movement, as its owner may ask of it: colours are looked at when they have come.
func (p *phone) still(scheme string) {
	p.Helper()
	p.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}, {Name: "prefers-color-scheme", Value: scheme}}))
}

func TestAxeFindsNothingSerious(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	for language, accept := range map[string]string{"en": "en", "pt-BR": "pt-BR,pt;q=0.9"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			w := newFamilyTown(t).secured()
			p := browse(t)
			p.still("dark") // the theme that the phone has is one more
			p.do(network.SetExtraHTTPHeaders(network.Headers{"Accept-Language": accept}))
			look := func(state string) {
				t.Helper()
				var spoken string
				if p.do(chromedp.Evaluate(`document.documentElement.lang`, &spoken)); spoken != language {
					t.Errorf("%s is in %s", state, spoken)
				}
				p.accessible(state)
			}
			p.tour(w, look)
			p.tourConsole(w, look)
			p.do(chromedp.Navigate(far(w.served.url)+"/door/trust?language="+language), chromedp.WaitReady(fmt.Sprintf("html[lang='%s'] a[href$='doorward.crt']", language)))
			p.accessible("the page of trust")
			p.do(chromedp.Navigate(far(w.served.url)+"/door/help?language="+language), chromedp.WaitReady(fmt.Sprintf("html[lang='%s'] .guide", language)))
			p.accessible("the guide")
		})
	}
}
