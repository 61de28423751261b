// Scans that could not be decided lie in the phone, over reloads and closed tabs, until the server has taken them. What the server says otherwise lies
// beside them until it is seen.
let opened = null;
const open = () => opened ??= new Promise((done, failed) => {
  const request = indexedDB.open('doorward', 2);
  request.onupgradeneeded = () => {
    for (const name of ['scans', 'differences']) {
      if (!request.result.objectStoreNames.contains(name)) request.result.createObjectStore(name, {keyPath: 'nonce'});
    }
  };
  request.onsuccess = () => done(request.result);
  request.onerror = () => failed(request.error);
}).catch(fault => {
  opened = null; // it may open the next time
  throw fault;
});
open().catch(() => null); // a fault is none before it is needed

// begin begins a transaction. iPhones lose a connection while the page is in the background: then another one is opened.
async function begin(names, mode) {
  try {
    return (await open()).transaction(names, mode, {durability: 'strict'});
  } catch {
    opened = null;
    return (await open()).transaction(names, mode, {durability: 'strict'});
  }
}

async function run(names, mode, act) {
  const transaction = await begin(names, mode);
  return new Promise((done, failed) => {
    const request = act(...names.map(name => transaction.objectStore(name)));
    transaction.oncomplete = () => done(request?.result);
    transaction.onerror = transaction.onabort = () => failed(transaction.error);
  });
}

// keep stores a scan, or what has changed of it: {nonce, event, name, code, at, door, direction, let_in}. name is the event's.
export const keep = scan => run(['scans'], 'readwrite', scans => scans.put(scan));

// drop forgets a scan. It returns whether the scan was there.
export const drop = nonce => run(['scans'], 'readwrite', scans => {
  const found = scans.count(nonce);
  scans.delete(nonce);
  return found;
}).then(Boolean);

// settle forgets a scan, and keeps what the server says otherwise, if it does: {nonce, event, label, at, outcome, why}.
export const settle = (nonce, difference) => run(['scans', 'differences'], 'readwrite', (scans, differences) => {
  if (difference) differences.put(difference);
  return scans.delete(nonce);
});

const oldest = (all, event) => all.filter(one => event === undefined || one.event === event).sort((a, b) => a.at < b.at ? -1 : 1);

// all are the scans of an event, or of all events, the oldest first.
export const all = async event => oldest(await run(['scans'], 'readonly', scans => scans.getAll()), event);

// byEvent are all scans by their events: [{event, name, scans}], the oldest first.
export async function byEvent() {
  const events = new Map();
  for (const scan of await all()) {
    if (!events.has(scan.event)) events.set(scan.event, {event: scan.event, name: scan.name || '#' + scan.event, scans: []});
    events.get(scan.event).scans.push(scan);
  }
  return [...events.values()];
}

// differences are what the server said otherwise of an event's scans.
export const differences = async event => oldest(await run(['differences'], 'readonly', kept => kept.getAll()), event);

// seen forgets those that a helper has seen.
export const seen = all => run(['differences'], 'readwrite', kept => {
  for (const {nonce} of all) kept.delete(nonce);
});
