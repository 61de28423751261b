// A pull that is cut off goes on where it was: in another process, from the checkpoint that it left at both ends.
import { assert, ids, kept, local, remote, some } from './peer.mjs';

if (process.argv[2] === 'begin') {
  const from = local();
  await from.bulkDocs(some(500));
  await from.replicate.to(remote());
  const pull = kept('pulled').replicate.from(remote(), { batch_size: 50 });
  pull.on('change', ({ docs_written }) => { if (docs_written >= 100) process.kill(process.pid, 'SIGKILL'); });
  await pull;
  assert.fail('it was to be killed');
}
let asked = 0, since;
const pulled = kept('pulled');
const before = (await ids(pulled)).length;
assert.ok(before >= 100 && before < 500, 'before: ' + before);
const result = await pulled.replicate.from(remote((method, url, options) => {
  if (url.pathname.endsWith('/_changes')) since ??= url.searchParams.get('since');
  if (url.pathname.endsWith('/_bulk_get')) asked += JSON.parse(options.body).docs.length;
}), { batch_size: 50 });
assert.equal((await ids(pulled)).length, 500);
assert.match(since, /^[1-9][0-9]*-/, 'it asks from its checkpoint');
assert.ok(asked <= 400 && result.docs_written === asked, 'asked: ' + asked);
await pulled.close();
