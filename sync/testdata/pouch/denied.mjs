// A document that the server does not take is told of and holds up no other, nor is it sent for ever.
import { assert, local, remote, some } from './peer.mjs';

const from = local();
await from.bulkDocs(some(250));
let deep = 1;
for (let i = 0; i < 1100; i++) deep = { deep };
await from.put({ _id: 'doc00100x', deep });
const denied = [];
let sent = 0;
const push = from.replicate.to(remote((method, url) => { sent += url.pathname.endsWith('/_bulk_docs') }));
push.on('denied', (e) => denied.push(e));
const result = await push;
assert.equal(result.docs_written, 250);
assert.equal(result.doc_write_failures, 1);
assert.deepEqual(denied.map((e) => [e.id, e.name]), [['doc00100x', 'forbidden']]);
assert.equal((await remote().info()).doc_count, 250);
sent = 0;
assert.equal((await from.replicate.to(remote())).doc_write_failures, 0);
assert.equal(sent, 0);

// Whatever is wrong with one, the others go.
for (const id of ['a\u0000b', 'L'.repeat(9000)]) {
  const poisoned = local(), before = (await remote().info()).doc_count;
  for (const _id of ['before ' + id.length, id, 'later ' + id.length]) await poisoned.put({ _id });
  const denied = [];
  const push = poisoned.replicate.to(remote());
  push.on('denied', (e) => denied.push(e));
  const result = await push;
  assert.deepEqual([result.ok, result.docs_written, result.doc_write_failures], [true, 2, 1]);
  assert.deepEqual(denied.map((e) => [e.id, e.name]), [[id, 'forbidden']]);
  assert.equal((await remote().info()).doc_count, before + 2);
}
