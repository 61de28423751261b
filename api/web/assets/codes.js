// What a scanned or typed text may mean as a ticket's code, as the laptop reads it: while the laptop is away, the phone knows by it a ticket that it has
// seen before.
const gaps = /[\s\p{Pd}\u00AD\u200B\u2060\uFEFF\u2212]/gu; // spaces and hyphens, those without width too
const marks = /^\](Q1|C1|d2)/; // by which a scanner says what it has read
const least = 6; // characters of a part of a URL that may be a code

const normal = text => text.normalize('NFKC').toUpperCase().replace(gaps, '');
const isURL = text => text.includes('://');

const plain = text => {
  try {
    return decodeURIComponent(text).trim();
  } catch {
    return text.trim(); // its escapes are none
  }
};

// split are the segments of a URL's path, and the values behind it: those of its query, and its fragment.
function split(text) {
  const [, path = '', query = '', fragment = ''] = text.match(/:\/\/[^/?#]*([^?#]*)\??([^#]*)#?(.*)$/) ?? [];
  const values = query.split('&').map(pair => plain(pair.slice(pair.indexOf('=') + 1).replace(/\+/g, ' ')));
  return [path.split('/').map(plain).filter(Boolean), [...values, plain(fragment)].filter(Boolean)];
}

// parts are those of a URL that may be a code: the last segment of its path, and what is long enough.
function parts(text) {
  const [segments, values] = split(text);
  return [...segments.slice(-1), ...[...segments, ...values].filter(part => part.length >= least)].map(normal);
}

// readings are the codes that a text may be.
function readings(text) {
  const bare = text.replace(marks, '');
  return isURL(bare) ? new Set([normal(bare), ...parts(bare)]) : new Set([text, bare, bare.replace(/['/ß]/g, '-')].map(normal));
}

// same reports whether two texts name one ticket. Tickets of one list have URLs that share most of their parts: two URLs name one ticket if they have all
// of them in common, wherever they lead.
export function same(a, b) {
  a = a.trim();
  b = b.trim();
  const whole = url => split(url).flat().map(normal).join('/');
  if (isURL(a) && isURL(b)) return normal(a) === normal(b) || whole(a) !== '' && whole(a) === whole(b);
  const others = readings(b);
  return [...readings(a)].some(one => one !== '' && others.has(one));
}
