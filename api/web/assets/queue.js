// Scans that could not be decided lie in the phone, over reloads and closed tabs, until the server has taken them. What the server says otherwise lies
// beside them until it is seen. Notes are what the page has shown of its scans, until the event is over.
let opened = null;
const open = () => opened ??= new Promise((done, failed) => {
  const request = indexedDB.open('doorward', 3);
  request.onupgradeneeded = () => {
    for (const name of ['scans', 'differences', 'notes']) {
      if (!request.result.objectStoreNames.contains(name)) request.result.createObjectStore(name, {keyPath: 'nonce'});
    }
  };
  request.onsuccess = () => {
    request.result.onversionchange = () => request.result.close(); // a newer page, in another tab
    done(request.result);
  };
  request.onerror = () => failed(request.error);
  request.onblocked = () => failed(new DOMException('an older page holds the storage', 'InvalidStateError'));
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

// keep stores a scan, or what has changed of it: {nonce, event, name, code, at, door, direction, let_in, word}. name is the event's, word the helper's own.
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

// note keeps what the page shows of a scan: {nonce, event, until, code, time, entry}. until is when it is forgotten, in milliseconds.
export const note = one => run(['notes'], 'readwrite', notes => notes.put(one));

// amend changes notes: change changes one and returns true, or leaves it.
export const amend = change => run(['notes'], 'readwrite', notes => {
  notes.getAll().onsuccess = ({target}) => {
    for (const one of target.result) if (change(one)) notes.put(one);
  };
});

// notes are what was noted of an event, the oldest first.
export const notes = async event => (await run(['notes'], 'readonly', notes => notes.getAll())).filter(one => one.event === event).sort((a, b) => a.time - b.time);

// forget removes the notes that are over by a time, in milliseconds.
export const forget = by => run(['notes'], 'readwrite', notes => {
  notes.getAll().onsuccess = ({target}) => {
    for (const {nonce, until} of target.result) if (until <= by) notes.delete(nonce);
  };
});
