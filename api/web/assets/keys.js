// Codes that a hand scanner types: fast, anywhere on the page, ended by Enter or Tab.
const twice = 500; // milliseconds in which an end belongs to the code before: some scanners send two

// listen has codes go into input, and sends form at their end. free tells whether the page takes codes. stays tells whether something
// lies over the input and stays there: its buttons keep the focus. It returns how many milliseconds ago a key was read.
export function listen(input, form, free, stays) {
  let ended = -twice, last = -twice, taken = false; // whether the last key was taken for a code, and does nothing else
  const take = event => {
    taken = true;
    event.preventDefault();
  };
  document.addEventListener('keypress', event => taken && event.preventDefault(), true);
  document.addEventListener('keydown', event => {
    taken = false;
    last = performance.now(); // a phone that is slow reads a key long after it was pressed, and the letter comes after this
    if (!free() || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const at = document.activeElement, begun = input.value !== '';
    if (event.key === 'Enter' || event.key === 'Tab' && !event.shiftKey) {
      if (!begun && event.timeStamp - ended >= twice) return;
      take(event);
      if (!begun) return;
      ended = event.timeStamp;
      form.dispatchEvent(new Event('submit', {cancelable: true})); // iPhones with iOS 15 know no other way
    } else if (event.key.length === 1 && at !== input) {
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
