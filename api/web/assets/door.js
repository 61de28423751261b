// The page for helpers at a door: sign in, choose the event and the door, then scan.
import {ask, nonce, Unreachable} from './session.js';
import {speak, say, ago, clock, preferred} from './words.js';
import {signal, wake} from './signal.js';
import {fromPhoto, watch, why} from './camera.js';
import {trusts, upgrade} from './secure.js';
import {listen} from './keys.js';
import * as queue from './queue.js';

const $ = id => document.getElementById(id);
const store = localStorage;
const settings = {
  language: store.language ?? preferred(), theme: store.theme ?? 'auto', time: Number(store.time ?? 2), sound: store.sound !== 'off',
};
let event = null, door = store.door ?? '', me = '', timer = 0, stopCamera = null;
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
  speak(settings.language);
  dress();
  if (ticket) return await upgrade(ticket) || enter('');
  try {
    const {status, data} = await ask('GET', '/door/v1/session/');
    if (status === 200) return signedIn(data);
    enter(status === 401 && store.event ? 'enter.ended' : '');
  } catch {
    const known = store.session && JSON.parse(store.session);
    if (!known) return setTimeout(start, 2000);
    signedIn(known); // the laptop is away: scans wait in the phone
    reached(false);
  }
}

function enter(fault) {
  $('enter-ticket').hidden = !ticket;
  $('enter-how').hidden = Boolean(ticket);
  $('enter-by-key').hidden = Boolean(ticket);
  $('enter-fault').textContent = fault ? say(fault) : '';
  $('helper').value = store.helper ?? '';
  show('enter');
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
  me = session.name;
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
  show('pick');
}

$('pick-form').addEventListener('submit', e => {
  e.preventDefault();
  wake();
  const {events} = JSON.parse(store.session);
  const chosen = events.find(e => String(e.id) === new FormData($('pick-form')).get('event'));
  door = $('door').value.trim();
  if (chosen && door) work(chosen);
});

function work(chosen) {
  event = chosen;
  Object.assign(store, {event: String(event.id), door});
  $('where-event').textContent = event.name || '#' + event.id;
  $('where-door').textContent = door;
  $('settings-who').textContent = say('settings.who', {name: me});
  show('work');
  reached(near); // what waits in the phone since before
  follow();
  drawWaiting();
  stayAwake();
}

$('where').addEventListener('click', () => pick(JSON.parse(store.session).events));

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

async function decide(scan) {
  const here = event;
  try {
    const {status, data} = await ask('POST', path('scan'), {...('code' in scan ? {code: scan.code} : {ticket_id: scan.ticket_id}), door, nonce: scan.nonce});
    reached(true);
    if (status === 401) return enter('enter.ended');
    if (scan.held) await forget(scan);
    if (status !== 200) return present({outcome: 'refused', why: data?.error?.message ?? status});
    present(data);
  } catch (fault) {
    if (!(fault instanceof Unreachable)) throw fault;
    reached(false);
    if (!('code' in scan)) return present({outcome: 'unreachable'});
    const kept = {nonce: scan.nonce, event: here.id, code: scan.code, at: scan.at, door, let_in: false};
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
  admitted: ['good', '✓', 'good'], undone: ['plain', '↶', 'twice'], already_admitted: ['twice', '↺', 'twice'], unreachable: ['ask', '?', 'bad'], refused: ['ask', '!', 'bad'],
};

function present(ruling) {
  const [colour, sign, tune] = looks[ruling.outcome] ?? ['bad', '✕', 'bad'];
  const result = $('result');
  result.className = 'result ' + colour;
  result.dataset.outcome = ruling.outcome;
  $('result-icon').textContent = sign;
  $('result-word').textContent = say(ruling.outcome);
  $('result-label').textContent = ruling.label ?? '';
  $('result-type').textContent = ruling.type ?? '';
  $('result-more').textContent = more(ruling);
  acts(ruling);
  result.hidden = false;
  signal(tune, settings.sound);
  if (ruling.outcome !== 'unreachable') remember(ruling, colour, sign);
  const seconds = ruling.outcome === 'admitted' ? settings.time : ruling.outcome === 'unreachable' ? 0 : settings.time * 4;
  closeAfter(seconds);
}

// more is what a helper does next.
function more(ruling) {
  switch (ruling.outcome) {
    case 'admitted': return '';
    case 'already_admitted': return say(ruling.door === door ? 'say.already_here' : 'say.already_admitted', {ago: ago(ruling.seconds_ago ?? 0), door: ruling.door ?? '?'});
    case 'refused': return say('say.refused', {why: ruling.why});
  }
  return say('say.' + ruling.outcome);
}

function acts(ruling) {
  const box = $('result-acts');
  box.replaceChildren();
  if (ruling.kept) {
    box.append(make('button', say('letin'), 'primary', () => keepLetIn(ruling.kept)), make('button', say('hold'), '', close));
    return;
  }
  box.append(make('button', say('next'), 'primary', close));
  if (ruling.outcome === 'admitted') box.append(make('button', say('undo'), '', () => undo(ruling)));
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
  focusCode();
}

$('result').addEventListener('click', e => { // a tap holds it, another lets it go
  if (e.target.closest('button')) return;
  if ($('result-time').hidden) return $('result').dataset.outcome === 'unreachable' || close();
  cancelAnimationFrame(timer);
  $('result-time').hidden = true;
});
document.addEventListener('keydown', e => {
  if (e.key === 'Escape' && !$('result').hidden && !document.querySelector('dialog[open]')) close();
});

async function undo(ruling) {
  try {
    const {status, data} = await ask('POST', path('undo'), {checkin_id: ruling.checkin_id});
    if (status !== 200) return present({outcome: 'refused', why: data?.error?.message ?? status});
    for (const entry of entries) if (entry.ruling.checkin_id === ruling.checkin_id) entry.undone = true;
    present({...data, label: data.label ?? ruling.label});
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
    if (entry.ruling.outcome === 'admitted' && !entry.undone && Date.now() - entry.at < undoable) row.append(make('button', say('undo'), '', () => undo(entry.ruling)));
    return row;
  }));
}

// --- out of reach ------------------------------------------------------------------------------------------------------------

let near = true, sending = false;

async function reached(yes) {
  near = yes;
  document.body.classList.toggle('far', !yes);
  const kept = event ? (await queue.all(event.id)).filter(s => s.let_in).length : 0;
  $('away').hidden = yes && kept === 0;
  $('away').textContent = [!yes && say('away'), kept > 0 && say('away.kept', {n: kept})].filter(Boolean).join(' ');
  if (yes && kept > 0) send();
}

async function keepLetIn(scan) {
  await queue.keep({...scan, let_in: true});
  close();
  drawWaiting();
  reached(near);
}

// send hands over who was let in. Who was held is not sent: that would let in a guest who may have gone.
async function send() {
  if (sending) return;
  sending = true;
  try {
    for (;;) {
      const scans = (await queue.all(event.id)).filter(s => s.let_in).slice(0, 50);
      if (scans.length === 0) break;
      const {status, data} = await ask('POST', path('scans'), {scans: scans.map(({code, at, nonce, door}) => ({code, at, nonce, door, let_in: true}))});
      if (status === 401) return enter('enter.ended'); // they stay here, for the next session
      if (status !== 200) throw new Unreachable('status ' + status);
      for (const [i, result] of data.results.entries()) {
        await queue.drop(scans[i].nonce);
        if (result.outcome !== 'admitted') differs(scans[i], result);
      }
    }
    $('away').hidden = true;
  } catch (fault) {
    if (!(fault instanceof Unreachable)) throw fault;
    near = false;
  } finally {
    sending = false;
  }
}

function differs(scan, result) {
  const why = result.outcome ? say(result.outcome) : result.error?.message;
  const row = make('li', '', 'scan ' + (looks[result.outcome]?.[0] ?? 'bad'));
  const text = make('span', '', 'scan-text');
  text.append(make('strong', result.label || scan.code), make('span', `${clock(scan.at)} · ${why}`, 'quiet'));
  row.append(make('span', '!', 'sign'), text);
  $('differs-list').append(row);
  $('differs').hidden = false;
}
$('differs-seen').addEventListener('click', () => {
  $('differs-list').replaceChildren();
  $('differs').hidden = true;
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

// --- counts ------------------------------------------------------------------------------------------------------------------

let following = false;

async function follow() {
  if (following) return;
  following = true;
  for (;;) {
    if (!$('work').hidden && !document.hidden) await count();
    await new Promise(done => setTimeout(done, near ? 1000 : 2000));
  }
}

async function count() {
  const here = event;
  try {
    const {status, data} = await ask('GET', path('status'));
    if (here !== event) return;
    if (status === 401) return enter('enter.ended');
    if (!near) reached(true);
    else if (!$('away').hidden) send();
    if (status !== 200) return;
    $('count-in').textContent = data.admitted;
    $('count-expected').textContent = data.issued;
    $('count-minute').textContent = lastMinute(data.minutes);
    drawDoors(data.doors);
    drawLast();
  } catch (fault) {
    if (!(fault instanceof Unreachable)) throw fault;
    reached(false);
  }
}

function lastMinute(minutes) {
  const since = Date.now() - 120_000; // a minute's row begins with the minute
  return minutes.filter(m => new Date(m.minute) > since).reduce((most, m) => Math.max(most, m.admitted), 0);
}

function drawDoors(doors) {
  const rows = Object.entries(doors).sort((a, b) => b[1] - a[1]).slice(0, 20);
  $('doors').replaceChildren(...rows.map(([name, n]) => {
    const row = make('li', '', name === door ? 'own' : '');
    row.append(make('span', name || '–'), make('span', say('doors.in', {n}), 'quiet'));
    return row;
  }));
}

// --- camera and photo --------------------------------------------------------------------------------------------------------

$('way-camera').addEventListener('click', async () => {
  wake();
  if (stopCamera) return closeCamera();
  $('eye').hidden = false;
  $('video').hidden = false;
  $('eye-says').textContent = say('eye.looking');
  try {
    stopCamera = await watch($('video'), code => { if ($('result').hidden) read(code); });
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

const shown = 5; // nobody can browse the list
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
    if (status === 401) return $('find').close(), enter('enter.ended');
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
    make('span', [ticket.type, ticket.order, tail, state, ticket.admitted_at && say('find.in', {time: clock(ticket.admitted_at)})].filter(Boolean).join(' · '), 'quiet'));
  row.append(text, make('button', say('letin'), ticket.admitted_at || state ? '' : 'primary', () => {
    $('find').close();
    decideNext({ticket_id: ticket.ticket_id});
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
  $(id).addEventListener('change', () => {
    settings[name] = value($(id));
    store[name] = name === 'sound' ? (settings.sound ? 'on' : 'off') : settings[name];
    dress();
    speak(settings.language);
    drawLast();
    $('settings-who').textContent = say('settings.who', {name: me});
  });
}
$('menu').addEventListener('click', () => $('settings').showModal());
$('leave').addEventListener('click', async () => {
  await ask('DELETE', '/door/v1/session/').catch(() => null);
  for (const name of ['session', 'event']) delete store[name];
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
