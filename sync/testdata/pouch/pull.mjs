// Pulls a database into memory, or onto the disk if it is so told, as PouchDB does by itself, and tells how long that took.
import { assert, kept, local, remote } from './peer.mjs';

const into = process.argv[3] === 'kept' ? kept('pulled') : local();
const began = performance.now();
const done = await into.replicate.from(remote(() => {}, process.argv[2]));
const seconds = (performance.now() - began) / 1000;

assert.equal(done.doc_write_failures, 0);
assert.equal((await into.info()).doc_count, done.docs_written);
console.log(JSON.stringify({ documents: done.docs_written, seconds }));
