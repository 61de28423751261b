// What every script here begins with: PouchDB as it is installed, the server's database, and a database of one's own.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const require = createRequire(process.env.POUCH + '/package.json');
export const PouchDB = require('pouchdb');
PouchDB.plugin(require('pouchdb-adapter-memory'));

const { URL_OF_DATABASE, KEY, SECRET, FOLDER } = process.env;

export { assert };

// remote is the server's database, or another one; every request is told to seen.
export function remote(seen = () => {}, url = URL_OF_DATABASE) {
  return new PouchDB(url, {
    auth: KEY ? { username: KEY, password: SECRET } : undefined,
    fetch: (url, options) => {
      seen(options?.method ?? 'GET', new URL(url), options);
      return PouchDB.fetch(url, options);
    },
  });
}

let made = 0;

// local is a new database in memory.
export const local = () => new PouchDB('local' + made++, { adapter: 'memory' });

// kept is a database in the test's folder, which outlives the process.
export const kept = (name) => new PouchDB(FOLDER + '/' + name);

// some are documents with numbers from 0 on.
export const some = (n) => Array.from({ length: n }, (_, i) => ({ _id: 'doc' + String(i).padStart(5, '0'), n: i }));

// ids are the ids of the documents that a database has.
export const ids = async (db) => (await db.allDocs()).rows.map((row) => row.id);
