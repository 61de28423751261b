// What the page remembers from one visit to the next. A phone that is full, or that keeps nothing, remembers it while the page is open.
const disk = localStorage, memory = {}; // null where the browser has none

export const store = new Proxy(memory, {
  get: (_, name) => disk?.[name] ?? memory[name],
  set(_, name, value) {
    delete memory[name];
    try {
      disk.setItem(name, value);
    } catch {
      disk?.removeItem(name); // what was there before is old
      memory[name] = String(value);
    }
    return true;
  },
  deleteProperty(_, name) {
    disk?.removeItem(name);
    return delete memory[name];
  },
});
