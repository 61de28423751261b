// Two edits of one revision: everybody shows the same winner and has the other, until somebody decides.
import { assert, local, remote } from './peer.mjs';

const ana = local(), bia = local(), server = remote();
await ana.put({ _id: 'doc', by: 'both' });
await ana.sync(server);
await bia.sync(server);
for (const [db, by] of [[ana, 'ana'], [bia, 'bia']]) {
  await db.put({ ...await db.get('doc'), by });
}
await ana.sync(server);
await bia.sync(server);
await ana.sync(server);

const told = await Promise.all([ana, bia, server].map((db) => db.get('doc', { conflicts: true })));
assert.deepEqual(told[0], told[1]);
assert.deepEqual(told[2], told[1]);
assert.equal(told[0]._conflicts.length, 1);
const loser = await server.get('doc', { rev: told[0]._conflicts[0] });
assert.notEqual(loser.by, told[0].by);

await ana.remove('doc', loser._rev);
await ana.put({ ...await ana.get('doc'), by: 'agreed' });
await ana.sync(server);
await bia.sync(server);
for (const db of [ana, bia, server]) {
  const doc = await db.get('doc', { conflicts: true });
  assert.equal(doc.by, 'agreed');
  assert.equal(doc._conflicts, undefined);
}

// A document that was deleted here and edited there lives.
const before = await bia.get('doc');
await ana.remove(await ana.get('doc'));
await bia.put({ ...before, by: 'kept' });
await ana.sync(server);
await bia.sync(server);
assert.equal((await server.get('doc')).by, 'kept');
