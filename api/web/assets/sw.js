// The page itself, kept in the phone: it opens while the laptop is out of reach, shows what waits and keeps more. No answer about a ticket is ever kept.
const name = 'doorward-1';
const scope = new URL(self.registration.scope).pathname; // …/door

const ours = url => url.origin === location.origin && (url.pathname === scope || url.pathname.startsWith(scope + '/assets/'));

self.addEventListener('install', event => event.waitUntil((async () => {
  const cache = await caches.open(name);
  const files = ['door.js', 'session.js', 'secure.js', 'keys.js', 'camera.js', 'queue.js', 'company.js', 'signal.js', 'words.js', 'words.en.json', 'words.pt-BR.json', 'door.css', 'icon.svg'];
  await cache.addAll([scope, ...files.map(file => scope + '/assets/' + file)]);
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

// fresh asks the laptop, and takes what was kept where it does not answer.
async function fresh(request, url) {
  const cache = await caches.open(name);
  try {
    const answer = await fetch(request, {signal: AbortSignal.timeout(3000)});
    if (answer.status >= 500) throw new Error('status ' + answer.status);
    if (answer.ok) await cache.put(url.pathname, answer.clone());
    return answer;
  } catch (fault) {
    const kept = await cache.match(url.pathname);
    if (kept) return kept;
    throw fault;
  }
}
