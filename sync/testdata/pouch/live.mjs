// Two that sync live through the server see each other's changes as they come.
import { assert, local, remote } from './peer.mjs';

const ana = local(), bia = local();
const seen = (db, id) => new Promise((resolve) => {
  const changes = db.changes({ live: true, since: 0, include_docs: true });
  changes.on('change', (c) => { if (c.id === id) { changes.cancel(); resolve(c.doc); } });
});
const syncs = [ana, bia].map((db) => db.sync(remote(), { live: true, retry: true, heartbeat: 1000 }));
const failed = new Promise((_, reject) => syncs.forEach((s) => s.on('error', reject)));

for (let i = 0; i < 5; i++) {
  const [writer, reader] = i % 2 ? [ana, bia] : [bia, ana];
  const arrives = seen(reader, 'message' + i);
  await writer.put({ _id: 'message' + i, n: i });
  assert.equal((await Promise.race([arrives, failed])).n, i);
}
syncs.forEach((s) => s.cancel());
await Promise.all(syncs);
