// The way from http to https, where browsers give the camera. A server with an authority of its own answers both at one address.
import {byEvent} from './queue.js';
import {base, within} from './session.js';
import {say} from './words.js';

// trusts tells that a phone can be made to trust the server.
export const trusts = document.documentElement.dataset.trust === 'yes';

const patience = 3000;

// waits are the scans that wait in this phone, by event. The page over https would not see them: what a phone keeps belongs to http or to https. In a
// phone that keeps nothing none waits.
export const waits = async () => window.isSecureContext ? [] : byEvent().catch(() => []);

// first says that waiting scans are handed in before the page moves, and for which events they wait.
export const first = waiting => [say('secure.first'), ...waiting.map(({name, scans}) => say('secure.for', {n: scans.length, name}))].join(' ');

// upgrade opens the page over https, with its ticket, if this phone trusts the server already and no scan waits in it. It returns 'moves',
// or why the phone stays here: 'here', or 'waits' for the scans.
export async function upgrade(ticket) {
  if (!trusts || window.isSecureContext) return 'here';
  const secure = `https://${location.host}${base}`;
  try {
    await within(patience, signal => fetch(secure + '/healthz', {mode: 'no-cors', cache: 'no-store', signal}));
  } catch {
    return 'here'; // the authority is not installed
  }
  if ((await waits()).length > 0) return 'waits';
  location.replace(`${secure}/door#${ticket}`);
  return 'moves';
}
