package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var pictures = flag.String("pictures", "", "a folder: draw every screen of the door's page into it")

// pictureLook is how pictures are made: a screen, colours and a language.
type pictureLook struct {
	screen, theme, language string
	width, height           int64
}

var pictureLooks = []pictureLook{
	{"phone", "light", "en", 360, 740}, {"phone", "dark", "en", 360, 740}, {"phone", "contrast", "en", 360, 740}, {"phone", "light", "pt-BR", 360, 740},
	{"side", "light", "en", 568, 320}, {"wide", "light", "en", 667, 375},
	{"laptop", "light", "en", 1280, 800}, {"laptop", "dark", "en", 1280, 800}, {"laptop", "contrast", "en", 1280, 800},
}

// painter draws what a browser shows.
type painter struct {
	*phone
	pictureLook
}

// TestPicturesOfTheDoor draws every screen, for eyes. It does so where a folder is given: -pictures DIR.
func TestPicturesOfTheDoor(t *testing.T) {
	if *pictures == "" {
		t.Skip("no -pictures")
	}
	for _, l := range pictureLooks {
		for name, scene := range map[string]func(*testing.T, pictureLook){
			"entering": drawEntering, "scanning": drawScanning, "away": drawAway, "long": drawLongNames, "camera": drawCamera, "console": drawConsole,
		} {
			t.Run(strings.Join([]string{l.screen, l.theme, l.language, name}, "-"), func(t *testing.T) { scene(t, l) })
		}
	}
}

// painting opens a browser of this look.
func painting(t *testing.T, l pictureLook, flags ...chromedp.ExecAllocatorOption) *painter {
	p := &painter{browse(t, flags...), l}
	p.do(emulation.SetDeviceMetricsOverride(l.width, l.height, 1, l.screen != "laptop"), network.SetExtraHTTPHeaders(network.Headers{"Accept-Language": l.language}))
	return p
}

// enters opens the page at its first screen.
func (p *painter) enters(link string) {
	p.Helper()
	p.do(chromedp.Navigate(link), chromedp.WaitVisible("#enter"),
		chromedp.Evaluate(fmt.Sprintf(`document.documentElement.dataset.theme = localStorage.theme = %q; localStorage.time = '8'`, p.theme), nil))
}

// standsAt signs in at a door.
func (p *painter) standsAt(link, door string) {
	p.Helper()
	p.enters(link)
	p.do(chromedp.SendKeys("#helper", "Bia"), chromedp.Click("#enter-ticket button"), chromedp.WaitVisible("#pick-form"), chromedp.SetValue("#door", door),
		chromedp.Click("#pick-form > button"), chromedp.WaitVisible("#code"), chromedp.Reload(), chromedp.WaitVisible("#code"))
}

// draw draws the screen.
func (p *painter) draw(name string) {
	p.Helper()
	p.fits()
	p.shoot(name)
}

func (p *painter) shoot(name string) {
	p.Helper()
	var png []byte
	p.do(chromedp.Sleep(250*time.Millisecond), chromedp.CaptureScreenshot(&png)) // the animation ends
	file := strings.Join([]string{p.screen, p.theme, p.language, name}, "-") + ".png"
	if err := os.WriteFile(filepath.Join(*pictures, file), png, 0o600); err != nil {
		p.Fatal(err)
	}
}

// leaves closes the result.
func (p *painter) leaves() {
	p.Helper()
	p.do(chromedp.Click("#result-acts > button"), chromedp.WaitNotVisible("#result"))
}

func drawEntering(t *testing.T, l pictureLook) {
	w := newFamilyTown(t)
	w.load("event", "name,start_datetime\nConferência de jovens,"+time.Now().Add(2*time.Hour).Format(time.RFC3339)+"\n")
	p := painting(t, l)
	link := w.link()
	p.enters(link)
	p.draw("enter")
	p.do(chromedp.SendKeys("#helper", "Bia"), chromedp.Click("#enter-ticket button"), chromedp.WaitVisible("#pick-form"))
	p.draw("pick")
	p.do(chromedp.SetValue("#door", "Entrance"), chromedp.Click("#pick-form > button"), chromedp.WaitVisible("#code"))
	p.draw("work-empty")
	var keys struct{ Results []key }
	w.run(&keys, "keys", "list")
	if out, err := exec.Command(w.path, "keys", "revoke", fmt.Sprint(keys.Results[len(keys.Results)-1].ID), "--data", w.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p.types("SOLO", kb.Enter)
	p.until(`document.getElementById('enter-fault').innerText !== ''`)
	p.draw("enter-ended")
	p.do(chromedp.Navigate("about:blank"), chromedp.Navigate(link), chromedp.WaitVisible("#helper"), chromedp.SendKeys("#helper", "Bia"), chromedp.Click("#enter-ticket button"))
	p.until(`document.getElementById('enter-fault').innerText !== ''`)
	p.draw("enter-used")
	var k key
	w.run(&k, "keys", "add", "--name", "Bia", "--level", "denomination", "--allow", "checkin:*")
	p.do(chromedp.Navigate("about:blank"), chromedp.Navigate(w.served.url+"/door"), chromedp.WaitVisible("#enter"), chromedp.Click("#enter-by-key summary"), chromedp.WaitVisible("#key"))
	p.draw("enter-key")
	p.do(chromedp.SendKeys("#key", k.Key), chromedp.SendKeys("#secret", k.Secret), chromedp.Click("#enter-key button"), chromedp.WaitVisible("#code"), chromedp.Click("#where"), chromedp.WaitVisible("#pick-form"))
	p.draw("pick-two")
}

func drawScanning(t *testing.T, l pictureLook) {
	w := newFamilyTown(t)
	p := painting(t, l)
	p.standsAt(w.link("--supervisor"), "North door")
	for i, scan := range []struct{ code, outcome string }{{"SOLO", "admitted"}, {"SOLO", "already_admitted"}, {"KID", "admitted"}, {"DAD", "admitted"}, {"UNPAID", "unpaid"}, {"NONE", "unknown_code"}} {
		p.types(scan.code, kb.Enter)
		p.sees(scan.outcome)
		if scan.code == "DAD" {
			p.do(chromedp.WaitVisible("#family"))
		}
		p.draw(fmt.Sprintf("scan-%d-%s", i, scan.outcome))
		if scan.code == "DAD" {
			p.do(chromedp.Click("#result-acts .primary"))
			p.until(`document.getElementById('family').hidden`)
			p.draw("scan-family-in")
		}
		p.leaves()
	}
	p.do(chromedp.Click("#last .good button"))
	p.sees("undone")
	p.draw("scan-undone")
	p.leaves()
	p.do(chromedp.Click("#where"), chromedp.WaitVisible("#pick-form"), chromedp.Click("#pick-ways input[value=out]"), chromedp.SetValue("#door", "Exit"), chromedp.Click("#pick-form > button"), chromedp.WaitVisible("#code"))
	p.types("SOLO", kb.Enter)
	p.sees("left")
	p.draw("scan-left")
	p.leaves()
	p.types("SOLO", kb.Enter)
	p.sees("not_inside")
	p.draw("scan-not-inside")
	p.leaves()
	p.until(`document.querySelectorAll('#doors li').length === 2`)
	p.draw("work-out")
	p.stands("North door", "in")
	p.types("KID", kb.Enter)
	p.sees("already_admitted")
	p.leaves()
	p.until(`document.querySelectorAll('#doors .silent').length === 1`)
	p.draw("work")
	p.do(chromedp.Evaluate(`document.getElementById('doors-title').scrollIntoView()`, nil))
	p.draw("work-doors")
	p.do(chromedp.Click("#way-search"), chromedp.WaitVisible("#find-words"), writing("#find-words", "lima"), chromedp.WaitVisible("#find-list button"))
	p.draw("find")
	p.do(chromedp.Evaluate(`document.getElementById('find-words').value = ''`, nil), writing("#find-words", "zacarias"), chromedp.WaitNotPresent("#find-list button"))
	p.draw("find-none")
	p.do(chromedp.Click("#find .close"), chromedp.Click("#menu"), chromedp.WaitVisible("#settings"))
	p.draw("settings")
}

func drawAway(t *testing.T, l pictureLook) {
	w := newFamilyTown(t)
	p := painting(t, l)
	p.standsAt(w.link(), "North door")
	p.types("SOLO", kb.Enter)
	p.sees("admitted")
	p.leaves()
	w.down()
	p.types("TEEN", kb.Enter)
	p.sees("unreachable")
	p.draw("away-scan")
	p.do(chromedp.Click("#result-acts button:last-child"), chromedp.WaitNotVisible("#result"))
	for _, code := range []string{"SOLO", "UNPAID"} {
		p.types(code, kb.Enter)
		p.sees("unreachable")
		p.leaves()
	}
	p.do(chromedp.WaitVisible("#away"))
	p.draw("away")
	w.up()
	p.until(`document.querySelectorAll('#differs-list li').length === 2 && document.getElementById('away').hidden`)
	p.draw("away-differs")
}

const longTickets = `code,type,holder_name,state,order
LONGA,Inscrição antecipada com hospedagem e alimentação completas,Wolfeschlegelsteinhausenbergerdorffvonhohenheimundaltenburg Souza,valid,PEDIDO-ANTECIPADO-2026-0000000000000000000017
LONGB,Criança acompanhada,Maria Aparecida da Conceição de Todos os Santos e Silva Pereira Souza,valid,PEDIDO-ANTECIPADO-2026-0000000000000000000017
LONGC,Voluntariado,Anticonstitucionalissimamenteotorrinolaringologistapneumon Souza,unpaid,PEDIDO-ANTECIPADO-2026-0000000000000000000017
`

// within wants the page to be no wider than the screen, and nothing that can be pressed to lie beside it.
func (p *painter) within() {
	p.Helper()
	var beside []string
	p.do(chromedp.Evaluate(`[...(document.querySelector('dialog[open]') ?? document).querySelectorAll('button, a, input')].filter(e => {
		const r = e.getBoundingClientRect();
		return e.checkVisibility() && (r.left < 0 || r.right > innerWidth || e.closest('dialog') && r.bottom > innerHeight);
	}).map(e => e.textContent).concat(document.documentElement.scrollWidth > innerWidth ? ['the page'] : [])`, &beside))
	for _, b := range beside {
		p.Errorf("beside the screen: %s", b)
	}
}

func drawConsole(t *testing.T, l pictureLook) {
	w := newFamilyTown(t)
	p := painting(t, l)
	themed := func(at string) {
		p.do(chromedp.Navigate(at+"/login"), chromedp.Evaluate(fmt.Sprintf(`localStorage.theme = %q`, p.theme), nil))
	}
	themed(w.served.url)
	shot := map[string]int{}
	p.tourConsole(w, func(state string) {
		p.do(chromedp.Evaluate(`scrollTo(0, 0)`, nil))
		p.within()
		p.shoot("console-" + strings.ReplaceAll(state, " ", "-"))
		shot[state]++
	})
	if len(shot) < 7 {
		t.Errorf("the tour was %v", shot)
	}
	long := newTown(t, "name\nEncontro interdenominacional de adoração e responsabilidade e Anticonstitucionalissimamenteotorrinolaringologistapneumonia\n", longTickets)
	long.down()
	var err error
	if long.served, err = long.start("--listen=127.0.0.1:"+long.port, "--public-url=http://127.0.0.1:"+long.port+"/congregations/doorward"); err != nil {
		t.Fatal(err)
	}
	at := long.served.url + "/congregations/doorward"
	themed(at)
	p.entersConsole(at, long.laptopKey("checkin:*,admin:POST"))
	p.within()
	p.shoot("console-long")
	p.do(chromedp.Click("[data-role=supervisor]"))
	p.until(`document.querySelector('#phone.ready path[d]') !== null`)
	p.within()
	p.shoot("console-long-code")
}

func drawLongNames(t *testing.T, l pictureLook) {
	w := newTown(t, "name,list_rule,notices\nEncontro interdenominacional de adoração e responsabilidade,reentry,\"{\"\"Criança acompanhada\"\":\"\"Peça a autorização assinada pelos pais ou pelo responsável legal e confira o documento\"\"}\"\n", longTickets)
	p := painting(t, l)
	p.standsAt(w.link("--supervisor"), "Estacionamento subterrâneo junto à Otorrinolaringologia, 3º")
	p.types("LONGC", kb.Enter)
	p.sees("unpaid")
	p.draw("long-refused")
	p.leaves()
	p.types("LONGB", kb.Enter)
	p.do(chromedp.WaitVisible("#family"))
	p.draw("long-family")
	p.do(chromedp.Click("#result-acts .primary"))
	p.until(`document.getElementById('family').hidden`)
	p.draw("long-notice")
	p.leaves()
	p.stands("Pneumoultramicroscopicossilicovulcanoconiótico-corredor-nort", "in")
	p.types("LONGA", kb.Enter)
	p.sees("already_admitted")
	p.draw("long-already")
	p.leaves()
	p.until(`document.querySelectorAll('#doors li').length === 2`)
	p.draw("long-work")
	p.do(chromedp.Evaluate(`document.getElementById('doors-title').scrollIntoView()`, nil))
	p.draw("long-doors")
	p.do(chromedp.Click("#way-search"), chromedp.WaitVisible("#find-words"), writing("#find-words", "souza"), chromedp.WaitVisible("#find-list button"))
	p.draw("long-find")
	p.do(chromedp.Click("#find .close"), chromedp.Click("#where"), chromedp.WaitVisible("#pick-form"))
	p.draw("long-pick")
}

func drawCamera(t *testing.T, l pictureLook) {
	w := newFamilyTown(t).secured()
	film := filepath.Join(t.TempDir(), "film.y4m")
	drawFilm(t, film, "SOLO")
	p := painting(t, l, finding, chromedp.Flag("use-fake-device-for-media-stream", true), chromedp.Flag("use-fake-ui-for-media-stream", true), chromedp.Flag("use-file-for-fake-video-capture", film))
	p.standsAt(far(w.link()), "North door")
	p.do(chromedp.Click("#way-camera"), chromedp.WaitVisible("#eye-trust a"))
	p.draw("camera-http")
	blank := filepath.Join(t.TempDir(), "blank.png")
	drawBlank(t, blank)
	said := `document.getElementById('eye-says').innerText`
	var before string
	p.do(chromedp.Evaluate(said, &before), chromedp.SetUploadFiles("#photo", []string{blank}))
	p.until(fmt.Sprintf(`document.getElementById('eye-trust').hidden || %s !== %q && !%s.includes('…')`, said, before, said))
	p.draw("photo-none")
	p.do(chromedp.Navigate(far(w.served.url)+"/door/trust"), chromedp.WaitVisible("a.primary"))
	p.shoot("trust")
	p.do(chromedp.Navigate(far(w.served.url)+"/door/help"), chromedp.WaitVisible(".guide"))
	p.shoot("guide")
	p.do(emulation.SetDeviceMetricsOverride(l.width, 3*l.height, 1, l.screen != "laptop"))
	p.shoot("guide-whole")
	p = painting(t, l, chromedp.Flag("use-fake-device-for-media-stream", true), chromedp.Flag("use-fake-ui-for-media-stream", true), chromedp.Flag("use-file-for-fake-video-capture", film))
	p.standsAt(w.link(), "North door")
	p.do(chromedp.Click("#way-camera"))
	p.sees("admitted")
	p.leaves()
	p.do(chromedp.WaitVisible("#video"))
	p.draw("camera")
}
