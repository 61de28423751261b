package main

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// What the page keeps in the phone of its scans, and what it says about tickets and doors. Helpers: noted counts what the phone has noted, rewrites has
// the page get other answers than the laptop's.

// noted is how many scans the phone has noted.
func (p *phone) noted() (n int) {
	p.Helper()
	p.do(chromedp.Evaluate(`new Promise(done => {
		indexedDB.open('doorward').onsuccess = e => e.target.result.transaction('notes').objectStore('notes').count().onsuccess = found => done(found.target.result);
	})`, &n, awaited))
	return n
}

// notes waits until the phone has noted so many scans.
func (p *phone) notes(want int) {
	p.Helper()
	for range 100 {
		if p.noted() == want {
			return
		}
		p.settles()
	}
	p.Errorf("the phone has noted %d scans, want %d", p.noted(), want)
}

// remembering makes the page's own scripts stay in the phone.
var remembering = chromedp.Evaluate(`navigator.serviceWorker.ready.then(() => true)`, nil, awaited)

// rewrites has the answers to a path that ends in one of window.rewrite changed by its function.
const rewrites = `(() => {
	const real = window.fetch;
	window.rewrite = {};
	window.fetch = async (path, options) => {
		const answer = await real(path, options), change = Object.entries(rewrite).find(([end]) => path.split('?')[0].endsWith(end))?.[1];
		return change ? new Response(JSON.stringify(change(answer.ok ? await answer.json() : {})), {status: 200}) : answer;
	};
})()`

// TestThePhoneKeepsWhatItKnew while the laptop is away, also after a reload: what was said of a ticket, and the last scans with their Undo.
func TestThePhoneKeepsWhatItKnew(t *testing.T) {
	t.Parallel()
	w, p := familyDoor(t)
	p.do(remembering)
	p.types("SOLO", kb.Enter)
	p.sees("admitted")
	p.next()
	p.types("UNPAID", kb.Enter)
	p.sees("unpaid")
	p.next()
	p.types("TEEN", kb.Enter)
	p.sees("admitted")
	p.do(chromedp.WaitVisible("#family"), chromedp.Click("#result-acts button:nth-child(2)"), chromedp.WaitNotVisible("#result")) // only this one
	p.do(chromedp.Click("#last .good button"))
	p.sees("undone")
	p.next()
	p.notes(3)
	w.down()
	p.do(chromedp.Reload(), chromedp.WaitVisible("#code"))
	p.until(`[...document.querySelectorAll('#last strong')].map(e => e.textContent).join() === 'Eva L.,Iris M.,Ana S.'`)
	p.until(`document.querySelectorAll('#last button').length === 1 && document.querySelector('#last li:nth-child(3) button').textContent === 'Undo'`)
	for code, said := range map[string]string{"SOLO": "Admitted here at ", "UNPAID": "the laptop said: Not paid.", "TEEN": "", "KID": ""} {
		p.types(code, kb.Enter)
		p.sees("unreachable", said)
		if said == "" {
			p.until(`document.getElementById('result-notice').textContent === ''`) // undone, or never seen
		}
		p.do(chromedp.Click("#result-acts button:last-child"), chromedp.WaitNotVisible("#result"))
	}
	p.letsInAlone("MUM")
	p.do(chromedp.Reload(), chromedp.WaitVisible("#last .ask button"), chromedp.Click("#last .ask button"))
	p.sees("undone", "MUM")
	p.next()
	w.up()
	p.until(`document.getElementById('away').hidden`)
	p.do(chromedp.Click("#last .good button"))
	p.sees("undone", "Ana S.")
	p.next()
	if n := w.admissions(); n != 2 {
		t.Errorf("the store has %d check-ins, want the two that were undone", n)
	}
}

// TestThePhoneForgetsItsScans at the sign-out, which is asked for, when the key ends, and a day after the event.
func TestThePhoneForgetsItsScans(t *testing.T) {
	t.Parallel()
	w, p := familyDoor(t)
	scans := func() {
		p.types("SOLO", kb.Enter)
		p.until(`!document.getElementById('result').hidden`)
		p.next()
		p.notes(1)
	}
	scans()
	p.do(chromedp.Click("#menu"), chromedp.WaitVisible("#leave"), chromedp.Click("#leave"), chromedp.WaitVisible("#leaving"), chromedp.Click("#leaving .close"), chromedp.WaitVisible("#code"))
	p.notes(1)
	p.do(chromedp.Click("#menu"), chromedp.WaitVisible("#leave"))
	p.until(`document.getElementById('leave').nextElementSibling === null && document.querySelector('#settings > .close').previousElementSibling.matches('.guide-link')`)
	p.do(chromedp.Click("#leave"), chromedp.WaitVisible("#leaving"), chromedp.Click("#leave-now"), chromedp.WaitVisible("#enter"))
	p.notes(0)
	p.signIn(w.link(), "Bia")
	scans()
	p.run(`new Promise(done => {
		indexedDB.open('doorward').onsuccess = e => {
			const notes = e.target.result.transaction('notes', 'readwrite').objectStore('notes');
			notes.getAll().onsuccess = found => notes.put({...found.target.result[0], nonce: 'old', until: Date.now() - 1}).onsuccess = done;
		};
	})`)
	p.notes(2)
	p.do(chromedp.Reload(), chromedp.WaitVisible("#code"))
	p.notes(1)
	var late float64
	p.do(chromedp.Evaluate(`new Promise(done => {
		indexedDB.open('doorward').onsuccess = e => e.target.result.transaction('notes').objectStore('notes').getAll().onsuccess = found => done((found.target.result[0].until - Date.now()) / 3600000);
	})`, &late, awaited))
	if late < 24 || late > 26 {
		t.Errorf("a scan is forgotten in %.1f hours: the event begins in one, and has no end", late)
	}
	var keys struct{ Results []key }
	w.run(&keys, "keys", "list")
	if out, err := exec.Command(w.path, "keys", "revoke", fmt.Sprint(keys.Results[len(keys.Results)-1].ID), "--data", w.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p.types("SOLO", kb.Enter)
	p.until(`document.getElementById('enter-fault').innerText.includes('may not scan any more')`)
	p.notes(0)
}

// TestGuestsOfOneListAreToldApartWithoutTheLaptop: their tickets are URLs that differ only in their query.
func TestGuestsOfOneListAreToldApartWithoutTheLaptop(t *testing.T) {
	const guest = "https://tickets.example/check-in/evt-AbCdEfGhIjKlMnO?pk=g-2Aa1Bb2Cc3Dd4"
	w := newTown(t, "name\nFesta\n", "code,holder_name\n"+guest+"Ee,Ana Souza\n"+guest+"Ff,Beto Lima\n")
	p := browse(t)
	p.signIn(w.link(), "Bia")
	w.down()
	for _, scan := range []struct {
		code   string
		before bool
	}{{guest + "Ee", false}, {guest + "Ff", false}, {guest + "Ee", true}} {
		p.types(scan.code, kb.Enter)
		p.sees("unreachable")
		p.until(fmt.Sprintf(`document.getElementById('result').innerText.includes('let this ticket in already') === %t`, scan.before))
		p.next()
	}
}

// TestALargeOrderIsNotLetInByOneEnter: every ticket of it can be seen, the button says how many it lets in, and the focus is on the other one.
func TestALargeOrderIsNotLetInByOneEnter(t *testing.T) {
	var rows strings.Builder
	rows.WriteString("code,name,state,order\n")
	for i := range 40 {
		fmt.Fprintf(&rows, "BUS%02d,Pessoa %02d Silva,paid,CARAVANA-1\n", i, i)
	}
	w := newTown(t, "name\nFesta\n", rows.String())
	p := browse(t)
	p.signIn(w.link(), "Bia")
	p.types("BUS00", kb.Enter)
	p.do(chromedp.WaitVisible("#family"))
	p.until(`document.querySelectorAll('#family input').length === 39 && document.querySelector('#result-acts .primary').textContent === 'Let in 39 more'`)
	p.until(`document.activeElement.textContent === 'Only this one'`)
	p.run(`document.querySelector('.kin:last-child').scrollIntoView()`)
	p.until(`document.querySelector('.kin:last-child').getBoundingClientRect().bottom <= document.querySelector('#result-acts').getBoundingClientRect().top`)
	p.fits()
	p.rests()
	p.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitNotVisible("#result"))
	if n := w.admissions(); n != 1 {
		t.Errorf("one Enter has let in %d guests", n)
	}
	p.types("BUS01", kb.Enter)
	p.do(chromedp.WaitVisible("#family"), chromedp.Click("#result-acts .primary"))
	p.until(`document.getElementById('result-more').textContent === '39 guests let in'`)
	if n := w.admissions(); n != 40 {
		t.Errorf("the store has %d check-ins, want 40", n)
	}
}

// TestTheFieldDoorOffersTheKnownDoors and is empty: what is typed replaces nothing.
func TestTheFieldDoorOffersTheKnownDoors(t *testing.T) {
	w := newFamilyTown(t)
	p, q := browse(t), browse(t)
	p.do(chromedp.Navigate(w.link()), chromedp.WaitVisible("#helper"), chromedp.SendKeys("#helper", "Bia"), chromedp.Click("#enter-ticket button"), chromedp.WaitVisible("#pick-doors button"))
	p.until(`document.getElementById('door').value === '' && document.getElementById('pick-doors').textContent === 'Entrance'`)
	p.do(chromedp.SendKeys("#door", "North"), chromedp.Click("#pick-go"), chromedp.WaitVisible("#code"))
	p.types("SOLO", kb.Enter)
	p.sees("admitted")
	q.do(chromedp.Navigate(w.link()), chromedp.WaitVisible("#helper"), chromedp.SendKeys("#helper", "Caio"), chromedp.Click("#enter-ticket button"), chromedp.WaitVisible("#pick-doors button"))
	q.until(`document.getElementById('pick-doors').textContent === 'North'`)
	q.do(chromedp.Click("#pick-doors button"))
	q.until(`document.getElementById('door').value === 'North' && document.activeElement.id === 'pick-go'`)
	q.do(chromedp.Click("#pick-go"), chromedp.WaitVisible("#code"))
	q.until(`document.getElementById('where-door').textContent === 'North · in'`)
}

// TestAHoldCarriesAWord, which stays in the phone: also over a reload, and it goes with the hold.
func TestAHoldCarriesAWord(t *testing.T) {
	w, p := atDoor(t)
	p.do(remembering)
	w.down()
	p.keepsOut("K7QP2M")
	p.do(chromedp.WaitVisible("#waiting-list .word"), chromedp.Click("#waiting-list .word"), writing("#waiting-list .word", "red coat"), chromedp.KeyEvent(kb.Enter))
	// What a scanner types is no word. The keys come at once, for on a busy machine they would come as slowly as those of a person.
	p.run(`document.querySelector('#waiting-list .word').focus();
		for (const key of [...'B2XX91', 'Enter']) document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}))`)
	p.sees("unreachable")
	p.do(chromedp.Click("#result-acts button:last-child"), chromedp.WaitNotVisible("#result"))
	p.settles()
	p.do(chromedp.Reload(), chromedp.WaitVisible("#waiting-list .word"))
	p.until(`[...document.querySelectorAll('#waiting-list .word')].map(e => e.value).join() === 'red coat,'`)
	p.until(`document.getElementById('code').value === ''`)
	w.up()
	p.until(`document.getElementById('away').hidden`)
	p.do(chromedp.Click("#waiting-list button"))
	p.sees("admitted", "Ana S.")
	p.until(`document.querySelectorAll('#waiting-list .word').length === 1`)
}

// TestThePageSaysSinceWhenAndFromWhen: a ticket that is too early or too late, and a guest who is out already. Its times are in the laptop's zone.
func TestThePageSaysSinceWhenAndFromWhen(t *testing.T) {
	w := newFamilyTown(t)
	p := browse(t)
	p.do(onEachPage(rewrites + `; rewrite['/status/'] = status => ({...status, zone: 'Pacific/Kiritimati'})`))
	p.signIn(w.link(), "Bia")
	p.until(`localStorage.zone === 'Pacific/Kiritimati'`)
	there, err := time.LoadLocation("Pacific/Kiritimati")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().In(there)
	clock := at.Format("3:04") // the page may be asked on another day's side
	for outcome, said := range map[string]string{"not_yet_valid": "This ticket is good from ", "no_longer_valid": "This ticket was good until "} {
		p.run(fmt.Sprintf(`rewrite['/scan/'] = scan => ({...scan, outcome: %q, valid_from: %q, valid_until: %[2]q})`, outcome, at.UTC().Format(time.RFC3339)))
		p.types("SOLO", kb.Enter)
		p.sees(outcome, said, clock)
		p.next()
	}
	p.stands("Exit", "out")
	p.run(fmt.Sprintf(`rewrite['/scan/'] = scan => ({...scan, outcome: 'not_inside', out_since: %q})`, at.UTC().Format(time.RFC3339)))
	p.types("SOLO", kb.Enter)
	p.sees("not_inside", "Already out", "Already out since "+clock, "let the guest go")
	p.paints(blue, "twice")
	p.next()
	p.until(`document.querySelector('#last .quiet').textContent.includes('Already out')`)
	p.run(`rewrite['/scan/'] = scan => ({...scan, outcome: 'not_yet_valid', valid_from: new Date(Date.now() + 3 * 86400000).toISOString()})`)
	p.types("SOLO", kb.Enter)
	p.sees("not_yet_valid", at.AddDate(0, 0, 3).Format("Jan 2"))
}

// TestASearchMarksWhyItFound a guest: by the name, or the end of the phone.
func TestASearchMarksWhyItFound(t *testing.T) {
	_, p := familyDoor(t)
	p.run(rewrites + `; rewrite['/search/'] = ({results}) => ({results: results.map((one, i) => ({...one, phone_tail: '1234', matched: [['name'], ['phone'], ['order', 'code']][i % 3]}))})`)
	p.do(chromedp.Click("#way-search"), chromedp.WaitVisible("#find-words"), writing("#find-words", "lima"), chromedp.WaitVisible("#find-list mark"))
	p.until(`[...document.querySelectorAll('#find-list .found')].slice(0, 3).map(row => [...row.querySelectorAll('mark')].map(e => e.textContent).join('+')).join() === 'Caio L.,… 1234,PEDIDO-7+by its code'`)
}

// TestASupervisorClosesADoor: it is closed, and not silent. A steward closes none.
func TestASupervisorClosesADoor(t *testing.T) {
	t.Parallel()
	w := newFamilyTown(t)
	steward, boss := browse(t), browse(t)
	boss.do(onEachPage(rewrites + `; rewrite['/close_door/'] = () => (window.shut = true, {door: 'Entrance', closed_at: new Date().toISOString()})`))
	steward.signIn(w.link(), "Bia")
	boss.signIn(w.link("--supervisor"), "Caio")
	boss.stands("South", "in")
	steward.types("SOLO", kb.Enter)
	steward.sees("admitted")
	steward.next()
	steward.stands("North", "in")
	boss.do(chromedp.WaitVisible("#doors .silent button"))
	steward.until(`document.querySelector('#doors .silent') && !document.querySelector('#doors button')`)
	boss.do(chromedp.Click("#doors .silent button"))
	boss.until(`window.shut && [...document.querySelectorAll('#doors li')].some(row => row.innerText.includes('closed') && !row.querySelector('button'))`)
}
