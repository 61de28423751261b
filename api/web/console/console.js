// The page for the people at the laptop: it follows the counts, and shows the codes that let phones in.
import '../../door/assets/look.js';
import {ask, base} from '../../door/assets/session.js';
import {store} from '../../door/assets/store.js';

const $ = id => document.getElementById(id);
const language = document.documentElement.lang;
const enter = () => location.replace(`${base}/login${location.search}`);

for (const time of document.querySelectorAll('time')) {
  time.textContent = new Date(time.dateTime).toLocaleString(language, {weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit'});
}

// Only the server ends a session: one that does not answer leaves the page as it is.
$('leave').addEventListener('click', async () => {
  try {
    await ask('DELETE', '/door/v1/session/');
  } catch {
    return void ($('away').textContent = $('away').dataset.word);
  }
  for (const name of ['session', 'event']) delete store[name]; // of the door's page, which has the same session
  enter();
});

// --- counts ------------------------------------------------------------------------------------------------------------------

const often = 5000;

async function count(card) {
  const {status, data} = await ask('GET', `/door/v1/event/${card.dataset.event}/status/`);
  if (status === 401) return enter();
  if (status !== 200) return;
  card.querySelector('[data-of=in]').textContent = data.inside;
  card.querySelector('[data-of=expected]').textContent = data.issued;
}

let due = 0, asking = false;

// follow asks for the counts now and again, while the page can be seen.
async function follow() {
  clearTimeout(due);
  if (document.hidden || asking) return;
  asking = true;
  try {
    for (const card of document.querySelectorAll('section.event')) await count(card);
    $('away').textContent = '';
  } catch {
    $('away').textContent = $('away').dataset.word;
  } finally {
    asking = false;
  }
  due = setTimeout(follow, often);
}
document.addEventListener('visibilitychange', follow); // seen again, it asks at once
follow();

// --- codes for phones --------------------------------------------------------------------------------------------------------

const dialog = $('phone'), words = dialog.dataset;
let chosen = null, asked = 0; // the button of the role; how many codes were asked for

// clear takes the code off the page: it lets a phone in.
function clear() {
  $('phone-code').firstElementChild.removeAttribute('d');
  $('phone-links').replaceChildren();
  for (const id of ['phone-fault', 'phone-good']) $(id).textContent = '';
  $('phone-alone').hidden = true;
  dialog.classList.remove('ready');
}

async function show() {
  const mine = ++asked, wanted = {event: Number(chosen.closest('section').dataset.event), role: chosen.dataset.role};
  clear();
  $('phone-next').disabled = true;
  const {status, data} = await ask('POST', '/door/ticket', wanted).catch(() => ({}));
  if (status === 401) return enter();
  if (!dialog.open || mine !== asked) return; // another code is wanted now, or none
  $('phone-next').disabled = false;
  if (status === 200) return draw(data);
  const reasons = {403: words.maynot, 404: words.gone, 429: words.slow};
  $('phone-fault').textContent = status ? reasons[status] ?? words.refused.replace('{why}', data?.error?.message ?? status) : words.away;
}

function draw(code) {
  $('phone-code').setAttribute('viewBox', `0 0 ${code.qr.size} ${code.qr.size}`);
  $('phone-code').firstElementChild.setAttribute('d', code.qr.path);
  $('phone-links').replaceChildren(...code.urls.map(url => {
    const line = document.createElement('li'); // no link: it would be spent here
    line.textContent = url;
    return line;
  }));
  const until = new Date(code.expires_at).toLocaleString(language, {weekday: 'long', hour: '2-digit', minute: '2-digit'});
  $('phone-good').textContent = words.good.replace('{time}', until);
  $('phone-alone').hidden = !code.alone;
  if (location.port) $('phone-alone').querySelector('code').textContent = `--listen 0.0.0.0:${location.port}`;
  $('phone-type').hidden = code.alone;
  dialog.classList.add('ready');
}

for (const button of document.querySelectorAll('[data-role]')) {
  button.addEventListener('click', () => {
    chosen = button;
    $('phone-title').textContent = button.textContent;
    $('phone-event').textContent = button.closest('section').querySelector('h2').textContent;
    dialog.showModal();
    $('phone-close').focus();
    show();
  });
}
$('phone-next').addEventListener('click', show);
$('phone-close').addEventListener('click', () => dialog.close());
dialog.addEventListener('close', () => { clear(); chosen?.focus(); });
