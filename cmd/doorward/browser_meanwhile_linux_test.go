package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"doorward/kv/kvtest/proof"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// What happens at a door while something else does: the next guest is scanned while a result is up, answers come late, the phone's storage fails.

// fakeCamera is a camera that shows the codes of window.sight. give opens one that was asked for; opened, stopped and looks count.
const fakeCamera = `(() => {
	Object.assign(window, {sight: [], opened: 0, stopped: 0, looks: 0, asked: 0});
	window.BarcodeDetector = class {
		static async getSupportedFormats() { return ['qr_code']; }
		async detect() { looks++; return sight.map(rawValue => ({rawValue})); }
	};
	const stream = () => {
		const canvas = document.createElement('canvas'), pen = canvas.getContext('2d'), stream = canvas.captureStream(10);
		canvas.width = canvas.height = 64;
		setInterval(() => pen.fillRect(Math.random() * 60, 0, 3, 3), 50);
		for (const track of stream.getTracks()) {
			const stop = track.stop.bind(track);
			track.stop = () => { stopped++; stop(); };
		}
		opened++;
		return stream;
	};
	const waiting = [];
	window.give = () => waiting.shift()(stream());
	Object.defineProperty(navigator, 'mediaDevices', {value: {getUserMedia: () => new Promise(done => { asked++; waiting.push(done); })}});
})()`

// lateAnswers holds the first answer to a path that ends in window.late, until release is called. While window.lost is true no scan is answered.
const lateAnswers = `(() => {
	const real = window.fetch;
	Object.assign(window, {late: '', lost: false, held: false});
	window.fetch = async (path, options) => {
		if (lost && path.endsWith('/scan/')) throw new TypeError('lost');
		const answer = await real(path, options);
		if (!late || held || !path.split('?')[0].endsWith(late)) return answer;
		held = true;
		await new Promise(done => window.release = done);
		return answer;
	};
})()`

// run runs a script in the page.
func (p *phone) run(script string) {
	p.Helper()
	p.do(chromedp.Evaluate(script, nil))
}

// onEachPage runs a script before those of each page that opens.
func onEachPage(script string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(script).Do(ctx)
		return err
	})
}

// settles lets everything come that the page is about to show: a request and a look into the phone's storage.
func (p *phone) settles() {
	p.Helper()
	p.do(chromedp.Evaluate(`fetch('/healthz').catch(() => null).then(() => true)`, nil, awaited))
	p.kept()
	p.do(chromedp.Evaluate(`new Promise(done => requestAnimationFrame(() => setTimeout(() => done(true))))`, nil, awaited))
}

// opensCamera opens a fake camera that shows a code.
func (p *phone) opensCamera(code string) {
	p.Helper()
	p.do(chromedp.Evaluate(fakeCamera, nil), chromedp.Click("#way-camera"))
	p.until(`asked === 1`)
	p.run(`sight = ['` + code + `']; give()`)
}

// looksTwice waits until the camera has looked twice.
func (p *phone) looksTwice() {
	p.Helper()
	p.run(`looks = 0`)
	p.until(`looks > 1`)
}

// labelled waits for the result of a guest.
func (p *phone) labelled(guest string) {
	p.Helper()
	p.until(`!document.getElementById('result').hidden && document.getElementById('result-label').textContent === '` + guest + `'`)
}

// TestTheCameraReadsTheNextGuestOverAWelcome: a ticket that is held before the camera while a welcome is up is read at once.
func TestTheCameraReadsTheNextGuestOverAWelcome(t *testing.T) {
	proof.Only(t, manyPages)
	w := newDoorTown(t)
	p := browse(t)
	p.do(onEachPage(`try { localStorage.time = '600' } catch {}`)) // the next guest is held before the camera while the welcome is up, however late that is
	p.signIn(w.link(), "Bia")
	p.opensCamera("K7QP2M")
	p.labelled("Ana S.")
	p.run(`sight = ['B2XX91']`)
	p.labelled("Bia S.")
	p.next() // the ticket is before the camera still: it is read once
	p.looksTwice()
	p.settles()
	p.until(`document.getElementById('result').hidden`)
	if n := w.admissions(); n != 2 {
		t.Errorf("the store has %d check-ins, want 2", n)
	}
}

// lateLooks has the camera take two and a half seconds for each look, by the page's clock.
const lateLooks = `{
	const detect = BarcodeDetector.prototype.detect, now = performance.now.bind(performance);
	let late = 0;
	BarcodeDetector.prototype.detect = function () {
		late += 2500;
		return detect.call(this);
	};
	performance.now = () => now() + late;
}`

// TestATicketThatStaysBeforeTheCameraIsReadOnce, however long each look takes.
func TestATicketThatStaysBeforeTheCameraIsReadOnce(t *testing.T) {
	proof.Only(t, manyPages)
	_, p := atDoor(t)
	p.opensCamera("K7QP2M")
	p.labelled("Ana S.")
	p.run(lateLooks)
	p.do(chromedp.WaitNotVisible("#result"))
	p.looksTwice()
	p.types("B2XX91", kb.Enter) // codes are decided in the order in which they were read
	p.until(`document.querySelector('#last strong')?.textContent === 'Bia S.'`)
	var read string
	p.do(chromedp.Evaluate(`[...document.querySelectorAll('#last strong')].map(e => e.textContent).join()`, &read))
	if read != "Bia S.,Ana S." {
		t.Errorf("the page has read %s", read)
	}
}

// TestACameraStopsWhenItIsNotWanted: closed while it starts, by a second tap, on another screen, and when the helper leaves.
func TestACameraStopsWhenItIsNotWanted(t *testing.T) {
	proof.Only(t, manyPages)
	_, p := atDoor(t)
	p.do(chromedp.Evaluate(fakeCamera, nil), chromedp.Click("#way-camera"), chromedp.WaitVisible("#eye"), chromedp.Click("#way-camera"), chromedp.WaitNotVisible("#eye"))
	p.run(`give()`)
	p.until(`stopped === 1 && asked === 1`) // the second tap opens no other
	p.do(chromedp.Click("#way-camera"), chromedp.WaitVisible("#eye"), chromedp.Click("#eye-close"), chromedp.WaitNotVisible("#eye"))
	p.run(`give()`)
	p.until(`stopped === 2`)
	opens := func() {
		p.do(chromedp.Click("#way-camera"), chromedp.WaitVisible("#eye"))
		p.run(`give()`)
		p.looksTwice()
	}
	opens()
	p.do(chromedp.Click("#where"), chromedp.WaitVisible("#pick-form"))
	p.until(`stopped === 3`)
	p.do(chromedp.SetValue("#door", "Entrance"), chromedp.Click("#pick-form > button"), chromedp.WaitVisible("#code"))
	opens()
	p.do(chromedp.Click("#menu"), chromedp.WaitVisible("#leave"), chromedp.Click("#leave"), chromedp.WaitVisible("#leaving"), chromedp.Click("#leave-now"), chromedp.WaitVisible("#enter"))
	p.until(`stopped === 4 && opened === 4`)
}

// TestALostCameraIsNotShown as one that reads: the phone has given it to another program. A tap opens it again.
func TestALostCameraIsNotShown(t *testing.T) {
	proof.Only(t, manyPages)
	_, p := atDoor(t)
	p.opensCamera("")
	p.looksTwice()
	p.run(`for (const track of document.getElementById('video').srcObject.getTracks()) track.dispatchEvent(new Event('ended'))`)
	p.until(`document.getElementById('eye-says').textContent.includes('Another program uses the camera') && document.getElementById('video').hidden && stopped === 1`)
	p.do(chromedp.Click("#way-camera"))
	p.until(`asked === 2`)
	p.run(`sight = ['K7QP2M']; give()`)
	p.labelled("Ana S.")
}

// TestAFaultOfThePhonesStorageLeavesThePageAbleToScan: an iPhone loses its connection to it while the page is in the background.
func TestAFaultOfThePhonesStorageLeavesThePageAbleToScan(t *testing.T) {
	proof.Only(t, manyPages)
	w, p := atDoor(t)
	w.down()
	p.run(`window.transaction = IDBDatabase.prototype.transaction; IDBDatabase.prototype.transaction = () => { throw new DOMException('connection lost', 'UnknownError'); }`)
	p.types("K7QP2M", kb.Enter)
	p.sees("unreachable", "Next")
	p.next()
	p.run(`IDBDatabase.prototype.transaction = transaction`)
	w.up()
	p.types("K7QP2M", kb.Enter)
	p.sees("admitted", "Ana S.")
	p.next()
	if said := p.faulted(); !strings.Contains(said, "connection lost") {
		t.Errorf("the browser says %q", said)
	}
}

// fills has a page store what it can, until nothing goes in any more.
const fills = `try {
	if (!localStorage.full0) for (let size = 1 << 22, n = 0; size > 0; size >>= 1) try { for (;;) localStorage['full' + n++] = 'x'.repeat(size); } catch {}
} catch {} // a blank page has no storage`

// TestAPhoneWithoutStorageSaysThatTheLaptopIsAway: the words do not wait for the list of what is kept. One that is full signs in, and shows what the laptop
// answers instead of what it has kept.
func TestAPhoneWithoutStorageSaysThatTheLaptopIsAway(t *testing.T) {
	proof.Only(t, manyPages)
	w, p := atDoor(t)
	p.run(`IDBDatabase.prototype.transaction = () => { throw new DOMException('connection lost', 'UnknownError'); }`)
	w.down()
	p.do(chromedp.WaitVisible("#away"))
	p.faulted()
	w.up()
	p.do(onEachPage(fills), chromedp.Navigate("about:blank"), chromedp.Navigate(w.link()), chromedp.WaitVisible("#helper"), chromedp.SendKeys("#helper", " Augusto"),
		chromedp.Click("#enter-ticket button"), chromedp.WaitVisible("#code"))
	p.do(chromedp.Evaluate(`navigator.serviceWorker.ready.then(() => caches.open('doorward-1')).then(kept => kept.put('/door/assets/words.en.json', new Response('{}')))`, nil, awaited),
		storage.OverrideQuotaForOrigin(w.served.url).WithQuotaSize(1), chromedp.Reload(), chromedp.WaitVisible("#code"))
	p.until(`document.getElementById('last-title').textContent === 'Last scans'`)
}

// TestAConnectionToThePhonesStorageIsOpenedAgain after it was closed below the page.
func TestAConnectionToThePhonesStorageIsOpenedAgain(t *testing.T) {
	proof.Only(t, manyPages)
	w, p := atDoor(t)
	p.run(`(() => {
		const real = IDBDatabase.prototype.transaction;
		IDBDatabase.prototype.transaction = function (...args) {
			IDBDatabase.prototype.transaction = real;
			this.close();
			return real.apply(this, args);
		};
	})()`)
	w.down()
	p.types("K7QP2M", kb.Enter)
	p.sees("unreachable", "Let in", "Hold")
	p.next() // let in
	if n := p.kept(); n != 1 {
		t.Errorf("%d scans lie in the phone, want one", n)
	}
	p.run(`{
		const real = IDBObjectStore.prototype.put;
		IDBObjectStore.prototype.put = function (scan) {
			if (scan.let_in) throw new DOMException('full', 'QuotaExceededError');
			return real.call(this, scan);
		};
	}`)
	p.types("B2XX91", kb.Enter)
	p.sees("unreachable")
	p.run(`document.querySelector('#result-acts .primary').click()`) // let in: the phone is full by then
	p.until(`document.getElementById('result').hidden && document.getElementById('waiting-list').textContent.includes('B2XX91')`)
}

// decided are the scans that lie in the phone, with what the helper said.
func (p *phone) decided() (scans string) {
	p.Helper()
	p.do(chromedp.Evaluate(`new Promise(done => {
		indexedDB.open('doorward').onsuccess = e => {
			const found = e.target.result.transaction('scans').objectStore('scans').getAll();
			found.onsuccess = () => done(found.result.map(s => s.code + (s.let_in ? ' in' : ' held')).sort().join(', '));
		};
	})`, &scans, awaited))
	return scans
}

// TestAQuestionStaysUntilItIsAnswered: the tap that is meant for one guest does not let in the next.
func TestAQuestionStaysUntilItIsAnswered(t *testing.T) {
	proof.Only(t, manyPages)
	w, p := atDoor(t)
	w.down()
	p.types("K7QP2M", kb.Enter)
	p.sees("unreachable")
	p.types("B2XX91", kb.Enter)
	p.untaken("Not scanned. Answer for this guest first.")
	p.settles()
	if scans := p.decided(); scans != "K7QP2M held" {
		t.Errorf("in the phone lie %q while the first is asked about", scans)
	}
	p.next()
	p.types("B2XX91", kb.Enter)
	for p.decided() != "B2XX91 held, K7QP2M in" { // and the next is asked about
		p.settles()
	}
	p.sees("unreachable")
	p.do(chromedp.Click("#result-acts button:last-child"), chromedp.WaitNotVisible("#result"))
	if scans := p.decided(); scans != "B2XX91 held, K7QP2M in" {
		t.Errorf("in the phone lie %q", scans)
	}
}

// TestASecondTapLetsInNoSecondGuest: it comes while the phone stores the first, and does not answer the question about the next guest.
func TestASecondTapLetsInNoSecondGuest(t *testing.T) {
	proof.Only(t, manyPages)
	w, p := atDoor(t)
	w.down()
	p.types("K7QP2M", kb.Enter)
	p.sees("unreachable")
	p.run(`for (let i = 0; i < 2; i++) document.querySelector('#result-acts .primary').click()`)
	p.do(chromedp.WaitNotVisible("#result"))
	p.settles()
	p.until(`document.querySelectorAll('#last li').length === 1`)
}

// anaCameIn is a helper's phone that has admitted one guest, and waits for the next.
func anaCameIn(t *testing.T) *phone {
	p := browse(t)
	p.signIn(newFamilyTown(t).link(), "Bia")
	p.types("SOLO", kb.Enter)
	p.sees("admitted", "Ana S.")
	p.next()
	return p
}

// TestALateAnswerReplacesNoNotice: the answer to an undo of another guest waits for the tap.
func TestALateAnswerReplacesNoNotice(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	p := anaCameIn(t)
	p.run(lateAnswers + `; late = '/undo/'`)
	p.do(chromedp.Click("#last button"))
	p.until(`held`)
	p.types("KID", kb.Enter)
	p.sees("admitted", "Ask for the guardian's slip")
	p.run(`release()`)
	p.settles()
	p.sees("admitted", "Gil R.", "Ask for the guardian's slip")
	p.do(chromedp.Click("#result-acts .primary"))
	p.sees("undone", "Ana S.")
}

// TestAnUndoIsAskedAgainAfterALostAnswer: the laptop has taken the check-in back, and its answer never came. Asked again it gives the same answer, and takes
// back nothing else.
func TestAnUndoIsAskedAgainAfterALostAnswer(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	p := anaCameIn(t)
	p.run(`(() => {
		const real = window.fetch;
		window.fetch = async (path, options) => {
			const answer = await real(path, options);
			if (!path.endsWith('/undo/')) return answer;
			window.fetch = real;
			throw new TypeError('lost');
		};
	})()`)
	p.do(chromedp.Click("#last button"))
	p.sees("refused")
	p.until(`document.getElementById('count-in').textContent === '0'`)
	p.next()
	p.do(chromedp.Click("#last button"))
	p.sees("undone", "Ana S.")
	p.next()
	p.until(`document.querySelector('#last li button') === null`)
}

// TestNoGuestIsScannedWhileAFamilyComesIn.
func TestNoGuestIsScannedWhileAFamilyComesIn(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	_, p := familyDoor(t)
	p.types("DAD", kb.Enter)
	p.do(chromedp.WaitVisible("#family"))
	p.run(lateAnswers + `; late = '/scan/'`)
	p.do(chromedp.Click("#result-acts .primary"))
	p.until(`held`)
	p.types("KID", kb.Enter)
	p.untaken("Not scanned. Wait for the answer.")
	p.until(`document.getElementById('code').value === ''`)
	p.run(`release()`)
	p.until(`document.getElementById('result-more').textContent === '4 guests let in'`)
	p.next()
	p.types("KID", kb.Enter)
	p.labelled("Gil R.")
	p.sees("admitted", "Ask for the guardian's slip")
}

// TestAFamilyIsOfferedOnItsOwnResult: the next guest looks the same to the helper, without a name.
func TestAFamilyIsOfferedOnItsOwnResult(t *testing.T) {
	proof.Only(t, manyPages)
	w := newDoorTown(t)
	w.load("ticket", "code,type,order\nA1,Adult,ONE\nA2,Adult,ONE\nB1,Adult,TWO\n", "--event", "1")
	p := browse(t)
	p.signIn(w.link(), "Bia")
	p.run(lateAnswers + `; late = '/family/'`)
	p.types("A1", kb.Enter)
	p.sees("admitted")
	p.until(`held`)
	p.types("B1", kb.Enter)
	p.until(`document.getElementById('count-in').textContent === '2'`)
	p.sees("admitted")
	p.run(`release()`)
	p.settles()
	p.until(`document.getElementById('family').hidden`)
}

// TestAHeldScanStaysUntilTheLaptopDecidesIt: too many requests are no decision.
func TestAHeldScanStaysUntilTheLaptopDecidesIt(t *testing.T) {
	proof.Only(t, manyPages)
	w, p := atDoor(t)
	w.down()
	p.keepsOut("K7QP2M")
	w.up()
	p.until(`document.getElementById('away').hidden`)
	p.run(`(() => {
		const real = window.fetch;
		window.fetch = async (path, options) => {
			if (!path.endsWith('/scan/')) return real(path, options);
			window.fetch = real;
			return new Response(JSON.stringify({error: {code: 'RATE_LIMITED', message: 'Too many requests.'}}), {status: 429});
		};
	})()`)
	p.do(chromedp.Click("#waiting-list button"))
	p.sees("refused", "Too many requests.")
	p.next()
	if scans := p.decided(); scans != "K7QP2M held" {
		t.Fatalf("in the phone lie %q", scans)
	}
	p.do(chromedp.Click("#waiting-list button"))
	p.sees("admitted", "Ana S.")
	p.until(`document.getElementById('waiting').hidden`)
}

// TestWhoIsLetInMeanwhileIsSentToo: scans of another event are on their way while a guest is let in.
func TestWhoIsLetInMeanwhileIsSentToo(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w := newFamilyTown(t)
	p := browse(t)
	p.servesTwo(w, "Retiro")
	p.do(remembers(`put({nonce: '000000000000000000000000000000ff', event: 2, name: 'Retiro', code: 'RET1', at: new Date().toISOString(), door: 'Entrance', let_in: true})`))
	p.do(onEachPage(lateAnswers+`; late = '/2/scans/'`), chromedp.Reload(), chromedp.WaitVisible("#code"))
	p.until(`held`)
	p.run(`lost = true`)
	p.letsInAlone("SOLO")
	p.run(`lost = false`)
	p.types("NONE", kb.Enter)
	p.sees("unknown_code") // the laptop answers again
	p.next()
	p.run(`release()`)
	p.settles()
	p.types("KID", kb.Enter)
	p.sees("admitted", "Gil R.")
	p.until(`document.getElementById('away').hidden && document.getElementById('count-in').textContent === '2'`)
	if scans := p.decided(); scans != "" {
		t.Errorf("in the phone lie %q", scans)
	}
}

// TestSoundsAreHeardAfterACall: an iPhone interrupts the page's sounds for it. The end of a code brings them back, and any tap.
func TestSoundsAreHeardAfterACall(t *testing.T) {
	proof.Only(t, manyPages)
	w := newDoorTown(t)
	p := browse(t)
	p.do(onEachPage(`window.AudioContext = class {
		state = 'running';
		destination = {};
		currentTime = 0;
		constructor() { window.heard = this; }
		async resume() { this.state = 'running'; }
		createOscillator = () => ({frequency: {}, connect: next => next, start() {}, stop() {}});
		createGain = () => ({gain: {setValueAtTime() {}, exponentialRampToValueAtTime() {}}, connect: next => next});
	}`))
	p.signIn(w.link(), "Bia")
	p.run(`heard.state = 'interrupted'`)
	p.types("K7QP2M", kb.Enter)
	p.sees("admitted")
	p.until(`heard.state === 'running'`)
	p.next()
	p.run(`heard.state = 'interrupted'`)
	p.types("B2X", "")                                                                          // three letters are no burst
	p.until(`document.getElementById('code').value === 'B2X' && heard.state === 'interrupted'`) // a key alone costs no time
	p.do(chromedp.Click("#count-in"))
	p.until(`heard.state === 'running'`)
}

// TestAnOlderBrowserSignsIn: iPhones before 2024 do not know checkVisibility, and those with iOS 15 neither signals that end by themselves nor requestSubmit.
func TestAnOlderBrowserSignsIn(t *testing.T) {
	proof.Only(t, manyPages)
	w := newDoorTown(t)
	p := browse(t)
	p.do(onEachPage(`delete Element.prototype.checkVisibility; delete AbortSignal.timeout; delete HTMLFormElement.prototype.requestSubmit`))
	p.signIn(w.link(), "Bia")
	p.types("K7QP2M", kb.Enter)
	p.sees("admitted", "Ana S.")
}

// TestASecondTapIsNotForWhatLiesBelow: a finger that taps Next twice opens nothing of the page that lay below it, and a slow phone hears of
// its second tap late. A tap that is made later is taken.
func TestASecondTapIsNotForWhatLiesBelow(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	p := anaCameIn(t)
	p.types("UNPAID", kb.Enter)
	p.sees("unpaid")
	p.rests()
	p.run(`heard = []; taken = 0;
		for (const way of document.querySelectorAll('.ways > *')) way.addEventListener('click', e => { taken++; e.preventDefault(); });
		const box = document.querySelector('#result-acts .primary').getBoundingClientRect();
		const tap = () => new PointerEvent('click', {pointerType: 'touch', detail: 1, bubbles: true, cancelable: true});
		const hear = tap => {
			const below = document.elementFromPoint(box.x + box.width / 2, box.bottom - 8);
			below.dispatchEvent(tap);
			heard.push(below.closest('.ways > *') !== null, taken);
		};
		document.getElementById('result').addEventListener('click', () => {
			const second = tap();
			setTimeout(() => { hear(second); hear(tap()); }, 600);
		}, {once: true})`)
	p.until(`[...document.querySelectorAll('#result, .face, #result button')].every(e => getComputedStyle(e).touchAction === 'manipulation')`) // it zooms nothing, either
	p.do(chromedp.Click("#result-acts .primary"))
	p.until(`heard.length === 4`)
	var heard []any
	if p.do(chromedp.Evaluate(`heard`, &heard)); fmt.Sprint(heard) != "[true 0 true 1]" {
		t.Errorf("the second tap and a later one: a button below, and taps that were taken: %v", heard)
	}
}

// TestALateAnswerIsWaitedFor: the page says that it checks a code whose answer is late, and says so no longer when the answer has come.
func TestALateAnswerIsWaitedFor(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	p := anaCameIn(t)
	p.run(lateAnswers + `; late = '/scan/'`)
	p.types("KID", kb.Enter)
	p.do(chromedp.WaitVisible("#asking"))
	p.run(`release()`)
	p.sees("admitted", "Gil R.")
	p.do(chromedp.WaitNotVisible("#asking"))
}

// TestAScanIsDecidedForItsDoor, though the helper stands at another one by then: one whose answer is late, and one that was held.
func TestAScanIsDecidedForItsDoor(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w, p := familyDoor(t)
	p.types("KID", kb.Enter)
	p.sees("admitted")
	p.next()
	p.run(lateAnswers + `; late = '/scan/'`)
	p.types("SOLO", kb.Enter)
	p.until(`held`)
	p.types("UNPAID", kb.Enter)
	p.untaken("Not scanned. Wait for the answer.")
	p.stands("Exit", "out")
	p.run(`release()`)
	p.labelled("Ana S.")
	p.sees("admitted")
	p.next()
	w.down()
	p.keepsOut("KID")
	w.up()
	p.stands("Main", "in")
	p.do(chromedp.WaitVisible("#waiting-list button"), chromedp.Click("#waiting-list button"))
	p.sees("left", "Gil R.")
	p.until(`document.getElementById('waiting').hidden`)
}

// TestAPhoneSaysThatItLetATicketInBefore: while the laptop is away, the phone knows the tickets that it has let in itself.
func TestAPhoneSaysThatItLetATicketInBefore(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w, p := familyDoor(t)
	w.down()
	code := "KID"
	letsIn := func(repeated bool) {
		t.Helper()
		p.types(code, kb.Enter)
		p.sees("unreachable", "nothing is checked")
		p.until(fmt.Sprintf(`document.getElementById('result').innerText.includes('This phone has let this ticket in already, at') === %t`, repeated))
		p.next() // let in, or out
	}
	letsIn(false)
	letsIn(true)
	code = "https://tickets.example/t/k-id?from=mail"
	letsIn(true) // the same ticket, read otherwise
	code = "KID"
	p.stands("Back", "out")
	letsIn(false)
	p.until(`document.querySelector('#last .quiet').textContent.endsWith('Let out')`)
	p.stands("Main", "in")
	letsIn(false) // it went out
	p.stands("North", "reentry")
	letsIn(true)
}

// TestAHelperTakesBackWhomThePhoneLetIn: a guest that the phone let in by itself is taken back before the laptop hears of it. The laptop's word on another
// guest stands in the place of the phone's.
func TestAHelperTakesBackWhomThePhoneLetIn(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w, p := familyDoor(t)
	w.down()
	for _, code := range []string{"KID", "SOLO"} {
		p.letsInAlone(code)
	}
	p.until(`document.getElementById('away').innerText.includes('2')`)
	p.do(chromedp.Click("#last .ask button"))
	p.sees("undone", "SOLO")
	p.next()
	p.until(`document.getElementById('last').innerText.includes('undone')`)
	if scans := p.decided(); scans != "KID in" {
		t.Errorf("in the phone lie %q", scans)
	}
	p.run(lateAnswers + `; late = '/scans/'`)
	w.up()
	p.until(`held && document.querySelector('#last .ask') && !document.querySelector('#last .ask button')`) // the laptop may have it by now
	p.run(`release()`)
	p.until(`document.getElementById('last').innerText.includes('Gil R.')`)
	if n := w.admissions(); n != 1 {
		t.Errorf("the store has %d check-ins, want one", n)
	}
}

// TestAGuestThatAnotherTabHandedInIsNotTakenBack: the laptop knows of the guest, and the page does not say that the guest is not in.
func TestAGuestThatAnotherTabHandedInIsNotTakenBack(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w, p := familyDoor(t)
	w.down()
	p.letsInAlone("SOLO")
	p.do(chromedp.WaitVisible("#last .ask button"))
	p.do(remembers(`clear()`)) // as the other tab does, once the laptop has it
	p.do(chromedp.Click("#last .ask button"))
	p.sees("refused", "Only a supervisor takes this back now.")
	p.next()
	p.until(`document.querySelector('#last .ask button') === null`)
}

// TestALateAnswerWaitsForADialog, which would lie over it.
func TestALateAnswerWaitsForADialog(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	p := anaCameIn(t)
	p.run(lateAnswers + `; late = '/scan/'`)
	p.types("UNPAID", kb.Enter)
	p.until(`held`)
	p.do(chromedp.Click("#menu"), chromedp.WaitVisible("#settings"))
	p.run(`release()`)
	p.settles()
	p.until(`document.getElementById('result').hidden`)
	p.do(chromedp.Click("#settings .close"))
	p.sees("unpaid")
}

// TestACodeBehindADialogIsReadLater: a result would lie below the dialog, and close there.
func TestACodeBehindADialogIsReadLater(t *testing.T) {
	proof.Only(t, manyPages)
	w, p := atDoor(t)
	p.opensCamera("")
	p.looksTwice()
	p.do(chromedp.Click("#way-search"), chromedp.WaitVisible("#find-words"))
	p.run(`sight = ['K7QP2M']`)
	p.looksTwice()
	p.settles()
	if n := w.admissions(); n != 0 {
		t.Errorf("the store has %d check-ins behind a dialog", n)
	}
	p.do(chromedp.Click("#find .close"))
	p.labelled("Ana S.")
}

// TestASearchThatFailsSaysSo: it does not say that a guest has no ticket, and shows no guest of the search before.
func TestASearchThatFailsSaysSo(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	p := anaCameIn(t)
	p.run(`(() => {
		const real = window.fetch, busy = () => new Response(JSON.stringify({error: {code: 'RATE_LIMITED', message: 'Too many requests.'}}), {status: 429});
		window.fetch = async (path, options) => path.endsWith('?q=melo') ? busy() : real(path, options);
	})()`)
	p.do(chromedp.Click("#way-search"), chromedp.WaitVisible("#find-words"), writing("#find-words", "lima"), chromedp.WaitVisible("#find-list button"))
	p.run(`document.getElementById('find-words').value = ''`)
	p.do(writing("#find-words", "melo"))
	p.until(`document.getElementById('find-says').textContent.includes('Too many requests.') && document.getElementById('find-list').children.length === 0`)
}

// TestOneEventsWordIsNotSeenAtAnother: the laptop's word on a guest of one event stays while that on another event's is seen.
func TestOneEventsWordIsNotSeenAtAnother(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w := newFamilyTown(t)
	p := browse(t)
	p.servesTwo(w, "Retiro")
	w.down()
	letsIn := func(code string) {
		p.types(code, kb.Enter)
		p.sees("unreachable")
		p.next()
	}
	letsIn("UNPAID")
	p.do(chromedp.Click("#where"), chromedp.WaitVisible("#pick-form"))
	p.goes(2)
	letsIn("NONE")
	w.up()
	for p.decided() != "" {
		p.settles()
	}
	p.do(chromedp.WaitVisible("#differs-seen"), chromedp.Click("#differs-seen"), chromedp.WaitNotVisible("#differs"))
	p.do(chromedp.Click("#where"), chromedp.WaitVisible("#pick-form"))
	p.goes(1)
	p.until(`document.getElementById('differs-list').innerText.includes('Not paid')`)
}

// TestTheLastScansStayAtTheirEvent when it is chosen again, for another door say. They go with their session.
func TestTheLastScansStayAtTheirEvent(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w := newFamilyTown(t)
	p := browse(t)
	p.servesTwo(w, "Retiro")
	p.types("SOLO", kb.Enter)
	p.sees("admitted")
	p.next()
	chooses := func(event int) {
		p.do(chromedp.Click("#where"), chromedp.WaitVisible("#pick-form"))
		p.goes(event)
	}
	chooses(1)
	p.do(chromedp.Click("#last button"))
	p.sees("undone", "Ana S.")
	p.next()
	p.run(lateAnswers + `; late = '/scan/'`)
	p.types("SOLO", kb.Enter)
	p.until(`held`)
	chooses(2)
	p.run(`release()`)
	p.sees("admitted", "Ana S.")
	p.do(chromedp.Click("#result-acts button:last-child")) // Undo, of the event that the helper has left
	p.sees("undone", "Ana S.")
	p.next()
	p.until(`document.getElementById('last').children.length === 0`)
	chooses(1)
	p.types("SOLO", kb.Enter)
	p.sees("admitted")
	p.next()
	p.run(`held = false`)
	p.types("KID", kb.Enter) // its answer comes to the next helper
	p.until(`held`)
	p.do(chromedp.Click("#menu"), chromedp.WaitVisible("#leave"), chromedp.Click("#leave"), chromedp.WaitVisible("#leaving"), chromedp.Click("#leave-now"), chromedp.WaitVisible("#enter"))
	p.signsInByKey(w)
	p.goes(1)
	p.run(`release()`)
	p.settles()
	p.until(`document.getElementById('last').children.length === 0 && document.getElementById('result').hidden`)
}

// TestASearchWaitsForTheIndex: the laptop is there and cannot search yet. The page asks again.
func TestASearchWaitsForTheIndex(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	p := anaCameIn(t)
	p.run(`(() => {
		const real = window.fetch;
		window.builds = true;
		window.fetch = async (path, options) => builds && path.includes('/search/') ? new Response('{}', {status: 503}) : real(path, options);
	})()`)
	p.do(chromedp.Click("#way-search"), chromedp.WaitVisible("#find-words"), writing("#find-words", "rocha"))
	p.until(`document.getElementById('find-says').textContent.includes('prepares the search')`)
	p.run(`builds = false`)
	p.until(`document.getElementById('find-list').textContent.includes('Gil R.') && document.getElementById('find-says').textContent === ''`)
}

// TestARefusalIsInTheHelpersLanguage: the laptop's own reason is English, and for programs.
func TestARefusalIsInTheHelpersLanguage(t *testing.T) {
	proof.Only(t, manyPages)
	w := newDoorTown(t)
	p := browse(t)
	p.do(onEachPage(`try { localStorage.language = 'pt-BR' } catch {}`))
	p.signIn(w.link(), "Bia")
	p.opensCamera(strings.Repeat("https://", 40))
	p.sees("refused", "Não é código de ingresso.")
	p.next()
	p.do(chromedp.Click("#way-search"), chromedp.WaitVisible("#find-words"), writing("#find-words", ",,"))
	p.until(`document.getElementById('find-says').textContent === 'Digite mais letras.'`)
}

// TestAPhotoClosesTheCamera, which would read on where nothing is seen of it, and takes away how the camera is set up.
func TestAPhotoClosesTheCamera(t *testing.T) {
	proof.Only(t, manyPages)
	_, p := atDoor(t)
	p.opensCamera("")
	p.looksTwice()
	p.run(`document.getElementById('eye-trust').hidden = false`) // as after a camera that is missing over http
	blank := filepath.Join(t.TempDir(), "blank.png")
	drawBlank(t, blank)
	p.do(chromedp.SetUploadFiles("#photo", []string{blank}))
	p.until(`document.getElementById('eye-says').innerText.includes('No code') && document.getElementById('eye-trust').hidden && stopped === 1`)
}

// TestAPhotoThatTheLaptopRefusesIsNotCalledEmpty: the helper would go nearer, and hold still.
func TestAPhotoThatTheLaptopRefusesIsNotCalledEmpty(t *testing.T) {
	proof.Only(t, manyPages)
	_, p := atDoor(t)
	p.run(`window.fetch = async () => new Response(JSON.stringify({error: {code: 'RATE_LIMITED', message: 'Too many requests.'}}), {status: 429})`)
	blank := filepath.Join(t.TempDir(), "blank.png")
	drawBlank(t, blank)
	p.do(chromedp.SetUploadFiles("#photo", []string{blank}))
	p.until(`document.getElementById('eye-says').textContent === 'This photo cannot be read.'`)
}

// TestADialogEndsWithItsSession: it would lie over the words that the phone may not scan any more.
func TestADialogEndsWithItsSession(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w, p := familyDoor(t)
	p.do(chromedp.Click("#menu"), chromedp.WaitVisible("#settings"))
	var keys struct{ Results []key }
	var gone struct{ Revoked bool }
	w.run(&keys, "keys", "list")
	w.run(&gone, "keys", "revoke", fmt.Sprint(keys.Results[len(keys.Results)-1].ID))
	w.down()
	w.up()
	p.until(`document.getElementById('enter-fault').innerText.includes('may not scan any more') && document.querySelector('dialog[open]') === null`)
}
