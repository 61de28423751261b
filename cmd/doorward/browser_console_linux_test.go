package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"doorward/kv/kvtest/proof"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The console of the people at the laptop, in a real browser against the real program.

// laptopKey is a key for the console of the town's event.
func (w *doorTown) laptopKey(allow string) (k key) {
	w.Helper()
	w.run(&k, "keys", "add", "--name", "Laptop <b>", "--level", "event:1", "--allow", allow)
	return k
}

// endedKey is a key that has expired.
func (w *doorTown) endedKey() (k key) {
	w.Helper()
	w.run(&k, "keys", "add", "--name", "Old", "--level", "event:1", "--expires", "1s")
	for status := 0; status != http.StatusUnauthorized; time.Sleep(50 * time.Millisecond) {
		req, err := http.NewRequest(http.MethodGet, w.served.url+"/v1/events/", nil)
		if err != nil {
			w.Fatal(err)
		}
		req.SetBasicAuth(k.Key, k.Secret)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			w.Fatal(err)
		}
		_ = resp.Body.Close() // only its status is looked at
		status = resp.StatusCode
	}
	return k
}

// entersConsole opens the server's first page, and signs in where it leads.
func (p *phone) entersConsole(at string, k key) {
	p.Helper()
	p.do(chromedp.Navigate(at+"/"), chromedp.WaitVisible("#login"), chromedp.SendKeys("#key", k.Key), chromedp.SendKeys("#secret", k.Secret),
		chromedp.Click("#login button"), chromedp.WaitVisible("#console"))
}

// showsCode waits for a code, and returns the address that it holds: the server reads it off a picture of the screen, as off a phone's.
func (p *phone) showsCode(w *doorTown, k key) (address string) {
	p.Helper()
	var written string
	var picture []byte
	p.until(`document.querySelector('#phone.ready[open] path[d]') !== null`)
	p.do(chromedp.TextContent("#phone-links li", &written), chromedp.Screenshot("#phone-code", &picture))
	r, err := http.NewRequest(http.MethodPost, w.served.url+"/door/v1/decode/", bytes.NewReader(picture))
	if err != nil {
		p.Fatal(err)
	}
	r.Header.Set("Content-Type", "image/png")
	r.SetBasicAuth(k.Key, k.Secret)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	defer resp.Body.Close()
	var read struct{ Codes []struct{ Text string } }
	if err := json.NewDecoder(resp.Body).Decode(&read); err != nil || len(read.Codes) != 1 || read.Codes[0].Text != written {
		p.Fatalf("the code holds %+v (%v), and the page says %s", read, err, written)
	}
	return written
}

// TestTheConsoleLetsAPhoneIn: by keyboard alone from the login to the code, which a phone opens and scans with.
func TestTheConsoleLetsAPhoneIn(t *testing.T) {
	t.Parallel()
	w := newFamilyTown(t)
	k := w.laptopKey("checkin:*,admin:POST")
	old := w.endedKey()
	p := browse(t)
	p.still("light")
	p.do(emulation.SetDeviceMetricsOverride(667, 375, 2, true), chromedp.Navigate(w.served.url+"/"), chromedp.WaitVisible("#login")) // a phone on its side
	p.at("#key")
	p.presses(k.Key, kb.Tab)
	p.at("#secret")
	p.presses("wrong", kb.Enter)
	p.until(`document.getElementById('fault').textContent === 'Key or secret is wrong.'`)
	p.announced("alert", "Key or secret is wrong.")
	p.at("#secret")
	p.until(`document.getElementById('fault').getBoundingClientRect().top > -1`)
	p.do(chromedp.SetValue("#key", old.Key))
	p.presses(old.Secret, kb.Enter)
	p.until(`document.getElementById('fault').textContent === 'This key has expired. Ask for a new one.'`)
	p.do(chromedp.SetValue("#key", k.Key))
	p.presses(k.Secret, kb.Enter)
	p.do(chromedp.WaitVisible("#console"))
	p.until(`document.querySelector('h2').textContent === 'Acampamento de verão 2026' && document.querySelector('header .quiet').textContent === 'Laptop <b>'`)
	p.tabs("[data-role=steward]")
	p.presses(kb.Enter)
	p.at("#phone-close")
	link := p.showsCode(w, k)
	p.announced("status", "Works once, on one phone, until")
	if !strings.HasPrefix(link, w.served.url+"/door#") {
		t.Errorf("the address is %s, and the server is at %s", link, w.served.url)
	}
	helper := browse(t)
	helper.signIn(link, "Bia")
	helper.types("SOLO", kb.Enter)
	helper.sees("admitted", "Ana S.")
	p.until(`document.querySelector('[data-of=in]').textContent === '1' && document.querySelector('[data-of=expected]').textContent === '8'`)

	p.back()
	p.at("#phone-next")
	p.presses(space)
	p.until(fmt.Sprintf(`document.querySelector('#phone.ready li') && document.querySelector('#phone li').textContent !== %q`, link))
	next := p.showsCode(w, k)
	p.presses(kb.Escape)
	p.at("[data-role=steward]")
	p.until(`document.querySelector('#phone li') === null`) // the close comes after the focus
	var page, address string
	p.do(chromedp.OuterHTML("html", &page), chromedp.Location(&address))
	for _, shown := range []string{link, next} {
		if _, secret, _ := strings.Cut(shown, "#"); strings.Contains(page+address, secret) {
			t.Errorf("the page at %s still has the secret", address)
		}
	}
	p.tabs("[data-role=supervisor]")
	p.presses(space)
	boss := browse(t)
	boss.signIn(p.showsCode(w, k), "Caio")
	boss.do(chromedp.Click("#menu"))
	boss.until(`document.getElementById('settings-who').textContent === 'Signed in as Caio (Supervisor).'`)
	p.presses(kb.Enter) // closes it
	p.tabs("#leave")
	p.presses(space)
	p.do(chromedp.WaitVisible("#login"))
	p.at("#key")
	p.do(chromedp.Navigate(w.served.url+"/"), chromedp.WaitVisible("#login"))
}

// TestTheConsoleEndsWithItsKey: the page goes back to the login by itself, and says what it cannot do.
func TestTheConsoleEndsWithItsKey(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w := newFamilyTown(t)
	may, mayNot := w.laptopKey("checkin:*,admin:POST"), w.laptopKey("checkin:*")
	p, q := browse(t), browse(t)
	p.entersConsole(w.served.url, may)
	q.entersConsole(w.served.url, mayNot)
	q.until(`document.querySelector('.event').innerText.includes('may not let phones in') && document.querySelector('[data-role]') === null`)
	q.do(chromedp.Click("nav a[href='/door']"), chromedp.WaitVisible("#pick-form"), chromedp.Navigate("about:blank"), chromedp.Navigate(w.served.url+"/login"), chromedp.WaitVisible("#console")) // it is signed in
	const lies = `document.querySelector('[data-role=steward]').getBoundingClientRect().top`
	p.run(`near = ` + lies)
	w.down()
	p.until(`document.getElementById('away').textContent !== '' && ` + lies + ` === near`) // no tap goes to another button
	p.do(chromedp.Click("[data-role=steward]"))
	p.until(`document.getElementById('phone-fault').textContent.includes('does not answer') && document.querySelector('#phone path[d]') === null`)
	w.up()
	p.until(`document.getElementById('away').textContent === ''`)
	p.do(chromedp.Click("#phone-next"))
	p.showsCode(w, may)
	p.do(emulation.SetDeviceMetricsOverride(568, 320, 2, true)) // the phone lies on its side: nothing of the code is cut off
	p.until(`[...document.querySelectorAll('#phone-code, #phone button')].every(e => e.getBoundingClientRect().top > 0 && e.getBoundingClientRect().bottom < innerHeight)`)
	if out, err := exec.Command(w.path, "keys", "revoke", fmt.Sprint(may.ID), "--data", w.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p.do(chromedp.WaitVisible("#login"))
}

// TestTheConsoleSignsOutWithItsServer alone: a page that went to the login without it would be signed in when the server is back.
func TestTheConsoleSignsOutWithItsServer(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w := newFamilyTown(t)
	p := browse(t)
	p.do(onEachPage(pauses))
	p.entersConsole(w.served.url, w.laptopKey("checkin:*"))
	p.until(`rests === 1`)
	w.down()
	p.do(chromedp.Click("#leave"))
	p.until(`document.getElementById('away').textContent.includes('does not answer')`)
	w.up()
	p.do(chromedp.Click("#leave"), chromedp.WaitVisible("#login"), chromedp.Navigate(w.served.url+"/"), chromedp.WaitVisible("#login"))
}

// pauses has the console's page, in window, count what it asks for (asked) and its pauses before the next look (rests), which last for pause
// milliseconds. It is hidden while unseen is true.
const pauses = `(() => {
	const send = window.fetch, wait = window.setTimeout;
	Object.assign(window, {asked: 0, rests: 0, pause: 1e9, unseen: false});
	window.fetch = (path, options) => {
		if (String(path).endsWith('/status/')) asked++;
		return send(path, options);
	};
	window.setTimeout = (act, after) => wait(act, act.name === 'follow' ? (rests++, pause) : after);
	Object.defineProperty(document, 'hidden', {get: () => unseen});
	window.turn = hidden => { unseen = hidden; document.dispatchEvent(new Event('visibilitychange')); };
})()`

// TestAHiddenConsoleDoesNotAsk for its counts, and one that is shown again asks at once.
func TestAHiddenConsoleDoesNotAsk(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w := newFamilyTown(t)
	p := browse(t)
	p.do(onEachPage(pauses))
	p.entersConsole(w.served.url, w.laptopKey("checkin:*"))
	p.until(`asked === 1 && rests === 1`)
	p.run(`turn(true); turn(false)`)
	p.until(`asked === 2 && rests === 2`)
	p.run(`pause = 1; turn(true); turn(false)`)
	p.until(`asked > 5`)
	p.run(`turn(true)`)
	p.until(`asked === rests`) // what was under way has ended: a pause comes after each look
	var more int
	p.do(chromedp.Evaluate(`new Promise(done => {
		const before = asked + rests;
		setTimeout(() => done(asked + rests - before), 300);
	})`, &more, awaited))
	if more > 0 {
		t.Errorf("a hidden console asks or waits to ask %d times", more)
	}
	p.run(`pause = 1e9; turn(false)`)
	p.until(`asked > 6`)
}

// TestTheConsoleLiesBelowThePublicURL, and speaks the language that was chosen.
func TestTheConsoleLiesBelowThePublicURL(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w := newTown(t, "name\n\"<img src=x onerror=alert(1)> & <b>Louvor</b>\"\n", doorTickets)
	k := w.laptopKey("checkin:*,admin:POST")
	w.down()
	var err error
	if w.served, err = w.start("--listen=127.0.0.1:"+w.port, "--public-url=http://127.0.0.1:"+w.port+"/doorward"); err != nil {
		t.Fatal(err)
	}
	p := browse(t)
	at := "http://127.0.0.1:" + w.port + "/doorward"
	p.do(network.SetExtraHTTPHeaders(network.Headers{"Accept-Language": "en"}), chromedp.Navigate(at), chromedp.WaitVisible("#login"), chromedp.Click("a[hreflang='pt-BR']"),
		chromedp.WaitVisible("html[lang='pt-BR'] #login"), chromedp.SendKeys("#key", k.Key), chromedp.SendKeys("#secret", k.Secret), chromedp.Click("#login button"),
		chromedp.WaitVisible("html[lang='pt-BR'] #console"))
	p.until(fmt.Sprintf(`location.href === %q && document.querySelector('h2').textContent === '<img src=x onerror=alert(1)> & <b>Louvor</b>'`, at+"/?language=pt-BR"))
	p.do(chromedp.Click("[data-role=steward]"))
	w.served.url = at
	link := p.showsCode(w, k)
	if !strings.HasPrefix(link, at+"/door#") {
		t.Errorf("the address is %s", link)
	}
	p.until(`document.getElementById('phone-good').textContent.startsWith('Vale uma vez')`)
	helper := browse(t)
	helper.signIn(link, "Bia")
	helper.types("K7QP2M", kb.Enter)
	helper.sees("admitted", "Ana S.")
	p.run(`document.querySelector('[data-event]').dataset.event = 9`) // the page is older than the end of its event
	p.do(chromedp.Click("#phone-next"))
	p.until(`document.getElementById('phone-fault').textContent === 'Este evento não existe mais. Recarregue a página.'`)
}

// tourConsole goes through every state of the console and of its login. look is called in each.
func (p *phone) tourConsole(w *doorTown, look func(state string)) {
	p.Helper()
	w.load("event", "name,start_datetime\nRetiro,"+time.Now().Add(90*24*time.Hour).Format(time.RFC3339)+"\n")
	var admin key
	w.run(&admin, "keys", "add", "--name", "admin", "--level", "denomination", "--allow", "*:*")
	at := w.served.url
	p.do(chromedp.Navigate(at+"/"), chromedp.WaitVisible("#login"))
	look("the login")
	p.do(chromedp.SendKeys("#key", "dw_none"), chromedp.SendKeys("#secret", "wrong"), chromedp.Click("#login button"))
	p.until(`document.getElementById('fault').textContent !== ''`)
	look("a wrong key at the login")
	p.entersConsole(at, w.laptopKey("checkin:*"))
	look("the console of a key that lets no phone in")
	p.do(chromedp.Click("#leave"), chromedp.WaitVisible("#login"))
	p.entersConsole(at, admin)
	p.do(chromedp.Click("details summary"))
	look("the console")
	p.do(chromedp.Click("[data-role=steward]"))
	p.until(`document.querySelector('#phone.ready path[d]') !== null`)
	look("a code for a phone")
	w.down()
	p.do(chromedp.Click("#phone-next"))
	p.until(`document.getElementById('phone-fault').textContent !== ''`)
	look("no code for a phone")
	p.do(chromedp.Click("#phone-close"))
	p.until(`document.getElementById('away').textContent !== ''`)
	look("the console without its server")
	w.up()
}

// TestACodeIsOfTheRoleThatWasChosenLast: the answer to the one before comes late.
func TestACodeIsOfTheRoleThatWasChosenLast(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w := newFamilyTown(t)
	p := browse(t)
	k := w.laptopKey("checkin:*,admin:POST")
	p.entersConsole(w.served.url, k)
	p.run(lateAnswers + `; late = '/door/ticket'`)
	p.do(chromedp.Click("[data-role=supervisor]"))
	p.until(`held`)
	p.do(chromedp.Click("#phone-close"), chromedp.Click("[data-role=steward]"))
	link := p.showsCode(w, k)
	p.do(chromedp.Evaluate(`release(); fetch('/healthz').then(() => new Promise(done => setTimeout(() => done(true))))`, nil, awaited))
	if now := p.showsCode(w, k); now != link {
		t.Errorf("the code has changed from %s to %s", link, now)
	}
}
