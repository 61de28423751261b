package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var pictures = flag.String("pictures", "", "a folder: draw every screen of the door's page into it")

// screenSize is a screen of which pictures are made.
type screenSize struct {
	name          string
	width, height int64
	phone         bool
}

var screenSizes = []screenSize{{"phone", 360, 740, true}, {"laptop", 1280, 800, false}}

// TestPicturesOfTheDoor draws every screen, for eyes. It does so where a folder is given: -pictures DIR.
func TestPicturesOfTheDoor(t *testing.T) {
	if *pictures == "" {
		t.Skip("no -pictures")
	}
	for _, size := range screenSizes {
		for _, theme := range []string{"light", "dark", "contrast"} {
			t.Run(size.name+"-"+theme, func(t *testing.T) {
				w := newFamilyTown(t)
				p := browse(t)
				p.do(emulation.SetDeviceMetricsOverride(size.width, size.height, 1, size.phone))
				draw := func(name string) {
					t.Helper()
					p.fits()
					var png []byte
					p.do(chromedp.Sleep(250*time.Millisecond), chromedp.CaptureScreenshot(&png)) // the animation ends
					if err := os.WriteFile(filepath.Join(*pictures, fmt.Sprintf("%s-%s-%s.png", size.name, theme, name)), png, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				p.do(chromedp.Navigate(w.link("--supervisor")), chromedp.WaitVisible("#helper"), chromedp.Evaluate(fmt.Sprintf(`document.documentElement.dataset.theme = localStorage.theme = %q`, theme), nil))
				draw("1-enter")
				p.do(chromedp.SendKeys("#helper", "Bia"), chromedp.Click("#enter-ticket button"), chromedp.WaitVisible("#pick-form"))
				draw("2-pick")
				p.do(chromedp.Click("#pick-form > button"), chromedp.WaitVisible("#code"), chromedp.Evaluate(`localStorage.time = '8'`, nil), chromedp.Reload(), chromedp.WaitVisible("#code"))
				draw("3-empty")
				for i, scan := range []struct{ code, outcome string }{{"SOLO", "admitted"}, {"SOLO", "already_admitted"}, {"KID", "admitted"}, {"DAD", "admitted"}, {"UNPAID", "unpaid"}, {"NONE", "unknown_code"}} {
					p.types(scan.code, kb.Enter)
					p.sees(scan.outcome)
					if scan.code == "DAD" {
						p.do(chromedp.WaitVisible("#family"))
					}
					draw(fmt.Sprintf("4-%d-%s", i, scan.outcome))
					if scan.code == "DAD" {
						p.do(chromedp.Click("#result-acts .primary"))
						p.until(`document.getElementById('result-more').textContent.includes('guest')`)
						draw("4-family-in")
					}
					p.do(chromedp.Click("#result-acts > button"), chromedp.WaitNotVisible("#result"))
				}
				draw("5-work")
				p.do(chromedp.Click("#way-search"), chromedp.WaitVisible("#find-words"), chromedp.SendKeys("#find-words", "lima"), chromedp.WaitVisible("#find-list button"))
				draw("6-find")
				p.do(chromedp.Click("#find .close"), chromedp.Click("#menu"), chromedp.WaitVisible("#settings"))
				draw("7-settings")
				p.do(chromedp.Click("#settings .close"))
				w.down()
				p.types("TEEN", kb.Enter)
				p.sees("unreachable")
				draw("8-unreachable")
				p.do(chromedp.Click("#result-acts button:last-child"), chromedp.WaitNotVisible("#result"))
				p.types("SOLO", kb.Enter)
				p.sees("unreachable")
				p.do(chromedp.Click("#result-acts .primary"), chromedp.WaitNotVisible("#result"), chromedp.WaitVisible("#away"))
				draw("9-away")
				w.up()
				p.until(`document.getElementById('differs').innerText.includes('Already in')`)
				p.do(chromedp.Click("#where"), chromedp.WaitVisible("#pick-form"), chromedp.Click("#pick-ways input[value=out]"))
				p.do(chromedp.Click("#pick-form > button"), chromedp.WaitVisible("#code"))
				p.types("SOLO", kb.Enter)
				p.sees("left")
				draw("A-left")
			})
		}
	}
}
