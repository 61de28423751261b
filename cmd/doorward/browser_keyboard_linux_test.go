package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"doorward/kv/kvtest/proof"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The door's page by keyboard alone: the focus can be seen in every theme, is never lost, and comes back to the code.

// focusFaults says what is wrong with the focus: "" = it is where it can be seen, in each theme.
const focusFaults = `(() => {
	const at = document.activeElement, root = document.documentElement;
	if (!at || at === document.body) return 'nothing has the focus';
	const name = at.tagName + ' ' + at.id + ' ' + at.textContent.trim().slice(0, 30);
	if (!at.matches(':focus-visible')) return name + ' does not show its focus';
	const shown = at.classList.contains('spoken') ? document.querySelector('label[for="' + at.id + '"]') : at;
	const box = shown.getBoundingClientRect(), x = box.x + box.width / 2, y = box.y + box.height / 2;
	if (y < 0 || y > innerHeight || x < 0 || x > innerWidth) return name + ' is beside the screen';
	const top = document.elementFromPoint(x, y);
	if (!shown.contains(top)) return name + ' is covered by ' + (top?.id || top?.className || top?.tagName);
	const numbers = colour => colour.match(/[\d.]+/g).map(Number);
	const light = colour => numbers(colour).slice(0, 3).map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
	const was = root.dataset.theme;
	try {
		for (const theme of ['light', 'dark', 'contrast']) {
			root.dataset.theme = theme;
			const style = getComputedStyle(shown);
			if (style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2) return name + ' has no outline in ' + theme;
			let below = shown.parentElement;
			while (below !== root && numbers(getComputedStyle(below).backgroundColor)[3] === 0) below = below.parentElement;
			const [a, b] = [light(style.outlineColor), light(getComputedStyle(below).backgroundColor)].sort((a, b) => b - a);
			if ((a + 0.05) / (b + 0.05) < 3) return name + ' has an outline of ' + style.outlineColor + ' on ' + getComputedStyle(below).backgroundColor + ' in ' + theme;
		}
	} finally {
		root.dataset.theme = was;
	}
	return '';
})()`

// at waits until an element has the focus, and wants it to be seen.
func (p *phone) at(selector string) {
	p.Helper()
	p.until(fmt.Sprintf(`document.activeElement.matches(%q)`, selector))
	p.seesFocus()
}

func (p *phone) seesFocus() {
	p.Helper()
	var fault string
	if p.do(chromedp.Evaluate(focusFaults, &fault)); fault != "" {
		p.Errorf("%s", fault)
	}
}

// tabs presses Tab until an element has the focus, and wants to see it on the way. At the end of the page the focus is nowhere for one step.
func (p *phone) tabs(selector string) {
	p.Helper()
	for range 60 {
		p.do(chromedp.KeyEvent(kb.Tab))
		var there, nowhere bool
		p.do(chromedp.Evaluate(`document.activeElement === document.body`, &nowhere))
		if nowhere {
			continue
		}
		p.seesFocus()
		if p.do(chromedp.Evaluate(fmt.Sprintf(`document.activeElement.matches(%q)`, selector), &there)); there {
			return
		}
	}
	p.Fatalf("no Tab leads to %s", selector)
}

// presses presses keys.
func (p *phone) presses(keys ...string) {
	p.Helper()
	for _, k := range keys {
		p.do(chromedp.KeyEvent(k))
	}
}

// back presses Shift and Tab.
func (p *phone) back() {
	p.Helper()
	p.do(chromedp.KeyEvent(kb.Tab, chromedp.KeyModifiers(input.ModifierShift)))
}

// rests waits until an Enter does not belong to the code before it, and a tap not to the result before.
func (p *phone) rests() {
	p.Helper()
	p.do(chromedp.Evaluate(`new Promise(done => setTimeout(done, 550))`, nil, awaited))
}

// announced wants a live region to say words, as the browser tells those who read the screen aloud.
func (p *phone) announced(role string, words ...string) {
	p.Helper()
	var nodes []*accessibility.Node
	p.do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		nodes, err = accessibility.GetFullAXTree().Do(ctx)
		return err
	}))
	byID := map[accessibility.NodeID]*accessibility.Node{}
	for _, n := range nodes {
		byID[n.NodeID] = n
	}
	var text func(n *accessibility.Node) string
	text = func(n *accessibility.Node) string {
		said := ""
		if n.Role != nil && axText(n.Role) == "StaticText" && n.Name != nil {
			said = axText(n.Name)
		}
		for _, id := range n.ChildIDs {
			if child := byID[id]; child != nil {
				said += " " + text(child)
			}
		}
		return said
	}
	said := []string{}
	for _, n := range nodes {
		if !n.Ignored && n.Role != nil && axText(n.Role) == role && isLive(n) {
			said = append(said, text(n))
		}
	}
	for _, w := range words {
		if !strings.Contains(strings.Join(said, "\n"), w) {
			p.Errorf("no live region of role %s says %q, but %q", role, w, said)
		}
	}
}

// axText is a value of the tree that screen readers have.
func axText(v *accessibility.Value) string {
	var text string
	_ = json.Unmarshal(v.Value, &text) // what is no text is ""
	return text
}

func isLive(n *accessibility.Node) bool {
	for _, p := range n.Properties {
		if p.Name == accessibility.PropertyNameLive {
			return axText(p.Value) == "assertive" || axText(p.Value) == "polite"
		}
	}
	return false
}

const space = " "

// byKeyboard is a phone at a door, reached by keyboard. No result closes by itself there before a key is pressed.
func byKeyboard(t *testing.T, w *doorTown) *phone {
	t.Helper()
	p := browse(t)
	p.still("light")
	p.do(chromedp.Navigate(w.served.url+"/door"), chromedp.Evaluate(`localStorage.time = '600'`, nil), chromedp.Navigate(w.link()), chromedp.WaitVisible("#helper"))
	p.at("#helper")
	p.presses("Bia", kb.Enter)
	p.at("#pick-events input:checked")
	p.tabs("#pick-ways input:checked")
	p.presses(kb.ArrowDown)
	p.at("#pick-ways input[value=out]")
	p.presses(kb.ArrowUp)
	p.at("#pick-ways input[value=in]")
	p.tabs("#door")
	p.presses("North", kb.Enter)
	p.at("#code")
	p.until(`document.getElementById('where-door').textContent === 'North · in'`)
	return p
}

func TestResultsAreAnsweredByKeyboard(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w := newFamilyTown(t)
	p := byKeyboard(t, w)
	p.types("SOLO", kb.Enter)
	p.sees("admitted")
	p.announced("alert", "Welcome", "Ana S.", "Adult")
	p.at("#result-acts .primary")
	p.rests()
	p.presses(kb.Tab) // holds it
	p.until(`document.getElementById('result-time').hidden`)
	p.tabs("#result-acts button:last-child") // nothing below the result is on the way
	p.presses(space)
	p.sees("undone")
	p.announced("alert", "Undone", "The guest is not in.")
	p.at("#result-acts .primary")
	p.presses(space)
	p.at("#code")

	p.types("UNPAID", kb.Enter)
	p.sees("unpaid")
	p.announced("alert", "Not paid", "Send the guest to the cash desk.")
	p.at("#result-acts .primary")
	p.presses(kb.Escape)
	p.at("#code")

	p.types("KID", kb.Enter)
	p.sees("admitted")
	p.announced("alert", "look first", "Ask for the guardian's slip")
	p.at("#result-acts .primary")
	p.presses(kb.Escape)
	p.at("#result-acts .primary") // it waits
	p.presses(space)
	p.at("#code")

	p.types("DAD", kb.Enter)
	p.sees("admitted")
	p.until(`document.activeElement.textContent === 'Let in 3 more'`)
	p.back()
	p.at("#family input:not(:disabled)")
	p.presses(space)
	p.until(`document.querySelector('#result-acts .primary').textContent === 'Let in 2 more'`)
	p.tabs("#result-acts .primary")
	p.rests()
	p.presses(kb.Enter)
	p.until(`document.getElementById('result-more').textContent === '3 guests let in'`)
	p.at("#result-acts .primary")
	p.presses(kb.Enter)
	p.at("#code")
	if n := w.admissions(); n != 5 {
		t.Errorf("the store has %d check-ins, want those of Ana, Gil and three of the family", n)
	}
}

func TestThePageIsWorkedByKeyboard(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w := newFamilyTown(t)
	q := browse(t)
	q.signIn(w.link(), "Caio")
	p := byKeyboard(t, w)
	p.tabs("#way-search")
	p.presses(kb.Enter)
	p.at("#find-words")
	p.presses("so", kb.Escape)
	p.at("#code")
	p.tabs("#way-search")
	p.presses(kb.Enter)
	p.at("#find-words")
	p.do(writing("#find-words", "souza"), chromedp.WaitVisible("#find-list button"))
	p.tabs("#find-list button")
	p.presses(space)
	p.sees("admitted", "Ana S.")
	p.at("#result-acts .primary")
	p.presses(space)
	p.at("#code")

	p.tabs("#last button")
	q.types("TEEN", kb.Enter)
	q.sees("admitted")
	p.until(`document.getElementById('count-in').textContent === '2'`) // the lists were drawn again
	p.at("#last button")
	p.presses(kb.Enter)
	p.sees("undone", "Ana S.")
	p.presses(kb.Escape)
	p.at("#code")

	p.tabs("#menu")
	p.presses(space)
	p.at("#set-language")
	p.presses(kb.ArrowDown)
	p.until(`document.documentElement.lang === 'pt-BR'`)
	p.tabs("#set-theme")
	p.presses(kb.ArrowDown, kb.ArrowDown, kb.ArrowDown)
	p.until(`document.documentElement.dataset.theme === 'contrast'`)
	p.tabs("#set-time")
	p.tabs("#set-sound")
	p.presses(space, kb.Escape)
	p.at("#code")
	p.until(`localStorage.sound === 'off'`)

	p.tabs("#way-camera")
	p.presses(space)
	p.until(`document.getElementById('eye-says').textContent !== ''`)
	p.tabs("#eye-close")
	p.presses(kb.Enter)
	p.at("#code")
	chosen := make(chan struct{}, 1)
	chromedp.ListenTarget(p.ctx, func(event any) {
		if _, ok := event.(*page.EventFileChooserOpened); ok {
			chosen <- struct{}{}
		}
	})
	p.do(page.SetInterceptFileChooserDialog(true))
	p.tabs("#photo")
	p.presses(space)
	select {
	case <-chosen:
	case <-p.ctx.Done():
		t.Error("Space opens no photo")
	}
	p.tabs("#where")
	p.presses(kb.Enter)
	p.at("#pick-events input:checked")
	p.tabs("#door")
	p.tabs("#pick-doors button") // the door that the phone stands at
	p.presses(space)
	p.at("#pick-go")
	p.presses(kb.Enter)
	p.at("#code")
	p.tabs("#menu")
	p.presses(space)
	p.at("#set-language")
	p.tabs("#leave")
	p.presses(space)
	p.at("#leaving .close") // one Enter signs nobody out
	p.tabs("#leave-now")
	p.presses(space)
	p.at("#enter summary")
}

func TestScansThatWaitAreAnsweredByKeyboard(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	w := newFamilyTown(t)
	p := byKeyboard(t, w)
	w.down()
	p.types("SOLO", kb.Enter)
	p.sees("unreachable")
	p.announced("alert", "Not decided", "nothing is checked")
	p.at("#result-acts .primary")
	p.tabs("#result-acts button:last-child") // hold
	p.presses(space)
	p.at("#code")
	p.announced("status", "The laptop is out of reach.")
	p.types("UNPAID", kb.Enter)
	p.sees("unreachable")
	p.at("#result-acts .primary")
	p.presses(space) // let in
	p.at("#code")
	p.until(`document.getElementById('away').innerText.includes('1 scan waits')`)
	p.tabs("#waiting-list button:last-child")
	p.presses(kb.Enter) // removed
	p.at("#code")
	p.until(`document.getElementById('waiting').hidden`)
	w.up()
	p.until(`!document.getElementById('differs').hidden`)
	p.tabs("#differs-seen")
	p.presses(space)
	p.at("#code")
	p.until(`document.getElementById('differs').hidden`)
}

// doubles has a hand scanner type a code and end it twice at once.
func (p *phone) doubles(code, end string) {
	p.Helper()
	p.do(chromedp.Evaluate(`(() => { const all = window.ends = []; document.addEventListener('keydown', e => e.key.length > 1 && all.push(e.timeStamp), true); })()`, nil))
	p.types(code, end+end)
	var apart float64
	if p.do(chromedp.Evaluate(`window.ends[1] - window.ends[0]`, &apart)); apart > 450 {
		p.Skipf("this machine takes %.0f ms for two keys: no scanner is so slow", apart)
	}
}

// TestAScannerPressesNoButton: some scanners end a code twice, and a next code comes while a result waits. What they type presses nothing.
func TestAScannerPressesNoButton(t *testing.T) {
	proof.Only(t, manyPages)
	t.Parallel()
	_, p := familyDoor(t)
	p.doubles("KID", kb.Enter)
	p.sees("admitted", "look first")
	p.until(`document.activeElement.matches('#result-acts .primary')`)
	p.doubles("SOLO 1", kb.Enter)
	p.doubles("SOLO", kb.Tab)
	p.at("#result-acts .primary")
	p.sees("admitted", "Gil R.")
	p.rests()
	p.presses(kb.Enter)
	p.until(`[...document.querySelectorAll('#last strong')].map(e => e.textContent).join() === 'Gil R.'`) // what was scanned while it waited was not taken
}

// TestALateKeyIsNotLost: a phone that is busy reads a key long after it was pressed. The focus does not go to the result's button between the
// key and its letter.
func TestALateKeyIsNotLost(t *testing.T) {
	proof.Only(t, manyPages)
	_, p := atDoor(t)
	p.do(chromedp.Evaluate(`(() => { // what waits for the end of a burst happens right after the next key
		const later = window.setTimeout;
		let reach = () => {};
		window.setTimeout = (act, wait, ...rest) => wait === 300 ? (reach = act, 0) : later(act, wait, ...rest);
		document.addEventListener('keydown', () => reach());
		const now = performance.now(); // however late the answer is, it comes within the burst: the clock stands until the next key
		performance.now = () => now;
	})()`, nil))
	p.types("K7QP2M", kb.Enter)
	p.sees("admitted", "Ana S.")
	p.until(`document.activeElement.id === 'code'`)
	p.run(`delete performance.now`)
	late := input.TimeSinceEpoch(time.Now().Add(-time.Second))
	key := func(kind input.KeyType) *input.DispatchKeyEventParams {
		return input.DispatchKeyEvent(kind).WithKey("B").WithCode("KeyB").WithWindowsVirtualKeyCode('B').WithTimestamp(&late)
	}
	p.do(key(input.KeyRawDown), key(input.KeyChar).WithText("B").WithUnmodifiedText("B"), key(input.KeyUp))
	p.types("2XX91", kb.Enter)
	p.until(`['Bia S.', 'Unknown code'].some(text => document.getElementById('result').innerText.includes(text))`)
	p.sees("admitted", "Bia S.")
}
