// Codes that a hand scanner types: fast, anywhere on the page, ended by Enter or Tab, or by nothing.
const twice = 500; // milliseconds in which an end belongs to the code before: some scanners send two
const fast = 50, least = 4; // milliseconds between the keys of a burst, and how many keys only a scanner types so fast
const silence = 150; // milliseconds after which a burst has ended

// listen has codes go into input, and sends form at their end. heard reports whether codes are taken at all, and free whether they go into input: if not,
// because a dialog is open, or while the focus is in another field, a burst is a code, and apart is called with it. stays reports whether something lies
// over the input and stays there: its buttons keep the focus. listen returns a function that says how many milliseconds ago a key was read.
export function listen(input, form, {heard, free, stays, apart}) {
  let ended = -twice, last = -twice, taken = false; // whether the last key was taken for a code, and does nothing else
  let burst = '', pressed = -twice, quiet = 0; // the letters that came so fast, and when the last one was pressed
  const take = event => {
    taken = true;
    event.preventDefault();
  };
  const elsewhere = at => !free() || at !== input && Boolean(at?.matches('input:not([type=checkbox], [type=radio], [type=file])'));
  const send = at => {
    ended = at;
    burst = '';
    form.dispatchEvent(new Event('submit', {cancelable: true})); // iPhones with iOS 15 know no other way
  };
  const lift = at => { // takes the burst out of another field, and hands it over
    const code = burst, field = document.activeElement;
    if (field !== input && field?.value?.endsWith(code)) field.value = field.value.slice(0, -code.length);
    ended = at;
    burst = '';
    apart(code);
  };
  const endBurst = () => {
    if (burst.length < least || !heard()) return;
    if (elsewhere(document.activeElement)) return lift(pressed);
    input.value = burst;
    send(pressed);
  };
  document.addEventListener('keypress', event => taken && event.preventDefault(), true);
  document.addEventListener('keydown', event => {
    taken = false;
    last = performance.now(); // a phone that is slow reads a key long after it was pressed, and the letter comes after this
    if (!heard() || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const at = document.activeElement, begun = input.value !== '';
    if (event.key === 'Enter' || event.key === 'Tab' && !event.shiftKey) {
      clearTimeout(quiet);
      const again = event.timeStamp - ended < twice;
      if (elsewhere(at)) {
        if (burst.length >= least && event.timeStamp - pressed < silence) {
          take(event);
          lift(event.timeStamp);
        } else if (again) take(event);
        return;
      }
      if (!begun && !again) return;
      take(event);
      if (begun) send(event.timeStamp);
    } else if (event.key.length === 1) {
      clearTimeout(quiet);
      burst = event.repeat ? '' : event.timeStamp - pressed <= fast ? burst + event.key : event.key;
      pressed = event.timeStamp;
      if (burst.length >= least) quiet = setTimeout(endBurst, silence);
      if (at === input || elsewhere(at)) return;
      if (event.key === ' ' && !begun && at?.matches('button, input, summary, a')) return; // it is pressed
      if (stays()) {
        take(event);
        input.value += event.key;
      } else {
        input.focus({preventScroll: true}); // what the key writes goes there
        input.setSelectionRange(input.value.length, input.value.length);
      }
    }
  }, true);
  return () => performance.now() - last;
}
