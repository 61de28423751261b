// What happens at an event's doors, as it happens: server-sent events, read with fetch so that a session which has ended is told from a laptop out of reach.
import {base, Unreachable} from './session.js';

const silence = 15_000; // the laptop says something every ten seconds

// follow calls heard with each status until the stream ends. It returns the answer's status; it throws Unreachable when the laptop falls silent.
export async function follow(path, heard, end) {
  const stop = new AbortController();
  const quit = () => stop.abort();
  end.addEventListener('abort', quit);
  let watch = setTimeout(quit, silence);
  try {
    const answer = await fetch(base + path, {headers: {'X-Requested-With': 'doorward'}, credentials: 'same-origin', cache: 'no-store', signal: stop.signal});
    if (answer.status >= 500) throw new Unreachable('status ' + answer.status);
    if (answer.status !== 200) return answer.status;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = '', done = false; !done;) {
      const part = await reader.read();
      done = part.done;
      clearTimeout(watch);
      watch = setTimeout(quit, silence);
      const events = (rest + (part.value ?? '')).split('\n\n');
      rest = events.pop();
      for (const event of events) {
        const data = event.split('\n').find(line => line.startsWith('data: '));
        if (data) heard(JSON.parse(data.slice(6)));
      }
    }
    return 200;
  } catch (fault) {
    throw fault instanceof Unreachable ? fault : new Unreachable(String(fault));
  } finally {
    clearTimeout(watch);
    end.removeEventListener('abort', quit);
  }
}
