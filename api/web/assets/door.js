// The page for helpers at a door: sign in, choose the event and the door, then scan.
import {ask, base, nonce, Unreachable} from './session.js';
import {speak, say, ago, clock, preferred} from './words.js';
import {signal, wake} from './signal.js';
import {fromPhoto, watch, why} from './camera.js';
import {trusts, upgrade} from './secure.js';
import {listen} from './keys.js';
import {follow} from './company.js';
import * as queue from './queue.js';

const $ = id => document.getElementById(id);
const store = localStorage;
const settings = {
  language: store.language ?? preferred(), theme: store.theme ?? 'auto', time: Number(store.time ?? 2), sound: store.sound !== 'off',
};
let event = null, door = store.door ?? '', way = 'in', me = {}, timer = 0, stopCamera = null;
let finding = null; // ends the stream that is followed
const undoable = 60_000, entries = [];

// make builds an element with text and classes; text is never read as HTML.
function make(tag, text, className, act) {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  if (className) element.className = className;
  if (act) element.addEventListener('click', act);
  return element;
}

function show(name) {
  for (const id of ['enter', 'pick', 'work']) $(id).hidden = id !== name;
  if (name === 'work') focusCode();
}

function focusCode() {
  if (!matchMedia('(pointer: coarse)').matches) $('code').focus({preventScroll: true}); // a phone would open its keyboard
}

// --- sign in -----------------------------------------------------------------------------------------------------------------

const ticket = decodeURIComponent(location.hash.slice(1));
if (ticket) history.replaceState(null, '', location.pathname); // it is good once, and not for the history

async function start() {
  dress();
  await speak(settings.language);
  navigator.serviceWorker?.register(base + '/door/assets/sw.js', {scope: base + '/door'}).catch(() => null); // on http there is none
  if (ticket) return await upgrade(ticket) || enter('');
  try {
    const {status, data} = await ask('GET', '/door/v1/session/');
    if (status === 200) return signedIn(data);
    if (status === 401 && store.event) return ended();
    enter('');
  } catch {
    const known = store.session && JSON.parse(store.session);
    if (!known) return setTimeout(start, 2000);
    signedIn(known); // the laptop is away: scans wait in the phone
    reached(false);
  }
}

function enter(fault) {
  $('enter-kept').textContent = '';
  $('enter-ticket').hidden = !ticket;
  $('enter-how').hidden = Boolean(ticket);
  $('enter-by-key').hidden = Boolean(ticket);
  $('enter-fault').textContent = fault ? say(fault) : '';
  $('helper').value = store.helper ?? '';
  show('enter');
}

// ended is for a session that is no longer good. What the phone has kept is handed in once more, for review.
async function ended() {
  finding?.abort();
  closeCamera();
  close();
  enter('enter.ended');
  const handed = await handIn().catch(() => 0);
  const left = (await queue.all()).filter(scan => scan.let_in).length;
  $('enter-kept').textContent = [handed > 0 && say('enter.handed', {n: handed}), left > 0 && say('enter.kept', {n: left})].filter(Boolean).join(' ');
}

async function handIn() {
  let handed = 0;
  for (const of of new Set((await queue.all()).map(scan => scan.event))) handed += await send(of);
  return handed;
}

async function signIn(body) {
  try {
    const {status, data} = await ask('POST', '/door/v1/session/', body);
    if (status === 200) return signedIn(data);
    const faults = {401: body.ticket ? 'enter.used' : 'enter.wrong', 403: 'enter.nodoor', 429: 'enter.slow'};
    enter(faults[status] ?? 'enter.wrong');
  } catch {
    enter('away');
  }
}

$('enter-ticket').addEventListener('submit', e => {
  e.preventDefault();
  wake();
  store.helper = $('helper').value.trim();
  signIn({ticket, name: store.helper});
});
$('enter-key').addEventListener('submit', e => {
  e.preventDefault();
  wake();
  signIn({key: $('key').value.trim(), secret: $('secret').value.trim()});
});

// --- choose ------------------------------------------------------------------------------------------------------------------

function signedIn(session) {
  me = session;
  store.session = JSON.stringify(session);
  $('secret').value = '';
  const before = session.events.find(e => String(e.id) === store.event);
  if (before && door) return work(before);
  pick(session.events);
}

function pick(events) {
  const box = $('pick-events');
  box.replaceChildren(box.firstElementChild);
  for (const e of events) {
    const label = make('label', '', 'choice'), input = make('input');
    Object.assign(input, {type: 'radio', name: 'event', value: e.id, required: true, checked: events.length === 1 || String(e.id) === store.event});
    const day = new Date(e.start_datetime).toLocaleString(settings.language, {weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit'});
    const text = make('span', '', 'choice-text');
    text.append(make('strong', e.name || '#' + e.id), make('span', e.open ? day : `${day} · ${say('pick.closed')}`, 'quiet'));
    label.append(input, text);
    box.append(label);
  }
  box.hidden = events.length === 0;
  $('pick-none').hidden = events.length > 0;
  $('door').value = door || say('door.first');
  for (const input of $('pick-ways').querySelectorAll('input')) input.checked = input.value === (store.way ?? 'in');
  offerWays();
  show('pick');
}

const chosenEvent = () => me.events.find(e => String(e.id) === new FormData($('pick-form')).get('event'));

// offerWays asks which way the door leads, where the event has guests go out and in again.
function offerWays() {
  $('pick-ways').hidden = !chosenEvent()?.reentry;
}
$('pick-events').addEventListener('change', offerWays);

$('pick-form').addEventListener('submit', e => {
  e.preventDefault();
  wake();
  const chosen = chosenEvent();
  door = $('door').value.trim();
  store.way = new FormData($('pick-form')).get('way');
  if (chosen && door) work(chosen);
});

function work(chosen) {
  event = chosen;
  Object.assign(store, {event: String(event.id), door});
  $('where-event').textContent = event.name || '#' + event.id;
  way = chosen.reentry ? store.way ?? 'in' : 'in';
  entries.length = 0;
  label();
  show('work');
  reached(near); // what waits in the phone since before
  listenToDoors();
  drawLast();
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

$('where').addEventListener('click', () => pick(me.events));

// --- scan --------------------------------------------------------------------------------------------------------------------

const path = what => `/door/v1/event/${event.id}/${what}/`;
const codes = []; // read and not decided yet
let deciding = false;

// read takes a code from wherever it came. Codes are decided one after the other, in the order they were read.
function read(code) {
  code = code.trim();
  if (code) decideNext({code});
}

async function decideNext(scan) {
  codes.push({nonce: nonce(), at: new Date().toISOString(), ...scan});
  if (deciding) return;
  deciding = true;
  while (codes.length > 0) await decide(codes.shift());
  deciding = false;
}

// scanNow asks about one ticket.
function scanNow(scan) {
  const of = 'code' in scan ? {code: scan.code} : {ticket_id: scan.ticket_id};
  return ask('POST', path('scan'), {...of, door, nonce: scan.nonce, ...(event.reentry && {direction: way})});
}

async function decide(scan) {
  const here = event;
  try {
    const {status, data} = await scanNow(scan);
    reached(true);
    if (status === 401) return ended();
    if (scan.held) await forget(scan);
    if (status !== 200) return present({outcome: 'refused', why: data?.error?.message ?? status});
    await present(data);
  } catch (fault) {
    if (!(fault instanceof Unreachable)) throw fault;
    reached(false);
    if (!('code' in scan)) return present({outcome: 'unreachable'});
    const kept = {nonce: scan.nonce, event: here.id, code: scan.code, at: scan.at, door, direction: event.reentry ? way : undefined, let_in: false};
    await queue.keep(kept);
    drawWaiting();
    present({outcome: 'unreachable', kept});
  }
}

$('scan').addEventListener('submit', e => {
  e.preventDefault();
  wake();
  const code = $('code').value;
  $('code').value = '';
  read(code);
});

const free = () => !$('work').hidden && !document.querySelector('dialog[open]');
listen($('code'), $('scan'), free);

// --- result ------------------------------------------------------------------------------------------------------------------

const looks = { // outcome → colour, sign and tune
  admitted: ['good', '✓', 'good'], left: ['out', '→', 'out'], undone: ['plain', '↶', 'twice'], already_admitted: ['twice', '↺', 'twice'],
  unreachable: ['ask', '?', 'bad'], refused: ['ask', '!', 'bad'], notice: ['ask', '!', 'look'],
};
let settled = () => {}; // called when a result that must be tapped is

// present shows a ruling. A guest with a notice waits for a tap: what is scanned meanwhile is decided after it.
function present(ruling) {
  const notice = ruling.outcome === 'admitted' && ruling.notice;
  const [colour, sign, tune] = looks[notice ? 'notice' : ruling.outcome] ?? ['bad', '✕', 'bad'];
  const result = $('result');
  result.className = 'result ' + colour;
  result.dataset.outcome = ruling.outcome;
  result.dataset.must = notice || ruling.kept ? 'tap' : '';
  $('result-icon').textContent = sign;
  $('result-word').textContent = say(notice ? 'notice.title' : ruling.outcome);
  $('result-label').textContent = ruling.label ?? '';
  $('result-type').textContent = ruling.type ?? '';
  $('result-notice').textContent = ruling.notice ?? '';
  $('result-more').textContent = more(ruling);
  $('family').hidden = true;
  acts(ruling);
  result.hidden = false;
  signal(tune, settings.sound);
  if (ruling.outcome !== 'unreachable' && !ruling.family) remember(ruling, colour, sign);
  if (ruling.order && ['admitted', 'already_admitted'].includes(ruling.outcome) && way !== 'out') offerFamily(ruling);
  closeAfter(notice || ruling.kept ? 0 : ['admitted', 'left'].includes(ruling.outcome) ? settings.time : settings.time * 4);
  if (!notice) return;
  $('result-acts').firstElementChild.focus({preventScroll: true});
  return new Promise(done => settled = done);
}

// more is what a helper does next.
function more(ruling) {
  const came = {ago: ago(ruling.seconds_ago ?? 0), door: ruling.door ?? '?', time: ruling.admitted_at ? clock(ruling.admitted_at) : '?'};
  switch (ruling.outcome) {
    case 'admitted': return ruling.more ?? '';
    case 'left': return say('say.left', came);
    case 'already_admitted': return say(ruling.door === door ? 'say.already_here' : 'say.already_admitted', came);
    case 'refused': return say('say.refused', {why: ruling.why});
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
  if (me.role === 'supervisor') return ['admitted', 'left', 'already_admitted'].includes(ruling.outcome);
  return ['admitted', 'left'].includes(ruling.outcome) && Date.now() - at < undoable;
}

function closeAfter(seconds) {
  cancelAnimationFrame(timer);
  const bar = $('result-time');
  bar.hidden = seconds === 0;
  if (seconds === 0) return;
  const end = performance.now() + seconds * 1000;
  const tick = now => {
    bar.value = Math.max(0, (end - now) / seconds / 1000);
    if (now >= end) return close();
    timer = requestAnimationFrame(tick);
  };
  timer = requestAnimationFrame(tick);
}

function close() {
  cancelAnimationFrame(timer);
  $('result').hidden = true;
  settled();
  focusCode();
}

$('result').addEventListener('click', e => { // a tap holds it, another lets it go
  if (e.target.closest('button')) return;
  if (e.target.closest('.family')) return hold();
  if ($('result-time').hidden) return $('result').dataset.must === 'tap' || close();
  hold();
});

// hold keeps a result on the screen until it is closed.
function hold() {
  cancelAnimationFrame(timer);
  $('result-time').hidden = true;
}
document.addEventListener('keydown', e => {
  if (e.key === 'Escape' && !$('result').hidden && $('result').dataset.must !== 'tap' && !document.querySelector('dialog[open]')) close();
});

async function undo(ruling) {
  try {
    const {status, data} = await ask('POST', path('undo'), {checkin_id: ruling.checkin_id});
    if (status === 401) return ended();
    if (status === 403) return present({outcome: 'refused', why: say('undo.old')});
    if (status !== 200) return present({outcome: 'refused', why: data?.error?.message ?? status});
    for (const entry of entries) if (entry.ruling.checkin_id === ruling.checkin_id) entry.undone = true;
    present({...data, outcome: 'undone', label: data.label ?? ruling.label});
  } catch {
    reached(false);
    present({outcome: 'refused', why: say('away')});
  }
}

function remember(ruling, colour, sign) {
  if (ruling.outcome !== 'undone') entries.unshift({ruling, colour, sign, at: Date.now(), undone: false});
  entries.length = Math.min(entries.length, 8);
  drawLast();
}

function drawLast() {
  $('last-none').hidden = entries.length > 0;
  $('last').replaceChildren(...entries.map(entry => {
    const row = make('li', '', 'scan ' + entry.colour);
    const text = make('span', '', 'scan-text');
    text.append(make('strong', entry.ruling.label || say(entry.ruling.outcome)),
      make('span', [clock(entry.at), entry.ruling.label && say(entry.ruling.outcome), entry.ruling.type, entry.undone && say('undone.short')].filter(Boolean).join(' · '), 'quiet'));
    row.append(make('span', entry.sign, 'sign'), text);
    if (!entry.undone && mayUndo(entry.ruling, entry.at)) row.append(make('button', say('undo'), '', () => undo(entry.ruling)));
    return row;
  }));
}

// --- family ------------------------------------------------------------------------------------------------------------------

// offerFamily shows the other tickets of the order: one tap lets in those that are ticked.
async function offerFamily(ruling) {
  const {status, data} = await ask('GET', `${path('family')}?checkin_id=${ruling.checkin_id}`).catch(() => ({}));
  const shown = $('result');
  if (status !== 200 || shown.hidden || shown.dataset.outcome !== ruling.outcome || $('result-label').textContent !== (ruling.label ?? '')) return; // another is shown
  if (!data.results.some(mayEnter)) return;
  $('family-list').replaceChildren(...data.results.map(familyRow));
  $('family').hidden = false;
  const go = make('button', '', 'primary', () => letInFamily(ruling, data.results.filter(t => $('kin-' + t.ticket_id).checked)));
  const count = () => {
    const n = $('family-list').querySelectorAll('input:checked').length;
    go.textContent = n > 0 ? say('family.go', {n}) : say('family.none');
    go.disabled = n === 0;
  };
  $('family-list').onchange = count;
  count();
  const [next, ...others] = $('result-acts').children;
  next.className = '';
  next.textContent = say('family.only');
  $('result-acts').replaceChildren(go, next, ...others);
  hold();
  go.focus({preventScroll: true});
}

const mayEnter = ticket => ticket.state === 'valid' && !ticket.admitted_at;

function familyRow(ticket) {
  const row = make('label', '', 'kin'), box = make('input'), text = make('span', '', 'scan-text');
  Object.assign(box, {type: 'checkbox', id: 'kin-' + ticket.ticket_id, checked: mayEnter(ticket), disabled: !mayEnter(ticket)});
  const state = ticket.state === 'valid' ? ticket.admitted_at && say('find.in', {time: clock(ticket.admitted_at)}) : say(ticket.state);
  text.append(make('strong', ticket.label || ticket.type || '#' + ticket.ticket_id),
    make('span', [ticket.label && ticket.type, state, ticket.notice].filter(Boolean).join(' · ')));
  row.append(box, text);
  return row;
}

async function letInFamily(first, tickets) {
  const labels = first.outcome === 'admitted' ? [first.label || first.type] : [], refused = [], notices = new Set(first.outcome === 'admitted' && first.notice ? [first.notice] : []);
  let let_in = labels.length;
  for (const button of $('result-acts').children) button.disabled = true;
  for (const ticket of tickets) {
    const name = ticket.label || ticket.type || '#' + ticket.ticket_id;
    const {status, data} = await scanNow({ticket_id: ticket.ticket_id, nonce: nonce()}).catch(() => ({}));
    if (status === 401) return ended();
    if (status !== 200) {
      refused.push(`${name} (${say('unreachable')})`);
      continue;
    }
    const [colour, sign] = looks[data.outcome] ?? ['bad', '✕'];
    remember(data, colour, sign);
    if (data.outcome !== 'admitted') {
      refused.push(`${name} (${say(data.outcome)})`);
      continue;
    }
    let_in++;
    labels.push(name);
    if (data.notice) notices.add(data.notice);
  }
  settled();
  const not = refused.length > 0 && say('family.not', {names: refused.join(', ')});
  const told = {label: labels.filter(Boolean).join(', '), notice: [...notices, not].filter(Boolean).join(' · '), family: true};
  if (let_in > 0) return present({outcome: 'admitted', ...told, more: say('family.done', {n: let_in})});
  present({outcome: 'refused', why: not, family: true});
}

// --- out of reach ------------------------------------------------------------------------------------------------------------

let near = true, sending = null;

async function reached(yes) {
  near = yes;
  document.body.classList.toggle('far', !yes);
  const kept = event ? (await queue.all(event.id)).filter(s => s.let_in).length : 0;
  $('away').hidden = yes && kept === 0;
  $('away').textContent = [!yes && say('away'), kept > 0 && say('away.kept', {n: kept})].filter(Boolean).join(' ');
  if (yes && kept > 0) deliver();
}

async function keepLetIn(scan) {
  await queue.keep({...scan, let_in: true});
  close();
  drawWaiting();
  reached(near);
}

// deliver sends what waits of this event, once at a time.
async function deliver() {
  if (sending) return;
  sending = send(event.id);
  try {
    await sending;
    $('away').hidden = true;
  } catch (fault) {
    if (!(fault instanceof Unreachable)) throw fault;
    near = false;
  } finally {
    sending = null;
  }
}

// send hands over who was let in at an event, and returns how many it took. Who was held is not sent: that would let in a guest who may have gone.
async function send(of) {
  for (let sent = 0; ;) {
    const scans = (await queue.all(of)).filter(s => s.let_in).slice(0, 50);
    if (scans.length === 0) return sent;
    const {status, data} = await ask('POST', `/door/v1/event/${of}/scans/`, {scans: scans.map(({code, at, nonce, door, direction}) => ({code, at, nonce, door, direction, let_in: true}))});
    if (status === 401) { // they stay here, for the next session
      if (!$('work').hidden) ended();
      return sent;
    }
    if (status !== 200) throw new Unreachable('status ' + status);
    for (const [i, result] of data.results.entries()) {
      const {code, at, nonce} = scans[i], fine = ['admitted', 'left'].includes(result.outcome);
      await queue.settle(nonce, fine ? null : {nonce, event: of, label: result.label || code, at, outcome: result.outcome, why: result.error?.message});
      sent++;
    }
    drawDiffers();
  }
}

async function drawDiffers() {
  const all = event ? await queue.differences(event.id) : [];
  $('differs').hidden = all.length === 0;
  $('differs-list').replaceChildren(...all.map(one => {
    const row = make('li', '', 'scan ' + (looks[one.outcome]?.[0] ?? 'bad')), text = make('span', '', 'scan-text');
    text.append(make('strong', one.label), make('span', `${clock(one.at)} · ${one.outcome ? say(one.outcome) : one.why}`, 'quiet'));
    row.append(make('span', '!', 'sign'), text);
    return row;
  }));
}
$('differs-seen').addEventListener('click', async () => {
  await queue.seen();
  drawDiffers();
});

async function drawWaiting() {
  const held = (await queue.all(event.id)).filter(s => !s.let_in);
  $('waiting').hidden = held.length === 0;
  $('waiting-list').replaceChildren(...held.map(scan => {
    const row = make('li', '', 'scan ask'), text = make('span', '', 'scan-text');
    text.append(make('strong', scan.code), make('span', clock(scan.at), 'quiet'));
    // The same nonce again: where the laptop had decided before its answer was lost, that answer comes back.
    const again = () => decideNext({code: scan.code, nonce: scan.nonce, held: true});
    row.append(make('span', '?', 'sign'), text, make('button', say('decide'), '', again), make('button', say('forget'), '', () => forget(scan)));
    return row;
  }));
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

function drawBoard(board) {
  if (board.event_id !== event?.id) return;
  if (!near || !$('away').hidden) reached(true);
  $('count-in').textContent = event.reentry ? board.inside : board.admitted;
  $('count-expected').textContent = board.issued;
  $('count-minute').textContent = board.per_minute;
  $('doors').replaceChildren(...board.doors.map(one => doorRow(one, board.recent.find(scan => scan.door === one.name))));
  drawLast();
}

// doorRow is a door with its last scan. A door without a page that is open is silent.
function doorRow(one, last) {
  const silent = one.pages === 0, row = make('li', '', [one.name === door && 'own', silent && 'silent'].filter(Boolean).join(' '));
  const seconds = one.scanned_at && Math.max(0, (Date.now() - new Date(one.scanned_at)) / 1000);
  const tell = [one.name === door && say('doors.you'), silent && say('doors.silent'), one.scanned_at ? say('doors.last', {ago: ago(seconds)}) : !silent && say('doors.never')];
  const [colour, sign] = looks[last?.outcome] ?? ['bad', '✕'], text = make('span', '', 'scan-text');
  const mark = make('span', last ? sign : '', 'mark ' + (last ? colour : ''));
  if (last) mark.title = say(last.outcome);
  mark.setAttribute('aria-hidden', 'true');
  text.append(make('strong', one.name), make('span', tell.filter(Boolean).join(' · '), 'quiet'));
  row.append(mark, text, make('span', say('doors.in', {n: one.admitted}), 'number'));
  return row;
}

// --- camera and photo --------------------------------------------------------------------------------------------------------

$('way-camera').addEventListener('click', async () => {
  wake();
  if (stopCamera) return closeCamera();
  $('eye').hidden = false;
  $('video').hidden = false;
  $('eye-says').textContent = say('eye.looking');
  try {
    stopCamera = await watch($('video'), code => { if ($('result').hidden || !$('family').hidden) read(code); });
  } catch (fault) {
    $('video').hidden = true;
    const reason = why(fault), curable = reason === 'http' && trusts;
    $('eye-says').textContent = say(curable ? 'eye.curable' : 'eye.' + reason);
    $('eye-trust').hidden = !curable;
  }
});
$('eye-close').addEventListener('click', closeCamera);

function closeCamera() {
  stopCamera?.();
  stopCamera = null;
  $('eye').hidden = $('eye-trust').hidden = true;
}

$('photo').addEventListener('change', async () => {
  wake();
  const [file] = $('photo').files;
  if (!file) return;
  $('eye').hidden = false;
  $('video').hidden = true;
  $('eye-says').textContent = say('photo.reading');
  try {
    const found = await fromPhoto(file);
    if (found.length === 0) return void ($('eye-says').textContent = say('photo.none'));
    closeCamera();
    if (found.length === 1) return read(found[0]);
    $('choose-list').replaceChildren(...found.map(code => {
      const row = make('li');
      row.append(make('button', code, 'wide', () => {
        $('choose').close();
        read(code);
      }));
      return row;
    }));
    $('choose').showModal();
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

async function find() {
  const words = $('find-words').value.trim();
  $('find-says').textContent = words.length < 2 ? say('find.more') : '';
  if (words.length < 2) return $('find-list').replaceChildren();
  try {
    const {status, data} = await ask('GET', path('search') + '?q=' + encodeURIComponent(words));
    if (words !== $('find-words').value.trim()) return; // more was typed meanwhile
    if (status === 401) return $('find').close(), ended();
    const results = data.results ?? [];
    $('find-says').textContent = results.length === 0 ? say('find.none') : results.length > shown ? say('find.many') : '';
    $('find-list').replaceChildren(...results.slice(0, shown).map(foundRow));
  } catch {
    $('find-says').textContent = say('away');
  }
}

function foundRow(ticket) {
  const row = make('li', '', 'found'), text = make('span', '', 'scan-text');
  const state = ticket.state === 'valid' ? '' : say(ticket.state);
  const tail = ticket.phone_tail && '… ' + ticket.phone_tail;
  text.append(make('strong', ticket.label || ticket.type || '#' + ticket.ticket_id),
    make('span', [ticket.type, ticket.order, tail, state, ticket.notice, ticket.admitted_at && say('find.in', {time: clock(ticket.admitted_at)})].filter(Boolean).join(' · '), 'quiet'));
  const inside = Boolean(ticket.admitted_at), wanted = state ? false : way === 'out' ? inside : !inside;
  row.append(text);
  if (!inside || way === 'out') row.append(make('button', say(way === 'out' ? 'letout' : 'letin'), wanted ? 'primary' : '', () => {
    $('find').close();
    decideNext({ticket_id: ticket.ticket_id});
  }));
  if (inside && me.role === 'supervisor') row.append(make('button', say('undo'), '', () => {
    $('find').close();
    undo({checkin_id: ticket.checkin_id, label: ticket.label});
  }));
  return row;
}

// --- settings ----------------------------------------------------------------------------------------------------------------

function dress() {
  document.documentElement.dataset.theme = settings.theme;
  $('set-language').value = settings.language;
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
    drawLast();
  });
}
$('menu').addEventListener('click', () => $('settings').showModal());
$('leave').addEventListener('click', async () => {
  await ask('DELETE', '/door/v1/session/').catch(() => null);
  for (const name of ['session', 'event']) delete store[name];
  finding?.abort();
  $('settings').close();
  enter('');
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
