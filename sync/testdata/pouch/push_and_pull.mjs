// A thousand documents go to the server and from there to a third one, with their revisions, in batches of 100.
import { assert, ids, local, remote, some } from './peer.mjs';

const from = local(), to = local();
await from.bulkDocs(some(1000));
const first = await from.get('doc00007');
await from.put({ ...first, n: 'changed' });
await from.remove(await from.get('doc00008'));

const pushed = await from.replicate.to(remote());
assert.equal(pushed.docs_written, 1000);
assert.equal(pushed.doc_write_failures, 0);

const calls = {};
const pulled = await to.replicate.from(remote((method, url) => {
  const name = method + ' ' + url.pathname.split('/').slice(3).join('/').split('/')[0];
  calls[name] = (calls[name] ?? 0) + 1;
}));
assert.equal(pulled.docs_written, 1000);
assert.deepEqual(await ids(to), await ids(from));
assert.equal(calls['POST _bulk_get'], 10, 'a request for each batch: ' + JSON.stringify(calls));
const seven = await to.get('doc00007', { revs: true });
assert.equal(seven.n, 'changed');
assert.deepEqual(seven._revisions, (await from.get('doc00007', { revs: true }))._revisions);
await assert.rejects(to.get('doc00008'), { reason: 'deleted' });

// Again there is nothing to do.
assert.equal((await from.replicate.to(remote())).docs_written, 0);
assert.equal((await to.replicate.from(remote())).docs_written, 0);
