// Codes that a camera or a photo shows. Where the browser reads codes itself it does; elsewhere the laptop reads the pictures.
import {ask} from './session.js';

const widest = 1280; // points that the laptop looks at
const formats = ['qr_code', 'data_matrix', 'code_128', 'ean_13', 'ean_8'];

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

// watch shows the camera in a video and calls found with each code, until stop is called. found tells whether it takes the code: one that it takes
// counts again when it was out of sight for two seconds. lost is called with a fault when the phone takes the camera away.
export async function watch(video, found, lost) {
  if (!window.isSecureContext || !navigator.mediaDevices) throw new Error('no camera');
  const stream = await navigator.mediaDevices.getUserMedia({video: {facingMode: 'environment', width: {ideal: 1280}}});
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
  const own = await reader(), gone = new Map(); // codes that were taken, and since when each is out of sight: Infinity = it is in sight
  let on = true;
  const look = async () => {
    while (on) {
      const begun = performance.now();
      const codes = video.videoWidth ? await codesOf(video, video.videoWidth, video.videoHeight, own).catch(() => null) : [];
      if (!on) return;
      if (codes) take(codes, performance.now()); // a look that failed has not seen that a code is gone
      await new Promise(done => setTimeout(done, Math.max(60, 200 - (performance.now() - begun))));
    }
  };
  const take = (codes, now) => {
    for (const [code, since] of gone) {
      if (now - since >= 2000) gone.delete(code);
      else gone.set(code, codes.includes(code) ? Infinity : Math.min(since, now));
    }
    if (codes.length === 1 && !gone.has(codes[0]) && found(codes[0])) gone.set(codes[0], Infinity);
  };
  look();
  return () => {
    on = false;
    stop();
  };
}
