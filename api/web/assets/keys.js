// Codes that a hand scanner types: fast, anywhere on the page, ended by Enter or Tab.
export function listen(input, form, free) {
  const end = () => form.requestSubmit();
  document.addEventListener('keydown', event => {
    if (!free() || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const inside = document.activeElement === input;
    if (event.key === 'Tab' && input.value !== '') {
      event.preventDefault();
      end();
    } else if (event.key === 'Enter' && !inside && input.value !== '') {
      event.preventDefault();
      end();
    } else if (event.key.length === 1 && !inside && !(event.key === ' ' && document.activeElement?.matches('button, label, summary'))) {
      input.focus({preventScroll: true}); // what the key writes goes there
    }
  }, true);
}
