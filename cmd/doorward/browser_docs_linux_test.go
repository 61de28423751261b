package main

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestTheDocumentationWorks under its policy: the page lists the operations, opens one, and tries it
// out.
func TestTheDocumentationWorks(t *testing.T) {
	w := newDoorTown(t)
	p := browse(t)
	const operation = "#operations-health-check_liveness"
	p.do(chromedp.Navigate(w.served.url+"/docs"), chromedp.WaitVisible(operation))
	p.do(chromedp.Click(operation+" .opblock-summary-control"), chromedp.WaitVisible(operation+" .try-out__btn"))
	p.do(chromedp.Click(operation+" .try-out__btn"), chromedp.WaitVisible(operation+" .execute"), chromedp.Click(operation+" .execute"))
	p.until(`document.querySelector('` + operation + ` .live-responses-table .response .response-col_status')?.innerText.trim() === '200'`)
	var colour string
	p.do(chromedp.Evaluate(`getComputedStyle(document.body).backgroundColor`, &colour))
	if colour != "rgb(250, 250, 250)" {
		t.Errorf("the style within the page has not been applied: its colour is %s", colour)
	}
	p.clean()
}
