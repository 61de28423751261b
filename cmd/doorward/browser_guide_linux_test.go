package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// The guide for helpers at a door, in a real browser and on paper.

// sheet is where a PDF of Chromium begins a page.
var sheet = regexp.MustCompile(`/Type\s*/Page[^s]`)

// prints prints the page as a browser does by itself: on A4, with the page's own margins.
func (p *phone) prints() (pdf []byte) {
	p.Helper()
	p.do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		pdf, _, err = cdppage.PrintToPDF().WithPreferCSSPageSize(true).WithPrintBackground(true).Do(ctx)
		return err
	}))
	return pdf
}

// TestTheGuideIsOneSheet: the guide prints on exactly one page of A4 in each language, and the switch leads from one to the other.
func TestTheGuideIsOneSheet(t *testing.T) {
	w := newDoorTown(t)
	p := browse(t)
	p.do(network.SetExtraHTTPHeaders(network.Headers{"Accept-Language": "pt-BR,pt;q=0.9"}), chromedp.Navigate(w.served.url+"/door/help"))
	for _, step := range []struct{ language, title, undo, other string }{{"pt-BR", "Na porta", "Desfazer", "en"}, {"en", "At the door", "Undo", "pt-BR"}, {"pt-BR", "Na porta", "Desfazer", ""}} {
		p.do(chromedp.WaitReady(fmt.Sprintf("html[lang='%s'] .guide p b", step.language)))
		p.until(fmt.Sprintf(`document.querySelector('h1').textContent === %q && document.body.innerText.includes(%q)`, step.title, step.undo))
		var wide bool
		p.do(chromedp.Evaluate(`document.documentElement.scrollWidth > 360 || /[{}]/.test(document.body.innerText)`, &wide))
		if wide {
			t.Errorf("%s: the guide is wider than a phone, or a word in braces is left", step.language)
		}
		pdf := p.prints()
		if n := len(sheet.FindAll(pdf, -1)); n != 1 {
			t.Errorf("%s: the guide takes %d pages, want one", step.language, n)
		}
		if !regexp.MustCompile(`/MediaBox\s*\[0 0 59[45](\.\d+)? 84[12](\.\d+)?\]`).Match(pdf) {
			t.Errorf("%s: the page is not A4", step.language)
		}
		if *pictures != "" {
			if err := os.WriteFile(filepath.Join(*pictures, "guide-"+step.language+".pdf"), pdf, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if step.other != "" {
			p.do(chromedp.Click(fmt.Sprintf("a[hreflang='%s']", step.other)))
		}
	}
	p.clean()
}

// TestTheDoorLinksItsGuide: the link follows the language of the page.
func TestTheDoorLinksItsGuide(t *testing.T) {
	_, p := atDoor(t)
	links := `[...document.querySelectorAll('.guide-link')].map(a => new URL(a.href).pathname + new URL(a.href).search).join()`
	p.until(links + ` === '/door/help?language=en,/door/help?language=en'`)
	p.do(chromedp.Click("#menu"), chromedp.SetValue("#set-language", "pt-BR"), chromedp.Evaluate(`document.getElementById('set-language').dispatchEvent(new Event('change'))`, nil))
	p.until(links + ` === '/door/help?language=pt-BR,/door/help?language=pt-BR'`)
	p.do(chromedp.WaitVisible("#settings .guide-link"))
	p.clean()
}
