// A key that may only read pulls as others do, keeps its checkpoint, and is told that it may not push.
import { assert, ids, local, remote } from './peer.mjs';

const db = local();
await db.replicate.from(remote());
assert.deepEqual(await ids(db), ['theirs']);
let since;
await db.replicate.from(remote((_, url) => { if (url.pathname.endsWith('/_changes')) since ??= url.searchParams.get('since'); }));
assert.match(since, /^[1-9][0-9]*-/);
await db.put({ _id: 'mine' });
await assert.rejects(db.replicate.to(remote()), { status: 403 });
