// Scans that could not be decided lie in the phone, over reloads and closed tabs, until the server has taken them.
const open = new Promise((done, failed) => {
  const request = indexedDB.open('doorward', 1);
  request.onupgradeneeded = () => request.result.createObjectStore('scans', {keyPath: 'nonce'});
  request.onsuccess = () => done(request.result);
  request.onerror = () => failed(request.error);
});

async function run(mode, act) {
  const db = await open;
  return new Promise((done, failed) => {
    const transaction = db.transaction('scans', mode, {durability: 'strict'});
    const request = act(transaction.objectStore('scans'));
    transaction.oncomplete = () => done(request.result);
    transaction.onerror = transaction.onabort = () => failed(transaction.error);
  });
}

// keep stores a scan, or what has changed of it: {nonce, event, code, at, door, let_in}.
export const keep = scan => run('readwrite', scans => scans.put(scan));

// drop forgets a scan.
export const drop = nonce => run('readwrite', scans => scans.delete(nonce));

// all are the scans of an event, the oldest first.
export async function all(event) {
  const scans = await run('readonly', scans => scans.getAll());
  return scans.filter(scan => scan.event === event).sort((a, b) => a.at < b.at ? -1 : 1);
}
