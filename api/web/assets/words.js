// Every sentence of the page, from the catalogue of its language. A word in braces is filled in; what has a number has its forms.
import {base} from './session.js';

const languages = ['en', 'pt-BR'];
let language = 'en', words = {}, forms = new Intl.PluralRules('en');

// preferred is the language that the page came in, which is the browser's.
export const preferred = () => languages.includes(document.documentElement.lang) ? document.documentElement.lang : 'en';

// speak chooses the language and writes every sentence of the page in it.
export async function speak(name) {
  language = languages.includes(name) ? name : 'en';
  forms = new Intl.PluralRules(language);
  words = await (await fetch(`${base}/door/assets/words.${language}.json`)).json();
  document.documentElement.lang = language;
  for (const element of document.querySelectorAll('[data-word]')) element.textContent = say(element.dataset.word);
}

// say is a sentence with its values filled in; n chooses the form.
export function say(word, values = {}) {
  const found = words[word] ?? word;
  const sentence = typeof found === 'string' ? found : found[forms.select(values.n)] ?? found.other;
  return sentence.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '');
}

// ago says how long ago something was.
export function ago(seconds) {
  if (seconds < 5) return say('ago.now');
  if (seconds < 120) return say('ago.seconds', {n: Math.round(seconds)});
  if (seconds < 7200) return say('ago.minutes', {n: Math.round(seconds / 60)});
  return say('ago.hours', {n: Math.round(seconds / 3600)});
}

let zone; // of the times that the page shows; undefined = the phone's own

// live has the page show its times in a zone. A browser that does not know the zone shows those of the phone.
export function live(name) {
  try {
    new Intl.DateTimeFormat('en', {timeZone: name});
    zone = name;
  } catch {
    zone = undefined;
  }
}

// date is a moment in the page's language and zone.
export const date = (at, options) => new Date(at).toLocaleString(language, {...options, timeZone: zone});

const time = {hour: 'numeric', minute: '2-digit'}, day = {year: 'numeric', month: 'numeric', day: 'numeric'};

// clock is a time of day.
export const clock = at => date(at, time);

// moment is a time of day, with its date if that is not today's. now is the present.
export const moment = (at, now) => date(at, date(at, day) === date(now, day) ? time : {weekday: 'short', day: 'numeric', month: 'short', ...time});
