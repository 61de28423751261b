// The page for helpers at a door: sign in, choose the event and the door, then scan.
import {ask, base, nonce, now, Unreachable} from './session.js';
import {store} from './store.js';
import {speak, say, ago, clock, date, live, moment, preferred} from './words.js';
import {signal, wake} from './signal.js';
import {fromPhoto, watch, why} from './camera.js';
import {first, trusts, upgrade, waits} from './secure.js';
import {listen} from './keys.js';
import {follow} from './company.js';
import {same} from './codes.js';
import * as queue from './queue.js';

const $ = id => document.getElementById(id);
const settings = {
  language: store.language ?? preferred(), theme: store.theme ?? 'auto', time: Number(store.time ?? 2), sound: store.sound !== 'off',
};
let event = null, door = store.door ?? '', way = 'in', me = {}, timer = 0, eye = null;
let finding = null; // ends the stream that is followed
const undoable = 60_000; // milliseconds in which a steward takes back, and in which a ticket is read twice
const entries = [];

// make builds an element with text and classes; text is never read as HTML.
function make(tag, text, className, act) {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  if (className) element.className = className;
  if (act) element.addEventListener('click', act);
  return element;
}

// about marks a button of a list with what it is about, by which it is found again when the list is drawn again.
function about(what, button) {
  button.dataset.about = `${what} ${button.textContent}`;
  return button;
}

// drawn is a sign of the page's own: fonts draw such letters thin on one phone and coloured on another.
function drawn(sign, className) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg'), use = document.createElementNS('http://www.w3.org/2000/svg', 'use');
  use.setAttribute('href', '#sign-' + sign);
  svg.append(use);
  svg.classList.add('drawn');
  const box = make('span', '', className);
  box.setAttribute('aria-hidden', 'true');
  box.append(svg);
  return box;
}

// name gives an element another word.
function name(id, word) {
  $(id).dataset.word = word;
  $(id).textContent = say(word);
}

function show(screen) {
  $('stuck').hidden = $('untaken').hidden = true;
  for (const id of ['enter', 'pick', 'work']) $(id).hidden = id !== screen;
  scrollTo(0, 0); // the screen before it may have been scrolled
  if (screen === 'work') return focusCode();
  const fields = [...$(screen).querySelectorAll('input, summary')].filter(field => field.getClientRects().length > 0);
  const at = byFinger() ? $(screen).querySelector('h1') : fields.find(field => field.checked) ?? fields[0];
  at?.focus({preventScroll: true});
}

const byFinger = () => matchMedia('(pointer: coarse)').matches; // a field that has the focus opens the keyboard there
let typed = false; // the code was typed in its field

// focusCode gives the focus to the next code, or to the result that lies over it.
function focusCode() {
  if (!$('result').hidden) ($('result-acts').querySelector('.first') ?? $('result-acts').firstElementChild).focus({preventScroll: true});
  else if (typed || !byFinger()) $('code').focus({preventScroll: true});
}

// replace gives a list new rows, and the focus back to the button that had it, or to the next code where that is gone. Rows that are the same stay:
// a button that goes while a finger is on it is not pressed.
function replace(list, rows) {
  const held = list.contains(document.activeElement) ? document.activeElement.dataset.about : null;
  const before = [...list.children], all = rows.map(row => {
    const at = before.findIndex(one => one.isEqualNode(row));
    return at < 0 ? row : before.splice(at, 1)[0];
  });
  for (const gone of before) gone.remove();
  for (const [i, row] of all.entries()) if (list.children[i] !== row) list.insertBefore(row, list.children[i] ?? null);
  if (held === null || list.contains(document.activeElement)) return;
  const again = [...list.querySelectorAll('button')].find(button => button.dataset.about === held);
  again ? again.focus({preventScroll: true}) : focusCode();
}

// --- sign in -----------------------------------------------------------------------------------------------------------------

let ticket = location.hash.slice(1); // empty once it is spent
if (ticket) history.replaceState(null, '', location.pathname); // it is good once, and not for the history
addEventListener('hashchange', () => location.reload()); // another QR code, read while the page is open

async function start() {
  dress();
  live(store.zone);
  await speak(settings.language);
  navigator.serviceWorker?.register(base + '/door/assets/sw.js', {scope: base + '/door'}).catch(() => null); // on http there is none
  return ticket ? bring(ticket) : resume();
}

// resume goes on with the session that the phone has, or asks for one.
async function resume() {
  try {
    if (store.leaves) await signOut();
    const {status, data} = await ask('GET', '/door/v1/session/');
    if (status === 200) return signedIn(data);
    if (status === 401 && store.event) return ended();
    enter('');
    tellKept(0);
  } catch (fault) {
    if (!(fault instanceof Unreachable)) throw fault;
    if (!goesOnAlone()) waitForLaptop();
  }
}

// goesOnAlone goes on with the session that the phone has, while the laptop is away: scans wait in the phone. It returns false if there is none, or
// none of the helper who is named.
function goesOnAlone(helper) {
  const known = JSON.parse(store.session ?? 'null');
  if (!known || helper && helper !== known.name) return false;
  signedIn(known);
  reached(false);
  return true;
}

// waitForLaptop says that the laptop is away, and asks it again until somebody signs in.
function waitForLaptop() {
  if ($('enter').hidden || $('enter-fault').textContent === '') {
    enter('away');
    tellKept(0);
  }
  setTimeout(() => $('enter').hidden || resume(), 2000);
}

// signOut hands in the guests that were let in, and ends the session. Only the laptop can: one that is away is asked again until it answers.
async function signOut() {
  for (const kept of await queue.byEvent().catch(() => [])) {
    await send(kept.event).catch(fault => {
      if (fault instanceof Unreachable) throw fault; // what a full phone cannot forget the laptop has
    });
  }
  await ask('DELETE', '/door/v1/session/');
  delete store.leaves;
}

// bring takes a ticket to https, where the camera is, or asks here for the helper's name.
async function bring(ticket) {
  const way = await upgrade(ticket);
  if (way === 'moves') return;
  enter('');
  if (way === 'waits') $('enter-kept').textContent = first(await waits());
}

function enter(fault) {
  entries.length = 0; // of a session that has ended
  deciding = null;
  $('enter-kept').textContent = '';
  $('enter-ticket').hidden = !ticket;
  $('enter-how').hidden = Boolean(ticket);
  $('enter-by-key').hidden = Boolean(ticket);
  name('enter-title', ticket ? 'enter.title' : 'enter.without');
  $('enter-fault').textContent = fault ? say(fault) : '';
  $('helper').value = store.helper ?? '';
  show('enter');
}

// ended is for a session that is no longer good. What the phone has kept is handed in once more, for review.
async function ended() {
  delete store.session;
  forgetNotes();
  finding?.abort();
  closeCamera();
  dialog()?.close();
  close();
  enter('enter.ended');
  await tellKept(await handIn().catch(() => 0));
}

// tellKept says how many scans were handed in for review, and what is left in the phone.
async function tellKept(handed) {
  const left = (await queue.byEvent().catch(() => [])).filter(letIn).map(kept => say('enter.kept', {n: letIn(kept), name: kept.name}));
  $('enter-kept').textContent = [handed > 0 && say('enter.handed', {n: handed}), ...left].filter(Boolean).join(' ');
}

// letIn and held are how many guests of what waits for an event were let in, and how many were not.
const letIn = kept => kept.scans.filter(scan => scan.let_in).length, held = kept => kept.scans.length - letIn(kept);

// handIn hands in what waits for events, and returns how many scans the laptop took.
async function handIn(wanted = () => true) {
  let handed = 0;
  for (const kept of (await queue.byEvent()).filter(wanted)) handed += await send(kept.event).catch(() => 0); // another event's may go
  return handed;
}

async function signIn(body) {
  try {
    const {status, data} = await ask('POST', '/door/v1/session/', body);
    if (status === 200 || status === 401 && body.ticket) ticket = '';
    if (status === 200) return signedIn(data);
    if (status === 401 && body.ticket && await goesOn(body.name)) return;
    const faults = {403: 'enter.nodoor', 429: 'enter.slow'};
    enter(faults[status] ?? (body.ticket ? 'enter.used' : 'enter.wrong'));
  } catch (fault) {
    if (!(fault instanceof Unreachable)) throw fault;
    if (!body.ticket || !goesOnAlone(body.name)) enter('away');
  }
}

// goesOn tells whether the phone has a session of this helper, and goes on with it: the code that opened it was scanned again.
async function goesOn(helper) {
  const {status, data} = await ask('GET', '/door/v1/session/');
  const same = status === 200 && data.name === helper && !store.leaves;
  if (same) signedIn(data);
  return same;
}

// filled tells whether a field has a text. The browser asks for one where it has blanks alone.
function filled(field) {
  field.value = field.value.trim();
  return field.reportValidity();
}

$('enter-ticket').addEventListener('submit', e => {
  e.preventDefault();
  if (!filled($('helper'))) return;
  store.helper = $('helper').value;
  signIn({ticket, name: store.helper});
});
$('enter-key').addEventListener('submit', e => {
  e.preventDefault();
  signIn({key: $('key').value.trim(), secret: $('secret').value.trim()});
});

// --- choose ------------------------------------------------------------------------------------------------------------------

function signedIn(session) {
  const before = JSON.parse(store.session ?? 'null');
  forgetNotes(before?.key_id === session.key_id ? now() : Infinity);
  me = session;
  store.session = JSON.stringify(session);
  delete store.leaves;
  $('secret').value = '';
  handIn(kept => !serves(kept)).then(tellAway, () => null); // an event that is over is not chosen any more, and its scans are taken
  const last = session.events.find(e => String(e.id) === store.event);
  if (last && door) return work(last);
  pick(session.events);
}

// forgetNotes removes what the phone has noted of its scans and is over by a time. While the page is open it looks once an hour.
const forgetNotes = (by = Infinity) => queue.forget(Number(by)).catch(() => null); // a phone that keeps nothing has nothing to forget
setInterval(() => forgetNotes(now()), 3_600_000);

function pick(events) {
  const box = $('pick-events');
  box.replaceChildren(box.firstElementChild);
  for (const e of events) {
    const label = make('label', '', 'choice'), input = make('input');
    Object.assign(input, {type: 'radio', name: 'event', value: e.id, required: true, checked: events.length === 1 || String(e.id) === store.event});
    const text = make('span', '', 'choice-text'), when = make('span', '', 'quiet');
    when.dataset.event = e.id;
    text.append(make('strong', e.name || '#' + e.id), when);
    label.append(input, text);
    box.append(label);
  }
  box.hidden = events.length === 0;
  $('pick-none').hidden = events.length > 0;
  $('door').value = '';
  for (const input of $('pick-ways').querySelectorAll('input')) input.checked = input.value === (store.way ?? 'in');
  dateEvents();
  offerWays();
  offerDoors();
  show('pick');
}

// dateEvents says when the events to choose from begin.
function dateEvents() {
  for (const when of $('pick-events').querySelectorAll('[data-event]')) {
    const e = me.events.find(one => String(one.id) === when.dataset.event);
    const day = date(e.start_datetime, {weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit'});
    when.textContent = e.open ? day : `${day} · ${say('pick.closed')}`;
  }
}

// offerDoors shows the doors that the chosen event has, to be tapped. An event without any gets a name for its first.
async function offerDoors() {
  const chosen = chosenEvent(), told = chosen && await learn(chosen.id);
  if (chosen !== chosenEvent()) return; // another was chosen meanwhile
  dateEvents();
  const known = new Set([...Object.keys(told?.doors ?? {}), ...(String(chosen?.id) === store.event ? [door] : [])].filter(Boolean));
  const names = known.size > 0 ? [...known].sort() : [say('door.first')];
  $('pick-doors').replaceChildren(...names.map(one => {
    const button = make('button', one, 'known', () => {
      $('door').value = one;
      $('pick-go').focus();
    });
    button.type = 'button';
    return button;
  }));
}

// learn asks the laptop for an event's status, and takes its time zone from there. It returns nothing while the laptop is away.
async function learn(of) {
  const {status, data} = await ask('GET', path('status', of)).catch(() => ({}));
  if (status !== 200) return null;
  if (data.zone && data.zone !== store.zone) live(store.zone = data.zone);
  return data;
}

const chosenEvent = () => me.events.find(e => String(e.id) === new FormData($('pick-form')).get('event'));

// offerWays asks which way the door leads, where the event has guests go out and in again.
function offerWays() {
  $('pick-ways').hidden = !chosenEvent()?.reentry;
}
$('pick-events').addEventListener('change', () => {
  offerWays();
  offerDoors();
});

$('pick-form').addEventListener('submit', e => {
  e.preventDefault();
  const chosen = chosenEvent();
  if (!chosen || !filled($('door'))) return;
  door = $('door').value;
  store.way = new FormData($('pick-form')).get('way');
  work(chosen);
});

function work(chosen) {
  if (event?.id !== chosen.id) entries.length = 0;
  event = chosen;
  if (entries.length === 0) recall(event.id).catch(() => null); // a phone that keeps nothing has no list
  Object.assign(store, {event: String(event.id), door});
  $('where-event').textContent = event.name || '#' + event.id;
  way = chosen.reentry ? store.way ?? 'in' : 'in';
  label();
  show('work');
  board = null;
  for (const id of ['count-in', 'count-expected', 'count-minute']) write(id, '–'); // another event's are none of this one's
  $('doors').replaceChildren();
  showAway(); // what waits in the phone since before
  learn(event.id).then(drawLists); // with its times
  listenToDoors();
  drawLists();
  drawWaiting();
  drawDiffers();
  stayAwake();
}

// label writes what depends on the language, the door and the helper.
function label() {
  if (!event) return;
  $('where-door').textContent = event.reentry ? `${door} · ${say('way.' + way)}` : door;
  $('work').dataset.way = way;
  $('count-in-word').textContent = say(event.reentry ? 'count.inside' : 'count.in');
  $('settings-who').textContent = say('settings.who', {name: me.name, role: say('role.' + me.role)});
}

$('where').addEventListener('click', () => {
  closeCamera();
  pick(me.events);
});

// --- scan --------------------------------------------------------------------------------------------------------------------

const path = (what, of = event.id) => `/door/v1/event/${of}/${what}/`;
let deciding = null; // the scan, or the order, of which the answer is awaited

// read takes a code, from wherever it came, and returns whether it did. quiet says that the helper was told already why this one is not taken.
function read(code, from = place(), quiet = false) {
  code = code.trim();
  return code !== '' && decideNext({code, ...from}, quiet);
}

// place is where a scan is made. The scan is decided for that place, also when the helper stands at another one by then.
const place = () => ({event: event.id, name: event.name, door, direction: event.reentry ? way : undefined});

// decideNext has a scan decided, if one is taken now. No scan waits for its turn: what it says would come over a result that was not seen yet.
function decideNext(scan, quiet = false) {
  const why = untaken();
  if (why && !quiet) notTaken(why);
  if (!why) decide({nonce: nonce(), at: now().toISOString(), ...place(), ...scan});
  return !why;
}

const look = 1100; // milliseconds for which a refusal is not replaced: a second, and what a busy phone takes to draw it

// untaken is the word for why no scan is taken now: an answer is awaited, a result waits for a tap, or a refusal has just come.
function untaken() {
  if (deciding) return 'untaken.answer';
  if (must()) return $('result').dataset.adds === 'notice' && facing.outcome === 'admitted' ? 'untaken.tap' : 'untaken.choose';
  return justRefused() ? 'untaken.look' : '';
}

let saying = 0;

// notTaken shows that a scan was not taken, and why.
function notTaken(why) {
  const box = $('untaken');
  box.hidden = true; // it is read aloud again
  box.textContent = say(why, {button: $('result-acts').querySelector('.primary')?.textContent});
  box.hidden = false;
  for (const moved of [box, ...document.querySelectorAll('#result > .face, #result > .acts')]) shake(moved);
  signal('untaken', settings.sound);
  clearTimeout(saying);
  saying = setTimeout(() => box.hidden = true, 2500);
}

$('result-acts').addEventListener('click', () => $('untaken').hidden = true, true); // what was asked for is done

const calm = matchMedia('(prefers-reduced-motion: reduce)');

function shake(element) {
  if (!calm.matches) element.animate([0, -10, 9, -7, 5, -3, 0].map(x => ({transform: `translateX(${x}px)`})), 360);
}

const slow = 500; // milliseconds after which an answer is late

// scanNow asks about one ticket. It says so while the answer is late: a helper who sees nothing scans again.
async function scanNow(scan) {
  const {code, ticket_id, door, nonce, direction} = scan;
  const late = setTimeout(() => tell('asking', [say('asking')]), slow);
  try {
    return await ask('POST', path('scan', scan.event), {code, ticket_id, door, nonce, direction});
  } finally {
    clearTimeout(late);
    tell('asking', []);
  }
}

// decide presents the ruling on a scan, with the scan: what follows from it is asked of the scan's event. A session that has ended meanwhile shows nothing.
async function decide(scan) {
  deciding = scan;
  $('untaken').hidden = true;
  if (!$('result').hidden) uncover(); // it is not the result of this one
  try {
    const by = me, ruling = await rule(scan);
    if (ruling && me === by) await present({...ruling, scan});
  } finally {
    if (deciding === scan) deciding = null; // a fault of the page leaves it able to scan
  }
}

// rule returns the laptop's ruling on a scan, or the phone's while the laptop is away; nothing if the session has ended.
async function rule(scan) {
  try {
    const {status, data} = await scanNow(scan);
    reached(true);
    if (status === 401) return void ended();
    if (status !== 200) return {outcome: 'refused', why: because(data)};
    if ('let_in' in scan) forget(scan).catch(() => null); // it waited in the phone; asked again, it gets the same answer
    return data;
  } catch (fault) {
    if (!(fault instanceof Unreachable)) throw fault;
    reached(false);
    if (!('code' in scan)) return {outcome: 'unreachable'};
    const kept = {...scan, let_in: false};
    const safe = await queue.keep(kept).then(() => true, () => false);
    if (safe) drawWaiting();
    return {outcome: 'unreachable', notice: await seenBefore(kept), ...(safe && {kept})};
  }
}

// seenBefore says what this phone knows of a ticket while the laptop is away: what was said of it last. A guest who comes in again after going out is asked
// nothing, nor is one who goes out after coming in.
async function seenBefore({event, code, direction}) {
  const notes = await queue.notes(event).catch(() => []);
  const last = notes.filter(one => !one.entry.undone && one.code && same(one.code, code)).pop();
  if (!last) return '';
  const {ruling, time} = last.entry, word = ruling.let_in ? 'letin.done' : last.entry.word, at = moment(time, now());
  const into = ['admitted', 'already_admitted', 'letin.done'].includes(word), out = ['left', 'already_out', 'letout.done'].includes(word);
  if (into && direction === 'out' || out && direction !== 'out') return '';
  switch (word) {
    case 'admitted': return say('before.admitted', {time: at});
    case 'letin.done': return say('say.letin_before', {time: at});
    case 'already_admitted': return say('before.already', {time: moment(ruling.admitted_at, now()), door: ruling.door});
    case 'left': case 'letout.done': return say('before.left', {time: at});
  }
  return say('before.said', {time: at, outcome: say(word)});
}

const reasons = {VALIDATION_ERROR: 'why.wrong', FORBIDDEN: 'why.forbidden', NOT_FOUND: 'why.gone', RATE_LIMITED: 'why.slow'};

// because is why the laptop has refused a request. What it says itself is English, and meant for programs.
const because = told => say(reasons[told?.error?.code] ?? told?.error?.message ?? '?');

$('scan').addEventListener('submit', e => {
  e.preventDefault();
  wake(); // the key that ends a code is a touch as well
  const code = $('code').value;
  $('code').value = '';
  read(code);
});

const free = () => !$('work').hidden && !dialog();
const sinceKey = listen($('code'), $('scan'), {
  free, stays, heard: () => free() || !$('work').hidden && dialog() === $('find'),
  apart(code) { // a scan ends a search
    if ($('find').open) $('find').close();
    read(code);
  },
});

// --- result ------------------------------------------------------------------------------------------------------------------

const looks = { // outcome → colour, sign and tune
  admitted: ['good', 'yes', 'good'], left: ['out', 'out', 'out'], undone: ['plain', 'undo', 'twice'], already_admitted: ['twice', 'twice', 'twice'],
  already_out: ['out', 'twice', 'twice'], unreachable: ['ask', 'ask', 'bad'], refused: ['ask', 'look', 'bad'], notice: ['ask', 'look', 'look'],
};
let facing = null, faced = 0; // the ruling that is presented, and since when
const taps = []; // called when the result closes
const must = () => !$('result').hidden && $('result').dataset.must === 'tap';
const justRefused = () => !$('result').hidden && !['admitted', 'left', 'undone'].includes(facing.outcome) && performance.now() - faced < look;
const tapped = () => must() ? new Promise(done => taps.push(done)) : null;
const looked = () => new Promise(done => setTimeout(done, faced + look - performance.now()));

const dialog = () => document.querySelector('dialog[open]'); // it lies over a result, too
const unlocked = () => new Promise(done => dialog().addEventListener('close', done, {once: true}));

// present shows a ruling. It waits for a dialog that is open and, unless it goes over the result that is shown, for one that must be tapped
// and for a refusal to be seen.
async function present(ruling, over) {
  if (!$('enter').hidden) return; // nor over the next sign-in
  while (dialog() || facing !== over && (must() || justRefused())) {
    await (dialog() ? unlocked() : must() ? tapped() : looked());
    if ($('work').hidden) return; // the session has ended meanwhile
  }
  facing = ruling;
  faced = performance.now();
  const advice = ['admitted', 'left', 'unreachable'].includes(ruling.outcome) ? ruling.notice ?? '' : ''; // a guest who is refused gets no wristband
  const notice = ruling.outcome === 'admitted' && advice;
  const word = ruling.out_since ? 'already_out' : ruling.outcome, waits = notice || ruling.outcome === 'unreachable';
  const [colour, sign, tune] = looks[notice ? 'notice' : word] ?? ['bad', 'no', 'bad'];
  const result = $('result');
  result.className = 'result ' + colour;
  result.dataset.outcome = ruling.outcome;
  result.dataset.must = waits ? 'tap' : '';
  result.dataset.adds = advice ? 'notice' : '';
  $('result-icon').replaceChildren(drawn(sign));
  $('result-word').textContent = say(notice ? 'notice.title' : word);
  $('result-label').textContent = ruling.label ?? '';
  $('result-type').textContent = ruling.type ?? '';
  $('result-notice').textContent = advice;
  $('result-more').textContent = more(ruling);
  $('family').hidden = true;
  acts(ruling);
  cover();
  faced = performance.now();
  signal(tune, settings.sound);
  if (ruling.outcome !== 'unreachable' && !ruling.family) remember(ruling, colour, sign, word);
  if (ruling.order && ['admitted', 'already_admitted'].includes(ruling.outcome) && ruling.scan.direction !== 'out') offerFamily(ruling);
  closeAfter(waits ? 0 : ['admitted', 'left'].includes(ruling.outcome) ? settings.time : settings.time * 4);
}

// cover lays the result over the page. What lies below cannot be reached until it closes.
function cover() {
  if ($('result').hidden) typed = document.activeElement === $('code');
  $('result').hidden = false;
  reach();
}

const burst = 300; // milliseconds without a key: no scanner is typing
let reaching = 0;

// reach gives the focus to the result when no code is being typed: a letter of it would be lost.
function reach() {
  clearTimeout(reaching);
  if ($('result').hidden) return;
  if (sinceKey() < burst) return reaching = setTimeout(reach, burst);
  $('work').inert = true;
  focusCode();
}

// stays reports whether a result waits for its buttons, or to be seen. Any other closes when the next code begins.
function stays() {
  if ($('result').hidden) return false;
  if (must() || justRefused()) return true;
  uncover();
  setTimeout(() => behind && drawLists(), burst); // not while the code comes: its result would be late
  return false;
}

// readTwice tells whether this phone itself let a ticket in just now. Two phones may stand at one door, or both keep the name that the page proposes: what
// the other let in may be a copy.
const readTwice = ({checkin_id}) => entries.some(({ruling, at}) => ruling.outcome === 'admitted' && ruling.checkin_id === checkin_id && Date.now() - at < undoable);

// more is what a helper does next.
function more(ruling) {
  const at = time => time ? moment(time, now()) : '?';
  const came = {ago: ago(ruling.seconds_ago ?? 0), door: ruling.door ?? '?', time: at(ruling.admitted_at)};
  switch (ruling.outcome) {
    case 'admitted': return ruling.more ?? '';
    case 'left': return say('say.left', came);
    case 'already_admitted': return say(ruling.door !== ruling.scan.door ? 'say.already_admitted' : readTwice(ruling) ? 'say.already_here' : 'say.already_beside', came);
    case 'refused': return say('say.refused', {why: ruling.why});
    case 'not_inside': return ruling.out_since ? say('say.already_out', {time: at(ruling.out_since)}) : say('say.not_inside');
    case 'not_yet_valid': return ruling.valid_from ? say('say.valid_from', {time: at(ruling.valid_from)}) : say('say.not_yet_valid');
    case 'no_longer_valid': return ruling.valid_until ? say('say.valid_until', {time: at(ruling.valid_until)}) : say('say.no_longer_valid');
    case 'undone': return say(ruling.was === 'left' ? 'say.undone_left' : 'say.undone');
  }
  return say('say.' + ruling.outcome);
}

function acts(ruling) {
  const box = $('result-acts');
  box.replaceChildren();
  if (ruling.kept) {
    box.append(make('button', say(ruling.kept.direction === 'out' ? 'letout' : 'letin'), 'primary', () => keepLetIn(ruling.kept)), make('button', say('hold'), '', close));
    return;
  }
  box.append(make('button', say(ruling.notice && ruling.outcome === 'admitted' ? 'notice.next' : 'next'), 'primary', close));
  if (mayUndo(ruling)) box.append(make('button', say('undo'), '', () => undo(ruling)));
}

// mayUndo tells whether this helper takes a check-in back: a supervisor any, a steward the own ones of a minute.
function mayUndo(ruling, at = Date.now()) {
  if (!ruling.checkin_id) return false;
  const own = ruling.let_in || ['admitted', 'left'].includes(ruling.outcome);
  return me.role === 'supervisor' ? own || ruling.outcome === 'already_admitted' : own && Date.now() - at < undoable;
}

// closeAfter closes the result by itself, and shows how much of the time is left. The bar moves four times a second at most, and sixteen times in all:
// each move costs a phone time.
function closeAfter(seconds) {
  hold();
  if (seconds === 0) return;
  const bar = $('result-time'), end = performance.now() + seconds * 1000;
  const move = () => {
    const left = end - performance.now();
    if (left <= 0) return close();
    bar.firstElementChild.style.transform = `scaleX(${left / seconds / 1000})`;
    timer = setTimeout(move, Math.min(left, Math.max(250, seconds * 1000 / 16)));
  };
  bar.hidden = false;
  move();
}

const second = 400; // milliseconds between the taps of a double tap
let closed = -second; // when a result closed last

// A finger that taps a result twice, or as it closes by itself, means nothing of what lies below.
document.addEventListener('click', e => {
  if (e.pointerType === 'mouse' || e.detail === 0 || e.timeStamp - closed > second) return; // a slow phone hears of a tap late
  e.preventDefault();
  e.stopPropagation();
}, true);

function close() {
  uncover();
  if (behind) drawLists();
}

// uncover closes the result and draws nothing.
function uncover() {
  hold();
  closed = performance.now();
  $('result').hidden = true;
  $('work').inert = false;
  for (const done of taps.splice(0)) done();
  focusCode();
  typed = false;
}

$('result').addEventListener('click', e => { // a tap holds it, another lets it go
  if (e.target.closest('button')) return;
  if (e.target.closest('.family')) return hold();
  if ($('result-time').hidden) return $('result').dataset.must === 'tap' || close();
  hold();
});

// hold keeps a result on the screen until it is closed.
function hold() {
  clearTimeout(timer);
  $('result-time').hidden = true;
}
document.addEventListener('keydown', e => {
  if (e.defaultPrevented || $('result').hidden || dialog()) return;
  if (e.key === 'Escape' && (!must() || !$('family').hidden)) close(); // no scanner types it
  if (e.key === 'Tab') hold(); // as a tap does
});

// undo takes a check-in back. A check-in is taken back once, so its id is the key of the request, however often the helper asks.
async function undo(ruling) {
  const answer = told => present({...told, scan: ruling.scan}, ruling); // over its own result at once, over another when it was tapped
  try {
    const {status, data} = await ask('POST', path('undo', ruling.scan.event), {checkin_id: ruling.checkin_id}, undefined, `undo-${ruling.checkin_id}`);
    if (status === 401) return ended();
    if (status === 403) return answer({outcome: 'refused', why: say('undo.old')});
    if (status !== 200) return answer({outcome: 'refused', why: because(data)});
    const undone = ({entry}) => entry.ruling.checkin_id === ruling.checkin_id && (entry.undone = true);
    for (const entry of entries) undone({entry});
    queue.amend(undone).catch(() => null);
    answer({...data, outcome: 'undone', was: ruling.outcome, label: data.label ?? ruling.label});
  } catch {
    reached(false);
    answer({outcome: 'refused', why: say('away')});
  }
}

const listed = 8; // scans

// remember lists a ruling, and notes it in the phone.
function remember(ruling, colour, sign, word = ruling.outcome) {
  if (ruling.outcome !== 'undone' && ruling.scan.event === event.id) {
    const entry = {ruling, colour, sign, word, at: Date.now(), time: now(), undone: false};
    entries.unshift(entry);
    if (ruling.outcome !== 'refused') takeNote(entry); // it says nothing about the ticket
  }
  entries.length = Math.min(entries.length, listed);
  drawLists();
}

const day = 86_400_000;

// takeNote keeps what was said of a scan in the phone until a day after the event: without what the lists do not show.
function takeNote(entry) {
  const until = Math.max(Date.parse(event.end_datetime ?? event.start_datetime) || 0, Number(entry.time)) + day;
  const {scan} = entry.ruling, kept = {...entry, ruling: essence(entry.ruling)};
  queue.note({nonce: scan.nonce, event: scan.event, until, code: scan.code, time: Number(entry.time), entry: kept}).catch(() => null); // a phone that is full notes nothing
}

const essence = ({outcome, label, type, checkin_id, admitted_at, door, scan, kept, let_in}) => ({outcome, label, type, checkin_id, admitted_at, door, scan, kept, let_in});

// recall lists the last scans that the phone has noted of an event. A guest whom the phone let in is taken back only before the laptop knows.
async function recall(of) {
  const waiting = await queue.all(of), notes = (await queue.notes(of)).reverse().slice(0, listed);
  if (of !== event?.id) return; // another was chosen meanwhile
  const known = new Set(entries.map(entry => entry.ruling.scan.nonce));
  for (const {nonce, entry} of notes) {
    if (known.has(nonce)) continue;
    entry.offered = !waiting.some(scan => scan.let_in && scan.nonce === nonce);
    entries.push(entry);
  }
  entries.length = Math.min(entries.length, listed);
  drawLists();
}

let board = null, behind = false; // what the doors' stream told last; whether the lists have changed below a result

// drawLists draws the lists that change with a scan. Below a result they wait until it closes, for the result comes first.
function drawLists() {
  behind = !$('result').hidden;
  if (behind) return;
  drawLast();
  drawDoors();
}

function drawLast() {
  $('last-none').hidden = entries.length > 0;
  replace($('last'), entries.map(entry => {
    const row = make('li', '', 'scan ' + entry.colour);
    const text = make('span', '', 'scan-text');
    text.append(make('strong', entry.ruling.label || say(entry.word)),
      make('span', [clock(entry.time), entry.ruling.label && say(entry.word), entry.ruling.type, entry.undone && say('undone.short')].filter(Boolean).join(' · '), 'quiet'));
    row.append(drawn(entry.sign, 'sign'), text);
    const {kept, checkin_id} = entry.ruling;
    if (!entry.undone && (kept ? !entry.offered : mayUndo(entry.ruling, entry.at))) row.append(about(checkin_id ?? kept.nonce, make('button', say('undo'), '', () => kept ? takeBack(entry) : undo(entry.ruling))));
    return row;
  }));
}

// --- family ------------------------------------------------------------------------------------------------------------------

// offerFamily shows the other tickets of the order: one tap lets in those that are ticked.
async function offerFamily(ruling) {
  const {status, data} = await ask('GET', `${path('family', ruling.scan.event)}?checkin_id=${ruling.checkin_id}`).catch(() => ({}));
  if (status !== 200 || $('result').hidden || facing !== ruling) return; // another is shown
  if (!data.results.some(mayEnter)) return;
  $('family-list').replaceChildren(...data.results.map(familyRow));
  $('family').hidden = false;
  $('result').dataset.adds = 'family';
  $('result').dataset.must = 'tap';
  const go = make('button', '', 'primary', async () => {
    deciding = ruling;
    await letInFamily(ruling, data.results.filter(t => $('kin-' + t.ticket_id).checked)).finally(() => deciding = null);
  });
  const count = () => {
    const n = $('family-list').querySelectorAll('input:checked').length;
    go.textContent = n > 0 ? say('family.go', {n}) : say('family.none');
    go.disabled = n === 0;
  };
  $('family-list').onchange = count;
  count();
  const [next, ...others] = $('result-acts').children;
  next.className = data.results.length >= large ? 'first' : ''; // one Enter lets no twenty guests in
  next.textContent = say('family.only');
  $('result-acts').replaceChildren(go, next, ...others);
  hold();
  reach();
}

const large = 20; // other tickets of an order

const mayEnter = ticket => ticket.state === 'valid' && !ticket.admitted_at;

function familyRow(ticket) {
  const row = make('label', '', 'kin'), box = make('input'), text = make('span', '', 'scan-text');
  Object.assign(box, {type: 'checkbox', id: 'kin-' + ticket.ticket_id, checked: mayEnter(ticket), disabled: !mayEnter(ticket)});
  const state = ticket.state === 'valid' ? ticket.admitted_at && say('find.in', {time: moment(ticket.admitted_at, now())}) : say(ticket.state);
  text.append(make('strong', ticket.label || ticket.type || '#' + ticket.ticket_id),
    make('span', [ticket.label && ticket.type, state, mayEnter(ticket) && ticket.notice].filter(Boolean).join(' · ')));
  row.append(box, text);
  return row;
}

async function letInFamily(first, tickets) {
  const labels = first.outcome === 'admitted' ? [first.label || first.type] : [], refused = [], notices = new Set(first.outcome === 'admitted' && first.notice ? [first.notice] : []);
  let let_in = labels.length;
  for (const button of $('result-acts').children) button.disabled = true;
  for (const ticket of tickets) {
    const name = ticket.label || ticket.type || '#' + ticket.ticket_id, scan = {...first.scan, code: undefined, ticket_id: ticket.ticket_id, nonce: nonce()};
    const {status, data} = await scanNow(scan).catch(() => ({}));
    if (status === 401) return ended();
    if (status !== 200) {
      refused.push(`${name} (${say('unreachable')})`);
      continue;
    }
    const [colour, sign] = looks[data.outcome] ?? ['bad', 'no'];
    remember({...data, scan}, colour, sign);
    if (data.outcome !== 'admitted') {
      refused.push(`${name} (${say(data.outcome)})`);
      continue;
    }
    let_in++;
    labels.push(name);
    if (data.notice) notices.add(data.notice);
  }
  const not = refused.length > 0 && say('family.not', {names: refused.join(', ')});
  const named = labels.filter(Boolean), few = named.slice(0, 6).join(', ');
  const told = {label: named.length > 6 ? few + ' …' : few, notice: [...notices, not].filter(Boolean).join(' · '), family: true, scan: first.scan};
  if (let_in > 0) return present({outcome: 'admitted', ...told, more: say('family.done', {n: let_in})}, first);
  present({outcome: 'refused', why: not, family: true, scan: first.scan}, first);
}

// --- out of reach ------------------------------------------------------------------------------------------------------------

let near = true, sending = false;

// reached takes note of whether the laptop answers.
async function reached(yes) {
  if (yes && near && $('away').hidden) return; // as before, and nothing waits
  near = yes;
  await showAway();
}

// showAway says whether the laptop answers, and what waits in the phone for which event. It sends what can be sent: the laptop takes scans of the
// events that this session may serve.
async function showAway() {
  const ours = await tellAway();
  if (near && ours.some(letIn)) deliver();
}

async function tellAway() {
  const kept = await queue.byEvent().catch(fault => {
    tell('away', [!near && say('away')]); // this much is known without the phone's storage
    throw fault;
  });
  const ours = kept.filter(serves), here = kept.filter(one => one.event === event?.id), others = ours.filter(one => one.event !== event?.id);
  const sent = [...here.filter(letIn).map(one => say('away.kept', {n: letIn(one)})), ...others.filter(letIn).map(one => say('away.other', {n: letIn(one), name: one.name}))];
  const stays = [...others.filter(held).map(one => say('away.held', {n: held(one), name: one.name})),
    ...kept.filter(one => !serves(one)).map(one => say('enter.kept', {n: one.scans.length, name: one.name}))];
  tell('away', [!near && say('away'), ...sent]);
  tell('elsewhere', stays);
  return ours;
}

// serves tells whether this session may serve the event that scans wait for.
const serves = kept => Boolean(me.events?.some(one => one.id === kept.event));

function tell(id, sentences) {
  write(id, sentences.filter(Boolean).join(' '));
  $(id).hidden = $(id).textContent === '';
}

async function keepLetIn(scan) {
  const safe = await queue.keep({...scan, let_in: true}).then(() => true, () => false);
  if (!safe) return facing.kept === scan && close(); // a phone that is full by now lists it as held
  if (scan.let_in) return; // tapped twice: what is shown by now may ask about the next guest
  scan.let_in = true;
  await drawWaiting().catch(() => null); // below the result: nothing moves when it is gone
  close();
  remember({outcome: 'unreachable', label: scan.code, kept: scan, scan}, 'ask', 'ask', scan.direction === 'out' ? 'letout.done' : 'letin.done');
  showAway();
}

// takeBack forgets a guest that this phone let in by itself, while the laptop knows nothing of it. Another tab of the page may have told the laptop.
async function takeBack(entry) {
  if (sending) return; // the laptop may have taken it: its word comes
  sending = true;
  const {nonce, code, direction} = entry.ruling.kept;
  const dropped = await queue.drop(nonce).catch(() => null).finally(() => sending = false);
  if (dropped === null) return;
  entry.undone = dropped;
  entry.offered = true;
  takeNote(entry);
  if (!dropped) return present({outcome: 'refused', why: say('undo.old'), scan: entry.ruling.scan});
  present({outcome: 'undone', was: direction === 'out' ? 'left' : 'admitted', label: code, scan: entry.ruling.scan});
  showAway();
}

// told puts the laptop's word in the place of what this phone let in by itself.
function told(nonce, result) {
  const change = one => {
    if (one.nonce !== nonce) return false;
    const {label, scan} = one.entry.ruling, let_in = result.double_entry_id; // the check-in by which this phone let the guest in all the same
    const ruling = essence({outcome: 'refused', label, scan, ...result, checkin_id: let_in ?? result.checkin_id, let_in: Boolean(let_in)});
    const [colour, sign] = looks[let_in ? 'already_admitted' : ruling.outcome] ?? ['bad', 'no'];
    return Object.assign(one.entry, {ruling, colour, sign, word: let_in ? 'letin.done' : ruling.outcome, offered: false});
  };
  for (const entry of entries) change({nonce: entry.ruling.kept?.nonce, entry});
  queue.amend(change).catch(() => null);
}

// deliver sends what waits, one event after the other, once at a time.
async function deliver() {
  if (sending) return;
  sending = true;
  try {
    for (const kept of (await queue.byEvent()).filter(serves)) await send(kept.event);
  } catch (fault) {
    if (!(fault instanceof Unreachable)) throw fault;
    near = false;
  } finally {
    sending = false;
  }
  await tellAway(); // what came meanwhile still waits: it goes when the laptop says something next
}

// send hands over who was let in at an event, and returns how many it took. Who was held is not sent: that would let in a guest who may have gone.
async function send(of) {
  for (let sent = 0; ;) {
    const scans = (await queue.all(of)).filter(s => s.let_in).slice(0, 50);
    if (scans.length === 0) return sent;
    for (const entry of entries) if (scans.some(scan => scan.nonce === entry.ruling.kept?.nonce)) entry.offered = true;
    drawLists(); // without their Undo
    const {status, data} = await ask('POST', `/door/v1/event/${of}/scans/`, {scans: scans.map(({code, at, nonce, door, direction}) => ({code, at, nonce, door, direction, let_in: true}))});
    if (status === 401) { // they stay here, for the next session
      if (!$('work').hidden) ended();
      return sent;
    }
    if ([403, 404].includes(status)) return sent; // another session's event: they stay here
    if (status !== 200) throw new Unreachable('status ' + status);
    for (const [i, result] of data.results.entries()) {
      const {code, at, nonce} = scans[i], fine = ['admitted', 'left'].includes(result.outcome);
      await queue.settle(nonce, fine ? null : {nonce, event: of, label: result.label || code, at, outcome: result.outcome, why: result.error && because(result)});
      told(nonce, result);
      sent++;
    }
    drawDiffers();
    drawLists();
  }
}

let differing = []; // what the list shows

async function drawDiffers() {
  differing = event ? await queue.differences(event.id) : [];
  $('differs').hidden = differing.length === 0;
  $('differs-list').replaceChildren(...differing.map(one => {
    const row = make('li', '', 'scan ' + (looks[one.outcome]?.[0] ?? 'bad')), text = make('span', '', 'scan-text');
    text.append(make('strong', one.label), make('span', `${clock(one.at)} · ${one.outcome ? say(one.outcome) : one.why}`, 'quiet'));
    row.append(drawn('look', 'sign'), text);
    return row;
  }));
}
$('differs-seen').addEventListener('click', async () => {
  await queue.seen(differing);
  await drawDiffers();
  focusCode();
});

async function drawWaiting() {
  const held = (await queue.all(event.id)).filter(s => !s.let_in);
  $('waiting').hidden = held.length === 0;
  replace($('waiting-list'), held.map(scan => {
    const row = make('li', '', 'scan ask'), text = make('span', '', 'scan-text');
    text.append(make('strong', scan.code), make('span', clock(scan.at), 'quiet'));
    // The same nonce again: where the laptop had decided before its answer was lost, that answer comes back.
    const again = () => decideNext(scan);
    row.append(drawn('ask', 'sign'), text, wordOf(scan), about(scan.nonce, make('button', say('decide'), '', again)), about(scan.nonce, make('button', say('forget'), '', () => forget(scan))));
    return row;
  }));
}

// wordOf is the field for a word on a guest who is held, which tells the guests apart. It stays in the phone.
function wordOf(scan) {
  const field = make('input', '', 'word');
  for (const [name, value] of Object.entries({maxlength: 40, autocomplete: 'off', autocorrect: 'off', spellcheck: 'false', enterkeyhint: 'done', placeholder: say('word'),
    'aria-label': `${say('word')} ${scan.code}`, value: scan.word ?? ''})) field.setAttribute(name, value);
  field.addEventListener('change', () => {
    scan.word = field.value.trim();
    field.setAttribute('value', scan.word);
    queue.keep(scan).catch(() => null); // a phone that is full shows it while the page is open
  });
  return field;
}

async function forget(scan) {
  await queue.drop(scan.nonce);
  drawWaiting();
}

// --- the other doors ---------------------------------------------------------------------------------------------------------

// listenToDoors follows the event's doors, and notices by it whether the laptop is in reach.
async function listenToDoors() {
  finding?.abort();
  const mine = finding = new AbortController();
  while (!mine.signal.aborted) {
    try {
      const status = await follow(`${path('stream')}?door=${encodeURIComponent(door)}`, drawBoard, mine.signal);
      if (mine.signal.aborted) return;
      if (status === 401) return ended();
    } catch (fault) {
      if (!(fault instanceof Unreachable)) throw fault;
      if (mine.signal.aborted) return;
      reached(false);
    }
    await new Promise(done => setTimeout(done, 1000));
  }
}

function drawBoard(told) {
  if (told.event_id !== event?.id) return;
  board = told;
  reached(true);
  write('count-in', board.inside);
  write('count-expected', board.issued);
  write('count-minute', board.per_minute);
  drawLists();
}

// write changes a text. One that is the same is not drawn again.
function write(id, text) {
  if ($(id).textContent !== String(text)) $(id).textContent = text;
}

function drawDoors() {
  tell('let-in', [board?.let_in > 0 && say('doors.let_in', {n: board.let_in})]);
  if (board) replace($('doors'), board.doors.map(one => doorRow(one, board.recent.find(scan => scan.door === one.name))));
}

// doorRow is a door with its last scan. A door without a page that is open is silent.
function doorRow(one, last) {
  const silent = one.pages === 0, row = make('li', '', [one.name === door && 'own', silent && 'silent'].filter(Boolean).join(' '));
  const open = one.closed ? 'doors.closed' : silent ? 'doors.silent' : '';
  const back = one.scanned_at && ago(Math.max(0, (now() - new Date(one.scanned_at)) / 1000));
  const scanned = !back ? !silent && say('doors.never') : last ? say('doors.ruled', {ago: back, outcome: say(last.let_in ? 'letin.done' : last.outcome)}) : say('doors.last', {ago: back});
  const [colour, sign] = looks[last?.outcome] ?? ['bad', 'no'], text = make('span', '', 'scan-text');
  const mark = last && !silent ? drawn(sign, 'sign ' + colour) : make('span', '', 'sign none');
  text.append(make('strong', one.name), make('span', [one.name === door && say('doors.you'), open && say(open), scanned].filter(Boolean).join(' · '), 'quiet'));
  row.append(mark, text, make('span', say('doors.in', {n: one.admitted}), 'number'));
  if (silent && !one.closed && me.role === 'supervisor') row.append(about(one.name, make('button', say('doors.close'), '', () => closeDoor(one.name))));
  return row;
}

// closeDoor closes a door: it is not silent, but closed, until it scans again. The doors' stream says so.
async function closeDoor(name) {
  const refused = why => present({outcome: 'refused', why, scan: place()});
  const {status, data} = await ask('POST', path('close_door'), {door: name}).catch(() => ({}));
  if (status === 401) return ended();
  if (status === undefined) return refused(say('away'));
  if (status !== 200) return refused(because(data));
  for (const one of board?.doors ?? []) if (one.name === name) one.closed = true;
  drawLists();
}

// --- camera and photo --------------------------------------------------------------------------------------------------------

$('way-camera').addEventListener('click', () => eye ? closeCamera() : openCamera());
$('eye-next').addEventListener('click', () => {
  eye.stop();
  openCamera(eye.next);
});
$('eye-lamp').addEventListener('click', async () => {
  const lit = $('eye-lamp').getAttribute('aria-pressed') !== 'true';
  await eye.lamp(lit).then(() => $('eye-lamp').setAttribute('aria-pressed', lit), () => null); // some phones say that they have one
});

async function openCamera(device) {
  const mine = eye = {stop() {}}; // a second tap, or the page, may close it before it is open
  $('video').hidden = false;
  name('eye-close', 'eye.close');
  $('eye-says').textContent = say('eye.looking');
  offerLens();
  showEye();
  try {
    const opened = await watch($('video'), {
      take(code, told) {
        if (eye !== mine || !free()) return null; // a result would lie below the dialog
        return sees(code) || read(code, place(), told);
      },
      which,
      several: many => eye === mine && write('eye-says', say(many ? 'eye.several' : 'eye.looking')),
      lost: fault => missCamera(mine, fault),
    }, device);
    if (eye !== mine) return opened.stop();
    Object.assign(mine, opened);
    offerLens();
  } catch (fault) {
    await missCamera(mine, fault);
  }
}

// sees reports whether a code is that of the result which is up: it lies before the camera still.
const sees = code => !$('result').hidden && facing.scan?.code === code;

// which finds the one of several codes that is a ticket's: null if none is, or several tickets are there.
async function which(codes) {
  const {status, data} = await ask('POST', path('codes'), {codes: codes.slice(0, 8)}).catch(() => ({}));
  const found = status === 200 ? data.results : [];
  return found.length > 0 && found.every(one => one.ticket_id === found[0].ticket_id) ? found[0].code : null;
}

// offerLens shows the buttons of the camera that it has.
function offerLens() {
  $('eye-lamp').hidden = !eye?.lamp;
  $('eye-lamp').setAttribute('aria-pressed', 'false');
  $('eye-next').hidden = !eye?.next;
}

// showEye shows the place of the camera and of photos. It lies above the lists: a page that was scrolled comes back to it.
function showEye() {
  $('eye').hidden = false;
  $('eye').scrollIntoView({block: 'nearest'});
}

// missCamera says why there is no camera, if it is the one that the page shows.
async function missCamera(mine, fault) {
  if (eye !== mine) return;
  eye.stop();
  eye = null;
  offerLens();
  $('video').hidden = true;
  const reason = why(fault), curable = reason === 'http' && trusts, waiting = curable ? await waits() : [];
  $('eye-says').textContent = waiting.length > 0 ? first(waiting) : say(curable ? 'eye.curable' : 'eye.' + reason);
  $('eye-trust').hidden = !curable || waiting.length > 0;
  name('eye-close', 'close');
}

$('eye-close').addEventListener('click', () => {
  closeCamera();
  focusCode();
});

function closeCamera() {
  eye?.stop();
  eye = null;
  $('eye').hidden = $('eye-trust').hidden = true;
}

$('photo').addEventListener('change', async () => {
  const [file] = $('photo').files, from = place();
  if (!file) return;
  closeCamera(); // it would read on behind the photo
  offerLens();
  $('video').hidden = true;
  name('eye-close', 'close');
  $('eye-says').textContent = say('photo.reading');
  showEye();
  try {
    const found = await fromPhoto(file);
    if (found.length === 0) return void ($('eye-says').textContent = say('photo.none'));
    const code = found.length === 1 ? found[0] : await which(found);
    if (code === null) return void ($('eye-says').textContent = say('eye.several'));
    closeCamera();
    read(code, from);
  } catch (fault) {
    $('eye-says').textContent = say(fault instanceof Unreachable ? 'away' : 'photo.wrong');
  } finally {
    $('photo').value = '';
  }
});

// --- find --------------------------------------------------------------------------------------------------------------------

const shown = 5; // no list is browsed at a door
let typing = 0;

$('way-search').addEventListener('click', () => {
  $('find-words').value = '';
  $('find-list').replaceChildren();
  $('find-says').textContent = '';
  $('find').showModal();
});
$('find-words').addEventListener('input', () => {
  clearTimeout(typing);
  typing = setTimeout(find, 150);
});

$('find').addEventListener('keydown', e => { // a browser empties a search field with it, and stays
  if (e.key !== 'Escape' || e.isComposing) return;
  e.preventDefault();
  $('find').close();
});

async function find() {
  if (!$('find').open) return;
  const typed = () => $('find-words').value.trim(), words = typed(), of = event.id, stale = () => words !== typed() || of !== event.id;
  if (words.length < 2) return showFound(say('find.more'));
  try {
    const {status, data} = await ask('GET', path('search') + '?q=' + encodeURIComponent(words));
    if (stale()) return; // more was typed meanwhile, or at another event
    if (status === 401) return ended();
    if (status === 400) return showFound(say('find.more')); // commas alone, say
    if (status !== 200) return showFound(say('say.refused', {why: because(data)}));
    const {results, more} = data;
    showFound(results.length === 0 ? say('find.none') : more || results.length > shown ? say('find.many') : '', results.slice(0, shown));
  } catch (fault) {
    if (!(fault instanceof Unreachable)) throw fault;
    if (stale()) return;
    if (fault.status !== 503) return showFound(say('away'));
    showFound(say('find.soon'));
    typing = setTimeout(find, 2000);
  }
}

function showFound(says, tickets = []) {
  write('find-says', says);
  replace($('find-list'), tickets.map(foundRow)); // a letter more may find the same
}

function foundRow(ticket) {
  const row = make('li', '', 'found'), text = make('span', '', 'scan-text');
  const state = ticket.state === 'valid' ? '' : say(ticket.state);
  const tail = ticket.phone_tail && '… ' + ticket.phone_tail;
  const says = [state || ticket.notice, ticket.admitted_at && say('find.in', {time: moment(ticket.admitted_at, now())})];
  const by = why => ticket.matched?.includes(why), marked = (words, why) => words && make(by(why) ? 'mark' : 'span', words);
  const title = make('strong'), known = make('span', '', 'quiet');
  title.append(marked(ticket.label || ticket.type || '#' + ticket.ticket_id, 'name'));
  for (const part of [ticket.type, marked(ticket.order, 'order'), marked(tail, 'phone'), by('code') && make('mark', say('find.code'))].filter(Boolean)) {
    known.append(known.hasChildNodes() ? ' · ' : '', part);
  }
  text.append(title, known, make('span', says.filter(Boolean).join(' · '), 'kept'));
  const inside = Boolean(ticket.admitted_at), wanted = state ? false : way === 'out' ? inside : !inside;
  row.append(text);
  if (!inside || way === 'out') row.append(about(ticket.ticket_id, make('button', say(state ? 'scan.go' : way === 'out' ? 'letout' : 'letin'), wanted ? 'primary' : '', () => {
    $('find').close();
    decideNext({ticket_id: ticket.ticket_id});
  })));
  if (inside && me.role === 'supervisor') row.append(about(ticket.checkin_id, make('button', say('undo'), '', () => {
    $('find').close();
    undo({checkin_id: ticket.checkin_id, label: ticket.label, scan: place()});
  })));
  return row;
}

// --- settings ----------------------------------------------------------------------------------------------------------------

function dress() {
  document.documentElement.dataset.theme = settings.theme;
  $('set-language').value = settings.language;
  for (const link of document.querySelectorAll('.guide-link')) link.href = `${base}/door/help?language=${settings.language}`;
  $('set-theme').value = settings.theme;
  $('set-time').value = String(settings.time);
  $('set-sound').checked = settings.sound;
}

for (const [id, name, value] of [['set-language', 'language', e => e.value], ['set-theme', 'theme', e => e.value], ['set-time', 'time', e => Number(e.value)], ['set-sound', 'sound', e => e.checked]]) {
  $(id).addEventListener('change', async () => {
    settings[name] = value($(id));
    store[name] = name === 'sound' ? (settings.sound ? 'on' : 'off') : settings[name];
    dress();
    await speak(settings.language);
    label();
    drawLists();
    if (!$('pick').hidden) dateEvents();
    if (!event) return;
    showAway();
    drawWaiting();
    drawDiffers();
  });
}
$('menu').addEventListener('click', () => $('settings').showModal());
$('leave').addEventListener('click', () => {
  $('settings').close();
  $('leaving').showModal();
});
$('leave-now').addEventListener('click', () => {
  store.leaves = 'yes';
  for (const name of ['session', 'event']) delete store[name];
  forgetNotes();
  finding?.abort();
  closeCamera();
  $('leaving').close();
  enter('');
  resume();
});
for (const button of document.querySelectorAll('dialog .close')) button.addEventListener('click', () => button.closest('dialog').close());
for (const dialog of document.querySelectorAll('dialog')) dialog.addEventListener('close', focusCode);

// stayAwake keeps the screen on, where the browser allows it.
async function stayAwake() {
  try {
    await navigator.wakeLock?.request('screen');
  } catch { /* a battery that is low, say: the screen may go dark */ }
}
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && event) stayAwake();
});

start();
