package main

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"doorward/kv/kvtest/proof"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// What doors do beyond a scan: families, notices, ways out, roles, languages, and a laptop that is out of reach.

const familyTickets = `code,type,holder_name,state,order
SOLO,Adult,Ana Souza,valid,
DAD,Adult,Caio Lima,valid,PEDIDO-7
MUM,Adult,Dora Lima,valid,PEDIDO-7
TEEN,Youth,Eva Lima,valid,PEDIDO-7
KID,Child,Gil Rocha,valid,
BABY,Child,Fabio Lima,valid,PEDIDO-7
AUNT,Adult,Helena Lima,unpaid,PEDIDO-7
UNPAID,Adult,Iris Melo,unpaid,
`

// newFamilyTown is a server with an event that marks children and lets its guests out and in again.
func newFamilyTown(t *testing.T) *doorTown {
	t.Helper()
	return newTown(t, "name,list_rule,notices\nAcampamento de verão 2026,reentry,\"{\"\"Child\"\":\"\"Ask for the guardian's slip\"\"}\"\n", familyTickets)
}

// familyDoor is such a server, and the phone of a helper at its door.
func familyDoor(t *testing.T) (*doorTown, *phone) {
	t.Helper()
	w, p := newFamilyTown(t), browse(t)
	p.signIn(w.link(), "Bia")
	return w, p
}

// awaited has an expression's promise awaited.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// fits wants nothing that can be tapped to lie beside the screen, and the page not to be wider than it.
func (p *phone) fits() {
	p.Helper()
	var beside []string
	p.do(chromedp.Evaluate(`(() => {
		const cover = document.querySelector('dialog[open]') ?? (document.getElementById('result').hidden ? document.body : document.getElementById('result'));
		const out = [...cover.querySelectorAll('button, input, label, a, select')].filter(e => {
			const r = e.getBoundingClientRect();
			return r.width > 1 && e.checkVisibility() && (r.left < 0 || r.right > visualViewport.width + 0.5);
		}).map(e => e.id + ' ' + e.textContent.trim());
		if (document.documentElement.scrollWidth > visualViewport.width + 0.5) out.push('the page is ' + document.documentElement.scrollWidth + ' of ' + visualViewport.width);
		if (cover.id === 'result') for (const b of cover.querySelectorAll('.acts button')) {
			const r = b.getBoundingClientRect();
			if (r.bottom > visualViewport.height + 0.5) out.push(b.textContent + ' ends at ' + r.bottom + ' of ' + visualViewport.height + ', ' + innerWidth + 'x' + innerHeight + ' ' + cover.getBoundingClientRect().width + ' ' + document.body.getBoundingClientRect().width);
		}
		return out;
	})()`, &beside))
	for _, b := range beside {
		p.Errorf("beside the screen: %s", b)
	}
}

// TestLargeLettersKeepNamesWhole: a helper has set the letters twice as large. The rows of scans, doors and found tickets keep room for names.
func TestLargeLettersKeepNamesWhole(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w, p := familyDoor(t)
	p.run(`document.documentElement.style.fontSize = '32px'`)
	p.types("SOLO", kb.Enter)
	p.sees("admitted")
	p.next()
	p.types("SOLO", kb.Enter)
	p.sees("already_admitted")
	p.until(`document.getElementById('result-more').getBoundingClientRect().top + 60 < document.querySelector('.face').getBoundingClientRect().bottom`) // its first line
	p.next()
	wide := `[...document.querySelectorAll('%s .scan-text')].map(e => e.getBoundingClientRect().width).filter(wide => wide > 0 && wide < 160).length === 0`
	p.until(`document.querySelector('#last li') && document.querySelector('#doors li')`)
	p.until(fmt.Sprintf(wide, "#work"))
	p.fits()
	p.do(chromedp.Click("#way-search"), chromedp.WaitVisible("#find-words"), writing("#find-words", "lima"), chromedp.WaitVisible("#find-list button"))
	p.until(fmt.Sprintf(wide, "#find"))
	p.fits()
	p.do(chromedp.Click("#find .close"), chromedp.WaitNotVisible("#find"))
	p.types("DAD", kb.Enter)
	p.do(chromedp.WaitVisible("#family"))
	p.until(`document.querySelector('.kin').getBoundingClientRect().top + 40 < document.querySelector('.face').getBoundingClientRect().bottom`) // a name
	p.do(chromedp.Click("#result-acts button:nth-child(2)"), chromedp.WaitNotVisible("#result"))
	w.down()
	p.keepsOut("MUM")
	p.do(chromedp.WaitVisible("#away"))
	p.until(`document.getElementById('away').getBoundingClientRect().height < visualViewport.height / 2`)
}

// paints wants the result to have a colour and a tune.
func (p *phone) paints(colour, tune string) {
	p.Helper()
	if c, s := p.looks(); c != colour || s != tune {
		p.Errorf("the result looks %s and sounds %s, want %s and %s", c, s, colour, tune)
	}
}

const (
	green, purple, red, orange, blue = "rgb(31, 122, 61)", "rgb(107, 47, 160)", "rgb(180, 35, 24)", "rgb(180, 83, 9)", "rgb(29, 79, 145)"
)

// stands goes to a door that leads a way.
func (p *phone) stands(door, way string) {
	p.Helper()
	p.do(chromedp.Click("#where"), chromedp.WaitVisible("#pick-ways"), chromedp.Click(fmt.Sprintf("#pick-ways input[value=%s]", way)),
		chromedp.SetValue("#door", door), chromedp.Click("#pick-form > button"), chromedp.WaitVisible("#code"))
}

func TestAFamilyComesInWithOneTap(t *testing.T) {
	t.Parallel()
	w, p := familyDoor(t)
	p.fits()
	p.types("DAD", kb.Enter)
	p.sees("admitted", "Welcome", "Caio L.")
	p.paints(green, "good")
	p.do(chromedp.WaitVisible("#family"))
	p.until(`document.activeElement.textContent === 'Let in 3 more' && document.querySelectorAll('#family input:disabled').length === 1`)
	p.fits()
	p.do(emulation.SetDeviceMetricsOverride(568, 320, 2, true)) // the phone lies on its side
	p.until(`document.querySelector('.kin:nth-child(2)').getBoundingClientRect().bottom < innerHeight`)
	p.fits()
	p.do(chromedp.Click(`//label[contains(., 'Eva L.')]/input`, chromedp.BySearch))
	p.until(`document.activeElement && document.querySelector('#result-acts .primary').textContent === 'Let in 2 more'`)
	p.do(chromedp.Click("#result-acts .primary"))
	p.until(`document.getElementById('result-more').textContent === '3 guests let in'`)
	p.sees("admitted", "Caio L., Dora L., Fabio L.", "Ask for the guardian's slip")
	p.paints(purple, "look") // for the child among them
	p.until(`document.getElementById('result-more').getBoundingClientRect().bottom < innerHeight`)
	p.do(emulation.SetDeviceMetricsOverride(360, 740, 2, true))
	p.next()
	if n := w.admissions(); n != 3 {
		t.Errorf("the store has %d check-ins, want 3", n)
	}
	p.types("TEEN", kb.Enter) // the rest are in: nothing is offered
	p.sees("admitted", "Eva L.")
	p.until(`document.getElementById('count-in').textContent === '4' && document.getElementById('family').hidden`)
}

func TestANoticeWaitsForATap(t *testing.T) {
	t.Parallel()
	_, p := familyDoor(t)
	p.types("KID", kb.Enter)
	p.sees("admitted", "look first", "Gil R.", "Child", "Ask for the guardian's slip")
	p.paints(purple, "look")
	p.types("SOLO", kb.Enter) // it is not taken
	p.untaken("Not scanned. Tap “Done, next” first.")
	p.do(chromedp.KeyEvent(kb.Escape))
	p.until(`document.getElementById('result-label').textContent === 'Gil R.' && document.getElementById('result-time').hidden`)
	p.fits()
	p.next()
	p.types("SOLO", kb.Enter)
	p.labelled("Ana S.")
	p.sees("admitted", "Welcome")
	p.paints(green, "good")
	p.types("KID", kb.Enter)
	p.sees("already_admitted", "Gil R.")
	p.until(`document.getElementById('result-notice').textContent === ''`) // nothing is done for a ticket that does not let in
}

func TestGuestsLeaveAndComeBackThroughTheirDoors(t *testing.T) {
	t.Parallel()
	_, p := familyDoor(t)
	p.stands("Exit", "out")
	p.fits()
	p.types("SOLO", kb.Enter)
	p.sees("not_inside", "Not inside", "door that leads in")
	p.paints(red, "bad")
	p.next()
	p.stands("North", "in")
	p.types("SOLO", kb.Enter)
	p.sees("admitted", "Welcome")
	p.next()
	p.stands("Exit", "out")
	p.types("SOLO", kb.Enter)
	p.sees("left", "Goodbye", "Ana S.", "by North")
	p.paints(blue, "out")
	p.next()
	p.until(`document.getElementById('count-in').textContent === '0' && document.getElementById('where-door').textContent === 'Exit · out'`)
	p.stands("Back", "reentry")
	p.types("UNPAID", kb.Enter)
	p.sees("unpaid")
	p.next()
	p.types("TEEN", kb.Enter)
	p.sees("not_inside")
	p.next()
	before := time.Now()
	p.types("SOLO", kb.Enter)
	p.sees("admitted")
	p.next()
	p.types("SOLO", kb.Enter)
	p.sees("already_admitted", "Already in", "In since", "this door")
	if time.Since(before) < 5*time.Second { // else the page may say how many seconds ago
		p.sees("already_admitted", "just now")
	}
	p.paints(orange, "twice")
}

// TestAWayOutThatIsTakenBackLeavesTheGuestInside: the page says so, also where the phone had let the guest out by itself.
func TestAWayOutThatIsTakenBackLeavesTheGuestInside(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w, p := familyDoor(t)
	p.types("SOLO", kb.Enter)
	p.sees("admitted")
	p.next()
	p.stands("Exit", "out")
	p.types("SOLO", kb.Enter)
	p.sees("left")
	p.do(chromedp.Click("#result-acts button:last-child"))
	p.sees("undone", "Ana S.", "The guest is inside again.")
	p.next()
	w.down()
	p.types("SOLO", kb.Enter)
	p.sees("unreachable")
	p.next() // let out
	p.do(chromedp.Click("#last .ask button"))
	p.sees("undone", "The guest is inside again.")
}

func TestStewardsAndSupervisorsTakeBack(t *testing.T) {
	t.Parallel()
	w := newFamilyTown(t)
	bia, boss := browse(t), browse(t)
	bia.signIn(w.link(), "Bia")
	bia.types("SOLO", kb.Enter)
	bia.sees("admitted", "Undo")
	boss.signIn(w.link("--supervisor"), "Caio")
	boss.stands("South", "in")
	boss.types("SOLO", kb.Enter)
	boss.sees("already_admitted", "by another door: Entrance", "Undo") // whoever let the guest in
	boss.holds()
	bia.do(chromedp.WaitNotVisible("#result"))
	bia.types("SOLO", kb.Enter)
	bia.sees("already_admitted")
	bia.holds()
	bia.until(`!document.getElementById('result-acts').textContent.includes('Undo')`)
	boss.do(chromedp.Click("#result-acts button:last-child"))
	boss.sees("undone", "The guest is not in")
	bia.until(`document.getElementById('count-in').textContent === '0'`)
	bia.do(chromedp.Click("#result-acts .primary"), chromedp.Click("#menu"))
	bia.until(`document.getElementById('settings-who').textContent === 'Signed in as Bia (Steward).'`)
	bia.until(`document.getElementById('doors').innerText.includes('South') && document.getElementById('doors').innerText.includes('this door')`)
	bia.do(chromedp.Evaluate(`document.querySelector('#last li').same = true`, nil))
	boss.do(chromedp.Navigate("about:blank"))
	bia.until(`[...document.querySelectorAll('#doors .silent')].some(li => li.innerText.includes('South'))`)
	bia.until(`document.querySelector('#last li').same`) // a row that did not change is drawn once: a finger may be on its button
}

// browseGuide is a phone that opens the guide.
type browseGuide struct {
	*phone
	address string
}

// opens opens the guide and wants its title, its looks and the colours that the helper has chosen.
func (g browseGuide) opens(query, title string) {
	g.Helper()
	g.do(chromedp.Evaluate(`localStorage.theme = 'contrast'`, nil), chromedp.Navigate(g.address+query), chromedp.WaitVisible(".guide"))
	g.until(fmt.Sprintf(`document.querySelector('h1').textContent === %q && document.documentElement.dataset.theme === 'contrast' && getComputedStyle(document.querySelector('.states')).display === 'grid'`, title))
}

// TestThePageOpensWhileTheLaptopIsAway, and so does the guide.
func TestThePageOpensWhileTheLaptopIsAway(t *testing.T) {
	t.Parallel()
	w, p := familyDoor(t)
	p.do(chromedp.Evaluate(`navigator.serviceWorker.ready.then(() => true)`, nil, awaited))
	w.down()
	p.do(chromedp.Reload(), chromedp.WaitVisible("#code"))
	p.types("SOLO", kb.Enter)
	p.sees("unreachable", "Not decided", "nothing is checked")
	p.paints(purple, "bad")
	p.next()                                                                                                       // let in
	p.do(chromedp.Navigate("about:blank"), chromedp.Navigate(w.served.url+"/door"), chromedp.WaitVisible("#code")) // the tab was closed
	p.until(`document.getElementById('away').innerText.includes('1 scan waits')`)
	guide := browseGuide{p, w.served.url + "/door/help"}
	guide.opens("?language=pt-BR", "Na porta")
	guide.opens("?language=en", "At the door")
	guide.opens("", "At the door") // in the phone's language
	p.do(chromedp.Navigate(w.served.url+"/door"), chromedp.WaitVisible("#code"))
	w.up()
	p.until(`document.getElementById('away').hidden && document.getElementById('count-in').textContent === '1'`)
	if n := w.admissions(); n != 1 {
		t.Errorf("the store has %d check-ins, want one", n)
	}
}

// TestThePageWaitsOnceForALaptopThatSleeps: it gets no answer at all, and the page has a dozen files.
func TestThePageWaitsOnceForALaptopThatSleeps(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w, p := familyDoor(t)
	p.do(chromedp.Evaluate(`navigator.serviceWorker.ready.then(() => true)`, nil, awaited))
	if err := w.served.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Reload())
	p.until(`performance.getEntriesByType('resource').some(e => e.name.includes('/words.'))`)
	var took float64
	p.do(chromedp.Evaluate(`performance.getEntriesByType('resource').find(e => e.name.includes('/words.')).responseEnd`, &took))
	if took > 8000 {
		t.Errorf("the page has its words after %.0f ms", took)
	}
}

// servesTwo makes another event with the ticket RET1, and signs a phone in by a key of both, at the first.
func (p *phone) servesTwo(w *doorTown, other string) {
	p.Helper()
	w.load("event", "name,start_datetime\n"+other+","+time.Now().Add(2*time.Hour).Format(time.RFC3339)+"\n")
	w.load("ticket", "code,type\nRET1,Adult\n", "--event", "2")
	p.do(chromedp.Navigate(w.served.url+"/door"), chromedp.WaitVisible("#enter"))
	p.signsInByKey(w)
	p.goes(1)
}

// signsInByKey signs in by a key that serves every event.
func (p *phone) signsInByKey(w *doorTown) {
	p.Helper()
	var k key
	w.run(&k, "keys", "add", "--name", "Bia", "--level", "denomination", "--allow", "checkin:*")
	p.run(`document.getElementById('enter-by-key').open = true`)
	p.do(chromedp.WaitVisible("#key"), chromedp.SetValue("#key", k.Key), chromedp.SetValue("#secret", k.Secret), chromedp.Click("#enter-key button"), chromedp.WaitVisible("#pick-form"))
}

// goes picks an event.
func (p *phone) goes(event int) {
	p.Helper()
	p.do(chromedp.Click(fmt.Sprintf("#pick-events input[value='%d']", event)), chromedp.SetValue("#door", "Entrance"), chromedp.Click("#pick-form > button"), chromedp.WaitVisible("#code"))
}

// TestAPhoneSaysWhatWaitsForWhichEvent: a phone that serves two events sends the scans of both. It says which event the others wait for.
func TestAPhoneSaysWhatWaitsForWhichEvent(t *testing.T) {
	t.Parallel()
	w := newFamilyTown(t)
	p := browse(t)
	p.servesTwo(w, "<b>Retiro</b>")
	w.down()
	for _, code := range []string{"SOLO", "TEEN"} {
		p.types(code, kb.Enter)
		p.sees("unreachable")
		act := map[string]string{"SOLO": "#result-acts .primary", "TEEN": "#result-acts button:last-child"}[code] // let in, and held
		p.do(chromedp.Click(act), chromedp.WaitNotVisible("#result"))
	}
	p.do(chromedp.Click("#where"), chromedp.WaitVisible("#pick-form"), remembers(`put({nonce: 'old', event: 99, name: 'Natal', code: 'X', at: new Date().toISOString(), door: 'Entrance', let_in: true})`))
	p.goes(2)
	p.letsInAlone("RET1")
	p.until(`document.getElementById('away').innerText.includes('1 scan waits in this phone') && document.getElementById('away').innerText.includes('1 scan for Acampamento de verão 2026 waits, too.')`)
	p.until(`document.getElementById('elsewhere').innerText === '1 guest is held at Acampamento de verão 2026. Choose that event to decide. 1 scan for Natal is still kept in this phone. Show this to the helper at the laptop.'`)
	w.up()
	p.until(`document.getElementById('away').hidden && document.getElementById('count-in').textContent === '1'`)
	if n := w.admissions(); n != 2 {
		t.Errorf("the store has %d check-ins, want one of each event", n)
	}
	p.do(chromedp.Click("#where"), chromedp.WaitVisible("#pick-form"))
	p.goes(1)
	p.do(chromedp.WaitVisible("#waiting-list button"), chromedp.Click("#waiting-list button"))
	p.sees("admitted", "Eva L.")
}

// TestScansOfAnEventThatIsOverAreHandedIn at the next sign-in: no door is chosen there any more.
func TestScansOfAnEventThatIsOverAreHandedIn(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w := newFamilyTown(t)
	day := func(ago int) string { return time.Now().AddDate(0, 0, -ago).Format(time.RFC3339) }
	w.load("event", "name,start_datetime,end_datetime\nNatal,"+day(5)+","+day(4)+"\n")
	w.load("ticket", "code,type\nNAT1,Adult\n", "--event", "2")
	p := browse(t)
	p.do(chromedp.Navigate(w.served.url+"/door"), chromedp.WaitVisible("#enter"))
	p.do(remembers(`put({nonce: '000000000000000000000000000000ff', event: 2, name: 'Natal', code: 'NAT1', at: '` + day(4) + `', door: 'Entrance', let_in: true})`))
	p.signsInByKey(w)
	for range 100 {
		if p.settles(); p.decided() == "" {
			break
		}
	}
	if n := w.admissions(); n != 1 {
		t.Errorf("the store has %d check-ins, want that of the guest who was let in", n)
	}
	p.goes(1)
	p.do(chromedp.WaitNotVisible("#elsewhere"))
}

func TestARevokedPhoneHandsInItsQueue(t *testing.T) {
	t.Parallel()
	w, p := familyDoor(t)
	p.do(remembering) // what the page keeps of itself comes from the laptop
	w.down()
	p.letsInAlone("SOLO")
	var keys struct{ Results []key }
	w.run(&keys, "keys", "list")
	if out, err := exec.Command(w.path, "keys", "revoke", fmt.Sprint(keys.Results[len(keys.Results)-1].ID), "--data", w.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w.up()
	p.until(`document.getElementById('enter-fault').innerText.includes('may not scan any more')`)
	p.until(`document.getElementById('enter-kept').innerText === '1 kept scan was handed in for review.'`)
	if n := w.admissions(); n != 1 {
		t.Errorf("the store has %d check-ins, want that of the guest who was let in", n)
	}
	w.down() // the phone stays out
	p.do(chromedp.Reload(), chromedp.WaitVisible("#enter-how"))
	p.until(`document.getElementById('enter-fault').textContent.includes('out of reach')`)
}

func TestThePageSpeaksItsReadersLanguage(t *testing.T) {
	t.Parallel()
	w := newFamilyTown(t)
	p := browse(t)
	p.do(network.SetExtraHTTPHeaders(network.Headers{"Accept-Language": "pt-BR,pt;q=0.9,en;q=0.8"}))
	p.do(chromedp.Navigate(w.link()), chromedp.WaitVisible("#helper"))
	p.until(`document.documentElement.lang === 'pt-BR' && document.querySelector('#enter h1').textContent === 'Quem está nesta porta?'`)
	p.do(chromedp.SendKeys("#helper", "Bia"), chromedp.Click("#enter-ticket button"), chromedp.WaitVisible("#pick-form"), chromedp.SetValue("#door", "Entrada"), chromedp.Click("#pick-form > button"), chromedp.WaitVisible("#code"))
	p.types("SOLO", kb.Enter)
	p.sees("admitted", "Pode entrar")
	p.next()
	p.do(chromedp.Click("#menu"), chromedp.SetValue("#set-language", "en"), chromedp.Evaluate(`document.getElementById('set-language').dispatchEvent(new Event('change'))`, nil))
	p.until(`document.documentElement.lang === 'en' && document.getElementById('last-title').textContent === 'Last scans'`)
	var bytes int
	p.do(chromedp.Evaluate(`performance.getEntriesByType('navigation').concat(performance.getEntriesByType('resource').filter(e => e.name.includes('/door/assets/') && e.name.indexOf('sw.js') < 0)).reduce((n, e) => n + e.transferSize, 0)`, &bytes))
	if bytes == 0 || bytes > 60<<10 {
		t.Errorf("the page takes %d bytes", bytes)
	}
	t.Logf("the page takes %d bytes, with both catalogues", bytes)
}

// TestLargeLettersFitThePhone: with letters of twice the size every page is as wide as the phone, and its buttons lie on the screen.
func TestLargeLettersFitThePhone(t *testing.T) {
	t.Parallel()
	w := newFamilyTown(t)
	p := browse(t, chromedp.Flag("blink-settings", "defaultFontSize=32"))
	p.do(chromedp.Navigate(w.link()), chromedp.WaitVisible("#helper"))
	p.fits()
	p.signIn(w.link(), "Bia")
	p.until(`document.getElementById('count-in').textContent === '0' && scrollY === 0`) // the button of the screen before lies further down
	p.fits()
	for code, outcome := range map[string]string{"DAD": "admitted", "UNPAID": "unpaid"} {
		p.types(code, kb.Enter)
		p.sees(outcome)
		p.fits()
		p.do(chromedp.KeyEvent(kb.Escape), chromedp.WaitNotVisible("#result"))
	}
	p.do(chromedp.Click("#way-search"), chromedp.WaitVisible("#find-words"), writing("#find-words", "lima"), chromedp.WaitVisible("#find-list li"))
	p.fits()
	for _, language := range []string{"en", "pt-BR"} {
		p.do(chromedp.Navigate(w.served.url+"/door/help?language="+language), chromedp.WaitVisible(".guide"))
		p.until(`document.documentElement.scrollWidth <= innerWidth`)
	}
}

// TestASpentCodeGoesOnWithItsPhone: a helper whose page was closed scans the same QR code again, and stands at the door. Another helper needs a code.
func TestASpentCodeGoesOnWithItsPhone(t *testing.T) {
	t.Parallel()
	w := newFamilyTown(t)
	p := browse(t)
	link := w.link()
	p.signIn(link, "Bia")
	p.do(chromedp.Navigate("about:blank"), chromedp.Navigate(link), chromedp.WaitVisible("#helper"), chromedp.Click("#enter-ticket button"), chromedp.WaitVisible("#code"))
	for _, other := range []string{`localStorage.helper = 'Eva'`, `localStorage.helper = 'Bia', localStorage.leaves = 'yes'`} { // another helper, and one who left while the laptop was away
		p.do(chromedp.Evaluate(other, nil), chromedp.Navigate("about:blank"), chromedp.Navigate(link), chromedp.WaitVisible("#helper"), chromedp.Click("#enter-ticket button"))
		p.until(`document.getElementById('enter-fault').textContent.includes('used before')`)
	}
}

// TestACodeGoesOnWithItsPhoneWhileTheLaptopIsAway: the guide tells helpers to scan the same QR code again after their page was closed.
func TestACodeGoesOnWithItsPhoneWhileTheLaptopIsAway(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w := newFamilyTown(t)
	p := browse(t)
	link := w.link()
	p.signIn(link, "Bia")
	p.do(chromedp.Evaluate(`navigator.serviceWorker.ready.then(() => true)`, nil, awaited))
	w.down()
	again := func(name string) {
		p.do(chromedp.Navigate("about:blank"), chromedp.Navigate(link), chromedp.WaitVisible("#helper"), chromedp.SetValue("#helper", name), chromedp.Click("#enter-ticket button"))
	}
	again("Eva")
	p.until(`document.getElementById('enter-fault').textContent.includes('out of reach')`)
	again("Bia")
	p.do(chromedp.WaitVisible("#code"), chromedp.WaitVisible("#away"))
}

// TestAPhoneSignsOutWhileTheLaptopIsAway: the laptop ends the session when it answers again, and until then the page says that it is away.
func TestAPhoneSignsOutWhileTheLaptopIsAway(t *testing.T) {
	t.Parallel()
	w, p := familyDoor(t)
	p.do(chromedp.Evaluate(`navigator.serviceWorker.ready.then(() => true)`, nil, awaited))
	w.down()
	p.do(chromedp.Click("#menu"), chromedp.WaitVisible("#settings"), chromedp.Click("#leave"), chromedp.WaitVisible("#leaving"), chromedp.Click("#leave-now"), chromedp.WaitVisible("#enter"))
	p.do(chromedp.Reload(), chromedp.WaitVisible("#enter"))
	p.until(`document.getElementById('enter-fault').textContent.includes('out of reach')`)
	w.up()
	p.until(`document.getElementById('enter-fault').textContent === ''`)
	p.until(`fetch('/door/v1/session/', {headers: {'X-Requested-With': 'doorward'}}).then(answer => answer.status === 401)`)
}

// TestAPhoneThatSignsOutHandsInItsQueue: it says what waits while the laptop is away, and its session ends when the laptop has it.
func TestAPhoneThatSignsOutHandsInItsQueue(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w, p := familyDoor(t)
	w.down()
	p.letsInAlone("SOLO")
	p.do(chromedp.Click("#menu"), chromedp.WaitVisible("#settings"), chromedp.Click("#leave"), chromedp.WaitVisible("#leaving"), chromedp.Click("#leave-now"), chromedp.WaitVisible("#enter"))
	p.until(`document.getElementById('enter-kept').textContent.includes('1 scan for Acampamento de verão 2026 is still kept in this phone.')`)
	w.up()
	p.until(`document.getElementById('enter-fault').textContent === '' && document.getElementById('enter-kept').textContent === ''`)
	if n := w.admissions(); n != 1 {
		t.Errorf("the store has %d check-ins, want that of the guest who was let in", n)
	}
	p.until(`fetch('/door/v1/session/', {headers: {'X-Requested-With': 'doorward'}}).then(answer => answer.status === 401)`)
}

// TestADoorShowsNoOtherEventsCounts: until the laptop tells of an event, its door shows no numbers.
func TestADoorShowsNoOtherEventsCounts(t *testing.T) {
	t.Parallel()
	w := newFamilyTown(t)
	p := browse(t)
	p.servesTwo(w, "Retiro")
	p.until(`document.getElementById('count-expected').textContent === '8'`)
	w.down()
	p.do(chromedp.Click("#where"), chromedp.WaitVisible("#pick-form"))
	p.goes(2)
	p.until(`document.getElementById('count-expected').textContent === '–' && document.getElementById('doors').children.length === 0`)
}

// TestAChosenLanguageIsThatOfEveryList, and of the scans that wait.
func TestAChosenLanguageIsThatOfEveryList(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w, p := familyDoor(t)
	w.down()
	p.keepsOut("SOLO")
	p.letsInAlone("UNPAID")
	speaks := func(language string) {
		p.do(chromedp.SetValue("#set-language", language), chromedp.Evaluate(`document.getElementById('set-language').dispatchEvent(new Event('change'))`, nil))
	}
	speaks("pt-BR")
	p.until(`document.getElementById('last').innerText.includes('Você deixou entrar')`) // told, and not asked for as on a button
	speaks("en")
	w.up()
	p.do(chromedp.WaitVisible("#differs"))
	speaks("pt-BR")
	p.until(`document.querySelector('#waiting-list button').textContent === 'Decidir agora' && document.getElementById('differs-list').innerText.includes('Não pago')`)
}

// TestAPageThatCannotStartSaysSo: a browser that refuses every cookie refuses the page its storage.
func TestAPageThatCannotStartSaysSo(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w, p := familyDoor(t)
	p.until(`document.getElementById('stuck').hidden`)
	p.do(onEachPage(`Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('denied', 'SecurityError'); }})`), chromedp.Navigate(w.served.url+"/door"))
	p.until(`document.getElementById('stuck').checkVisibility({visibilityProperty: true})`)
	if said := p.faulted(); !strings.Contains(said, "denied") {
		t.Errorf("the browser says %q", said)
	}
}

// TestANameOfBlanksIsAskedForAgain, and so is a door's.
func TestANameOfBlanksIsAskedForAgain(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w := newFamilyTown(t)
	p := browse(t)
	p.do(chromedp.Navigate(w.link()), chromedp.WaitVisible("#helper"), chromedp.SendKeys("#helper", "  "), chromedp.Click("#enter-ticket button"))
	p.until(`document.querySelector('#helper:invalid') && document.getElementById('enter-fault').textContent === ''`)
	p.do(chromedp.SendKeys("#helper", " Bia "), chromedp.Click("#enter-ticket button"), chromedp.WaitVisible("#pick-form"), chromedp.SetValue("#door", "  "), chromedp.Click("#pick-form > button"))
	p.until(`document.querySelector('#door:invalid') !== null`)
	p.do(chromedp.SendKeys("#door", "North"), chromedp.Click("#pick-form > button"), chromedp.WaitVisible("#code"))
}

// TestAMangledLinkIsRefusedAsACode, and not as a key.
func TestAMangledLinkIsRefusedAsACode(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w := newFamilyTown(t)
	p := browse(t)
	for _, mangled := range []string{"50%", strings.Repeat("long", 30)} {
		p.do(chromedp.Navigate("about:blank"), chromedp.Navigate(w.served.url+"/door#"+mangled), chromedp.WaitVisible("#helper"), chromedp.SetValue("#helper", "Bia"), chromedp.Click("#enter-ticket button"))
		p.until(`document.getElementById('enter-fault').textContent.includes('used before')`)
	}
}

// TestACopyAtTheSameDoorIsNoTicketReadTwice: two phones have the name that the page proposes, and a ticket comes to one after it came to the other. The
// phone that let it in a minute ago asks, too.
func TestACopyAtTheSameDoorIsNoTicketReadTwice(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w := newFamilyTown(t)
	bia, caio := browse(t), browse(t)
	bia.signIn(w.link(), "Bia")
	caio.signIn(w.link(), "Caio")
	bia.types("SOLO", kb.Enter)
	bia.sees("admitted")
	bia.types("SOLO", kb.Enter)
	bia.sees("already_admitted", "here at this door", "read twice?")
	for range 2 {
		caio.types("SOLO", kb.Enter)
		caio.sees("already_admitted", "here at this door", "Ask who came in with it")
		caio.next()
	}
	bia.next()
	bia.run(`Date.now = (now => () => now() + 60000)(Date.now)`)
	bia.types("SOLO", kb.Enter)
	bia.sees("already_admitted", "here at this door", "Ask who came in with it")
}
