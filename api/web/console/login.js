// The page that asks for a key, and begins the session of it.
import '../../door/assets/look.js';
import {ask, base} from '../../door/assets/session.js';

const $ = id => document.getElementById(id);
const go = () => location.replace(`${base}/${location.search}`);

// A link on another site's page leads here with the session hidden: its owner goes on.
ask('GET', '/door/v1/session/').then(({status}) => status === 200 && go()).catch(() => null);

$('login').addEventListener('submit', async e => {
  e.preventDefault();
  const words = $('fault').dataset;
  $('fault').textContent = '';
  try {
    const {status, data} = await ask('POST', '/door/v1/session/', {key: $('key').value.trim(), secret: $('secret').value.trim()});
    if (status === 200) return go();
    $('secret').value = '';
    $('fault').textContent = {403: words.nodoor, 429: words.slow}[status] ?? (data?.error?.details?.expired ? words.expired : words.wrong);
  } catch {
    $('fault').textContent = words.away;
  }
  $('secret').focus();
  for (const id of ['secret', 'fault']) $(id).scrollIntoView({block: 'nearest'}); // what is said lies above the field, and moves it
});
