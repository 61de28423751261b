// The colours that the helper has chosen at the door's page, for the pages beside it.
import {store} from './store.js';

document.documentElement.dataset.theme = store.theme ?? 'auto';
