// The page itself and the guide, kept in the phone: they open while the laptop is out of reach, and the page shows what waits and keeps more. No answer
// about a ticket is ever kept.
const name = 'doorward-1';
const scope = new URL(self.registration.scope).pathname; // …/door

const languages = ['en', 'pt-BR']; // the guide is kept in each
const ours = url => url.origin === location.origin && ([scope, scope + '/help'].includes(url.pathname) || url.pathname.startsWith(scope + '/assets/'));

// kept is where an answer is kept. The guide has a place for each language: the one that it is in or that is asked for, else the phone's.
function kept(url, language) {
  if (url.pathname !== scope + '/help') return url.pathname;
  const spoken = (language ?? url.searchParams.get('language') ?? navigator.language).slice(0, 2);
  return `${scope}/help?language=${languages.find(one => one.startsWith(spoken)) ?? languages[0]}`;
}

self.addEventListener('install', event => event.waitUntil((async () => {
  const cache = await caches.open(name);
  const files = ['door.js', 'session.js', 'store.js', 'secure.js', 'keys.js', 'camera.js', 'codes.js', 'queue.js', 'company.js', 'signal.js', 'words.js', 'words.en.json', 'words.pt-BR.json', 'look.js', 'trust.js', 'door.css', 'guide.css', 'icon.svg'];
  const all = [scope, ...languages.map(one => `${scope}/help?language=${one}`), ...files.map(file => scope + '/assets/' + file)];
  await cache.addAll(all).catch(fault => {
    if (fault.name !== 'QuotaExceededError') throw fault; // a phone that is full keeps no page, and still shows what the laptop answers
  });
  await self.skipWaiting();
})()));

self.addEventListener('activate', event => event.waitUntil((async () => {
  for (const old of await caches.keys()) if (old !== name) await caches.delete(old);
  await self.clients.claim();
})()));

self.addEventListener('fetch', event => {
  const url = new URL(event.request.url);
  if (event.request.method === 'GET' && ours(url)) event.respondWith(fresh(event.request, url));
});

const pause = 5000; // milliseconds in which a laptop that did not answer is not asked again: the files of a page are read one after the other
let silent = -pause; // when it did not answer last

// fresh asks the laptop, and takes what was kept where it does not answer.
async function fresh(request, url) {
  const cache = await caches.open(name).catch(() => null), before = await cache?.match(kept(url)).catch(() => null);
  if (before && performance.now() - silent < pause) return before;
  const late = new AbortController();
  setTimeout(() => late.abort(), 3000);
  try {
    const answer = await fetch(request, {signal: late.signal});
    if (answer.status >= 500) throw new Error('status ' + answer.status);
    await answer.clone().blob(); // all of it has come
    if (answer.ok) await cache?.put(kept(url, answer.headers.get('Content-Language')), answer.clone()).catch(() => null); // a phone that is full
    return answer;
  } catch (fault) {
    silent = performance.now();
    if (before) return before;
    throw fault;
  }
}
