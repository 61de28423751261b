// Sounds and vibration: one for who may enter, another for everybody else.
let audio;

// wake lets later sounds be heard: browsers ask for a touch first, and an iPhone interrupts them for a call. Any tap does it. Not every key may: a scanner's
// come so fast that results are late.
export function wake() {
  audio ??= window.AudioContext && new AudioContext();
  if (audio && audio.state !== 'running') audio.resume().catch(() => null); // during the call it may not
}
for (const tap of ['touchend', 'click']) addEventListener(tap, wake, true);

const tunes = {
  good: {notes: [[880, 0, 0.09], [1320, 0.1, 0.16]], shape: 'sine', shake: [60]},
  look: {notes: [[660, 0, 0.12], [880, 0.15, 0.12], [660, 0.3, 0.18]], shape: 'sine', shake: [80, 60, 80, 60, 80]},
  out: {notes: [[880, 0, 0.09], [587, 0.1, 0.16]], shape: 'sine', shake: [40, 40, 40]},
  twice: {notes: [[520, 0, 0.14], [520, 0.2, 0.14]], shape: 'triangle', shake: [120, 80, 120]},
  untaken: {notes: [[330, 0, 0.07], [262, 0.1, 0.07], [330, 0.2, 0.07], [262, 0.3, 0.07]], shape: 'square', shake: [40, 40, 40, 40, 40]},
  bad: {notes: [[220, 0, 0.45]], shape: 'square', shake: [400]},
};

// signal plays a tune. It is noted on the page, for who tests it.
export function signal(name, on) {
  document.documentElement.dataset.signal = name;
  if (!on) return;
  const tune = tunes[name];
  navigator.vibrate?.(tune.shake);
  if (audio?.state !== 'running') return;
  for (const [pitch, at, length] of tune.notes) {
    const tone = audio.createOscillator(), volume = audio.createGain();
    tone.type = tune.shape;
    tone.frequency.value = pitch;
    volume.gain.setValueAtTime(0.25, audio.currentTime + at);
    volume.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + at + length);
    tone.connect(volume).connect(audio.destination);
    tone.start(audio.currentTime + at);
    tone.stop(audio.currentTime + at + length);
  }
}
