// The colours that the helper has chosen at the door's page, for the pages beside it.
document.documentElement.dataset.theme = localStorage.theme ?? 'auto';
