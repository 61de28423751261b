// On the page that sets a phone up: the way to https is shown while no scan waits in the phone.
import './look.js';
import {first, waits} from './secure.js';
import {preferred, speak} from './words.js';

await speak(preferred()).catch(() => null); // the laptop is away: the sentence of the page stays

async function look() {
  const waiting = await waits(), sentence = document.getElementById('first');
  if (waiting.length > 0) sentence.textContent = first(waiting);
  sentence.hidden = waiting.length === 0;
  document.getElementById('secure').hidden = waiting.length > 0;
}
for (const moment of ['pageshow', 'focus']) addEventListener(moment, look); // another tab may scan in between
look();
