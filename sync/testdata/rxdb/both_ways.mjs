// Two apps with RxDB, each with its own store, see each other's inserts, edits and deletions through the server; a conflict ends the
// same everywhere; and what was done without a link is there once it is back.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const require = createRequire(process.env.RXDB + '/package.json');
const { createRxDatabase } = require('rxdb');
const { getRxStorageMemory } = require('rxdb/plugins/storage-memory');
const { replicateCouchDB } = require('rxdb/plugins/replication-couchdb');
const { firstValueFrom, filter, timeout } = require('rxjs');

const { URL_OF_DATABASE, KEY, SECRET } = process.env;
const login = { authorization: 'Basic ' + Buffer.from(KEY + ':' + SECRET).toString('base64') };
const schema = {
  version: 0, primaryKey: 'id', type: 'object', required: ['id', 'text'],
  properties: { id: { type: 'string', maxLength: 40 }, text: { type: 'string' }, n: { type: 'number' } },
};

// ask is a request of nobody's app.
async function ask(method, path, body) {
  const answer = await fetch(URL_OF_DATABASE + path, { method, headers: { ...login, 'content-type': 'application/json' }, body: body && JSON.stringify(body) });
  return answer.json();
}

// app is a store that is kept in step with the server while it is online.
async function app(name) {
  const db = await createRxDatabase({ name, storage: getRxStorageMemory(), multiInstance: false });
  const { notes } = await db.addCollections({ notes: { schema } });
  const a = { notes, db, online: true, errors: [] };
  a.sync = replicateCouchDB({
    replicationIdentifier: name, collection: notes, url: URL_OF_DATABASE + '/', live: true, retryTime: 100, pull: { heartbeat: 1000 }, push: {},
    fetch: (url, options) => {
      if (!a.online) throw new Error('offline');
      return fetch(url, { ...options, headers: { ...options?.headers, ...login } });
    },
  });
  a.sync.error$.subscribe((err) => { if (a.online) a.errors.push(err); });
  await a.sync.awaitInitialReplication();
  return a;
}

// shows waits for a note to be as is wants it; null is one that is not there.
const shows = (a, id, is) => firstValueFrom(a.notes.findOne(id).$.pipe(filter((doc) => is(doc?.toMutableJSON() ?? null)), timeout(20000)));

const ana = await app('ana'), bia = await app('bia');
for (const [writer, reader, id] of [[ana, bia, 'first'], [bia, ana, 'second']]) {
  await writer.notes.insert({ id, text: 'new', n: 1.5 });
  await shows(reader, id, (doc) => doc?.text === 'new' && doc.n === 1.5);
  await (await reader.notes.findOne(id).exec()).patch({ text: 'edited by the other' });
  await shows(writer, id, (doc) => doc?.text === 'edited by the other');
  await (await writer.notes.findOne(id).exec()).patch({ text: 'edited again' });
  await shows(reader, id, (doc) => doc?.text === 'edited again');
  assert.equal((await ask('GET', '/' + id)).text, 'edited again');
}

await (await ana.notes.findOne('second').exec()).remove();
await shows(bia, 'second', (doc) => doc === null);
assert.equal((await ask('GET', '/second')).reason, 'deleted');
await bia.notes.insert({ id: 'second', text: 'anew' });
await shows(ana, 'second', (doc) => doc?.text === 'anew');

// Somebody else edits on the server.
const first = await ask('GET', '/first');
await ask('PUT', '/first', { ...first, text: 'from elsewhere' });
for (const a of [ana, bia]) await shows(a, 'first', (doc) => doc?.text === 'from elsewhere');

// Both edit one note apart; the one who comes back first wins, as RxDB has it without another rule.
ana.online = bia.online = false;
await (await ana.notes.findOne('first').exec()).patch({ text: 'ana' });
await (await bia.notes.findOne('first').exec()).patch({ text: 'bia' });
await ana.notes.insert({ id: 'third', text: 'made offline' });
ana.online = true;
for (let text = ''; text !== 'ana'; ({ text } = await ask('GET', '/first'))) await new Promise((go) => setTimeout(go, 20));
bia.online = true;
await shows(bia, 'first', (doc) => doc?.text === 'ana');
await shows(bia, 'third', (doc) => doc?.text === 'made offline');
assert.equal((await ask('GET', '/first')).text, 'ana');

assert.deepEqual([...ana.errors, ...bia.errors].map((err) => err.message).filter((text) => !text.includes('offline')), []);
for (const a of [ana, bia]) {
  await a.sync.cancel();
  await a.db.close();
}
process.exit(0);
