// Attachments of any size and name go to the server and come back as they were.
import { assert, local, remote } from './peer.mjs';
import { createHash, randomBytes } from 'node:crypto';

const from = local(), to = local(), server = remote();
const big = randomBytes(3 << 20), small = Buffer.from('a small text');
await from.put({ _id: 'doc', n: 1, _attachments: {
  'big.bin': { content_type: 'application/octet-stream', data: big.toString('base64') },
  'ação/é.txt': { content_type: 'text/plain', data: small.toString('base64') },
  'empty': { content_type: 'text/plain', data: '' },
} });
await from.put({ ...await from.get('doc'), n: 2 });
await from.replicate.to(server);
await to.replicate.from(server);
for (const db of [server, to]) {
  assert.ok(big.equals(await db.getAttachment('doc', 'big.bin')));
  assert.ok(small.equals(await db.getAttachment('doc', 'ação/é.txt')));
  assert.equal((await db.getAttachment('doc', 'empty')).length, 0);
  const stub = (await db.get('doc'))._attachments['big.bin'];
  assert.equal(stub.digest, 'md5-' + createHash('md5').update(big).digest('base64'));
  assert.equal((await db.get('doc', { attachments: true }))._attachments['ação/é.txt'].data, small.toString('base64'));
}

assert.equal((await server.get('doc'))._attachments['big.bin'].revpos, 1);

// At the server itself.
const doc = await server.get('doc');
const put = await server.putAttachment('doc', 'new', doc._rev, Buffer.from('new'), 'text/x-new');
const removed = await server.removeAttachment('doc', 'big.bin', put.rev);
assert.deepEqual(Object.keys((await server.get('doc', { rev: removed.rev }))._attachments).sort(), ['ação/é.txt', 'empty', 'new']);
const edited = await server.put({ ...await server.get('doc'), n: 3 });
assert.equal((await server.get('doc'))._rev, edited.rev);
assert.ok(Buffer.from('new').equals(await server.getAttachment('doc', 'new')));
await to.replicate.from(server);
assert.ok(Buffer.from('new').equals(await to.getAttachment('doc', 'new')));
await assert.rejects(to.getAttachment('doc', 'big.bin'), { status: 404 });
