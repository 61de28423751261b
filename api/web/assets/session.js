// Requests to the server that the page came from. The session is a cookie that no script reads.
import {store} from './store.js';

export const base = new URL(import.meta.url).pathname.replace(/\/door\/assets\/[^/]*$/, ''); // the path that the server is mounted below

// Unreachable: there was no answer, or none that decides anything. The server may have decided all the same. status is that of an answer.
export class Unreachable extends Error {
  constructor(why, status) {
    super(why);
    this.status = status;
  }
}

const patience = 5000;

// within ends an act after some milliseconds, by the signal that it gives it. iPhones with iOS 15 have no signal that ends by itself.
export async function within(patience, act) {
  const end = new AbortController(), giveUp = () => end.abort(), clock = setTimeout(giveUp, patience);
  try {
    return await act(end.signal);
  } finally {
    clearTimeout(clock);
  }
}

// ahead is how many milliseconds the server's clock is ahead of the phone's. The server says whole seconds, and its answer is on its way for some: a minute
// is no difference.
let ahead = Number(store.ahead) || 0;

function compare(date) {
  const told = Date.parse(date) - Date.now();
  const next = Math.abs(told) > 60_000 ? told : 0; // no date: not a number
  if (next !== ahead) store.ahead = ahead = next;
}

// now is the time by the server's clock, as the last answer told it. A phone with a wrong clock would hand in its scans for another day.
export const now = () => new Date(Date.now() + ahead);

// ask sends a request and returns its status and body. It throws Unreachable without an answer. A request with a key (once) may be sent again: what it asks
// for is done once, and the first answer comes back.
export async function ask(method, path, body, media = 'application/json', once) {
  const headers = {'X-Requested-With': 'doorward'}; // a 401 then asks nobody for a password
  if (once) headers['Idempotency-Key'] = once;
  const options = {method, headers, credentials: 'same-origin', cache: 'no-store'};
  if (body !== undefined) {
    headers['Content-Type'] = media;
    options.body = media === 'application/json' ? JSON.stringify(body) : body;
  }
  let answer, text;
  try {
    await within(patience, async signal => {
      answer = await fetch(base + path, {...options, signal});
      text = await answer.text();
    });
  } catch (fault) {
    throw new Unreachable(String(fault));
  }
  if (answer.status >= 500) throw new Unreachable('status ' + answer.status, answer.status);
  let data = null;
  try {
    if (text) data = JSON.parse(text);
  } catch {
    throw new Unreachable('the answer is not from a Doorward server'); // a portal of the Wi-Fi, say
  }
  compare(answer.headers.get('Date'));
  return {status: answer.status, data};
}

// nonce tells one scan from all others, so that it can be sent twice and counts once.
export function nonce() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), b => b.toString(16).padStart(2, '0')).join('');
}
