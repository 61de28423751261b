// The way from http to https, where browsers give the camera. A server with an authority of its own answers both at one address.
const {trust, base} = document.documentElement.dataset;

// trusts tells that a phone can be made to trust the server.
export const trusts = trust === 'yes';

const patience = 3000;

// upgrade opens the page over https, with its ticket, if this phone trusts the server already. It returns false where the phone stays here.
export async function upgrade(ticket) {
  if (!trusts || window.isSecureContext) return false;
  const secure = `https://${location.host}${base}`;
  try {
    await fetch(secure + '/healthz', {mode: 'no-cors', cache: 'no-store', signal: AbortSignal.timeout(patience)});
  } catch {
    return false; // the authority is not installed
  }
  location.replace(`${secure}/door#${encodeURIComponent(ticket)}`);
  return true;
}
