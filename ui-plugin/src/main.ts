// The entry of the page in a browser tab of its own.
// SPDX-License-Identifier: GPL-3.0-or-later
import { start } from './start.js';
import './views/app.js';

const app = document.querySelector('kaas-app');
if (app) {
  start(app, {
    // The page is at <somewhere>/ui/, the interface at <somewhere>/v2/: relative, so that a path prefix of a proxy does no harm.
    base: new URL('../v2/', document.baseURI).href,
    fetch: window.fetch.bind(window),
    languages: navigator.languages,
    theme: null,
  });
}
