package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doorward/kv/kvtest/proof"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/skip2/go-qrcode"
)

// The way from http to https in a real browser, which does or does not trust the laptop's own authority.

// secured gives the laptop an authority, and starts it again.
func (w *doorTown) secured() *doorTown {
	w.Helper()
	w.down()
	var made trusted
	w.run(&made, "tls", "init", "--name", laptopName)
	w.up()
	return w
}

// far is an address of the laptop as a phone has it, which is not of the phone's own machine.
func far(address string) string { return strings.Replace(address, "127.0.0.1", laptopName, 1) }

// finding has every browser find the laptop by its name, as multicast DNS does.
var finding = chromedp.Flag("host-resolver-rules", "MAP "+laptopName+" 127.0.0.1")

// trusting gives a browser the authority, as the page tells the owner of a phone.
func (w *doorTown) trusting() chromedp.ExecAllocatorOption {
	w.Helper()
	if _, err := exec.LookPath("certutil"); err != nil {
		proof.Missing(w, "certutil is missing: %v", err)
	}
	home := w.TempDir()
	store, file := "sql:"+filepath.Join(home, ".pki", "nssdb"), filepath.Join(home, "doorward.crt")
	if err := os.MkdirAll(filepath.Join(home, ".pki", "nssdb"), 0o700); err != nil {
		w.Fatal(err)
	}
	for _, args := range [][]string{
		{"curl", "-sS", "-o", file, w.served.url + "/door/trust/doorward.crt"},
		{"certutil", "-N", "-d", store, "--empty-password"},
		{"certutil", "-A", "-d", store, "-n", "doorward", "-t", "C,,", "-i", file},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			w.Fatalf("%s: %v: %s", args, err, out)
		}
	}
	return chromedp.Env("HOME=" + home)
}

// refuses has a browser refuse the page over http its storage.
const refuses = `if (location.protocol === 'http:') {
	Object.defineProperty(window, 'localStorage', {value: null});
	IDBFactory.prototype.open = () => { throw new DOMException('denied', 'SecurityError'); };
}`

// TestAPhoneThatTrustsTheLaptopGetsTheCamera: the QR code is of http, and the page goes to https by itself, also in a phone that keeps nothing.
func TestAPhoneThatTrustsTheLaptopGetsTheCamera(t *testing.T) {
	w := newDoorTown(t).secured()
	film := filepath.Join(t.TempDir(), "film.y4m")
	drawFilm(t, film, "K7QP2M")
	p := browse(t, w.trusting(), chromedp.Flag("use-fake-device-for-media-stream", true), chromedp.Flag("use-fake-ui-for-media-stream", true),
		chromedp.Flag("use-file-for-fake-video-capture", film))
	p.signIn(far(w.link()), "Bia")
	var at string
	p.do(chromedp.Location(&at))
	if want := far(strings.Replace(w.served.url, "http://", "https://", 1)) + "/door"; at != want {
		t.Errorf("the page is at %s, want %s", at, want)
	}
	p.do(chromedp.Click("#way-camera"))
	p.sees("admitted", "Ana S.")
	p.do(onEachPage(refuses), chromedp.Navigate(far(w.link())), chromedp.WaitVisible("#helper"))
	p.until(`location.protocol === 'https:'`)
}

// TestAPhoneThatDoesNotTrustTheLaptopScansWithoutACamera: it stays at http, says in one sentence why there is no camera, and shows the way.
func TestAPhoneThatDoesNotTrustTheLaptopScansWithoutACamera(t *testing.T) {
	w := newDoorTown(t).secured()
	p := browse(t)
	p.signIn(far(w.link()), "Bia")
	p.types("K7QP2M", kb.Enter)
	p.sees("admitted", "Ana S.")
	p.next()
	photo := filepath.Join(t.TempDir(), "photo.png")
	if err := qrcode.WriteFile("B2XX91", qrcode.Medium, 300, photo); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.SetUploadFiles("#photo", []string{photo}))
	p.sees("admitted", "Bia S.")
	p.next()
	p.do(chromedp.Click("#way-camera"), chromedp.WaitVisible("#eye-trust a"))
	p.until(`document.getElementById('eye-says').innerText.includes('set this phone up once')`)
	p.do(chromedp.Click("#eye-trust a"), chromedp.WaitVisible(`a[href$="doorward.crt"]`))
	for _, language := range []string{"pt-BR", "en"} {
		p.do(chromedp.Click(fmt.Sprintf("a[hreflang='%s']", language)), chromedp.WaitReady(fmt.Sprintf("html[lang='%s'] a[href$='doorward.crt']", language)))
	}
}

// remembers changes the scans that wait in a phone, by a call of their object store.
func remembers(call string) chromedp.Action {
	return chromedp.Evaluate(`new Promise(done => {
		indexedDB.open('doorward').onsuccess = e => {
			const t = e.target.result.transaction('scans', 'readwrite');
			t.objectStore('scans').`+call+`;
			t.oncomplete = () => done(true);
		};
	})`, nil, awaited)
}

// TestAPhoneMovesToHTTPSOnceItsScansAreHandedIn: what waits in the phone over http is not seen over https, so the page neither goes there nor
// shows the way while a scan waits.
func TestAPhoneMovesToHTTPSOnceItsScansAreHandedIn(t *testing.T) {
	w := newDoorTown(t).secured()
	trusting := w.trusting() // asks the laptop
	waits := `innerText.includes('handed in first')`
	p := browse(t, finding)
	p.signIn(far(w.link()), "Bia")
	w.down()
	p.types("K7QP2M", kb.Enter)
	p.sees("unreachable")
	p.next()                                                                      // let in
	p.until(`document.getElementById('away').innerText.includes('1 scan waits')`) // it moves what is tapped
	p.do(chromedp.Click("#way-camera"))
	p.until(`document.getElementById('eye-says').` + waits)
	p.do(chromedp.WaitNotVisible("#eye-trust"))
	// A scan that a helper has to decide stays when the laptop is back, and no page is open that hands in the other.
	p.do(remembers(`put({nonce: 'held', event: 1, name: 'Festa & <b>Louvor</b>', code: 'B2XX91', at: new Date().toISOString(), door: 'Entrance', direction: 'in', let_in: false})`))
	p.do(chromedp.Navigate("about:blank"))
	w.up()
	p.do(chromedp.Navigate(far(w.served.url)+"/door/trust"), chromedp.WaitVisible("#first"), chromedp.WaitNotVisible("#secure"))
	p.until(`document.getElementById('first').` + waits)
	p.until(`document.getElementById('first').innerText.endsWith('2 scans wait for Festa & <b>Louvor</b>.')`)
	p.do(remembers(`clear()`), chromedp.Reload(), chromedp.WaitVisible("#secure"), chromedp.WaitNotVisible("#first"))

	q := browse(t, trusting, finding) // the phone trusts the laptop only now, with a scan in its queue
	q.do(chromedp.Navigate(far(w.served.url)+"/door"), chromedp.WaitVisible("#enter"), remembers(`put({nonce: 'kept', event: 1, code: 'B2XX91', at: new Date().toISOString(), door: 'Entrance', direction: 'in', let_in: true})`), chromedp.Navigate("about:blank"), chromedp.Navigate(far(w.link())), chromedp.WaitVisible("#helper"))
	q.until(`location.protocol === 'http:' && document.getElementById('enter-kept').` + waits)
}

// TestWithoutAnAuthorityThePageOffersNoWayToOne.
func TestWithoutAnAuthorityThePageOffersNoWayToOne(t *testing.T) {
	w := newDoorTown(t)
	p := browse(t)
	w.down()
	var err error
	if w.served, err = w.start("--listen=127.0.0.1:"+w.port, "--allowed-host="+laptopName); err != nil {
		t.Fatal(err)
	}
	p.signIn(far(w.link()), "Bia")
	p.do(chromedp.Click("#way-camera"))
	p.until(`document.getElementById('eye-says').innerText.includes('Take a photo instead')`)
	p.do(chromedp.WaitNotVisible("#eye-trust"))
}

// hostileNames are texts that do something to a page that reads them as HTML, as a script, or as an address.
var hostileNames = []string{
	`<img src=x onerror=alert(1)>`, `"><script>alert(1)</script>`, `'-alert(1)-'`, `</textarea><svg onload=alert(1)>`, `{{.Base}}`, `${alert(1)}`, `javascript:alert(1)`,
	"\u202eevil", `<a href="https://evil.example">x</a>`, `&lt;b&gt;&amp;`, `<link rel=stylesheet href=//evil.example/x.css>`, `<base href=//evil.example>`,
}

// hostileTown is an event in which every name does something to a page that does not take it for text. Each ticket is of a type of its own, and
// each type has a notice.
func hostileTown(t *testing.T) *doorTown {
	t.Helper()
	w := newDoorTown(t).secured()
	notices := map[string]string{}
	for _, name := range hostileNames {
		notices[name] = name + " look"
	}
	lines := []map[string]any{{"kind": "event", "id": 1, "name": strings.Join(hostileNames[:4], " "), "notices": notices}}
	for i, name := range hostileNames {
		lines = append(lines, map[string]any{"kind": "ticket", "event_id": 1, "code": fmt.Sprintf("EVIL%02d%s", i, name), "type": name, "order": name, "holder_name": name + " Souza"},
			map[string]any{"kind": "ticket", "event_id": 1, "code": fmt.Sprintf("KIN%02d", i), "type": name, "order": "<b>'\"&", "holder_name": name + " Souza"})
	}
	rows := ""
	for _, line := range lines {
		row, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		rows += string(row) + "\n"
	}
	w.give(rows)
	return w
}

// aliens wants no element in the page that a name has made.
func (p *phone) aliens() {
	p.Helper()
	var alien int
	p.do(chromedp.Evaluate(`document.querySelectorAll('img:not([src$="/door/assets/icon.svg"]), svg:not(.drawn, .signs), base, iframe, main a[href*=evil], script:not([src])').length`, &alien))
	if alien != 0 {
		p.Errorf("%d elements of names are in the page", alien)
	}
}

// TestNoNameDoesAnythingToThePage: names of events, types, doors, helpers and guests, notices, orders and codes are shown as they are on every page.
func TestNoNameDoesAnythingToThePage(t *testing.T) {
	w := hostileTown(t)
	p := browse(t)
	p.do(chromedp.Navigate(far(w.link())), chromedp.WaitVisible("#helper"), chromedp.SendKeys("#helper", hostileNames[1]), chromedp.Click("#enter-ticket button"),
		chromedp.WaitVisible("#pick-form"), chromedp.SetValue("#door", hostileNames[0]), chromedp.Click("#pick-form > button"), chromedp.WaitVisible("#code"))
	for i, name := range hostileNames {
		p.do(chromedp.SetValue("#code", fmt.Sprintf("EVIL%02d%s", i, name)), chromedp.Click("#scan button"))
		p.sees("admitted", name, name+" look")
		p.next()
	}
	p.do(chromedp.SetValue("#code", "KIN00"), chromedp.Click("#scan button"), chromedp.WaitVisible("#family"))
	for _, name := range hostileNames[1:] {
		p.sees("admitted", name+" · "+name+" look")
	}
	p.aliens()
	p.do(chromedp.Click("#result-acts .primary"))
	p.until(`document.getElementById('family').hidden`)
	p.sees("admitted", hostileNames[0]+" look · "+hostileNames[1]+" look")
	p.aliens()
	p.next()
	p.do(chromedp.SetValue("#code", hostileNames[0]), chromedp.Click("#scan button"))
	p.sees("unknown_code")
	p.next()
	p.do(chromedp.Click("#way-search"), chromedp.WaitVisible("#find-words"), writing("#find-words", "souza"), chromedp.WaitVisible("#find-list li"),
		chromedp.Click("#find .close"))
	p.until(`document.getElementById('doors').innerText.includes('<img src=x')`)
	p.do(chromedp.Click("#menu"), chromedp.WaitVisible("#settings-who"))
	p.until(`document.getElementById('settings-who').innerText.includes('<script>')`)
	p.do(chromedp.Click("#settings .close"))
	w.down() // what waits in the phone is shown too
	p.do(chromedp.SetValue("#code", hostileNames[3]), chromedp.Click("#scan button"))
	p.sees("unreachable")
	p.do(chromedp.Click("#result-acts button:last-child"), chromedp.WaitVisible("#waiting-list button"))
	p.do(remembers(`put({nonce: 'old', event: 99, name: '<img src=x onerror=alert(1)>', code: 'X', at: new Date().toISOString(), door: 'Entrance', let_in: true})`))
	p.aliens()
	w.up()
	p.do(chromedp.Reload())
	p.until(`document.getElementById('elsewhere').innerText.includes('1 scan for <img src=x onerror=alert(1)> is still kept')`)
	p.aliens()
}

// TestNoOtherPageFramesThePages: a page of another origin cannot put the door's page, or the one that installs the authority, behind a click.
func TestNoOtherPageFramesThePages(t *testing.T) {
	w := newDoorTown(t).secured()
	for _, path := range []string{"/door", "/door/trust", "/door/help"} {
		p := browse(t)
		trap := filepath.Join(t.TempDir(), "trap.html")
		if err := os.WriteFile(trap, []byte(`<iframe id="in" src="`+far(w.served.url)+path+`"></iframe>`), 0o600); err != nil {
			t.Fatal(err)
		}
		p.do(chromedp.Navigate("file://"+trap), chromedp.WaitReady("#in"))
		p.until(`performance.getEntriesByType('resource').some(e => e.initiatorType === 'iframe')`)
		said := p.faulted()
		for ends := time.Now().Add(scriptPatience); !strings.Contains(said, "frame-ancestors") && time.Now().Before(ends); time.Sleep(20 * time.Millisecond) { // it may be told later
			said += p.faulted()
		}
		if !strings.Contains(said, "frame-ancestors") {
			t.Errorf("%s is shown in the frame of another page; the browser says %q", path, said)
		}
	}
}
