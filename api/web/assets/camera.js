// Codes that a camera or a photo shows. Where the browser reads codes itself it does; elsewhere the laptop reads the pictures.
import {ask} from './session.js';

const widest = 1280; // points that the laptop looks at
const formats = ['qr_code', 'aztec', 'pdf417', 'data_matrix', 'code_128', 'ean_13', 'ean_8'];

// reader is the browser's own; null where it has none.
async function reader() {
  if (!window.BarcodeDetector) return null;
  const known = await BarcodeDetector.getSupportedFormats().catch(() => []);
  const wanted = formats.filter(f => known.includes(f));
  return wanted.includes('qr_code') ? new BarcodeDetector({formats: wanted}) : null;
}

// codesOf reads a picture: an image, or a video's present frame.
async function codesOf(picture, width, height, own) {
  if (own) {
    const found = await own.detect(picture).catch(() => []);
    if (found.length > 0) return [...new Set(found.map(f => f.rawValue).filter(Boolean))];
  }
  const scale = Math.min(1, widest / Math.max(width, height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.getContext('2d').drawImage(picture, 0, 0, canvas.width, canvas.height);
  const photo = await new Promise(done => canvas.toBlob(done, 'image/jpeg', 0.85));
  const {status, data} = await ask('POST', '/door/v1/decode/', photo, 'image/jpeg');
  if (status !== 200) throw new Error('status ' + status); // the picture was not looked at
  return data.codes.map(c => c.text);
}

// fromPhoto reads the codes of a file that the phone's camera has made. It throws for a file that is no picture, and if the laptop does not read it.
export async function fromPhoto(file) {
  const picture = await createImageBitmap(file);
  return codesOf(picture, picture.width, picture.height, await reader());
}

// why says why there is no camera: http, none, refused or busy.
export function why(fault) {
  if (!window.isSecureContext) return 'http';
  if (!navigator.mediaDevices) return 'none';
  return {NotAllowedError: 'refused', SecurityError: 'refused', NotReadableError: 'busy', AbortError: 'busy'}[fault?.name] ?? 'none';
}

const memory = 2000; // milliseconds out of sight after which a code is a new one

// watch shows a camera in a video and reads its codes, until stop is called; device names the camera, undefined is the one at the back. take is called with
// each code that is alone in sight, and whether the helper was told already that it is not taken; it returns whether it takes the code, or null if it has not
// looked at it. A code that it takes counts again when it was out of sight for two seconds. which finds the code of several that is a ticket's, null for none;
// several is called with whether none was found. lost is called with a fault when the phone takes the camera away. watch returns stop; lamp, which turns the
// light of the camera on or off, if it has one; and next, the device of the next camera, if there is another.
export async function watch(video, {take, which, several, lost}, device) {
  if (!window.isSecureContext || !navigator.mediaDevices) throw new Error('no camera');
  const lens = device ? {deviceId: {ideal: device}} : {facingMode: 'environment'};
  const stream = await navigator.mediaDevices.getUserMedia({video: {...lens, width: {ideal: 1280}}});
  for (const track of stream.getTracks()) track.addEventListener('ended', () => lost(new DOMException('the camera is gone', 'NotReadableError')));
  const stop = () => {
    for (const track of stream.getTracks()) track.stop();
    if (video.srcObject === stream) video.srcObject = null;
  };
  video.srcObject = stream;
  await video.play().catch(fault => {
    stop();
    throw fault;
  });
  const own = await reader(), met = new Map(); // the codes that were met: whether each was taken, and since when it is out of sight; Infinity = it is in sight
  let on = true, group = {};
  const look = async () => {
    while (on) {
      const begun = performance.now();
      const codes = video.videoWidth ? await codesOf(video, video.videoWidth, video.videoHeight, own).catch(() => null) : [];
      if (!on) return;
      if (codes) await judge(codes, performance.now()); // a look that failed has not seen that a code is gone
      await new Promise(done => setTimeout(done, Math.max(60, 200 - (performance.now() - begun))));
    }
  };
  const judge = async (codes, now) => {
    for (const [code, one] of met) {
      if (now - one.since >= memory) met.delete(code);
      else one.since = codes.includes(code) ? Infinity : Math.min(one.since, now);
    }
    let [code] = codes;
    if (codes.length > 1) {
      const names = [...codes].sort().join('\n');
      if (group.names !== names) group = {names, code: await which(codes)};
      if (!on) return;
      code = group.code;
    }
    several(codes.length > 1 && code === null);
    if (!code) return;
    const taken = met.get(code)?.taken || take(code, met.has(code));
    if (taken !== null) met.set(code, {taken, since: Infinity});
    if (taken) for (const other of codes) met.set(other, {taken, since: Infinity}); // what lies near it is not read when it is gone
  };
  look();
  const [track] = stream.getVideoTracks(), lamp = track?.getCapabilities?.().torch && (lit => track.applyConstraints({advanced: [{torch: lit}]}));
  const all = (await navigator.mediaDevices.enumerateDevices?.().catch(() => []) ?? []).filter(one => one.kind === 'videoinput').map(one => one.deviceId);
  const next = all.length > 1 ? all[(all.indexOf(track?.getSettings?.().deviceId) + 1) % all.length] : null;
  return {lamp, next, stop() {
    on = false;
    stop();
  }};
}
